# Gauntlet hosts multiplayer games and finds out how far they can be pushed.
# `make` alone explains what there is. Every target works a second time.

SHELL := /bin/bash
CARGO_BUILD_JOBS ?= 2
export CARGO_BUILD_JOBS
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: pages ## Build quickly, then play a short leaderboard trial against a server of its own, and report (about a minute)
	cargo build --profile demo --locked -p gauntlet --no-default-features
	@echo "While it plays, open the address of the target, which follows: its first page shows a match live."
	@$(TARGET_DIR)/demo/gauntlet run demo

build: pages ## Build the release binary: target/release/gauntlet; with the console, where npm is
	cargo build --release --locked -p gauntlet

static: pages ## Build the release binary as one file that needs no other: target/static/gauntlet
	@scripts/static.sh

package: static ## Pack what a machine needs to run a server: target/package/*.tar.gz
	@scripts/package.sh

pages: deps
	@scripts/console.sh build || echo "So this build has no console: /world says how to get it." >&2

console: ## Build the pages of console/, which the next build of the binary takes in (needs Node.js and npm)
	@scripts/console.sh build

screenshots: build ## Make pictures of every page in both themes and three widths (target/screenshots)
	@scripts/screenshots.sh

test: deps-test ## Everything that must hold: format, lints, all tests, documentation
	@scripts/test.sh

check-long: deps-test ## What takes hours: more seeds for every simulator, more cases for laws, every map beside the official program, full ladders
	@scripts/check-long.sh

simulate: ## Play what can go wrong with servers, from fresh seeds, for 10 minutes; or make simulate MINUTES=120 SIMULATOR=tables, or SEEDS=5000
	@scripts/simulate.py MINUTES=$(or $(MINUTES),$(if $(SEEDS),,10)) SEEDS=$(SEEDS) SIMULATOR=$(SIMULATOR) SEED=$(SEED) FIRST=$(FIRST) PROCESSES=$(PROCESSES)

mutants: ## Change 100 lines that decide about saving, claiming and fencing, one at a time, and show which no test finds; or make mutants COUNT=20
	@scripts/mutants.py $(or $(COUNT),100) $(SEED)

fuzz: deps-test ## Search for bytes that break a parser: a minute over all of them, or make fuzz SECONDS=3600 TARGET=websocket
	@scripts/fuzz.py $(or $(SECONDS),60) $(TARGET)

fuzz-selftest: deps-test ## Find the three bugs that crates/fuzz has on purpose: a panic, an allocation, a round trip
	@scripts/fuzz.py --selftest

format: ## Format the code in place
	cargo fmt --all

deny: ## Hold the dependencies to deny.toml: licences, bans, sources; known vulnerabilities where their database can be reached
	@scripts/deny.sh

sbom: ## Write what the binary is made of: target/gauntlet.cdx.json (CycloneDX)
	@mkdir -p $(TARGET_DIR) && scripts/sbom.py > $(TARGET_DIR)/gauntlet.cdx.json && echo $(TARGET_DIR)/gauntlet.cdx.json

bench: build ## List the measurements, and how each is run
	@sed -n '/^## Commands/,/^## /p' bench/README.md | sed '$$d'

deps: ## Check for (and on Debian install) what building needs
	@scripts/install-deps.sh build

deps-test: ## Check for (and on Debian install) what the tests need: PostgreSQL, nginx, a C++ compiler, Python, curl, jq, npm, Chromium
	@scripts/install-deps.sh build test

.PHONY: help demo build static package pages console screenshots test check-long simulate mutants fuzz fuzz-selftest format deny sbom bench deps deps-test
