#!/usr/bin/env bash
# Builds dist/ from services/, and links the program where npx and npm scripts look for it. The new files are made
# beside the old ones and then take their place, so that a build that fails leaves the last good one.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist.new
npx --no-install tsc -p tsconfig.build.json --outDir dist.new
bash proto/copy-generated.sh dist.new
chmod +x dist.new/services/cli/main.js
rm -rf dist
mv dist.new dist
mkdir -p node_modules/.bin
ln -sfn ../../dist/services/cli/main.js node_modules/.bin/revcast
