#!/usr/bin/env bash
# Viewers over WebSockets, spread over the map: each moves once a second and is shown its surroundings five times a second.
# Own moves from the moment for which they were intended; updates from the oldest change in them to the frame at the viewer.
# usage: bench/world-viewers.sh [viewers] [seconds] [cells to each side] [updates a second]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
viewers=${1:-15000} seconds=${2:-60} radius=${3:-8} updates=${4:-5}
open=1000
trial world-viewers --set "viewers=$viewers" --set "open=$open" --set "radius=$radius" --set "updates=$updates" \
    --set "length=${seconds}s"
table_head "viewers" "moves" "errors" "own move p50, ms" "p99, ms" "update p50, ms" "p99, ms" "frames/s" "bytes/s" "server CPU, s"
echo "| $(cells enter.ok move.ok move.errors move.latency_ms.p50 move.latency_ms.p99 push.view.delay_ms.p50 \
    push.view.delay_ms.p99 push.view.frames_per_s push.view.bytes_per_s server.cpu_s) |"
verdict
