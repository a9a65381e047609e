#!/usr/bin/env bash
# Prints the folder of an Etherpad 1.8.14, the newest that the npm registry has, laid out as it wants to be started from:
# fetched into .tools/ once (150 MB). Start it there with `node src/node/server.js --settings FILE`.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=1.8.14
etherpad="$root/.tools/etherpad-$version"

if [ ! -d "$etherpad" ]; then
  work="$root/.tools/etherpad.new"
  rm -rf "$work"
  mkdir -p "$work/fetched"
  npm install --prefix "$work/fetched" --silent --no-audit --no-fund --omit=dev "ep_etherpad-lite@$version" >&2 ||
    { echo "Etherpad $version could not be fetched from the npm registry" >&2; exit 1; }
  # It looks for its own files in src/, for its dependencies beside them, and for itself among the plugins.
  mv "$work/fetched/node_modules/ep_etherpad-lite" "$work/src"
  mv "$work/fetched/node_modules" "$work/src/node_modules"
  mkdir "$work/node_modules"
  ln -s ../src "$work/node_modules/ep_etherpad-lite"
  rm -rf "$work/fetched"
  mv "$work" "$etherpad"
fi
echo "$etherpad"
