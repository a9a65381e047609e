#!/usr/bin/env bash
# Builds the image of all services as revcast:local, and prints a line NAME=IMAGE for it and for what runs beside it:
# REVCAST_IMAGE, BASE, NATS_IMAGE, HAPROXY_IMAGE. Needs `npm run build` to have run, and a Docker engine.
#
# Base images are made here (bases.sh) where that can be done, as root on Debian; elsewhere the public ones are pulled.
# IMAGES=public or IMAGES=local decides otherwise. What goes into the build is prepared on the host: dist/, and the npm
# packages for the base's platform; so the build itself needs no network.
set -euo pipefail
cd "$(dirname "$0")/../.."
image=revcast:local
export DOCKER_BUILDKIT=0

kind=${IMAGES:-$([ "$(id -u)" = 0 ] && command -v debootstrap dpkg >/dev/null && echo local || echo public)}
case $kind in
  local) images=$(bash deploy/images/bases.sh) ;;
  public) images=$'BASE=node:24-trixie-slim\nNATS_IMAGE=nats:2.10.27\nHAPROXY_IMAGE=haproxy:3.0' ;;
  *) echo "IMAGES is local or public, not $kind" >&2; exit 1 ;;
esac
base=$(sed -n 's/^BASE=//p' <<<"$images")
platform=$(docker run --rm "$base" node -p '`${process.platform}_${process.arch}_${process.versions.modules}`')

# npm packages, kept by what they are made from.
packages=.tools/image-packages
wanted=$(cat package.json package-lock.json deploy/image/prune.sh <(echo "$platform") | sha256sum)
if [ "$(cat $packages/made-from 2>/dev/null)" != "$wanted" ]; then
  rm -rf $packages
  mkdir -p $packages
  cp package.json package-lock.json .npmrc $packages
  (cd $packages && npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  bash deploy/image/prune.sh $packages/node_modules "$platform"
  echo "$wanted" >$packages/made-from
fi

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
mkdir -p "$context/prepared" "$context/deploy"
cp -a dist $packages/node_modules "$context/prepared"
cp package.json LICENSE "$context"
cp -a deploy/image "$context/deploy"
docker build -f deploy/Dockerfile --build-arg "BASE=$base" -t "$image" "$context" >"$context/log" 2>&1 ||
  { tail -n 20 "$context/log" >&2; exit 1; }
docker image prune -f --filter label=dev.revcast.stage=build >/dev/null
printf 'REVCAST_IMAGE=%s\n%s\n' "$image" "$images"
