#!/usr/bin/env bash
# What the layout of bench/hunt-million.sh costs with no game in it: as many processes of a canned server as there would be shards, as many
# generator processes, the same connections and the same requests a second, two in a row. What a hunt adds is the difference to this;
# what is late here no server would be early with.
# usage: bench/hunt-floor.sh [connections] [requests a second] [seconds] [connections a second]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
connections=${1:-1000000} requests=${2:-10000} seconds=${3:-60} open=${4:-4500}
shards_for "$connections" 7200
# The kernel spreads connections over the processes by chance: some have a few hundred more than others.
shards=$(((connections + per_shard * 95 / 100 - 1) / (per_shard * 95 / 100)))

cat >"$work/floor.toml" <<TOML
format  = 1
name    = "hunt-floor"
summary = "$connections held connections to $shards processes that do nothing, $requests requests a second"

[target]
url = "http://127.0.0.1:$port"

# One address has 28,232 ports for one port of a server, and the kernel looks for a free one ever longer once the half of them is taken.
[generator]
sources = [$(seq -s, -f '"127.0.0.%.0f"' 1 $((connections / 12500 + 1)))]

[[phase]]
name     = "held"
after    = "10s"
arrivals = { hold = { connections = $connections, open_per_s = $open }, rate = $((requests / 2)), for = "${seconds}s" }
journey  = "turn"

[[journey]]
name = "turn"
[[journey.step]]
name    = "move"
request = "GET /"
expect  = 200
[[journey.step]]
name    = "dig"
request = "GET /"
expect  = 200

[gates]
"turn.errors"              = "= 0"
"held.connections.closed"  = "= 0"
"held.connections.dropped" = "= 0"
TOML

canned "$port" --processes "$shards"
trial "$work/floor.toml"
end_canned "$port"
table_head "processes" "connected" "requests" "errors" "move p50, ms" "p99, ms" "p999, ms" "dig p99, ms" "lag of the lab p99, ms"
echo "| $shards | $connections | $(cells turn.requests turn.errors turn.steps.move.latency_ms.p50 turn.steps.move.latency_ms.p99 \
    turn.steps.move.latency_ms.p999 turn.steps.dig.latency_ms.p99 generator.schedule_lag_ms.p99) |"
verdict
