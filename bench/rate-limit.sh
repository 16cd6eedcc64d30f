#!/usr/bin/env bash
# A load test behind a rate limiter: the leaderboard's bursts of creations with the gateway's limiter off, on for a load test
# (a token that says so, and a policy for such), and on as for a user. The first two must create every game; the third shows
# what a limiter does to a load that it cannot tell apart.
# usage: bench/rate-limit.sh [games in a burst]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
burst=${1:-2167}
policies=$root/examples/policies.toml
missed=0
# The lab makes a token for each server that it starts.
unset GAUNTLET_TOKEN GAUNTLET_BOOTSTRAP_TOKEN

trial() { # name, further arguments of `gauntlet run`...
    local name=$1
    shift
    "$gauntlet" run "$root/scenarios/rate-limit-off-on.toml" --quiet --out "$work/$name" \
        --set "phase.create.arrivals.batch=$burst" "$@" >"$work/$name.out" 2>&1 || { missed=$((missed + 1)); tail -n 20 "$work/$name.out" >&2; }
}

trial off
trial load-test --set "policies=$policies" --set purpose=load_test
trial user --set "policies=$policies" --set 'denied=>= create_game.count - 250'

python3 - "$work"/{off,load-test,user} <<'PYTHON'
import sys
from figures import read_run, table_head

table_head("limiter", "creations", "created", "denied", "errors", "creation p50 / p99, ms", "finished")
for folder, what in zip(sys.argv[1:], ("off", "on, a load test", "on, a user")):
    run = read_run(folder)
    op, game = run["journeys"]["create_game"], run["work"]["game"]
    times = op["service_ms"]
    print(f"| {what} | {op['count']:,} | {op['ok']:,} | {op['denied']:,} | {op['errors']:,} | "
          f"{times['p50']:.1f} / {times['p99']:.1f} | {game['finished']:,} |")
PYTHON
echo
"$gauntlet" compare "$work"/off/* "$work"/load-test/* || true
[ "$missed" -eq 0 ]
