#!/usr/bin/env bash
# What watchers cost a server that is busy with matches: so many feeds of the home page's summary (`/api/summary/feed`, Server-Sent
# Events), and so many viewers of one live match (`/api/games/ID/events`, WebSockets). Measured one against the other in one run: spans
# with watchers and spans without take turns, while as many matches go on as before; the figure is the difference of the server's CPU time.
# The scenario language holds no event streams, so that a client of a few lines holds the connections: bench/home_feeds.py. It also counts
# what arrived, so that silence is not taken for cheapness.
# Ends with 1 when either costs 10 % of a core or more, or when a watcher was not told; with 77 where it cannot run: open files, Python.
# usage: bench/home-feeds.sh [watchers] [seconds a span] [spans of each kind]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$root/bench/matches.sh"
watchers=${1:-1000} seconds=${2:-15} spans=${3:-3}
command -v python3 >/dev/null || { echo "There is no python3." >&2; exit 77; }
files=$(ulimit -Hn)
[ "$files" = unlimited ] || [ "$files" -ge $((watchers * 2 + 500)) ] || { echo "$watchers watchers need $((watchers * 2 + 500)) open files, and $files are allowed: raise the limit." >&2; exit 77; }
ulimit -n "$files"

port=$(free_port) bots_port=$(free_port)
# Turns are paced by the bots, and so many matches run at once: the same load whether it is watched or not.
bots "$bots_port" --think 250ms
serve "$port" --data "$work/busy.db" --log-level warn --http-connections-per-address-max $((watchers * 2 + 200)) \
    --spectators-max $((watchers * 2)) --spectators-per-address-max $((watchers * 2))
mapfile -t snakes < <(sample_snakes 4)
python3 "$root/bench/home_feeds.py" "http://127.0.0.1:$port" "$served" "$watchers" "$seconds" "$spans" "${snakes[@]}"
