#!/usr/bin/env bash
# Where arriving users of Stories meet the edge: the trial stories-arrivals at one rate after the other, each on a server of its own.
# One process may hold 19,000 connections at 20,000 open files, and a user holds one for eight seconds: 2,250 a second end there anyway.
# usage: bench/stories-edge.sh [seconds] [users a second]...
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-40}
shift || true
[ $# -gt 0 ] || set -- 1000 1200 1400 1600 1800 2000

table_head "users/s" "users" "errors" "not sent" "enter p99, ms" "create p99" "state p99" "list p99" "create p50" "lag of the lab p99" "server, processor s" "lab, processor s"
for rate in "$@"; do
    trial stories-arrivals --set "rate=$rate" --set "seconds=$seconds" --set quiet=20s
    p99() { echo "user.steps.$1.latency_ms.p99"; }
    echo "| $rate | $(cells user.ok user.errors generator.not_sent "$(p99 enter)" "$(p99 create)" "$(p99 state)" "$(p99 list)" \
        user.steps.create.latency_ms.p50 generator.schedule_lag_ms.p99 server.cpu_s generator.cpu_s) |"
    verdict | sed 's/^/    /' >&2
done
