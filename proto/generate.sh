#!/usr/bin/env bash
# Generates services/shared/gen: one static ES module, and its declarations, with the messages of every proto/*.proto.
#   generate.sh           writes it
#   generate.sh --check   fails if what is committed differs from what proto/ gives
set -euo pipefail
cd "$(dirname "$0")/.."
committed=services/shared/gen

generate() { # INTO-FOLDER
  mkdir -p "$1"
  npx --no-install pbjs -t static-module -w es6 --force-number --no-verify --no-delimited --no-service --no-convert \
    --no-create -p proto -o "$1/messages.js" proto/*.proto
  npx --no-install pbts -o "$1/messages.d.ts" "$1/messages.js"
}

if [ "${1:-}" = --check ]; then
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  generate "$fresh"
  diff -r "$committed" "$fresh" >/dev/null ||
    { echo "$committed is not what proto/ gives: run 'make proto' and commit"; exit 1; }
else
  generate "$committed"
fi
