#!/usr/bin/env bash
# Prints the path of a nats-server 2.10 or newer: the one on the PATH, else the one fetched earlier, else one taken
# from Debian's packages (suite trixie, the mirror that this machine's own apt sources name) into .tools/, without
# touching the system's package lists. Exits 1 with one line where none is to be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tools="$root/.tools"
binary="$tools/nats-server"

new_enough() { # PATH-TO-SERVER
  local version
  version=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1) || return 1
  [ -n "$version" ] && [ "$(printf '2.10.0\n%s\n' "$version" | sort -V | head -n 1)" = 2.10.0 ]
}

fetch() {
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  local mirror work
  mirror=$(cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *//p' | grep -m 1 '/debian/*$') ||
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | sed -nE 's/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' | grep -m 1 '/debian/*$') ||
    return 1
  work=$(mktemp -d)
  trap 'rm -rf "$work"' RETURN
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked" "$tools"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3)
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download nats-server) >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; return 1; }
  dpkg-deb -x "$work"/nats-server_*.deb "$work/unpacked"
  install -m 755 "$(find "$work/unpacked" -type f -name nats-server | head -n 1)" "$binary.new"
  mv "$binary.new" "$binary"
}

if on_path=$(command -v nats-server) && new_enough "$on_path"; then echo "$on_path"; exit 0; fi
if [ -x "$binary" ] && new_enough "$binary"; then echo "$binary"; exit 0; fi
if fetch && new_enough "$binary"; then echo "$binary"; exit 0; fi
echo 'nats-server 2.10 or newer is needed: install it from nats.io or your distribution and put it on the PATH' >&2
exit 1
