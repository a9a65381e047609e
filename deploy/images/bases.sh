#!/usr/bin/env bash
# Makes the images that revcast's own is built on and runs beside, without a registry, and prints a line NAME=IMAGE for
# each: BASE (Node 24 on Debian 13), NATS_IMAGE and HAPROXY_IMAGE. Needs root on Debian, a Docker engine, and what the
# machine has anyway: its apt mirror and the npm registry. An image's tag is a hash of what it is made of, so that
# one that is there already is not made again. About 60 s the first time, 1 s later.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
repository=revcast-local
node_version=24.22.3
node_arch=$(dpkg --print-architecture | sed 's/^amd64$/x64/')
export DOCKER_BUILDKIT=0 DEBIAN_FRONTEND=noninteractive

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

there() { docker image inspect "$1" >/dev/null 2>&1; }
hashed() { sha256sum | cut -c 1-12; } # what comes on stdin
# Without the line that names it, a failed step is a riddle.
step() { "$@" >"$work/log" 2>&1 || { echo "failed: $*" >&2; tail -n 15 "$work/log" >&2; exit 1; }; }

debian="$repository/debian:trixie-$(hashed <"$0")"
make_debian() {
  local mirror
  mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *//p' | grep -m 1 '/debian/*$') ||
    mirror=$(sed -nE 's/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' /etc/apt/sources.list | grep -m 1 '/debian/*$')
  step debootstrap --variant=minbase trixie "$work/debian" "$mirror"
  (cd "$work/debian" && rm -rf var/cache/apt/* var/lib/apt/lists/* usr/share/doc/* usr/share/man/* usr/share/locale/* var/log/*)
  tar -C "$work/debian" -c . | docker import --change 'CMD ["bash"]' - "$debian" >/dev/null
  rm -rf "$work/debian"
}

node="$repository/node:$node_version-$(echo "$debian" | hashed)"
make_node() {
  mkdir "$work/node"
  (cd "$work/node" && step npm pack --silent "node-linux-$node_arch@$node_version" && tar -xzf ./*.tgz package/bin/node)
  printf 'FROM %s\nCOPY package/bin/node /usr/local/bin/node\nCMD ["node"]\n' "$debian" >"$work/node/Dockerfile"
  rm "$work/node/"*.tgz
  step docker build -q -t "$node" "$work/node"
}

nats_server=$(bash "$root/deploy/nats/fetch-server.sh")
nats="$repository/nats:$({ echo "$debian"; cat "$nats_server"; } | hashed)"
make_nats() {
  mkdir "$work/nats"
  cp "$nats_server" "$work/nats/nats-server"
  printf 'FROM %s\nCOPY nats-server /usr/local/bin/nats-server\nEXPOSE 4222 6222 8222\nENTRYPOINT ["nats-server"]\n' "$debian" \
    >"$work/nats/Dockerfile"
  step docker build -q -t "$nats" "$work/nats"
}

haproxy="$repository/haproxy:$(echo "$debian" | hashed)"
make_haproxy() {
  mkdir "$work/haproxy"
  # The host's network, because a name server may be reachable from there only.
  cat >"$work/haproxy/Dockerfile" <<END
FROM $debian
RUN apt-get update && apt-get install -y --no-install-recommends haproxy && rm -rf /var/lib/apt/lists /var/cache/apt
USER haproxy
ENTRYPOINT ["haproxy"]
CMD ["-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]
END
  step docker build -q --network host -t "$haproxy" "$work/haproxy"
}

if ! there "$debian"; then make_debian; fi
if ! there "$node"; then make_node; fi
if ! there "$nats"; then make_nats; fi
if ! there "$haproxy"; then make_haproxy; fi
printf 'BASE=%s\nNATS_IMAGE=%s\nHAPROXY_IMAGE=%s\n' "$node" "$nats" "$haproxy"
