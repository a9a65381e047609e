#!/usr/bin/env bash
# Copies the generated protobuf module, which the TypeScript compiler leaves where it is, into the build folder $1.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1/services/shared/gen"
cp services/shared/gen/*.js "$1/services/shared/gen/"
