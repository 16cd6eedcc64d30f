#!/usr/bin/env bash
# Memory of the lab: a constant 10,000 requests a second for ten minutes against a canned server. What is resident at minute
# 10 may be at most 2 MiB more than at minute 2; both are the mean of ten seconds. The figures are the lab's own, from
# timeline.jsonl.
# usage: bench/memory-lab.sh [minutes] [req/s]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
minutes=${1:-10} rate=${2:-10000}
port=$(free_port)

cat >"$work/steady.toml" <<TOML
format  = 1
name    = "steady"
summary = "A constant rate for $minutes minutes"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[[phase]]
name          = "steady"
arrivals      = { rate = $rate, for = "$((minutes * 60 + 10))s" }
in_flight_max = 1000
journey       = "get"

[[journey]]
name = "get"

[[journey.step]]
request = "GET /"
expect  = 200

[gates]
"get.errors" = "= 0"
"get.not_sent" = "= 0"
TOML

canned "$port"
"$gauntlet" run "$work/steady.toml" --quiet --out "$work/runs" --set "port=$port"
end_canned "$port"

python3 - "$work/runs" "$minutes" "$work/canned-$port.json" <<'PYTHON'
import json, sys
from figures import read_samples, table_head

MIB = 1024 * 1024
folder, minutes, canned = sys.argv[1], int(sys.argv[2]), json.load(open(sys.argv[3]))
rows = read_samples(folder)

def resident(minute):
    near = [row["processes"]["generator"]["rss_bytes"] for row in rows if abs(row["t_s"] - minute * 60) <= 5]
    return sum(near) / len(near)

table_head("minute", "resident, MiB", "above minute 2")
for minute in range(1, minutes + 1):
    print(f"| {minute} | {resident(minute) / MIB:.2f} | {(resident(minute) - resident(2)) / MIB:+.2f} |")
grown = resident(minutes) - resident(2)
print(f"\n{canned['requests']:,} requests; minute {minutes} is {grown / MIB:+.2f} MiB from minute 2 (at most +2)")
sys.exit(grown > 2 * MIB)
PYTHON
