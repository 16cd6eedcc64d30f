#!/usr/bin/env bash
# What `make test` has no time for: fresh seeds for every simulator, a disk that fails at every call, random commands on both databases, many random
# fields of tournaments, every map beside the official program, ratings beside another implementation, duels of known strength, full ladders, one of
# them under kill -9, and every state of the console in every scheme. Each part runs whatever the others come to.
# Ends with 0: all passed, 1: one failed, 77: none failed, and one could not run here, which counts as not shown.
# usage: scripts/check-long.sh [seeds a simulator] [fields] [games a map] [minutes of the ladder] [kills]
set -uo pipefail
cd "$(dirname "$0")/.."
seeds=${1:-1000} fields=${2:-10000} games=${3:-200} minutes=${4:-20} kills=${5:-150}

passed=0 failed=0 not_shown=0
part() { # name, command...
    local began=$SECONDS name=$1 status=0 verdict
    shift
    "$@" || status=$?
    case $status in
    0) passed=$((passed + 1)) verdict=passed ;;
    77) not_shown=$((not_shown + 1)) verdict="NOT SHOWN" ;;
    *) failed=$((failed + 1)) verdict=FAILED ;;
    esac
    echo "$name: $verdict ($((SECONDS - began)) s)"
}

console_in_every_scheme() {
    scripts/console.sh build && cargo build --release --locked -p gauntlet \
        && CONSOLE_LONG=1 CONSOLE_SERVER_BIN="${CARGO_TARGET_DIR:-$PWD/target}/release/gauntlet" scripts/console.sh e2e
}

part "simulators, $seeds seeds each" scripts/simulate.py SEEDS="$seeds"
part "a disk that fails at every call" env EVERY_FAULT=1 cargo test --locked -p store --test conformance faults::
part "random commands on both databases" env PROPTEST_CASES=2000 cargo test --locked -p store --test conformance model::
part "$fields fields of tournaments, and kill -9 in every round" env FIELDS="$fields" bench/tournaments.sh
part "maps, $games games each" bench/maps-oracle.sh "$games"
part "ratings beside openskill" bench/ratings-oracle.sh
part "duels of known strength" bench/duels.sh
part "a full ladder, $minutes min" bench/ladder.sh 1000 "$minutes"
part "a ladder under $kills kill -9" bench/ladder-kill.sh "$kills"
part "every state of the console in every scheme" console_in_every_scheme
echo "$passed passed, $failed failed, $not_shown not shown"
[ "$failed" -eq 0 ] || exit 1
[ "$not_shown" -eq 0 ] || exit 77
