#!/usr/bin/env bash
# Pictures of every page of the console in both themes and three widths, from a server with sample data: to look at, page beside page.
# usage: scripts/screenshots.sh [folder]
set -euo pipefail
source "$(dirname "$0")/../bench/lib.sh"
source "$root/bench/matches.sh"
source "$root/bench/competitions.sh"
source "$root/bench/tables.sh"
folder=${1:-$root/target/screenshots}
mkdir -p "$folder"
"$root/scripts/console.sh"
port=$(free_port) bots_port=$(free_port)
mkdir "$work/runs"
serve "$port" --data "$work/sample.db" --log-level warn --trials "$work/runs"
bots "$bots_port" --think 5ms
api POST /api/hunts '{"name": "harbour", "admission": "everybody", "width": 120, "height": 120, "chests": 240, "power_ups": 24, "rounds": 3}' >/dev/null
api POST /api/worlds/plaza/actors '{"count": 200, "spawn": {"x": 500, "y": 500}}' >/dev/null
mapfile -t snakes < <(sample_snakes 8)
standard=$(sample_match 11x11 standard standard "${snakes[@]:0:4}")
rivers=$(sample_match 25x25 hz_rivers_bridges_xl standard "${snakes[@]}")
maze=$(sample_match 19x21 arcade_maze wrapped "${snakes[@]:0:4}")
ladder=$(sample_ladder)
first=$(api GET "/api/leaderboards/$ladder/rankings" | python3 -c 'import json, sys; print(json.load(sys.stdin)["ranked"][0]["battlesnake_id"])')
single=$(sample_tournament '{"type": "single_elimination", "third_place": true}' 3 "${snakes[@]:0:7}")
double=$(sample_tournament '{"type": "double_elimination"}' 1 "${snakes[@]}")
swiss=$(sample_tournament '{"type": "swiss"}' 1 "${snakes[@]}")
duel=$(sample_duel random hungry) league=$(sample_duel random hungry flood)
for cup in "$single" "$double" "$swiss"; do wait_for "/api/tournaments/$cup" status finished; done
for played in "$duel" "$league"; do wait_for "/api/duels/$played" status finished; done
run=$(api POST /api/trials/runs '{"scenario": "demo"}' | json_field name)
# Two minutes at most: it is the list's only run, and over once there is a verdict.
for _ in $(seq 240); do
    [ "$(api GET /api/trials | json_field running)" != "$run" ] && break
    sleep 0.5
done
small=(--set phase.create.arrivals.batch=8 --set phase.create.arrivals.times=1)
# What its gates say is no matter here.
"$gauntlet" sweep demo --quiet "${small[@]}" --vary think_ms=5,30 --vary timeout_ms=200,500 --out "$work/runs" >/dev/null || true
sweep=$(basename "$(dirname "$work"/runs/*/sweep.json)")
# One that is being played while the pictures are taken: the home page shows it.
slow() { api POST /api/snakes "{\"name\": \"$1\", \"url\": \"http://127.0.0.1:$bots_port/$2/think-450ms\", \"is_public\": true}" | json_field id; }
api POST /api/games "{\"snakes\": [\"$(slow "Morning star" flood)\", \"$(slow Lantern hungry)\"], \"board\": \"19x19\"}" >/dev/null
tables=()
for phase in create invitation vote complete; do
    sample_table "$phase"
    tables+=("table-$phase-teller@$teller=/stories/$table" "table-$phase-player@$player=/stories/$table" "table-$phase-visitor=/stories/$table")
done
operate=()
for part in "" nodes limits end accounts bans audit settings; do operate+=("operate-${part:-load}@$GAUNTLET_TOKEN=/operate?tab=$part"); done
own=@$GAUNTLET_TOKEN
pages=(
    "home=/" "home-player@$player=/" "missing=/nothing/here"
    "stories=/stories" "stories-player@$player=/stories" "${tables[@]}" "replay=/stories/$table?game=1&step=7"
    "matches=/games" "start$own=/games?start" "match=/games/$standard?turn=60" "match-end=/games/$standard?turn=99999" "rivers=/games/$rivers?turn=45"
    "maze=/games/$maze?turn=30" "embed=/games/$standard?embed&turn=60" "no-match=/games/00000000-0000-0000-0000-000000000001"
    "bots=/bots" "bots-own$own=/bots" "register$own=/bots?register" "bot=/bots/$first" "bot-matches=/bots/$first?tab=matches"
    "bot-answers$own=/bots/${snakes[0]}?tab=health" "evidence$own=/games/$standard/bots/0?turn=30"
    "ladders=/ladders" "ladder=/ladders/$ladder" "entry=/ladders/$ladder?entry=$first" "tournaments=/tournaments" "single=/tournaments/$single"
    "double=/tournaments/$double" "swiss=/tournaments/$swiss" "pairing=/tournaments/$single?match=1" "duels=/duels" "duel=/duels/$duel" "league=/duels/$league"
    "world=/world?world=plaza&at=500,500" "hunts=/hunts" "hunt=/hunts/harbour" "hunting=/world?world=hunt"
    "trials$own=/trials" "trial$own=/trials/$run" "sweep$own=/trials/$sweep" "${operate[@]}"
    "account=/account" "account-player@$player=/account" "account-admin$own=/account" "join=/join#nothing" "sign-in=/sign-in#nothing"
    "docs=/docs" "document=/docs/games" "api=/docs/api?operation=post+/api/games"
)
node "$root/scripts/screenshots.mjs" "http://127.0.0.1:$port" "$folder" "$root/console" "${pages[@]}"
echo "Pictures in $folder"
