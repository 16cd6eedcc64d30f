#!/usr/bin/env bash
# What a world costs: movers, viewers and how many of them stand in each other's view, against bytes a second, how late the world's
# views come, and how long own moves take. Density is movers on the thousand cells around one.
# usage: bench/world-table.sh [seconds a row] [movers, viewers and radius of a row, such as 100000,1000,8]...
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-20}
shift || true
rows=("$@")
[ "${#rows[@]}" -gt 0 ] ||
    rows=(0,1000,8 10000,1000,8 100000,1000,8 500000,1000,8 100000,1000,13 100000,100,8 100000,5000,8 100000,10000,8)

# A percentile of a histogram between two scrapes, in milliseconds.
between() { # metric, quantile, earlier file, later file
    python3 - "$@" <<'PYTHON'
import sys
from figures import read_metrics

metric, quantile, files = sys.argv[1], float(sys.argv[2]), sys.argv[3:]

def buckets(path):
    found = {}
    for series, value in read_metrics(path).items():
        if series.startswith(metric + "_bucket"):
            bound = float(series.split('le="')[1].split('"')[0])
            found[bound] = found.get(bound, 0) + value
    return found

before, after = map(buckets, files)
rise = sorted((bound, count - before.get(bound, 0)) for bound, count in after.items())
total = rise[-1][1] if rise else 0
bound = next((bound for bound, count in rise if total and count >= quantile * total), None)
print("-" if bound is None else "more" if bound == float("inf") else f"{bound * 1000:g}")
PYTHON
}

table_head "actors" "viewers" "cells to each side" "movers in 1,000 cells" "frames/s" "bytes/s" "bytes a viewer and second" "round p99, ms" "view late p99, ms" "own move p99, ms" "update p99, ms"
for row in "${rows[@]}"; do
    IFS=, read -r actors viewers radius <<<"$row"
    port=$(free_port)
    ulimit -n "$(ulimit -Hn)"
    serve "$port" --data "$work/table-$port.db" --actors "$actors" --log-level warn
    # All of them move before anything is measured.
    wait_actors "$actors"
    curl -fsS "http://127.0.0.1:$port/metrics" >"$work/before"
    open=$((viewers > 1000 ? 1000 : viewers))
    (sleep $((viewers / open + seconds - 1)) && curl -fsS "http://127.0.0.1:$port/metrics" >"$work/after") &
    scraping=$!
    trial world-viewers --target "http://127.0.0.1:$port" --set 'target.limits={}' --set "port=$port" --set "viewers=$viewers" \
        --set "open=$open" --set "radius=$radius" --set "length=${seconds}s"
    wait "$scraping"
    density=$(python3 -c "print(f'{($actors + $viewers) / 1000:,.2f}')")
    each=$(python3 -c "import json; r = json.load(open('$record/run.json'))['push']['view']; print(f\"{(r['bytes_per_s'] or 0) / $viewers:,.0f}\")")
    echo "| $actors | $viewers | $radius | $density | $(cells push.view.frames_per_s push.view.bytes_per_s) | $each | \
$(between gauntlet_world_round_seconds 0.99 "$work/before" "$work/after") | \
$(between gauntlet_world_view_late_seconds 0.99 "$work/before" "$work/after") | \
$(cells move.latency_ms.p99 push.view.delay_ms.p99) |"
    stop_served
done
