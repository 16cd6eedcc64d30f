#!/usr/bin/env bash
# Ten searches for the edge of a server whose capacity is known by arithmetic: c servers behind one queue, each of which
# takes s for a request, so c/s is all that it can do. Overload is a growing backlog, arrivals are even. Every edge must be
# found within 5 %. The capacities differ, so that nothing can be tuned to one of them.
# usage: bench/edge.sh [runs]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
runs=${1:-10}
within=0.05
# Where the run's record has the edge that was found, in arrivals per second.
edge_of='run["capacity"]["search"]["edge"]["edge_per_s"]'
# Servers and milliseconds: 150 to 1,600 a second.
capacities=("3 20" "1 5" "4 10" "8 12.5" "2 2" "16 20" "5 7" "12 9" "1 1" "40 33")

cat >"$work/edge.toml" <<'TOML'
format  = 1
name    = "edge"
summary = "The highest rate at which no backlog grows"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[[phase]]
name     = "search"
arrivals = { edge = { from = 40, to = 5000, level = "3s", hold = "10s", precision = 0.02, overload = { backlog = true } } }
in_flight_max = 20000
journey  = "get"

[[journey]]
name = "get"

[[journey.step]]
request = "GET /"
expect  = 200
timeout = "60s"
TOML

table_head "servers" "service" "capacity c/s, req/s" "edge found" "error" "took" "late responses of the server"
missed=0
for run in $(seq 0 $((runs - 1))); do
    read -r servers service_ms <<<"${capacities[$((run % ${#capacities[@]}))]}"
    port=$(free_port)
    canned "$port" --servers "$servers" --service-ms "$service_ms"
    "$gauntlet" run "$work/edge.toml" --quiet --out "$work/runs-$run" --set "port=$port" --seed "$((run + 1))" >"$work/edge.out"
    end_canned "$port"
    python3 - "$work/runs-$run" "$edge_of" "$servers" "$service_ms" "$work/canned-$port.json" "$within" <<'PYTHON' || missed=$((missed + 1))
import json, sys
from figures import read_run

folder, edge_of, servers, service_ms, canned, within = sys.argv[1:]
run, canned = read_run(folder), json.load(open(canned))
capacity, edge = int(servers) / float(service_ms) * 1000, eval(edge_of)
error = edge / capacity - 1 if edge is not None else None
found, error_text = ("none", "-") if edge is None else (f"{edge:,.1f}", f"{error:+.1%}")
print(f"| {servers} | {service_ms} ms | {capacity:,.1f} | {found} | {error_text} | {run['duration_s']:.0f} s "
      f"| {canned['late_answers']} of {canned['requests']:,}, at most {canned['late_ms_max']:.2f} ms |", flush=True)
sys.exit(edge is None or abs(error) > float(within))
PYTHON
done
echo
echo "$((runs - missed)) of $runs within 5 %"
[ "$missed" -eq 0 ]
