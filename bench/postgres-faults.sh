#!/usr/bin/env bash
# Two nodes on a PostgreSQL that fails while clients create games at both and bots play them: one of its processes is killed -9, all of it is, it is away for longer than a lease, every byte
# to and from it is late, nothing passes for longer than a lease, its disk is full, and it fails over to a replica: a synchronous one, and one that is behind. Held, for each: no node ends;
# both save again by themselves; each creation that was tried, repeated under its Idempotency-Key, is one game, and all games end; and no acknowledged one is lost, but for the last case, where
# it is counted.
# usage: bench/postgres-faults.sh [case...]   of: backend postmaster away slow stall full synchronous asynchronous
# Ends with 0: held, 1: not held, 77: there is no PostgreSQL here. A full disk is left out where this user may not mount a file system.
set -euo pipefail
cases=("$@")
[ "${#cases[@]}" -gt 0 ] || cases=(backend postmaster away slow stall full synchronous asynchronous)
if [ "${IN_NAMESPACE:-}" = "" ] && [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
    IN_NAMESPACE=1 exec unshare --mount "$0" "${cases[@]}"
fi
source "$(dirname "$0")/lib.sh"
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "There is no PostgreSQL: apt-get install postgresql." >&2; exit 77; }
bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1)")
away_s=12 # A lease is five seconds.
as_user=()
[ "$(id -u)" -ne 0 ] || { chmod 755 "$work"; as_user=(setpriv --reuid postgres --regid postgres --clear-groups); }
failed=0

# A folder of PostgreSQL's user.
folder() { mkdir -p "$1"; chmod 700 "$1"; [ "$(id -u)" -ne 0 ] || chown postgres "$1"; }

start_cluster() { # folder, port; its process is in $cluster
    "${as_user[@]}" "$bin/postgres" -D "$1" -h 127.0.0.1 -p "$2" -k "" >>"$work/pg.log" 2>&1 &
    cluster=$!
    pids+=("$cluster")
    for _ in $(seq 300); do "$bin/pg_isready" -q -h 127.0.0.1 -p "$2" && return; sleep 0.1; done
    echo "PostgreSQL did not become ready:" >&2
    tail "$work/pg.log" >&2
    return 1
}

new_cluster() { # folder, port, lines of its configuration...
    folder "$1"
    "${as_user[@]}" "$bin/initdb" -D "$1" -U gauntlet --auth trust >/dev/null
    printf '%s\n' "${@:3}" >>"$1/postgresql.conf"
    start_cluster "$1" "$2"
}

# Kills a cluster as a loss of its machine would: all of its processes, at once.
kill_cluster() { # process of the postmaster
    local children
    children=$(pgrep -P "$1")
    kill -9 "$1" $children 2>/dev/null || true
    wait "$1" 2>/dev/null || true
    for child in $children; do while kill -0 "$child" 2>/dev/null; do sleep 0.05; done; done
}

sql() { "$bin/psql" -h 127.0.0.1 -p "$1" -U gauntlet -d postgres -qAtc "$2"; }

client() { python3 "$root/bench/storage_faults.py" "$1" "$urls" "$work/state.json" "${@:2}"; }

nodes_on() { # address of the database
    rm -f "$work/state.json"
    nodes=() urls=""
    for _ in 1 2; do
        port=$(free_port)
        serve "$port" --store-url "$1" --log-level warn
        nodes+=("$served")
        urls=${urls:+$urls,}http://127.0.0.1:$port
    done
    client begin "$bots_port"
}

# The load runs for so long, and the fault happens two seconds after it began.
under_load() { # seconds, command...
    client load "$1" &
    local load=$!
    pids+=("$load")
    sleep 2
    "${@:2}"
    wait "$load"
}

end_nodes() {
    for node in "${nodes[@]}"; do
        is_ours "$node" || { echo "  NOT HELD: a node has ended" >&2; failed=1; continue; }
        kill "$node"
        wait "$node" || { echo "  NOT HELD: a node did not end in order" >&2; failed=1; }
    done
}

settled() { client settle "$@" || failed=1; end_nodes; }

