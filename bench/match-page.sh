#!/usr/bin/env bash
# The page /games/ID in Chromium without a window: what a picture costs of the page's own code while a match of eight snakes on 25x25 is
# played at 32 turns a second. Ends with 1 when 95 of 100 pictures are not done in 8 ms, and with 77 without Chromium.
# usage: bench/match-page.sh [seconds] [screenshot.png]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$root/bench/matches.sh"
seconds=${1:-10} shot=${2:-$work/match.png}
"$root/scripts/console.sh"
port=$(free_port) bots_port=$(free_port)
serve "$port" --data "$work/match.db" --log-level warn
bots "$bots_port" --think 5ms
mapfile -t snakes < <(sample_snakes 8)
id=$(sample_match 25x25 hz_rivers_bridges_xl standard "${snakes[@]}")
node "$root/bench/match-page.mjs" "http://127.0.0.1:$port/games/$id" "$seconds" "$shot" "$root/console" >"$work/match.json"
python3 - "$work/match.json" <<'PYTHON'
import json, sys

page = json.load(open(sys.argv[1]))
draw = page["draw_ms"]
print(f"{page['pictures']:,} pictures of {page['turns']:,} turns")
print("| ms | p50 | p95 | p99 | max |\n|---|---|---|---|---|")
print(f"| the page's code for a picture | {draw['p50']:.2f} | {draw['p95']:.2f} | {draw['p99']:.2f} | {draw['max']:.2f} |")
sys.exit(draw["p95"] >= 8)
PYTHON
