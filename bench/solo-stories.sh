#!/usr/bin/env bash
# Stories played alone: is it worth it? A stand-in for a person plays beside bots that tell, at each difficulty, with the tables that
# the server runs and fixed seeds: how often its votes are right beside random ones, and how often the bots' are.
# usage: bench/solo-stories.sh [games a difficulty]
# Ends with 0: held, 1: a bar is missed, 77: no cargo to build it with.
set -euo pipefail
cd "$(dirname "$0")/.."
games=${1:-1000}
command -v cargo >/dev/null || { echo "there is no cargo: this builds an example of the engine" >&2; exit 77; }
cargo build --quiet --release -p engine --example solo_stories || exit 77
status=0
"${CARGO_TARGET_DIR:-target}/release/examples/solo_stories" "$games" || status=1
exit "$status"
