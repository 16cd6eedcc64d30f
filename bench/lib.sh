# Shared by the scripts beside it: start and stop what a measurement needs, and nothing else on this machine.
# Meant to be sourced with `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
gauntlet=${GAUNTLET:-${CARGO_TARGET_DIR:-$root/target}/release/gauntlet}
work=$(mktemp -d)
pids=()

[ -x "$gauntlet" ] || { echo "There is no $gauntlet: run make build first." >&2; exit 77; }

# Whether this is a process of ours still: the id of one that ended may be another program's by now.
is_ours() { awk -v us=$$ '/^PPid:/ { exit $2 != us }' "/proc/$1/status" 2>/dev/null; }

stop_all() {
    for pid in "${pids[@]}"; do ! is_ours "$pid" || kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    if [ "${KEEP:-}" = "" ]; then rm -rf "$work"; else echo "Kept: $work" >&2; fi
}

# A measurement ends with 0, 1 or 77: what a command that failed ended with is no verdict.
end_with() { # status
    case "$1" in 0 | 77) exit "$1" ;; *) exit 1 ;; esac
}
trap 'status=$?; stop_all; end_with "$status"' EXIT

# The Python parts of the scripts import figures.py.
export PYTHONPATH=$root/bench PYTHONDONTWRITEBYTECODE=1

# The head of a table in Markdown.
table_head() { # columns...
    printf '| %s ' "$@"
    printf '|\n'
    printf -- '|---%.0s' "$@"
    printf '|\n'
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The token of this measurement: an admin of every server that it starts.
GAUNTLET_BOOTSTRAP_TOKEN=$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')
GAUNTLET_TOKEN=$GAUNTLET_BOOTSTRAP_TOKEN
export GAUNTLET_BOOTSTRAP_TOKEN GAUNTLET_TOKEN

wait_ready() { # url: until it answers 200, at most 20 s
    for _ in $(seq 200); do
        curl -fsS -o /dev/null "$1" 2>/dev/null && return
        sleep 0.1
    done
    echo "$1 did not become ready." >&2
    return 1
}

serve() { # port, further arguments...; the process id is in $served
    local port=$1
    shift
    "$gauntlet" serve --port "$port" --allow-private-bots "$@" >>"$work/server-$port.log" 2>&1 &
    served=$!
    pids+=("$served")
    wait_ready "http://127.0.0.1:$port/readyz"
}

stop_served() {
    kill "$served"
    wait "$served" 2>/dev/null || true
}

# A request to the server at $port as its admin.
api() { # method, path, JSON
    curl -fsS -X "$1" -H "Authorization: Bearer $GAUNTLET_TOKEN" -H 'Content-Type: application/json' \
        "http://127.0.0.1:$port$2" ${3:+--data-binary "$3"}
}

json_field() { # name: a member of the JSON object on standard input
    python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

metric() { # name: a metric without labels of the server at $port
    curl -fsS "http://127.0.0.1:$port/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

wait_actors() { # actors: until so many move at the server at $port, at most 60 s
    local moving
    for _ in $(seq 120); do
        moving=$(metric gauntlet_world_actors_moving)
        [ "${moving%.*}" -ge "$1" ] && return
        sleep 0.5
    done
}

bots() { # port, further arguments...
    local port=$1
    shift
    "$gauntlet" bots --port "$port" "$@" >>"$work/bots-$port.log" 2>&1 &
    pids+=("$!")
    wait_ready "http://127.0.0.1:$port/healthz"
}

# A PostgreSQL of its own from Debian's package, with the durability of its defaults; its address is in $postgres, its process in $postgres_pid.
postgres() {
    local bin port as_user=()
    bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1)")
    # It refuses to run as root; the package made a user for it.
    [ "$(id -u)" -ne 0 ] || { chown postgres "$work"; chmod 755 "$work"; as_user=(setpriv --reuid postgres --regid postgres --clear-groups); }
    port=$(free_port)
    "${as_user[@]}" "$bin/initdb" -D "$work/pg" -U gauntlet --auth trust >/dev/null
    "${as_user[@]}" "$bin/postgres" -D "$work/pg" -h 127.0.0.1 -p "$port" -k "$work" >"$work/pg.log" 2>&1 &
    postgres_pid=$!
    pids+=("$postgres_pid")
    for _ in $(seq 100); do "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" && break; sleep 0.1; done
    "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" || { echo "PostgreSQL did not become ready:" >&2; tail "$work/pg.log" >&2; return 1; }
    postgres="postgres://gauntlet@127.0.0.1:$port/postgres"
}

rss_kib() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }

# A program of bench/, built on demand; prints where it is.
bench_program() { # name
    local program=${CARGO_TARGET_DIR:-$root/target}/release/$1
    [ -x "$program" ] || (cd "$root" && cargo build --quiet --release --locked -p "$1") >&2
    echo "$program"
}

# A server that costs less than what is measured against it: what it says at its end is in $work/canned-PORT.json.
canned() { # port, further arguments...; the process id is in $canned
    local port=$1 program
    shift
    program=$(bench_program canned)
    "$program" --port "$port" "$@" >"$work/canned-$port.out" &
    canned=$!
    pids+=("$canned")
    wait_ready "http://127.0.0.1:$port/"
}

end_canned() { # port: ends the one in $canned; its last line is JSON
    kill "$canned"
    wait "$canned" || true
    tail -n 1 "$work/canned-$1.out" >"$work/canned-$1.json"
}

# Shares of one core that processes take over a time, each with the processes that it started. Fields 14 and 15 of
# /proc/PID/stat are user and system time in ticks; a name in brackets stands before them and may hold anything.
cpu_shares() { # seconds, process ids...
    python3 - "$@" <<'PYTHON'
import os, sys, time

def stat(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])

def ticks(root):
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found[int(name)] = stat(name)
            except (FileNotFoundError, ProcessLookupError):
                pass
    family = {root}
    while True:
        more = {pid for pid, (parent, _) in found.items() if parent in family} - family
        if not more:
            return sum(found[pid][1] for pid in family if pid in found)
        family |= more

pids = [int(pid) for pid in sys.argv[2:]]
start, before = time.monotonic(), [ticks(pid) for pid in pids]
time.sleep(float(sys.argv[1]))
took, after = time.monotonic() - start, [ticks(pid) for pid in pids]
hz = os.sysconf("SC_CLK_TCK")
print(*(f"{(b - a) / hz / took:.3f}" for a, b in zip(before, after)))
PYTHON
}

