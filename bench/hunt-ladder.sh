#!/usr/bin/env bash
# The trial hunt-ladder at a size: hunters over as many shards as the file limit makes necessary, level by level, moves and digs over
# them, no views. Each level goes on with the connections of the level before and opens those that are missing.
# Needs, for a million: 16 GiB of memory that is free, 53 shards and as many generator processes, about six minutes.
# TMPDIR=/dev/shm keeps the shards' data files in memory.
# usage: bench/hunt-ladder.sh [low] [middle] [high] [requests a second] [seconds a level] [connections a second]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
low=${1:-100000} middle=${2:-500000} high=${3:-1000000} requests=${4:-10000} seconds=${5:-30} open=${6:-4500}
keepalive_s=300
shards_for "$high" "$keepalive_s"

trial hunt-ladder --set "port=$port" --set "first=$((port + 1))" --set "last=$((port + shards))" --set "shards=$shards" \
    --set "low=$low" --set "middle=$middle" --set "high=$high" --set "turns=$((requests / 2))" --set "open=$open" \
    --set "length=${seconds}s" --set "keepalive_ms=$((keepalive_s * 1000))"
python3 - "$record" "$shards" <<'PYTHON'
import sys
from figures import read_run, read_samples, table_head

run, samples = read_run(sys.argv[1]), read_samples(sys.argv[1], "server")
idle = samples[0]["processes"]["server"]["pss_bytes"]
MIB = 2**20
print(f"{sys.argv[2]} shards, with their supervisor: {idle / MIB:,.0f} MiB (PSS) idle")
table_head("connections", "the missing opened in, s", "closed or dropped", "turns of two requests", "errors", "a move p50, ms", "p99, ms", "p99.9, ms", "PSS of all shards, MiB", "bytes a connection")
for part in run["load_steps"]:
    held = part["connections"]
    journey = run["phases"][part["phase"]].get("journey", {})
    move = journey.get("steps", {}).get("move", {}).get("latency_ms", {})
    late = [move.get(figure) for figure in ("p50", "p99", "p999")]
    during = [sample["processes"]["server"]["pss_bytes"] for sample in samples
              if part["start_s"] <= sample["t_s"] <= part["start_s"] + part["length_s"]]
    full = sorted(during)[len(during) // 2] if during else float("nan")
    stand = held.get("kept", 0) + held["opened"]
    each = (full - idle) / stand if stand else float("nan")
    print(f"| {stand:,} of {held['planned']:,} | {held['opening_s'] or float('nan'):.1f} | {held['closed'] + held['dropped']:,} | "
          f"{part['count']:,} | {part['errors']:,} | {' | '.join('-' if ms is None else str(ms) for ms in late)} | {full / MIB:,.0f} | {each:,.0f} |")
PYTHON
echo
verdict
