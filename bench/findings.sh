#!/usr/bin/env bash
# Does the lab name what broke? Plants six faults into a load that the server carries easily (bench/findings.toml), each
# in a run of its own, and the same load without any. The first finding of each run must be the planted fault, and the
# healthy run must have none. About seven minutes; needs strace, and cgroups for the memory cap.
# usage: bench/findings.sh [plant...]     healthy pool disk workers memory limiter bot; all of them without arguments
set -euo pipefail
source "$(dirname "$0")/lib.sh"
scenario=$root/bench/findings.toml
missed=0

# name, the code that must come first (none: no finding at all), further arguments of `gauntlet run`...
plant() {
    local name=$1 expected=$2
    shift 2
    # A gate may fail: what counts here is what the run says about it.
    "$gauntlet" run "$@" --quiet --out "$work/$name" >"$work/$name.out" 2>&1 || true
    python3 - "$work/$name" "$name" "$expected" <<'PYTHON' || { missed=$((missed + 1)); tail -n 5 "$work/$name.out" >&2; }
import sys
from figures import read_run

folder, name, expected = sys.argv[1:]
run = read_run(folder)
if run is None:
    print(f"| {name} | {expected} | the trial could not run | | |", flush=True)
    sys.exit(1)
codes = [finding["code"] for finding in run["findings"]]
first = codes[0] if codes else "none"
sentence = run["findings"][0]["sentence"] if codes else ""
right = first == expected
print(f"| {name} | {expected} | {first} | {', '.join(codes[1:]) or '-'} | {sentence} |", flush=True)
sys.exit(0 if right else 1)
PYTHON
}

# The server as it is.
healthy() { plant healthy none "$scenario"; }

# One connection to the store for fifty readers.
pool() {
    GAUNTLET_STORE_CONNECTIONS=1 plant pool pool_starved "$scenario" \
        --set 'phase.browse={ name = "browse", arrivals = { clients = 50, for = "15s" }, journey = "browse" }'
}

# Every sync of the server's takes 20 ms longer.
disk() {
    command -v strace >/dev/null || { echo "strace is not there: install Debian's package." >&2; exit 1; }
    cat >"$work/slow-disk" <<SH
#!/bin/sh
exec strace -f -o /dev/null -e trace=fdatasync,fsync -e inject=fdatasync,fsync:delay_exit=20000 "$gauntlet" "\$@"
SH
    chmod +x "$work/slow-disk"
    plant disk store_slow "$scenario" --set "server=$work/slow-disk"
}

# Three games at once, where five begin a second and each takes two.
workers() {
    GAUNTLET_MATCHES_CLAIM_SIZE=3 GAUNTLET_MATCHES_AT_ONCE=3 plant workers queue_behind "$scenario"
}

# Memory for a few hundred games, and bots that make thousands last.
memory() {
    plant memory memory_cap "$scenario" --set 'target.limits={ memory = "40MiB" }' --set create_rate=200 --set seconds=20 \
        --set think_ms=1900 --set timeout_ms=5000
}

# A service that lets 20 requests a second pass. Ours has no limit of its own, so a stub stands for it.
limiter() {
    local port
    port=$(free_port)
    cat >"$work/limiter.py" <<'PYTHON'
import http.server, sys, threading, time

RATE = 20
lock, left, since = threading.Lock(), float(RATE), time.monotonic()

def passes():
    global left, since
    with lock:
        now = time.monotonic()
        left, since = min(RATE, left + (now - since) * RATE), now
        if left < 1:
            return False
        left -= 1
        return True

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200 if passes() else 429)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
PYTHON
    cat >"$work/limiter.toml" <<'TOML'
format  = 1
name    = "limiter"
summary = "A rate that the service lets pass, and then five times as much"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[[phase]]
name          = "little"
arrivals      = { rate = 10, for = "8s" }
in_flight_max = 50
journey       = "get"

[[phase]]
name          = "much"
arrivals      = { rate = 100, for = "15s" }
in_flight_max = 50
journey       = "get"

[[journey]]
name = "get"

[[journey.step]]
request = "GET /"
expect  = 200
denied  = [429]
TOML
    python3 "$work/limiter.py" "$port" &
    pids+=("$!")
    wait_ready "http://127.0.0.1:$port/"
    plant limiter limiter_rejects "$work/limiter.toml" --set "port=$port"
}

# Bots that think for longer than the server waits.
bot() { plant bot dependency_slow "$scenario" --set think_ms=600 --set create_rate=20; }

table_head "planted" "expected" "first finding" "others" "sentence"
for names in "${@:-healthy pool disk workers memory limiter bot}"; do
    for name in $names; do "$name"; done
done
[ "$missed" -eq 0 ]
