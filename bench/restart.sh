#!/usr/bin/env bash
# Three nodes on PostgreSQL behind HAProxy, which repeats nothing, and clients who request all the time: each node in its turn is told to leave (SIGTERM), ends after its drain delay, and is
# started again. Clients read, make guests, talk at tables and wait there in polls. Held: every request got the response that it must get, every acknowledged line is in its table's feed,
# and each node ended in order. Then the same without a delay, for comparison: what that costs is printed, not judged.
# usage: bench/restart.sh [clients] [drain delay, ms: at least 1000]
# Ends with 0: held, 1: not held, 77: there is no HAProxy or no PostgreSQL here.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
clients=${1:-24} delay_ms=${2:-3000}
[ "$delay_ms" -ge 1000 ] || { echo "HAProxy needs half a second to notice: a delay of at least 1000 ms." >&2; exit 1; }
command -v haproxy >/dev/null || { echo "There is no haproxy: apt-get install haproxy." >&2; exit 77; }
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "There is no PostgreSQL: apt-get install postgresql." >&2; exit 77; }

postgres
nodes=() ports=()
start_node() { # number, delay
    serve "${ports[$1]}" --store-url "$postgres" --drain-delay-ms "$2" --http-trusted-proxies 127.0.0.1 --log-level error
    nodes[$1]=$served
}

restart_each() { # delay of the nodes that are started; round: figures in $work/figures-ROUND.json
    local number
    python3 "$root/bench/restart.py" "$FRONT" "$clients" "$work/stop-$2" "$work/figures-$2.json" &
    local load=$!
    pids+=("$load")
    sleep 5
    for number in 0 1 2; do
        kill -TERM "${nodes[$number]}"
        wait "${nodes[$number]}" || { echo "Node $((number + 1)) did not end in order." >&2; return 1; }
        start_node "$number" "$1"
        # Until the balancer has seen it twice.
        sleep 3
    done
    touch "$work/stop-$2"
    wait "$load"
}

for number in 0 1 2; do
    ports[$number]=$(free_port)
    start_node "$number" "$delay_ms"
done
FRONT=$(free_port) NODE_1=${ports[0]} NODE_2=${ports[1]} NODE_3=${ports[2]}
export FRONT NODE_1 NODE_2 NODE_3
haproxy -db -f "$root/bench/peers/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
pids+=("$!")
wait_ready "http://127.0.0.1:$FRONT/readyz"

restart_each "$delay_ms" delayed
for number in 0 1 2; do
    kill -TERM "${nodes[$number]}"
    wait "${nodes[$number]}"
    start_node "$number" 0
done
sleep 3
restart_each 0 at-once
python3 - "$work/figures-delayed.json" "$work/figures-at-once.json" "$delay_ms" <<'PYTHON'
import json, sys
from figures import table_head

with_delay, without = (json.load(open(path)) for path in sys.argv[1:3])
table_head("drain delay, ms", "requests", "failed", "which", "slowest, s")
for delay, figures in ((sys.argv[3], with_delay), ("0", without)):
    which = ", ".join(f"{count} × {what}" for what, count in sorted(figures["failures"].items())) or "none"
    print(f"| {delay} | {sum(figures['requests'].values()):,} | {sum(figures['failures'].values())} | {which} | {figures['slowest_s']} |")
print("Requests with the delay: " + ", ".join(f"{count:,} {what}" for what, count in sorted(with_delay["requests"].items())))
sys.exit(bool(with_delay["failures"]) or min(with_delay["requests"].values()) < 10)
PYTHON
