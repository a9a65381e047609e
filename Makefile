# Everything from a fresh checkout: `make run` starts revcast, `make test` tests it. Both do all set-up by themselves.
# Needed: Node 20 or newer with npm, make, bash. See README.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Debian packages that tests need beside Node; installed where that is possible (test/setup/system-packages.sh).
SYSTEM_PACKAGES := chromium curl iproute2 python3-websockets

STAGES := npx --no-install tsx test/check/stages.ts
# The nats-server that tests start: from the PATH, else fetched from Debian's packages into .tools/.
WITH_NATS := NATS_SERVER_BIN="$$(bash deploy/nats/fetch-server.sh)"; export NATS_SERVER_BIN;

.PHONY: help setup packages build check unit contract integration test images cluster manifests etherpad run proto format bench clean

help: ## this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

packages: # npm packages as package-lock.json names them
	@bash test/setup/npm-packages.sh

setup: packages ## install what is needed: npm packages, nats-server, system packages for tests
	@bash deploy/nats/fetch-server.sh
	@bash test/setup/system-packages.sh $(SYSTEM_PACKAGES)

build: packages ## dist/ from the sources, and npx revcast
	@npm run --silent build

run: build ## start everything in one process, with a local Ethereum node
	@exec node dist/services/cli/main.js dev --anvil $(ARGS)

check: packages ## format, lint, types, layers, dead code, generated code, manifests
	@$(STAGES) check

unit: packages ## tests without processes and sockets
	@$(STAGES) unit

contract: setup ## tests that hold for every log, on each
	@$(WITH_NATS) $(STAGES) contract

integration: setup build ## tests with real processes and sockets
	@$(WITH_NATS) $(STAGES) integration

containers: setup build ## tests of a whole cluster in containers; installs and starts a Docker engine where it can
	@$(WITH_NATS) $(STAGES) containers

test: setup build ## all of these; the last line is N passed, N failed
	@$(WITH_NATS) $(STAGES) check unit contract integration containers

images: build ## revcast:local, and the images that it is tested with; needs a running Docker engine
	@bash deploy/images/build.sh

cluster: build ## a cluster in containers: see deploy/compose.yaml; make cluster ARGS=down ends it
	@bash deploy/compose/cluster.sh $(ARGS)

manifests: packages ## render the Kubernetes manifests and check them, offline
	@npm run --silent check:manifests

etherpad: packages ## the Etherpad source on a real Etherpad 1.8.14, fetched from the npm registry (150 MB, once)
	@ETHERPAD_DIR="$$(bash test/setup/etherpad.sh)"; export ETHERPAD_DIR; npx --no-install vitest run --config test/etherpad/vitest.config.ts

proto: packages ## services/shared/gen from proto/
	@npm run --silent proto

format: packages ## write every file as prettier has it
	@npm run --silent format

bench: build ## measure; make bench ARGS="append --json"
	@$(WITH_NATS) npm run --silent bench -- $(ARGS)

clean: ## remove what was built and fetched
	@rm -rf dist dist.new test-results node_modules .tools
