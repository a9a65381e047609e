#!/usr/bin/env bash
# Runs a command with a Docker engine and revcast's images: one that runs already, else, as root on Debian, one that is
# installed and started here and stopped at the end. The command finds the images' names in its environment
# (REVCAST_IMAGE, BASE, NATS_IMAGE, HAPROXY_IMAGE). Where no engine is to be had it says so in one line and exits with
# 75; where CI is set that is a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly LEFT_OUT=75 START_S=30
engine_pid=''
engine_log=$(mktemp)

leave_out() {
  rm -f "$engine_log"
  if [ "${CI:-}" = true ]; then echo "no Docker engine, which CI must have: $1" >&2; exit 1; fi
  echo "LEFT OUT, no Docker engine: $1"
  exit "$LEFT_OUT"
}

answers() { timeout 10 docker info >/dev/null 2>&1; }

start() { # MORE-OPTIONS…; bound to the loopback address, so that published ports are nobody else's
  dockerd --ip 127.0.0.1 "$@" >"$engine_log" 2>&1 </dev/null &
  engine_pid=$!
  for ((waited = 0; waited < START_S * 2; waited += 1)); do
    if answers; then return 0; fi
    kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.5
  done
  stop
  return 1
}

stop() {
  if [ -z "$engine_pid" ]; then return; fi
  kill "$engine_pid" 2>/dev/null || true
  wait "$engine_pid" 2>/dev/null || true
  engine_pid=''
}

has_root_on_debian() { [ "$(id -u)" = 0 ] && command -v apt-get dpkg-query >/dev/null; }

if has_root_on_debian; then
  needed=(debootstrap docker-compose)
  if ! answers; then needed+=(docker.io iproute2 iptables); fi
  bash test/setup/system-packages.sh "${needed[@]}"
fi
if ! answers; then
  has_root_on_debian || leave_out 'none runs, and only root on Debian can start one here'
  command -v dockerd >/dev/null || leave_out 'docker.io could not be installed'
  # A second try for an engine that the first left half set up; then what else may be missing in a small kernel.
  start || start || start --storage-driver vfs || start --iptables=false --storage-driver vfs ||
    leave_out "it does not start: $(tail -n 1 "$engine_log")"
  echo "docker engine: started (pid $engine_pid)"
fi
trap 'stop; rm -f "$engine_log"' EXIT

begun=$SECONDS
images=$(bash deploy/images/build.sh) || { echo 'the images could not be built' >&2; exit 1; }
echo "images: built in $((SECONDS - begun)) s"
while IFS='=' read -r name image; do export "$name=$image"; done <<<"$images"
"$@"
