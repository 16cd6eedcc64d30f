#!/usr/bin/env bash
# Requests a second of three load generators, each on one core, against a canned server on another: wrk, oha, and
# `gauntlet run` with its full recording. Alternating, 64 connections, as nearly the same request bytes as their options
# allow. A run counts only if its generator took 95 % of its core or more, and the server less than that: else the
# server was measured.
# usage: bench/generators.sh [rounds] [seconds a run]
# wrk comes from Debian's package; oha is built with cargo into the target directory (OHA_BUILD_S says how long it may take).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
rounds=${1:-5} seconds=${2:-10}
connections=64
# Where the run's record has the closed loop's good answers per second.
gauntlet_rate='run["load_steps"][0]["throughput_per_s"]'

[ "$(nproc)" -ge 2 ] || { echo "This needs two cores: one for the generator, one for the server." >&2; exit 1; }
command -v wrk >/dev/null || { echo "There is no wrk: apt-get install wrk" >&2; exit 1; }

tools=${CARGO_TARGET_DIR:-$root/target}/bench-tools
generators=(wrk gauntlet)
if [ ! -x "$tools/bin/oha" ]; then
    echo "Building oha; this takes minutes, once." >&2
    CARGO_TARGET_DIR=$tools/build timeout "${OHA_BUILD_S:-1800}" \
        cargo install oha --locked --quiet --root "$tools" >&2 || echo "oha could not be built here: it is left out." >&2
fi
if [ -x "$tools/bin/oha" ]; then generators+=(oha); fi

cat >"$work/closed.toml" <<TOML
format  = 1
name    = "closed"
summary = "$connections clients in a closed loop, one request each time"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[generator]
workers = 1

[[phase]]
name     = "loop"
arrivals = { clients = $connections, for = "${seconds}s" }
journey  = "get"

[[journey]]
name = "get"

[[journey.step]]
request = "GET /"
expect  = 200
TOML

# The first request head that comes to a port, in a file. The client is answered until it leaves.
listen_once() { # port, file
    python3 - "$@" <<'PYTHON' &
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), reuse_port=True)
heads = []
def answer(client):
    data = b""
    while chunk := client.recv(65536):
        data += chunk
        while b"\r\n\r\n" in data:
            head, _, data = data.partition(b"\r\n\r\n")
            heads.append(head + b"\r\n\r\n")
            if len(heads) == 1:
                with open(sys.argv[2], "wb") as file:
                    file.write(heads[0])
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxx")
def serve(client):
    try:
        answer(client)
    except OSError:
        pass
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PYTHON
    listener=$!
    pids+=("$listener")
}

load() { # generator, port, seconds, connections: runs it on core 0
    local name=$1 port=$2 seconds=$3 connections=$4
    local out=$work/$name.out
    case "$name" in
    wrk) exec taskset -c 0 wrk -t1 "-c$connections" "-d${seconds}s" "${headers[@]}" "http://127.0.0.1:$port/" >"$out" ;;
    oha) exec taskset -c 0 "$tools/bin/oha" --no-tui --output-format json -z "${seconds}s" -c "$connections" \
        "${headers[@]}" "http://127.0.0.1:$port/" >"$out" ;;
    gauntlet) exec taskset -c 0 "$gauntlet" run "$work/closed.toml" --quiet --out "$work/runs" --set "port=$port" \
        --set "phase.loop.arrivals.clients=$connections" --set "phase.loop.arrivals.for=${seconds}s" >"$out" ;;
    esac
}

rate_of() { # generator: what its last run says
    case "$1" in
    wrk) awk '/^Requests\/sec:/ { print $2 }' "$work/wrk.out" ;;
    oha) python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["summary"]["requestsPerSec"])' "$work/oha.out" ;;
    gauntlet) python3 - "$work" "$gauntlet_rate" <<'PYTHON' ;;