# Lays out shards for so many hunters: how many of them in $shards, each with $per_shard connections at most, and the supervisor's $port,
# behind which theirs follow. Raises the limit of open files, and refuses what the machine has no memory for.
shards_for() { # connections, seconds of silence before keepalive asks
    local files needed_kib free_kib
    files=$(ulimit -Hn)
    [ "$files" != unlimited ] || files=1048576
    per_shard=$((files > 20000 ? 19000 : files - 1000))
    shards=$((($1 + per_shard - 1) / per_shard))
    # One alone would be no shard, but a plain server.
    shards=$((shards < 2 ? 2 : shards))
    ulimit -n "$files"
    room_for_connections "$1" "$2"
    # The kernel's sockets, the servers' and the lab's memory for a connection; and for each process.
    needed_kib=$(($1 * 12 + shards * 2 * 48 * 1024))
    free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    [ "$free_kib" -ge "$needed_kib" ] || {
        echo "This needs about $((needed_kib / 1024)) MiB, and $((free_kib / 1024)) MiB are free: ask for fewer connections." >&2
        return 1
    }
    port=$(ports_in_a_row $((shards + 1)))
}

# Settings of the kernel that would stop so many connections of this machine to itself short: raised where that is allowed, named
# where it is not (docs/world.md, "Very many connections").
room_for_connections() { # connections, seconds of silence before keepalive asks
    local connections=$1 keepalive_s=$2 pages
    # Both ends of each connection, and some.
    at_least fs.file-max $((connections * 2 + 100000))
    at_least net.core.somaxconn 4096
    at_least net.ipv4.tcp_max_syn_backlog 8192
    at_least net.netfilter.nf_conntrack_max $((connections * 2 + 100000))
    # Pages of 4 KiB that sockets may take: 4 KiB for both ends of a connection leaves room.
    pages=$((connections + 262144))
    if [ "$(awk '{ print $3 }' /proc/sys/net/ipv4/tcp_mem)" -lt "$pages" ]; then
        { echo "$((pages / 2)) $((pages * 3 / 4)) $pages" >/proc/sys/net/ipv4/tcp_mem; } 2>/dev/null ||
            { echo "net.ipv4.tcp_mem allows fewer than $pages pages: set it, or ask for fewer connections." >&2; return 1; }
    fi
    # Questions of keepalive go out in bursts of up to sixteen seconds.
    at_least net.core.netdev_max_backlog $((connections / keepalive_s * 16 + 10000))
}

