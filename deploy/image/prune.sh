#!/usr/bin/env bash
# Removes from the node_modules folder $1 what no process reads: uWebSockets.js for other platforms than $2
# (PLATFORM_ARCH_ABI, as its files are named), type declarations, source maps, sources and documents. Idempotent.
set -euo pipefail
modules=$1
wanted="uws_$2.node"

test -f "$modules/uWebSockets.js/$wanted" || { echo "uWebSockets.js has no $wanted" >&2; exit 1; }
find "$modules/uWebSockets.js" -maxdepth 1 -name 'uws_*.node' ! -name "$wanted" -delete
(cd "$modules/uWebSockets.js" && rm -rf docs examples misc mvp scripts src tests build.c Makefile logo.svg)
find "$modules" -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.tsbuildinfo' \
  -o -iname 'readme*' -o -iname 'changelog*' -o -iname 'history.md' \) -delete
rm -rf "$modules/zod/src" "$modules/.bin"
find "$modules" -type d \( -name test -o -name tests -o -name docs -o -name benchmark -o -name benchmarks -o -name examples \
  -o -name .github \) -prune -exec rm -rf {} +
