#!/usr/bin/env bash
# Puts what the image needs into folder $1: the built program, its npm packages, package.json (for the version), the
# health check. Runs in the image's build stage, at the top of the context. A context that has `prepared/`
# (deploy/images/build.sh) brings dist/ and node_modules along, and then neither npm nor a network is needed.
set -euo pipefail
target=$1
mkdir -p "$target"

if [ -d prepared ]; then
  cp -a prepared/. "$target"
else
  npm ci --no-audit --no-fund
  npm run --silent build
  rm -rf node_modules
  npm ci --omit=dev --no-audit --no-fund
  cp -a dist node_modules "$target"
fi
cp package.json LICENSE deploy/image/health.mjs "$target"
bash deploy/image/prune.sh "$target/node_modules" \
  "$(node -p '`${process.platform}_${process.arch}_${process.versions.modules}`')"
find "$target/dist" -name '*.map' -delete
chmod -R a+rX "$target"
# What was pruned too much is noticed here, not by the first who runs it.
cd "$target"
node -e 'import("uWebSockets.js").then(() => import("nats"))'
node dist/services/cli/main.js --version
