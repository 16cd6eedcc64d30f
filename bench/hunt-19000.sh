#!/usr/bin/env bash
# One process of the hunt with as many hunters as it may have files: 10,000 requests a second over them, and what a connection
# takes of the server's memory; then the same with the server held to 80 % of one core.
# usage: bench/hunt-19000.sh [hunters without a view] [hunters with a view] [requests a second] [seconds]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
hunters=${1:-18000} viewers=${2:-1000} requests=${3:-10000} seconds=${4:-30}
open=2000 opening_s=$(((hunters + 1999) / 2000))
turns=$((requests * hunters / (hunters + viewers) / 2))
viewings=$((requests / 2 - turns))
table_head "server" "hunters" "requests" "errors" "move p50, ms" "p99, ms" "p999, ms" "dig p99, ms" "update p99, ms"
for scenario in hunt-10k-rps hunt-throttled; do
    trial "$scenario" --set "hunters=$hunters" --set "viewers=$viewers" --set "turns=$turns" --set "viewings=$viewings" \
        --set "open=$open" --set "phase.viewers.arrivals.hold.open_per_s=$(((viewers + opening_s - 1) / opening_s))" \
        --set "length=${seconds}s"
    echo "| $scenario | $(cells enter.ok turn.requests turn.errors turn.steps.move.latency_ms.p50 turn.steps.move.latency_ms.p99 \
        turn.steps.move.latency_ms.p999 turn.steps.dig.latency_ms.p99 push.view.delay_ms.p99) |"
    [ "$scenario" = hunt-throttled ] || full=$record
    verdict >>"$work/verdicts"
done
echo
cat "$work/verdicts"
python3 - "$full" $((hunters + viewers)) <<'PYTHON'
import sys
from figures import read_run, read_samples, table_head

samples, connections = read_samples(sys.argv[1], "server"), int(sys.argv[2])
phases = read_run(sys.argv[1])["phases"]
held = [phase["connections"] for phase in phases.values()]
all_in_s = max(one["from_s"] + one["opening_s"] for one in held)
print()
table_head("phase", "connections", "opened in, s", "a second", "p50, ms", "p99, ms")
for name, phase in phases.items():
    one = phase["connections"]
    print(f"| {name} | {one['opened']:,} | {one['opening_s']:.1f} | {one['opened_per_s']:,.0f} | {one['opening_ms']['p50']} | {one['opening_ms']['p99']} |")
def at(second):
    return min(samples, key=lambda row: abs(row["t_s"] - second))
print()
table_head("moment", "connections", "RSS, MiB", "bytes a connection above idle", "of it allocated by the server's own count")
idle = samples[0]
def allocated(row):
    return next((value for name, value in row["metrics"].items() if "allocated_bytes" in name and "total" not in name), None)
for name, row in (("idle", idle), ("all are in", at(all_in_s)), ("requests go over them", at(all_in_s + 10)), ("the end", samples[-2])):
    rss, count = row["processes"]["server"]["rss_bytes"], row["connections"]
    each = (rss - idle["processes"]["server"]["rss_bytes"]) / connections
    own = (allocated(row) - allocated(idle)) / connections if allocated(row) is not None else None
    print(f"| {name} | {count:,} | {rss / 2**20:.1f} | {each:,.0f} | {'-' if own is None else format(own, ',.0f')} |")
PYTHON