import glob, json, os, sys
newest = max(glob.glob(f"{sys.argv[1]}/runs/*/run.json"), key=os.path.getmtime)
run = json.load(open(newest))
print(eval(sys.argv[2]))
PYTHON
    esac
}

# What each sends. Our own headers are given to the others, which then send nearly the same.
headers=()
for name in gauntlet wrk oha; do
    [[ " ${generators[*]} " == *" $name "* ]] || continue
    port=$(free_port)
    listen_once "$port" "$work/$name.head"
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do sleep 0.05; done
    (load "$name" "$port" 1 1)
    kill "$listener"
    if [ "$name" = gauntlet ]; then
        while IFS=: read -r key value; do headers+=(-H "$key:$value"); done \
            < <(tr -d '\r' <"$work/gauntlet.head" | sed -n '2,$p' | grep -iv '^host:' | grep . || true)
    fi
    echo "$name sends $(wc -c <"$work/$name.head") bytes a request" >&2
done

for round in $(seq "$rounds"); do
    for turn in $(seq 0 $((${#generators[@]} - 1))); do
        # Each round begins with another one.
        name=${generators[$(((turn + round) % ${#generators[@]}))]}
        port=$(free_port)
        canned "$port" --cpu 1
        (load "$name" "$port" "$seconds" "$connections") &
        generator=$!
        sleep 1.5
        read -r generator_share server_share < <(cpu_shares "$((seconds - 3))" "$generator" "$canned")
        wait "$generator"
        end_canned "$port"
        echo "$round $name $(rate_of "$name") $generator_share $server_share" | tee -a "$work/rows" >&2
    done
done

python3 - "$work/rows" <<'PYTHON'
import statistics, sys

rows = [line.split() for line in open(sys.argv[1])]
names = sorted({row[1] for row in rows}, key=["wrk", "oha", "gauntlet"].index)
rates = {(int(r[0]), r[1]): float(r[2]) for r in rows}
rounds = sorted({round for round, _ in rates})
others = [name for name in names if name != "gauntlet"]
ratio = lambda round, other: rates[round, "gauntlet"] / rates[round, other]
median = statistics.median

print("\n| round |", " | ".join(f"{n}, req/s" for n in names), "|", " | ".join(f"gauntlet / {o}" for o in others), "|")
print("|---|" + "---|" * (len(names) + len(others)))
for round in rounds:
    print(f"| {round} |", " | ".join(f"{rates[round, n]:,.0f}" for n in names), "|",
          " | ".join(f"{ratio(round, o):.3f}" for o in others), "|")
print("| median |", " | ".join(f"{median(rates[r, n] for r in rounds):,.0f}" for n in names), "|",
      " | ".join(f"{median(ratio(r, o) for r in rounds):.3f}" for o in others), "|")

share = lambda name, column: median(float(r[column]) for r in rows if r[1] == name)
print("\n| share of a core, median |", " | ".join(names), "|")
print("|---|" + "---|" * len(names))
print("| generator |", " | ".join(f"{share(n, 3):.1%}" for n in names), "|")
print("| canned server |", " | ".join(f"{share(n, 4):.1%}" for n in names), "|")
each = lambda name: median(float(r[3]) / float(r[2]) * 1e6 for r in rows if r[1] == name)
print("| generator's µs a request |", " | ".join(f"{each(n):.2f}" for n in names), "|")

failed = [f"round {r[0]}, {r[1]}: generator {float(r[3]):.1%}, server {float(r[4]):.1%}: this measured the server or the machine"
          for r in rows if float(r[3]) < 0.95 or float(r[4]) >= float(r[3])]
least = {"wrk": 0.9, "oha": 1.0}
failed += [f"gauntlet / {o} is {m:.3f}; expected more than {least[o]}"
           for o in others if (m := median(ratio(r, o) for r in rounds)) < least[o]]
print(*failed, sep="\n", file=sys.stderr)
sys.exit(bool(failed))
PYTHON
