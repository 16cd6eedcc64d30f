#!/usr/bin/env bash
# Other life: a glider that crosses the map among movers over connections of their own, who keep off its path; and what a million cells
# of life cost a world: a generation every tick, 300 of a thousand cells alive at first, built-in actors among them, beside the
# same world without life.
# usage: bench/world-life.sh [movers around the glider] [seconds of each world] [built-in actors]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
movers=${1:-1000} seconds=${2:-20} actors=${3:-1000}
tick_ms=200

trial world-life --set "movers=$((movers / 2 * 2))" --set "side_each=$((movers / 2))" --set "turns=$((movers / 8))"
table_head "movers" "steps" "refused" "the glider"
arrived=$(python3 -c "import json; print('arrived intact' if json.load(open('$record/run.json'))['journeys']['glider']['ok'] == 1 else 'did not arrive')")
echo "| $((movers / 2 * 2)) | $(cells walk.requests walk.denied) | $arrived |"
verdict
echo

scrape() { curl -fsS "http://127.0.0.1:$port/metrics" >"$1"; }

table_head "cells" "movers" "life" "bacteria at the end" "generations" "a generation, us" "share of a tick" "rounds of the writer, share of the time"
for life in '' ", \"life\": {\"generation_ms\": $tick_ms, \"start_permille\": 300}"; do
    port=$(free_port)
    serve "$port" --data "$work/life-$port.db" --log-level warn
    api POST /api/worlds "{\"name\": \"pond\", \"width\": 1000, \"height\": 1000$life}" >/dev/null
    api POST /api/worlds/pond/actors "{\"count\": $actors}" >/dev/null
    wait_actors "$actors"
    scrape "$work/before"
    sleep "$seconds"
    scrape "$work/after"
    curl -fsS "http://127.0.0.1:$port/api/worlds/pond/stats" >"$work/stats.json"
    python3 - "$work/before" "$work/after" "$work/stats.json" "$tick_ms" "$seconds" "${life:+yes}" <<'PYTHON'
import json, sys
from figures import read_metrics

before, after = map(read_metrics, sys.argv[1:3])
stats = json.load(open(sys.argv[3]))
tick_ms, seconds, has_life = float(sys.argv[4]), float(sys.argv[5]), sys.argv[6]
def rise(name):
    return after.get(name, 0) - before.get(name, 0)
generations = rise("gauntlet_world_generation_seconds_count")
spent = rise("gauntlet_world_generation_seconds_sum")
each_us = spent / generations * 1e6 if generations else 0
rounds = rise("gauntlet_world_round_seconds_sum") / seconds
share = f"{each_us / tick_ms / 1000 * 100:.2f} %" if generations else "-"
print(f"| 1,000,000 | {stats['movers']:,} | {has_life or 'no'} | {stats['bacteria']:,} | {generations:,.0f} | "
      f"{each_us:,.0f} | {share} | {rounds * 100:.2f} % |")
PYTHON
    stop_served
done
