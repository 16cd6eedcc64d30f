#!/usr/bin/env bash
# A server on a file system of 24 MiB that fills up while clients create games and bots play them, twice: once the server goes on, and once it is killed -9 on the full disk and started
# there again. Held: while the disk is full every creation is refused with 503 `store_unavailable` and a Retry-After, reads are answered, /healthz says 200, /readyz 503 and
# `gauntlet_store_refusing` 1; once there is room the server saves again without a restart; each creation that was tried, repeated under its Idempotency-Key, is one game, and
# all games end. Printed: how each of these was answered, and after how long the server saved again.
# usage: bench/disk-full.sh [seconds that the disk stays full]
# Ends with 0: held, 1: not held, 77: this user may not mount a file system, not even in a namespace.
set -euo pipefail
if [ "${1:-}" != mounted ]; then
    for way in "unshare --mount" "unshare --user --map-root-user --mount"; do
        $way sh -c 'mount -t tmpfs -o size=1m tmpfs /mnt' 2>/dev/null && exec $way "$0" mounted "$@"
    done
    echo "No file system can be mounted here: run this as root." >&2
    exit 77
fi
shift
source "$(dirname "$0")/lib.sh"
full_s=${1:-10}
mkdir "$work/disk"
mount -t tmpfs -o size=24m tmpfs "$work/disk"
trap 'status=$?; umount --lazy "$work/disk"; stop_all; end_with "$status"' EXIT
data=$work/disk/games.db ballast=$work/disk/ballast

# All that is free but a megabyte.
fill() { head -c "$(($(df --output=avail -B1 "$work/disk" | tail -n 1) - 1048576))" /dev/zero >"$ballast"; }

client() { python3 "$root/bench/storage_faults.py" "$1" "http://127.0.0.1:$port" "$work/state.json" "${@:2}"; }

bots_port=$(free_port)
bots "$bots_port" --think 20ms
failed=0
for round in "goes on" "is killed"; do
    echo "The server $round:"
    rm -f "$work/state.json" "$work"/disk/*
    port=$(free_port)
    serve "$port" --data "$data" --log-level warn
    client begin "$bots_port"
    fill
    client fill
    client watch "$full_s" || failed=1
    if [ "$round" = "is killed" ]; then
        kill -9 "$served"
        wait "$served" 2>/dev/null || true
        # Whether a server begins on a disk that is full is not promised; that it says why it does not is.
        "$gauntlet" serve --port "$port" --data "$data" --allow-private-bots --log-level warn >"$work/full.log" 2>&1 &
        served=$!
        pids+=("$served")
        for _ in $(seq 100); do
            if ! is_ours "$served" || curl -sS -o /dev/null "http://127.0.0.1:$port/healthz" 2>/dev/null; then break; fi
            sleep 0.1
        done
        if curl -sS -o /dev/null "http://127.0.0.1:$port/healthz" 2>/dev/null; then
            echo "  it begins on the full disk"
            client watch 2 || failed=1
        else
            status=0
            wait "$served" || status=$?
            echo "  it does not begin on the full disk, ends with $status and says: $(tail -n 1 "$work/full.log")"
            [ "$status" -eq 1 ] && grep -qi "full\|disk" "$work/full.log" || failed=1
        fi
        rm -f "$ballast"
        is_ours "$served" || serve "$port" --data "$data" --log-level warn
    else
        rm -f "$ballast"
    fi
    client settle || failed=1
    kill "$served"
    wait "$served" || { echo "  the server did not end in order" >&2; failed=1; }
    echo "  log lines that say the disk is full: $(cat "$work/server-$port.log" "$work"/full.log 2>/dev/null | grep -c "full" || true)"
done
exit "$failed"
