#!/bin/sh
# Readiness of a NATS server: it is healthy, and its JetStream group has a leader and as many members as it should.
# Servers that start together can form a group of two, in which no stream with three replicas can be placed.
#
#   ready.sh PEERS      (1: a single server, which has no group)
#
# MONITOR is the address of its monitoring. Needs wget (as in the images on Alpine) or curl.
peers=${1:-1}
monitor=${MONITOR:-http://127.0.0.1:8222}

get() {
  if command -v wget >/dev/null; then wget -q -T 2 -O - "$1"; else curl -sf -m 2 "$1"; fi
}

get "$monitor/healthz" >/dev/null || { echo 'not healthy'; exit 1; }
[ "$peers" = 1 ] && exit 0
group=$(get "$monitor/jsz" | tr -d ' \n\t') || { echo 'no JetStream'; exit 1; }
case $group in *'"meta_cluster":{'*'"leader":"'*) ;; *) echo 'the group has no leader'; exit 1 ;; esac
case $group in *"\"cluster_size\":$peers,"* | *"\"cluster_size\":$peers}"*) exit 0 ;; esac
echo "the group does not have $peers members"
exit 1
