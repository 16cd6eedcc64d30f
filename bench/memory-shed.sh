#!/usr/bin/env bash
# A server whose control group has 200 MiB of memory, and people who come to tables until it is used up: each makes a table with a sentence to read,
# and follows it. Twice: without shed.memory_percent the kernel has to kill the server; with the default it refuses the next ones with
# 503 overloaded, goes on for those who are there, and takes new ones when some have left.
# Makes a control group of its own, of whichever version this machine has, and removes it. Needs root.
# usage: bench/memory-shed.sh [MiB] [seconds of each run, at most: it ends when the memory is used up]
# Ends with 0: held, 1: not held, 77: cannot run here.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
mib=${1:-200} seconds=${2:-300}
group=
for parent in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    if mkdir "$parent/gauntlet-$$" 2>/dev/null && group=$parent/gauntlet-$$; then
        for limit in memory.limit_in_bytes memory.max; do
            { echo "$((mib * 1024 * 1024))" >"$group/$limit"; } 2>/dev/null && break 2
        done
        rmdir "$group"
        group=
    fi
done
[ -n "$group" ] || { echo "No control group with a limit of memory can be made here: it takes root." >&2; exit 77; }
{ echo 0 >"$group/memory.swappiness"; } 2>/dev/null || true
# Waits for the last process to leave the group: it cannot be removed before.
remove_group() { for _ in $(seq 100); do rmdir "$group" 2>/dev/null && return; sleep 0.1; done; }
trap 'status=$?; stop_all; remove_group; end_with "$status"' EXIT

limited() { # name, flags...: a server in the group; people come to it
    local name=$1 port
    shift
    port=$(free_port)
    group=$group bash -c 'echo $$ >"$group/cgroup.procs"; exec "$@"' - "$gauntlet" serve --port "$port" \
        --data "$work/$name.db" --log-level warn "$@" >"$work/$name.log" 2>&1 &
    pids+=("$!")
    wait_ready "http://127.0.0.1:$port/readyz"
    status=0
    python3 "$root/bench/memory_shed.py" "$port" "$!" "$seconds" "$name" || status=$?
    kill "$!" 2>/dev/null || true
    wait "$!" 2>/dev/null || true
    [ "$status" -eq 0 ] || { tail -3 "$work/$name.log" >&2; failed=1; }
}

failed=0
table_head run "came to tables" "refused: overloaded" "other answers" "server" "RSS at the end, MiB"
limited without --shed-memory-percent off
limited default
exit $failed
