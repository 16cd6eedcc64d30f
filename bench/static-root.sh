#!/usr/bin/env bash
# The static program (`make static`) where there is nothing else: a root with one file and one folder, no /etc, /dev, /proc or library. A server
# becomes ready there, is found by the name localhost, saves, drains and comes again; the same over a PostgreSQL that listens at 127.0.0.1
# alone, while localhost is ::1 as well; an unknown name is refused with its reason.
# usage: bench/static-root.sh; the program is $GAUNTLET or target/static/gauntlet.
# Ends with 0: all of it, 1: something did not hold, 77: no static program, or no way to make a root here.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
gauntlet=${GAUNTLET:-${CARGO_TARGET_DIR:-$root/target}/static/gauntlet}
[ -x "$gauntlet" ] || { echo "There is no $gauntlet: run make static first." >&2; exit 77; }

if [ "${1:-}" != inside ]; then
    # A network, processes and mounts of its own: port 4000 is free, and all of it is gone at the end.
    spaces=(--mount --net --pid --fork --kill-child)
    [ "$(id -u)" -eq 0 ] || spaces+=(--user --map-root-user)
    unshare "${spaces[@]}" true 2>/dev/null || { echo "No namespaces can be made here: run this as root." >&2; exit 77; }
    GAUNTLET=$gauntlet exec unshare "${spaces[@]}" --mount-proc "$0" inside
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
mkdir -p "$work/root/data"
cp "$gauntlet" "$work/root/gauntlet"
ip link set lo up

check() { # what, expected exit code, text that is printed, command...
    local what=$1 code=$2 want=$3 got output
    shift 3
    output=$("$@" 2>&1)
    got=$?
    if [ "$got" -eq "$code" ] && [[ $output == *"$want"* ]]; then
        printf 'ok      %3d  %s\n' "$got" "$what"
    else
        printf 'FAILED  %3d  %s: %s\n' "$got" "$what" "$output"
        failed=1
    fi
}
alone() { chroot "$work/root" /gauntlet "$@"; }
wait_ready() {
    for _ in $(seq 100); do alone health http://localhost:4000 >/dev/null 2>&1 && return; sleep 0.2; done
    cat "$work/server.log" >&2
    return 1
}
lifecycle() { # what, settings...
    local what=$1 server
    shift
    chroot "$work/root" /gauntlet serve "$@" >"$work/server.log" 2>&1 &
    server=$!
    check "$what: becomes ready, found by localhost" 0 "" wait_ready
    check "$what: health by the settings" 0 "is ready" alone health
    kill -TERM "$server"
    wait "$server"
    check "$what: drains" 0 "" test "$?" -eq 0
}

check "starts" 0 "gauntlet " alone --version
check "makes a token" 0 "gnt_" alone token create --data /data/games.db --account ann
lifecycle "a data file" --data /data/games.db
lifecycle "the data file again" --data /data/games.db
check "its token is there" 0 "player" alone token list --data /data/games.db --account ann
check "backs up" 0 "verified" alone backup /data/copy.db --data /data/games.db
check "an unknown name" 1 "not known to /etc/hosts" alone health http://database.invalid:4000

postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if [ "$postgres" = "" ] || [ "$(id -u postgres 2>/dev/null)" = "" ] || ! command -v setpriv >/dev/null; then
    echo "not run: PostgreSQL by name (no initdb, or no user postgres)"
else
    chmod 755 "$work"
    install -d -o postgres "$work/cluster"
    as_postgres() { setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups env LC_ALL=C "$@"; }
    as_postgres "$postgres/initdb" --no-sync --auth=trust --pgdata="$work/cluster/data" >"$work/initdb.log" 2>&1
    # The function would stand between the process and its id.
    setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups "$postgres/postgres" -D "$work/cluster/data" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off >"$work/postgres.log" 2>&1 &
    database=$!
    for _ in $(seq 100); do "$postgres/pg_isready" --quiet --host=127.0.0.1 && break; sleep 0.2; done
    url=postgres://postgres@localhost:5432/postgres
    lifecycle "PostgreSQL by name" --store-url "$url"
    check "PostgreSQL: makes a token" 0 "gnt_" alone token create --store-url "$url"
    kill -INT "$database"
    wait "$database"
fi
exit "$failed"
