#!/usr/bin/env bash
# The page /world in Chromium without a window: what a picture costs while actors walk around the player, who walks as well. 31x27
# cells, the mini map beside them, five updates a second. Ends with 1 when the page's own code takes 8 ms or more for one picture of twenty,
# or all processor time a picture is longer than a screen waits for it.
# usage: bench/world-page.sh [actors] [seconds] [screenshot.png]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
actors=${1:-1000} seconds=${2:-20} shot=${3:-$work/page.png}
"$root/scripts/console.sh"
port=$(free_port)
serve "$port" --data "$work/page.db" --log-level warn
url="http://127.0.0.1:$port"
api POST /api/worlds/plaza/actors "{\"count\": $actors, \"spawn\": {\"x\": 500, \"y\": 500}}" >/dev/null
node "$root/bench/world-page.mjs" "$url/world?world=plaza&at=500,500" "$seconds" "$shot" "$root/console" >"$work/page.json"
python3 - "$work/page.json" "$actors" <<'PYTHON'
import json, sys

page = json.load(open(sys.argv[1]))
rows = [("the page's code for a picture", "draw_ms"), ("the page's code for an update", "message_ms"), ("from picture to picture", "pause_ms")]
print(f"{int(sys.argv[2]):,} actors, {page['seen']} in sight at the end; {page['pictures']:,} pictures, {page['messages']:,} messages")
print("| ms | p50 | p95 | p99 | max |\n|---|---|---|---|---|")
for name, key in rows:
    print(f"| {name} | {page[key]['p50']:.2f} | {page[key]['p95']:.2f} | {page[key]['p99']:.2f} | {page[key]['max']:.2f} |")
cpu = page["page_cpu_ms"]
print(f"Processor time a picture: the page {cpu:.2f} ms, all of it; painting, which a graphics processor does elsewhere, {page['paint_cpu_ms']:.2f} ms. "
      f"Pauses over 25 ms: {100 * page['dropped']:.1f} %.")
sys.exit(page["draw_ms"]["p95"] >= 8 or cpu > 1000 / 60)
PYTHON
