#!/usr/bin/env bash
# Hunters connected at once over as many shards and generator processes as the file limit makes necessary, and moves and digs over
# them, no views. Memory is what all shards have to themselves and their part of what they share (PSS), before the first
# connection and with all of them; what the kernel keeps for sockets is in no PSS, and stands beside it.
# Settings of the kernel that would stop it short are raised where that is allowed, and named where it is not.
# usage: bench/hunt-million.sh [connections] [requests a second] [seconds] [connections a second]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
connections=${1:-1000000} requests=${2:-10000} seconds=${3:-60} open=${4:-5000}
# Questions of keepalive at 300 s go out in bursts of sixteen seconds (docs/world.md, "Very many connections").
keepalive_s=300
shards_for "$connections" "$keepalive_s"

cat >"$work/million.toml" <<TOML
format  = 1
name    = "hunt-million"
summary = "$connections hunters at once over $shards shards, $requests moves and digs a second"

[target]
url = "http://127.0.0.1:$port"

[target.socket]
url     = "tcp://127.0.0.1:$((port + 1))-$((port + shards))"
proto   = ["world.proto", "hunt.proto"]
send    = "gauntlet.world.v1.ClientFrame"
receive = "gauntlet.world.v1.ServerFrame"
error   = "/error"

[pick]
steps = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"]

[[phase]]
name     = "hunters"
after    = "10s"
arrivals = { hold = { connections = $connections, open_per_s = $open }, rate = $((requests / 2)), for = "${seconds}s" }
opening  = "enter"
journey  = "turn"

[[journey]]
name = "enter"
[[journey.step]]
send   = { hello = { version = 1 } }
answer = "/welcome"
[[journey.step]]
send   = { register = { world = "hunt" } }
answer = "/registered"

[[journey]]
name = "turn"
[[journey.step]]
send   = { move = { seq = "{{nth}}", step = "{{pick.steps}}" } }
answer = ["/moved", { at = "/refused/code", is = "blocked" }, { at = "/refused/code", is = "bounds" }]
denied = "/refused"
[[journey.step]]
send   = { dig = { seq = "{{nth}}" } }
answer = ["/dug", { at = "/refused/code", is = "nothing_here" }, { at = "/refused/code", is = "taken" }, { at = "/refused/code", is = "round_over" }]
denied = "/refused"

[gates]
"enter.errors"                   = "= 0"
"enter.ok"                       = "= $connections"
"turn.errors"                    = "= 0"
"turn.denied"                    = "= 0"
"turn.steps.move.latency_ms.p99" = "< 14.2"
TOML
cp "$root/crates/wire/proto/world.proto" "$root/crates/wire/proto/hunt.proto" "$work"

"$gauntlet" serve --port "$port" --shards "$shards" --data "$work/hunt.db" --threads 1 --http-connections-max "$((per_shard + 500))" --worlds-keepalive-ms "$((keepalive_s * 1000))" --log-level warn >"$work/server.log" 2>&1 &
supervisor=$!
pids+=("$supervisor")
for shard in $(seq "$shards"); do wait_ready "http://127.0.0.1:$((port + shard))/readyz"; done

python3 - "$supervisor" "$work/memory.json" <<'PYTHON' &
import json, os, sys, time

supervisor, path = int(sys.argv[1]), sys.argv[2]

def shards():
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == supervisor:
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found

def pss_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))

def kernel():
    words = open("/proc/net/sockstat").read().split()
    slab = next(int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if line.startswith("Slab:"))
    return int(words[words.index("mem") + 1]) * 4096, slab

def open_files(pid):
    # Since Linux 6.2 the size of the directory. To list it makes an inode for each file: of a million, that is a core for seconds.
    return os.stat(f"/proc/{pid}/fd").st_size

def cores_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

looks = []
while os.path.exists(f"/proc/{supervisor}"):
    try:
        pids = shards()
        files = sum(map(open_files, pids))
        looks.append([time.time(), len(pids), files, sum(map(pss_bytes, pids)), *kernel(), sum(map(cores_s, pids))])
    except (FileNotFoundError, ProcessLookupError, StopIteration):
        continue
    with open(path + ".new", "w") as file:
        json.dump(looks, file)
    os.replace(path + ".new", path)
    time.sleep(5)
PYTHON
pids+=("$!")
sleep 3
trial "$work/million.toml"
table_head "shards" "connected" "requests" "errors" "move p50, ms" "p99, ms" "p999, ms" "dig p99, ms" "lag of the lab p99, ms"
echo "| $shards | $(cells enter.ok turn.requests turn.errors turn.steps.move.latency_ms.p50 turn.steps.move.latency_ms.p99 \
    turn.steps.move.latency_ms.p999 turn.steps.dig.latency_ms.p99 generator.schedule_lag_ms.p99) |"
echo
python3 - "$work/memory.json" "$connections" <<'PYTHON'
import json, sys
from figures import table_head

looks, wanted = json.load(open(sys.argv[1])), int(sys.argv[2])
_, shards, files, idle, kernel_idle, slab_idle, _ = looks[0]
most = max(look[2] for look in looks)
looks = [look for look in looks if look[2] >= most * 0.99]
full = looks[len(looks) // 2]
held = full[2] - files
MIB = 2**20
table_head("", "shards", "PSS of all, MiB", "bytes a connection", "TCP buffers, MiB", "kernel's slabs, MiB")
print(f"| idle | {shards} | {idle / MIB:,.0f} | | {kernel_idle / MIB:,.0f} | {slab_idle / MIB:,.0f} |")
each = f"{(full[3] - idle) / held:,.0f}" if held else "-"
print(f"| {held:,} connected | {full[1]} | {full[3] / MIB:,.0f} | {each} | {full[4] / MIB:,.0f} | {full[5] / MIB:,.0f} |")
if len(looks) > 1:
    cores = (looks[-1][6] - looks[0][6]) / (looks[-1][0] - looks[0][0])
    print(f"\nAll shards together took {cores:.2f} of a core while everybody was connected.")
if held < wanted * 0.99:
    print(f"\nIt stopped at {held:,} of {wanted:,}: see the errors below.")
PYTHON
verdict
