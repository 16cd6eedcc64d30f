#!/usr/bin/env bash
# A million games that have ended and 12,000 that go on, in one SQLite file: the query plan of every question that players ask, and
# how long it takes there. Filling goes through the store itself, so what an opening and an end cost is a figure as well.
# Needs about 2 GB under $TMPDIR and a few minutes.
# usage: bench/stories-million.sh [games]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
cargo build --quiet --release --locked -p store --example stories_million
timeout 900 "${CARGO_TARGET_DIR:-$root/target}/release/examples/stories_million" "$work/stories.db" "${1:-1000000}"