case_backend() {
    kill_backend() { kill -9 "$(sql "$pg_port" "SELECT pid FROM pg_stat_activity WHERE application_name = 'gauntlet' ORDER BY backend_start LIMIT 1")"; }
    under_load 8 kill_backend
}
case_postmaster() {
    kill_all() { kill_cluster "$cluster"; start_cluster "$pg" "$pg_port"; }
    under_load 10 kill_all
}
case_away() {
    leave() { kill_cluster "$cluster"; sleep "$away_s"; start_cluster "$pg" "$pg_port"; }
    under_load $((away_s + 6)) leave
}
case_slow() {
    delay() { echo 100 >"$work/delay"; sleep 10; echo 0 >"$work/delay"; }
    under_load 14 delay
}
case_stall() {
    stall() { echo stall >"$work/delay"; sleep "$away_s"; echo 0 >"$work/delay"; }
    under_load $((away_s + 6)) stall
}
case_full() {
    # First of all its tables have no room, later its write-ahead log, which ends it.
    fill() {
        cat /dev/zero >"$pg/ballast" 2>/dev/null || true
        sleep 8
        rm -f "$pg/ballast"
        is_ours "$cluster" || { echo "  PostgreSQL ended on the full disk: $(grep -h PANIC "$work/pg.log" | tail -n 1)"; start_cluster "$pg" "$pg_port"; }
    }
    under_load 14 fill
}

bots_port=$(free_port)
bots "$bots_port" --think 20ms
number=0
for name in "${cases[@]}"; do
    number=$((number + 1))
    pg=$work/pg-$number pg_port=$(free_port) losing=() mounted=""
    echo "$name:"
    case "$name" in
        synchronous | asynchronous)
            replica=$work/replica-$number replica_port=$(free_port)
            new_cluster "$pg" "$pg_port" "wal_level = replica" "max_wal_senders = 4"
            primary=$cluster
            folder "$replica"
            "${as_user[@]}" "$bin/pg_basebackup" -h 127.0.0.1 -p "$pg_port" -U gauntlet -D "$replica" -R -X stream -c fast
            start_cluster "$replica" "$replica_port"
            if [ "$name" = synchronous ]; then
                sql "$pg_port" "ALTER SYSTEM SET synchronous_standby_names = '*'"
                sql "$pg_port" "SELECT pg_reload_conf()" >/dev/null
            else
                losing=(may-lose)
            fi
            nodes_on "postgres://gauntlet@127.0.0.1:$pg_port,127.0.0.1:$replica_port/postgres?target_session_attrs=read-write"
            fail_over() {
                if [ "$name" = asynchronous ]; then
                    # The replica falls behind by two seconds.
                    sql "$replica_port" "ALTER SYSTEM SET primary_conninfo = ''"
                    sql "$replica_port" "SELECT pg_reload_conf()" >/dev/null
                    while [ "$(sql "$replica_port" "SELECT count(*) FROM pg_stat_wal_receiver")" != 0 ]; do sleep 0.1; done
                    sleep 2
                fi
                kill_cluster "$primary"
                sql "$replica_port" "SELECT pg_promote()" >/dev/null
            }
            under_load 12 fail_over
            ;;
        slow | stall)
            new_cluster "$pg" "$pg_port"
            proxy_port=$(free_port)
            echo 0 >"$work/delay"
            python3 "$root/bench/slow_proxy.py" "$proxy_port" "$pg_port" "$work/delay" &
            pids+=("$!")
            for _ in $(seq 100); do "$bin/pg_isready" -q -h 127.0.0.1 -p "$proxy_port" && break; sleep 0.1; done
            nodes_on "postgres://gauntlet@127.0.0.1:$proxy_port/postgres"
            "case_$name"
            ;;
        *)
            if [ "$name" = full ]; then
                folder "$pg"
                mount -t tmpfs -o size=96m tmpfs "$pg" 2>/dev/null || { echo "  left out: no file system can be mounted here"; continue; }
                mounted=$pg
                chmod 700 "$pg"
                [ "$(id -u)" -ne 0 ] || chown postgres "$pg"
            fi
            new_cluster "$pg" "$pg_port" "max_wal_size = 48MB"
            nodes_on "postgres://gauntlet@127.0.0.1:$pg_port/postgres"
            "case_$name"
            ;;
    esac
    settled "${losing[@]}"
    kill_cluster "$cluster"
    [ "$mounted" = "" ] || umount --lazy "$mounted"
done
exit "$failed"
