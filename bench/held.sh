#!/usr/bin/env bash
# Held connections: 100,000 at once, over as many generator processes as are needed, to as many processes of a canned server.
# Memory of the generator per connection is what its processes have to themselves and their part of what they share (PSS in
# /proc/PID/smaps_rollup), less the same before the first connection, divided by the connections: this script reads both
# itself. What the kernel keeps for a socket is in no PSS.
# usage: bench/held.sh [connections] [seconds to hold]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
connections=${1:-100000} hold=${2:-50}
per_process=12500 open_per_s=5000
port=$(free_port)

# A process of the server needs a file for each connection.
files=$(ulimit -Hn)
ulimit -n "$files"
[ "$files" = unlimited ] || [ "$files" -gt $((per_process + 500)) ] || per_process=$((files - 500))

cat >"$work/held.toml" <<TOML
format  = 1
name    = "held"
summary = "$connections connections, held"

[vars]
port = 1

[target]
url = "http://127.0.0.1:{{port}}"

[[phase]]
name     = "hold"
after    = "5s"
arrivals = { hold = { connections = $connections, open_per_s = $open_per_s }, for = "${hold}s" }
journey  = "get"

[[journey]]
name = "get"

[[journey.step]]
request = "GET /"
expect  = 200

[gates]
"get.errors"               = "= 0"
"hold.connections.closed"  = "= 0"
"hold.connections.dropped" = "= 0"
TOML

canned "$port" --processes $(((connections + per_process - 1) / per_process))
"$gauntlet" run "$work/held.toml" --quiet --out "$work/runs" --set "port=$port" >"$work/held.out" &
lab=$!
pids+=("$lab")

python3 - "$lab" "$connections" <<'PYTHON' || { cat "$work/held.out" >&2; exit 1; }
import os, statistics, sys, time
from figures import table_head

lab, connections = int(sys.argv[1]), int(sys.argv[2])

def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

def family():
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                parents[int(name)] = parent_of(name)
            except (FileNotFoundError, ProcessLookupError):
                pass
    found = {lab} & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found

def pss_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))

def sample():
    pids = family()
    files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    return len(pids), files, sum(map(pss_bytes, pids))

samples = []
while os.path.exists(f"/proc/{lab}"):
    try:
        samples.append(sample())
    except (FileNotFoundError, ProcessLookupError, StopIteration):
        pass
    # A process that has ended and is not waited for has no files.
    if samples and samples[-1][0] == 0 or os.popen(f"ps -o stat= -p {lab}").read().startswith("Z"):
        break
    time.sleep(0.5)

processes = max(count for count, _, _ in samples)
opened = [index for index, (_, files, _) in enumerate(samples) if files > connections * 0.01]
if not opened:
    sys.exit("no connections were seen")
# The last look before the first connections, at all processes.
before = [s for s in samples[: opened[0]] if s[0] == processes] or sys.exit("the generator's processes start with their connections: no baseline")
_, files_before, pss_before = before[-1]
full = [s for s in samples if s[1] - files_before >= connections * 0.99]
if not full:
    sys.exit(f"at most {max(s[1] for s in samples) - files_before:,} connections were held at once: "
             "more seconds to hold may help, where the machine opens them slowly")
held = int(statistics.median(files for _, files, _ in full)) - files_before
pss = statistics.median(pss for _, _, pss in full)
each = (pss - pss_before) / held
MIB = 1024 * 1024
table_head("generator processes", "held connections", "PSS before, MiB", "PSS with them, MiB", "bytes a connection")
print(f"| {processes} | {held:,} | {pss_before / MIB:.1f} | {pss / MIB:.1f} | {each:,.0f} |")
sys.exit(each >= 2048)
PYTHON
wait "$lab"
end_canned "$port"
cat "$work/canned-$port.json"
