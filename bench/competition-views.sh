#!/usr/bin/env bash
# What the pages of competitions cost that anybody may ask for: a tournament of 1,024 bots and a duel of 400 games are played to their ends,
# then each page is requested as fast as wrk can, with and without the tag of what the client has. Figures: requests a second, CPU of
# the server a request, how often it was rendered.
# Held, as ratios of one run: a byte of the large tournament costs at most twice a byte of the API document, which never changes; a page that
# the client has costs the same for 1,024 bots as for 2, within a half; no page is rendered more than once.
# FILLED=DIRECTORY keeps the filled database there, or uses it if it is there: to measure two programs on the same data.
# usage: bench/competition-views.sh [bots] [seconds a page]
# Ends with 0, 1 when not held, 77 where it cannot run.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
entrants=${1:-1024} seconds=${2:-5}
command -v wrk >/dev/null || { echo "There is no wrk: apt-get install wrk" >&2; exit 77; }

filled=${FILLED:-$work/filled}
port=$(free_port)
url=http://127.0.0.1:$port
if [ ! -e "$filled/paths" ]; then
    mkdir -p "$filled"
    bots_port=$(free_port)
    bots "$bots_port" --think 0
    serve "$port" --data "$filled/gauntlet.db"
    begun=$SECONDS
    python3 "$root/bench/competition_views.py" fill "$url" "http://127.0.0.1:$bots_port" "$entrants" >"$work/paths"
    echo "filled in $((SECONDS - begun)) s"
    stop_served
    mv "$work/paths" "$filled/paths"
fi
serve "$port" --data "$filled/gauntlet.db"
python3 "$root/bench/competition_views.py" load "$url" "$served" "$seconds" "$filled/paths"
