#!/usr/bin/env bash
# Prints the path of a kubectl whose `kustomize` knows components (1.21 or newer): the one on the PATH, else one from Debian's
# packages in .tools/ (deploy/debian-program.sh). Exits 1 with one line where none is to be had.
set -euo pipefail
. "$(dirname "$0")/../debian-program.sh"

debian_program kubectl 1.21.0 version --client && exit
echo 'kubectl 1.21 or newer is needed to render the manifests: install it and put it on the PATH' >&2
exit 1
