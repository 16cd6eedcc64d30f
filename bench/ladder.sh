#!/usr/bin/env bash
# A full ladder on a real server: bots of known strength from their registration to a stable order, beside people's own games (scenario ladder).
# Then what its data file says: rank correlation with the strengths after 50 games a bot, time to the first rated game, how near in rating those are
# who meet, rating error over the games, shares of games and seats, and whether a recomputation finds the same ratings to the last bit. Ends with 0: passed, 1: failed.
# usage: bench/ladder.sh [bots, 1000 at most] [minutes] [matches under way at once]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
bots=${1:-1000} minutes=${2:-20} at_once=${3:-256}

trial ladder --set "bots=$bots" --set "minutes=$minutes" --set "at_once=$at_once"
verdict=$(verdict)
echo "$verdict"
echo "people's games: $(cells game.finished) finished, queue wait p99 $(cells game.queue_wait_s.p99) s"
python3 "$root/bench/ladder_figures.py" oldest "$record/server.db" 60 || failed=1
end_ladder "$record/server.db"
python3 "$root/bench/ladder_figures.py" "$gauntlet" "$record/server.db" "$root/scenarios/ladder/bots.csv" \
    games=50 spearman=0.95 first_game_s=60 gap_of_random=0.5 top_share_off=0.1 seat_off=1 || failed=1
[ "${verdict%%:*}" = PASSED ] && [ -z "${failed:-}" ]
