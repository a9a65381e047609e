#!/usr/bin/env bash
# Starts deploy/compose.yaml with the images of deploy/images/build.sh and waits until it is ready; `cluster.sh down` and
# other words are handed to Compose as they are. Compose is `docker compose`, or docker-compose.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly READY_S=60
if docker compose version >/dev/null 2>&1; then compose=(docker compose); else compose=(docker-compose); fi
compose+=(-p "${COMPOSE_PROJECT_NAME:-revcast}" -f compose.yaml)

if [ $# -gt 0 ]; then exec "${compose[@]}" "$@"; fi
images=$(bash images/build.sh)
while IFS='=' read -r name image; do export "$name=$image"; done <<<"$images"
"${compose[@]}" up -d --no-build
edges="http://127.0.0.1:${REVCAST_PORT:-8080}"
for ((waited = 0; waited < READY_S; waited += 1)); do
  if curl -fsS "$edges/readyz" >/dev/null 2>&1; then
    echo "clients: $edges  publishers: http://127.0.0.1:${REVCAST_PRODUCER_PORT:-8081}  end: make cluster ARGS=down"
    exit 0
  fi
  sleep 1
done
"${compose[@]}" ps
echo "not ready after $READY_S s: make cluster ARGS=logs" >&2
exit 1
