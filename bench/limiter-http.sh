#!/usr/bin/env bash
# How much of a bare HTTP server's rate is left when each request is decided: `POST /api/v1/ratelimit` beside bench/echo, a
# hyper server that parses the same JSON and decides nothing, and beside the HTTP of throttlecrab-server. wrk on one core with
# 64 connections, the server on another; alternating, each run on a fresh server. 1,000,000 keys in a scattered order: half of
# them have used up their limit of one before, so that half of the answers are denials.
# usage: bench/limiter-http.sh [rounds] [seconds a run]     KEYS=100000 makes it shorter, to try the script itself
# wrk comes from Debian's package; throttlecrab-server is built with cargo into the target directory, once, and needs Debian's
# protobuf-compiler. Where it cannot be built it is left out.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
rounds=${1:-5} seconds=${2:-7}
connections=64 keys=${KEYS:-1000000}

[ "$(nproc)" -ge 2 ] || { echo "This needs two cores: one for wrk, one for the server." >&2; exit 1; }
command -v wrk >/dev/null || { echo "There is no wrk: apt-get install wrk" >&2; exit 1; }

servers=(echo gauntlet)
tools=${CARGO_TARGET_DIR:-$root/target}/bench-tools
if [ ! -x "$tools/bin/throttlecrab-server" ]; then
    echo "Building throttlecrab-server; this takes minutes, once." >&2
    CARGO_TARGET_DIR=$tools/build timeout "${THROTTLECRAB_BUILD_S:-1800}" \
        cargo install throttlecrab-server --version '~0.4' --locked --quiet --root "$tools" >&2 ||
        echo "throttlecrab-server could not be built here (is protobuf-compiler installed?): it is left out." >&2
fi
if [ -x "$tools/bin/throttlecrab-server" ]; then servers+=(throttlecrab); fi
echo_server=$(bench_program echo)

# What wrk sends. FILL: every second key once, and then no more. Otherwise all keys, each once, far from its neighbours.
cat >"$work/keys.lua" <<'LUA'
local keys, stride = tonumber(os.getenv("KEYS")), 618033 -- which has no divisor in common with the keys
local fill, path, body = os.getenv("FILL") == "1", os.getenv("REQUEST_PATH"), os.getenv("REQUEST_BODY")
local length = #string.format(body, 0)
local head = "POST " .. path .. " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " .. length .. "\r\n\r\n"
local form, at = head .. body, 0
function request()
    local key = at * stride % keys
    if fill then
        key = at * 2 % keys
        if at >= keys / 2 then wrk.thread:stop() end
    end
    at = at + 1
    return string.format(form, key)
end
LUA

start() { # server, port; the process id is in $server
    local name=$1 port=$2
    case "$name" in
    echo) taskset -c 1 "$echo_server" --port "$port" >"$work/echo.out" & ;;
    gauntlet) taskset -c 1 "$gauntlet" serve --only limiter --port "$port" --data "$work/limiter-$port.db" --log-level warn \
        >"$work/gauntlet.out" 2>&1 & ;;
    throttlecrab) taskset -c 1 "$tools/bin/throttlecrab-server" --http --http-host 127.0.0.1 --http-port "$port" \
        --store-capacity "$((2 * keys))" --log-level error >"$work/throttlecrab.out" 2>&1 & ;;
    esac
    server=$!
    pids+=("$server")
    case "$name" in
    echo) wait_ready "http://127.0.0.1:$port/" ;;
    gauntlet) wait_ready "http://127.0.0.1:$port/readyz" ;;
    throttlecrab) wait_ready "http://127.0.0.1:$port/health" ;;
    esac
    # One unit for each key, for longer than this measures.
    if [ "$name" = gauntlet ]; then
        curl -fsS -o /dev/null "http://127.0.0.1:$port/api/v1/configure" -H 'Content-Type: application/json' \
            -d '{"window_seconds": 36000, "request_per_window": 1}'
    fi
}

load() { # server, port, seconds, FILL: wrk on core 0
    local name=$1 port=$2 path=/api/v1/ratelimit body='{"client_id":"client-%09d","resource":"api"}'
    if [ "$name" = throttlecrab ]; then
        # With a burst of 1 it allows everything.
        path=/throttle body='{"key":"client-%09d","max_burst":2,"count_per_period":1,"period":36000,"quantity":2}'
    fi
    KEYS=$keys FILL=$4 REQUEST_PATH=$path REQUEST_BODY=$body \
        exec taskset -c 0 wrk -t1 "-c$connections" "-d${3}s" -s "$work/keys.lua" "http://127.0.0.1:$port"
}

