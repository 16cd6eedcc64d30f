#!/usr/bin/env bash
# How many connections the rate limiter holds, and what they wait for.
#  1. One process with 5,000 and with 19,000 keep-alive connections: all of them ask all the time (50 requests each, closed
#     loop), and all of them are held while 5,000 requests a second go across them.
#  2. 25,000 and 50,000 sockets over three processes of the server, each with counts and a port of its own, and as many
#     generators: the upper levels of scenarios/limiter-saturation.toml.
#  3. Beyond: 25,000 connections that one process of 10,000 seats is asked for. It may be slow and turn people away; when they
#     have gone, it must be what it was.
# usage: bench/limiter-connections.sh [part...]     one sharded beyond; all of them without arguments
# SCALE=0.01 makes all of it a hundredth, to try the script itself.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
parts=("$@")
[ "$#" -gt 0 ] || parts=(one sharded beyond)
ulimit -n "$(ulimit -Hn)"
scaled() { python3 -c 'import math, os, sys; print(max(1, math.ceil(int(sys.argv[1]) * float(os.environ.get("SCALE", "1")))))' "$1"; }
missed=0

limiter() { # port, further arguments...
    local port=$1
    shift
    # A connection of thousands may wait for its first request for longer than the ten seconds that clients have by default.
    serve "$port" --only limiter --data "$work/limiter-$port.db" --log-level error --http-header-timeout-ms 60000 --http-idle-timeout-ms 120000 "$@"
}

# One journey, everybody is allowed; the phase is the caller's.
scenario() { # file, phase and gates as TOML
    cat >"$1" <<TOML
format  = 1
name    = "connections"
summary = "Connections to the rate limiter"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[[setup]]
request = "POST /api/v1/configure"
json    = { window_seconds = 3600, request_per_window = 1000000 }
expect  = 200

[[journey]]
name = "check"

[[journey.step]]
request = "POST /api/v1/ratelimit"
json    = { client_id = "client_{{index}}", resource = "api" }
expect  = 200
denied  = { at = "/allowed", is = false }
timeout = "60s"

$2
TOML
}

no_errors='[gates]
"check.errors"   = "= 0"
"check.denied"   = "= 0"
"check.not_sent" = "= 0"'

run() { # file, port, folder for its record
    "$gauntlet" run "$1" --quiet --out "$3" --set "port=$2" >"$3.out" 2>&1
}

row() { # what it is, folders of records...
    python3 - "$@" <<'PYTHON'
import sys
from figures import read_run

what, folders = sys.argv[1], sys.argv[2:]
runs = [run for run in map(read_run, folders) if run]
ops = [run["journeys"]["check"] for run in runs]
total = lambda name: sum(op[name] for op in ops)
# Of several generators: the worst, and the sum of what each had in its own time.
p99, longest = max(op["latency_ms"]["p99"] or 0 for op in ops), max(op["latency_ms"]["max"] or 0 for op in ops)
rate = sum(op["throughput_per_s"] or 0 for op in ops)
print(f"| {what} | {len(runs)} | {total('count'):,} | {total('errors'):,} | {rate:,.0f} | {p99:,.1f} | {longest:,.1f} |", flush=True)
sys.exit(len(runs) != len(folders))
PYTHON
}

heading() {
    table_head "connections" "servers" "requests" "errors" "req/s" "p99, ms" "longest, ms"
}

one() {
    local connections port
    heading
    for connections in "$(scaled 5000)" "$(scaled 19000)"; do
        port=$(free_port)
        limiter "$port"
        scenario "$work/asking.toml" "[[phase]]
name     = \"asking\"
arrivals = { clients = $connections, requests = 50 }
journey  = \"check\"
$no_errors"
        run "$work/asking.toml" "$port" "$work/asking-$connections" || missed=$((missed + 1))
        row "$connections, all sending" "$work/asking-$connections" || missed=$((missed + 1))
        scenario "$work/held.toml" "[[phase]]
name     = \"held\"
arrivals = { hold = { connections = $connections, open_per_s = 2000 }, rate = $(scaled 5000), for = \"20s\" }
journey  = \"check\"
$no_errors"
        run "$work/held.toml" "$port" "$work/held-$connections" || missed=$((missed + 1))
        row "$connections, held, $(scaled 5000) requests a second" "$work/held-$connections" || missed=$((missed + 1))
        echo "    server after it: $(($(rss_kib "$served") / 1024)) MiB resident" >&2
        stop_served
    done
}

sharded() {
    local level each ports server_pids port index labs folders
    heading
    for level in "$(scaled 25000)" "$(scaled 50000)"; do
        each=$(((level + 2) / 3)) ports=() server_pids=() labs=() folders=()
        scenario "$work/shard.toml" "[[phase]]
name     = \"level\"
arrivals = { clients = $each, requests = 50 }
journey  = \"check\"
$no_errors"
        for index in 0 1 2; do
            port=$(free_port)
            limiter "$port"
            ports+=("$port") server_pids+=("$served")
        done
        for index in 0 1 2; do
            folders+=("$work/shard-$level-$index")
            run "$work/shard.toml" "${ports[index]}" "$work/shard-$level-$index" &
            labs+=("$!")
            pids+=("$!")
        done
        for index in 0 1 2; do wait "${labs[index]}" || { missed=$((missed + 1)); tail -n 5 "${folders[index]}.out" >&2; }; done
        row "$level, all sending" "${folders[@]}" || missed=$((missed + 1))
        for index in 0 1 2; do kill "${server_pids[index]}"; wait "${server_pids[index]}" || true; done
    done
}

beyond() {
    local port connections seats
    port=$(free_port) connections=$(scaled 25000) seats=$(scaled 10000)
    limiter "$port" --http-connections-max "$seats" --spectators-max 0
    for name in before beyond after; do
        local clients=10 seconds=5
        [ "$name" = beyond ] && clients=$connections seconds=20
        scenario "$work/$name.toml" "[[phase]]
name     = \"$name\"
arrivals = { clients = $clients, for = \"${seconds}s\" }
journey  = \"check\"
[gates]
\"check.not_sent\" = \"= 0\""
        # Where more are asked for than there are seats, errors are expected: ten seconds are enough to wait for one.
        [ "$name" = beyond ] && sed -i 's/^timeout = "60s"/timeout = "10s"/' "$work/$name.toml"
        run "$work/$name.toml" "$port" "$work/$name" || true
    done
    heading
    row "10, before" "$work/before" || missed=$((missed + 1))
    row "$connections, of which $seats are admitted" "$work/beyond" || missed=$((missed + 1))
    row "10, after" "$work/after" || missed=$((missed + 1))
    python3 - "$work/before" "$work/beyond" "$work/after" <<'PYTHON' || missed=$((missed + 1))
import sys
from figures import read_run

runs = [read_run(folder) for folder in sys.argv[1:]]
before, beyond, after = (run["journeys"]["check"] for run in runs)
print("\nBeyond its seats: " + ("; ".join(f"{error['count']:,} {error['kind']}" for error in runs[1]["errors"]) or "no errors"))
ratio = after["throughput_per_s"] / before["throughput_per_s"]
print(f"After it: {after['errors']} errors, {ratio:.2f} of the rate before")
sys.exit(not (after["errors"] == 0 and before["errors"] == 0 and beyond["ok"] > 0 and ratio > 0.7))
PYTHON
    stop_served
}

for part in "${parts[@]}"; do
    echo
    "$part"
done
[ "$missed" -eq 0 ] || { echo "$missed of these went wrong." >&2; exit 1; }
