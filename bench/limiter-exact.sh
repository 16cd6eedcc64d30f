#!/usr/bin/env bash
# Exactly 50 of 100 at once, 1,000 times in a row: limit 50, 100 connections, each asking once a round at the same moment.
# The rounds are those of the test `exact` of the server, against a real socket, with every algorithm; here there are more of them.
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-1000}
EXACT_ROUNDS=$rounds cargo test --locked -p server --test limits exact:: -- --nocapture --test-threads 1
echo "exactly 50 of 100 passed in each of $rounds rounds: reference API, log, GCRA, counter"
