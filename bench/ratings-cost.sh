#!/usr/bin/env bash
# What ratings, ladders and competitions cost matches that are played for nothing: the trials games-300-instant and leaderboard by this program and
# by one from before, in alternating pairs. Held: the median of now is no worse than the median of before by more than before's own spread, and every gate
# of every run holds. Prints each figure of both. Build the program from before in a checkout of its own, with the same commands.
# usage: bench/ratings-cost.sh BINARY_FROM_BEFORE [pairs of games-300-instant] [pairs of leaderboard]
# Ends with 0: held, 1: not held, 77: no program from before.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
before=${1:-} instant=${2:-5} leaderboard=${3:-1}
[ -x "$before" ] || { echo "usage: bench/ratings-cost.sh BINARY_FROM_BEFORE: a gauntlet that was built from an earlier commit" >&2; exit 77; }
now=$gauntlet

runs() { # scenario, pairs, further arguments of run...
    local scenario=$1 pairs=$2 pair program
    shift 2
    for ((pair = 0; pair < pairs; pair++)); do
        for program in before now; do
            gauntlet=${!program}
            trial "$scenario" "$@"
            printf '%s\t%s\t%s\n' "$scenario" "$program" "$record"
        done
    done
}

{ runs games-300-instant "$instant"; runs leaderboard "$leaderboard" --set think_ms=200; } >"$work/runs.tsv"
python3 "$root/bench/ratings_cost.py" "$work/runs.tsv"
