#!/usr/bin/env bash
# What an idle server costs: writes that wait for the disk (counted by strace), batches handed to the store, processor time. First with
# no clients, then with a card table, and a world that a built-in actor keeps in memory: everything that is owned under a lease.
# usage: bench/idle.sh [seconds]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-60}
port=$(free_port)

batches() { metric gauntlet_store_batches_total; }
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$served/stat"; }

look() { # name
    local before_batches before_cpu syncs
    sleep 10
    before_batches=$(batches) before_cpu=$(cpu_ticks)
    timeout --signal INT "$seconds" strace -f -q -e trace=fsync,fdatasync,sync_file_range -o "$work/syncs" -p "$served" || true
    syncs=$(grep -cE '(fsync|fdatasync|sync_file_range)\(' "$work/syncs" || true)
    echo "$1: $syncs waits for the disk and $(($(batches) - before_batches)) batches in $seconds s;" \
        "processor time $(($(cpu_ticks) - before_cpu)) ticks of $(getconf CLK_TCK) a second"
}

serve "$port" --data "$work/idle.db"
look "no clients"
stop_served
serve "$port" --data "$work/idle.db" --actors 1
guest=$(curl -fsS -X POST -H 'Content-Type: application/json' -d '{"name": "Ann"}' "http://127.0.0.1:$port/api/stories/guests" | json_field token)
curl -fsS -o /dev/null -X POST -H "Authorization: Bearer $guest" -H 'Content-Type: application/json' -d '{}' \
    "http://127.0.0.1:$port/api/stories/games"
look "a table and a world"
