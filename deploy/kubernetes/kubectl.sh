#!/usr/bin/env bash
# Prints the path of a kubectl whose `kustomize` knows components (1.21 or newer): the one on the PATH, else the one
# fetched earlier, else one from Debian's packages (suite trixie, the mirror of this machine's own apt sources), put into
# .tools/ without touching the system's package lists. Exits 1 with one line where none is to be had.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tools="$root/.tools"
binary="$tools/kubectl"

new_enough() { # PATH-TO-KUBECTL
  local version
  version=$("$1" version --client 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1) || return 1
  [ -n "$version" ] && [ "$(printf '1.21.0\n%s\n' "$version" | sort -V | head -n 1)" = 1.21.0 ]
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
  # Without a status a newer kubectl of another origin, installed here, does not hide Debian's.
  local options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
    -o Dir::State::status=/dev/null -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3)
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download kubectl) >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; return 1; }
  dpkg-deb -x "$work"/kubectl_*.deb "$work/unpacked"
  install -m 755 "$(find "$work/unpacked" -type f -name kubectl -path '*/bin/*' | head -n 1)" "$binary.new"
  mv "$binary.new" "$binary"
}

if on_path=$(command -v kubectl) && new_enough "$on_path"; then echo "$on_path"; exit 0; fi
if [ -x "$binary" ] && new_enough "$binary"; then echo "$binary"; exit 0; fi
if fetch && new_enough "$binary"; then echo "$binary"; exit 0; fi
echo 'kubectl 1.21 or newer is needed to render the manifests: install it and put it on the PATH' >&2
exit 1
