#!/usr/bin/env bash
# A ladder whose server is killed with SIGKILL every two seconds for five minutes (scenario ladder-kill): every result is rated exactly once, no match is
# lost, doubled or stuck, and a recomputation finds the same ratings to the last bit. Prints its figures. Ends with 0: passed, 1: failed.
# usage: bench/ladder-kill.sh [kills] [seconds between two] [bots, 1000 at most]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
kills=${1:-150} every_s=${2:-2} bots=${3:-100}

trial ladder-kill --set "bots=$bots" --set "kills=$kills" --set "kill_every=${every_s}s" \
    --set "minutes=$(python3 -c "print(1 + $kills * $every_s / 60)")"
verdict=$(verdict)
echo "$verdict"
python3 "$root/bench/ladder_figures.py" oldest "$record/server.db" 60 || failed=1
end_ladder "$record/server.db"
python3 "$root/bench/ladder_figures.py" "$gauntlet" "$record/server.db" "$root/scenarios/ladder/bots.csv" first_game_s=60 || failed=1
[ "${verdict%%:*}" = PASSED ] && [ -z "${failed:-}" ]
