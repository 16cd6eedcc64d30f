#!/usr/bin/env bash
# What `make test` has no time for: fresh seeds for every simulator, many random fields of tournaments, and every map beside the official
# program. Each part runs whatever the others come to. Ends with 0: all passed, 1: one failed.
# usage: scripts/check-long.sh [seeds] [fields] [games a map]
set -uo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-3000} fields=${2:-10000} games=${3:-200}

passed=0 failed=0
part() { # name, command...
    local began=$SECONDS name=$1
    shift
    if "$@"; then passed=$((passed + 1)) verdict=passed; else failed=$((failed + 1)) verdict=FAILED; fi
    echo "$name: $verdict ($((SECONDS - began)) s)"
}

part "simulators, $seeds seeds each" env SIM_SEEDS="$seeds" cargo test --release --locked -p sim
part "$fields fields of tournaments, and kill -9 in every round" env FIELDS="$fields" bench/tournaments.sh
part "maps, $games games each" bench/maps-oracle.sh "$games"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
