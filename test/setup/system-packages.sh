#!/usr/bin/env bash
# Installs the Debian packages named as arguments where they are missing, and says so with one line for each. Where that
# cannot be done (no apt, not root) it says which are missing, and exits with 0: the tests that need one say so themselves.
set -euo pipefail

missing=()
for package in "$@"; do
  if dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
    echo "system package $package: there"
  else
    missing+=("$package")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
  echo "system packages missing, and only root on Debian can install them here: ${missing[*]}"
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
# The lists on the machine may be old or absent: they are fetched only if it does not work without.
if install || { apt-get update >"$log" 2>&1 && install; }; then
  for package in "${missing[@]}"; do echo "system package $package: installed"; done
else
  tail -n 3 "$log" >&2
  echo "system packages could not be installed: ${missing[*]}"
fi
