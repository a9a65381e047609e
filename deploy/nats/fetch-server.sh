#!/usr/bin/env bash
# Prints the path of a nats-server 2.10 or newer: the one on the PATH, else one from Debian's packages in .tools/
# (deploy/debian-program.sh). Exits 1 with one line where none is to be had.
set -euo pipefail
. "$(dirname "$0")/../debian-program.sh"

debian_program nats-server 2.10.0 --version && exit
echo 'nats-server 2.10 or newer is needed: install it from nats.io or your distribution and put it on the PATH' >&2
exit 1