allowed() { # server, port: decisions so far: allowed, denied
    case "$1" in
    echo) echo "0 0" ;;
    gauntlet) curl -fsS "http://127.0.0.1:$2/metrics" | awk '
        /^gauntlet_limiter_decisions_total\{/ && /policy="reference"/ { if (/outcome="allowed"/) a += $NF; else d += $NF }
        END { print a + 0, d + 0 }' ;;
    throttlecrab) curl -fsS "http://127.0.0.1:$2/metrics" | awk '
        /^throttlecrab_requests_allowed / { a = $NF } /^throttlecrab_requests_denied / { d = $NF } END { print a + 0, d + 0 }' ;;
    esac
}

# wrk sleeps its time out even when its thread has stopped, so it is ended when the server has no more to decide. What was under
# way when the thread stopped is lost: some tens of keys.
fill() { # server, port
    local filler decided=0 before=-1
    (load "$1" "$2" 120 1) >"$work/fill.out" &
    filler=$!
    while [ "$decided" -lt "$((keys * 49 / 100))" ] || [ "$decided" -ne "$before" ]; do
        kill -0 "$filler" || { echo "wrk ended before it had sent all keys to $1: $work/fill.out" >&2; exit 1; }
        sleep 0.5
        before=$decided
        decided=$(allowed "$1" "$2" | awk '{ print $1 + $2 }')
    done
    kill "$filler"
    wait "$filler" || true
}

for round in $(seq "$rounds"); do
    for turn in $(seq 0 $((${#servers[@]} - 1))); do
        # Each round begins with another one.
        name=${servers[$(((turn + round) % ${#servers[@]}))]}
        port=$(free_port)
        start "$name" "$port"
        [ "$name" = echo ] || fill "$name" "$port"
        read -r allowed_before denied_before < <(allowed "$name" "$port")
        (load "$name" "$port" "$seconds" 0) >"$work/wrk.out" &
        generator=$!
        sleep 1
        read -r generator_share server_share < <(cpu_shares "$((seconds - 2))" "$generator" "$server")
        wait "$generator"
        read -r allowed_after denied_after < <(allowed "$name" "$port")
        kill "$server"
        wait "$server" || true
        echo "$round $name $(awk '/^Requests\/sec:/ { print $2 }' "$work/wrk.out") $generator_share $server_share" \
            "$((allowed_after - allowed_before)) $((denied_after - denied_before))" \
            "$(awk '/requests in/ { print $1 }' "$work/wrk.out")" "$(grep -cE 'Socket errors|Non-2xx' "$work/wrk.out" || true)" |
            tee -a "$work/rows" >&2
    done
done

python3 - "$work/rows" "$keys" <<'PYTHON'
import statistics, sys

rows, keys = [line.split() for line in open(sys.argv[1])], int(sys.argv[2])
names = sorted({row[1] for row in rows}, key=["echo", "throttlecrab", "gauntlet"].index)
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

of = lambda name, column: [float(r[column]) for r in rows if r[1] == name]
print("\n| median |", " | ".join(names), "|")
print("|---|" + "---|" * len(names))
print("| wrk's share of a core |", " | ".join(f"{median(of(n, 3)):.1%}" for n in names), "|")
print("| the server's |", " | ".join(f"{median(of(n, 4)):.1%}" for n in names), "|")
print("| server's µs a request |", " | ".join(f"{median(s / r * 1e6 for s, r in zip(of(n, 4), of(n, 2))):.2f}" for n in names), "|")
print("| allowed |", " | ".join("-" if n == "echo" else f"{sum(of(n, 5)) / max(1, sum(of(n, 5)) + sum(of(n, 6))):.1%}" for n in names), "|")

failed = [f"round {r[0]}, {r[1]}: wrk met errors" for r in rows if int(r[8])]
failed += [f"round {r[0]}, {r[1]}: {int(r[7]):,} requests are more than there are keys: give it fewer seconds" for r in rows if r[1] != "echo" and int(r[7]) > keys]
failed += [f"round {r[0]}, {r[1]}: the server had {float(r[4]):.1%} of its core: this measured wrk or the machine" for r in rows if float(r[4]) < 0.9]
for r in rows:
    a, d = int(r[5]), int(r[6])
    if r[1] != "echo" and not 0.45 <= a / max(1, a + d) <= 0.55:
        failed.append(f"round {r[0]}, {r[1]}: {a:,} of {a + d:,} were allowed; expected half")
least = {"echo": 0.9, "throttlecrab": 1.0}
failed += [f"gauntlet / {o} is {m:.3f}; expected {least[o]} or more" for o in others if (m := median(ratio(r, o) for r in rounds)) < least[o]]
print(*failed, sep="\n", file=sys.stderr)
sys.exit(bool(failed))
PYTHON