at_least() { # name of the setting, value: raised where it is lower
    local path=/proc/sys/${1//./\/} now
    [ -e "$path" ] || return 0
    now=$(awk '{ print $NF }' "$path")
    [ "$now" -ge "$2" ] && return
    { echo "$2" >"$path"; } 2>/dev/null && return
    echo "$1 is $now, and this needs $2: set it, or ask for fewer connections." >&2
    return 1
}

# The first of so many free ports in a row that no connection is given meanwhile: below those that the kernel gives away.
ports_in_a_row() { # how many
    python3 - "$1" <<'PYTHON'
import socket, sys

low = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
count, first = int(sys.argv[1]), 10000
while first + count <= low:
    try:
        for port in range(first, first + count):
            with socket.socket() as held:
                held.bind(("127.0.0.1", port))
        print(first)
        break
    except OSError:
        first = port + 1
else:
    sys.exit("No run of ports is free for the shards.")
PYTHON
}

# Carries a trial out. A gate that failed is a figure here, like one that held; the directory of the record is in $record.
trial() { # scenario, further arguments...
    local runs
    runs=$(mktemp -d "$work/runs-XXXXXX")
    "$gauntlet" run "$1" --quiet --out "$runs" "${@:2}" >"$runs/out" 2>&1 || true
    record=$(find "$runs" -name run.json -printf '%h\n' | head -n 1)
    [ -n "$record" ] || { tail -n 20 "$runs/out" >&2; exit 1; }
}

# Figures of the record in $record, as cells of a table; what was not measured is a dash.
cells() { # paths...
    python3 - "$record/run.json" "$@" <<'PYTHON'
import json, sys

run = json.load(open(sys.argv[1]))
roots = [run["journeys"], run["work"], run]

def figure(path):
    for root in roots:
        value = root
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, (int, float)):
            return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    return "-"

print(" | ".join(map(figure, sys.argv[2:])))
PYTHON
}

# Serves a data file whose server was stopped while it played, ends its ladder, and waits until everything that was played is rated. The bots
# are gone: games that were under way end with snakes that go straight on.
end_ladder() { # data file
    local port
    port=$(free_port)
    serve "$port" --data "$1"
    python3 "$root/bench/ladder_figures.py" end "http://127.0.0.1:$port" "$1" 180
    stop_served
}

# The verdict of the record in $record, and its gates that did not hold.
verdict() {
    python3 - "$record/run.json" <<'PYTHON'
import json, sys

run = json.load(open(sys.argv[1]))
failed = [f"{gate['name']} {gate['limit']} (is {gate['value']})" for gate in run["gates"] if not gate["ok"]]
print(f"{run['verdict'].upper()}" + (": " + "; ".join(failed) if failed else ""))
for error in run["errors"][:5]:
    print(f"  {error['count']:,} x {error['journey']}: {error['sample'][:200]}")
PYTHON
}
