#!/usr/bin/env bash
# Memory of the server: idle; with 6,000 matches running (bots that think 1 s, timeout 2 s); 60 s after they are over; and the same
# again. Matches are cut at 60 turns, so that a round takes a minute.
# usage: bench/memory.sh [matches]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
count=${1:-6000}
port=$(free_port) bots_port=$(free_port)

running() { api GET /api/admin/stats | python3 -c 'import json, sys; c = json.load(sys.stdin)["game_counts"]; print(c["running"], c["waiting"])'; }

bots "$bots_port" --think 1s
serve "$port" --data "$work/games.db" --turns-max 60
sleep 5
idle=$(rss_kib "$served")
echo "idle: $idle KiB"
snake=$(api POST /api/snakes "{\"name\": \"flood\", \"url\": \"http://127.0.0.1:$bots_port/flood\"}" | json_field id)

round() { # name
    local batch peak=0 now left
    batch=$(python3 -c "import json; print(json.dumps({'games': [{'snakes': ['$snake', '$snake'], 'timeout_ms': 2000}] * 1000}))")
    for _ in $(seq $((count / 1000))); do api POST /api/games/batch "$batch" >/dev/null; done
    sleep 20
    left=$(running)
    now=$(rss_kib "$served")
    echo "$1: running and waiting: $left; RSS $now KiB, $(((now - idle) * 1024 / count)) bytes a match above idle"
    peak=$now
    until [ "$(running)" = "0 0" ]; do
        now=$(rss_kib "$served")
        [ "$now" -gt "$peak" ] && peak=$now
        sleep 1
    done
    echo "$1: peak $peak KiB; just after the last match $(rss_kib "$served") KiB"
    sleep 60
    after=$(rss_kib "$served")
    echo "$1: 60 s later $after KiB, $((after - idle)) KiB above idle"
}

round first
first=$after
round second
echo "the second round added $((after - first)) KiB"
