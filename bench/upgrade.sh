#!/usr/bin/env bash
# An upgrade from the version before to this one, as docs/operate.md tells it, with a program of each.
# On PostgreSQL, while players play: matches, and guests who talk at tables, go on at a node of the version before while the database is migrated, beside a node of
# this version, and after the old node has left. On a data file: the old server is killed in the middle of matches, the file is backed up and migrated, and the new server goes on; so does
# one on the restored backup.
# Held: every match that was acknowledged finishes, matches that were over have the same frames as before, accounts and tokens work, no request of a guest failed, no acknowledged line is
# lost, and the old program refuses the new store with a text.
# usage: bench/upgrade.sh [BINARY_OF_THE_VERSION_BEFORE]     built from the tag v0.1.0 otherwise, or from its commit where there are no tags, which takes some minutes
#   GUESTS=n at each node (8), MATCHES=n at each step (60), PROFILE=dev for a build of the version before that takes less time (release)
# Ends with 0: held, 1: not held, 77: no program of the version before, or no PostgreSQL.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
tag=v0.1.0 commit=1156240f3dd60d83aadd408c67b8402825039857
profile=${PROFILE:-release}
guests=${GUESTS:-8} matches=${MATCHES:-60}
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "There is no PostgreSQL: apt-get install postgresql." >&2; exit 77; }

built=${CARGO_TARGET_DIR:-$root/target}/upgrade-$tag
before=${1:-$built/${profile/#dev/debug}/gauntlet}
if [ ! -x "$before" ]; then
    [ -z "${1:-}" ] || { echo "$1 is no program." >&2; exit 77; }
    revision=$(git -C "$root" rev-parse -q --verify "$tag^{commit}" || git -C "$root" rev-parse -q --verify "$commit^{commit}") ||
        { echo "Neither $tag nor its commit is here: git fetch --tags, or name a program that was built from it." >&2; exit 77; }
    mkdir "$work/source"
    git -C "$root" archive "$revision" | tar -x -C "$work/source"
    (cd "$work/source" && CARGO_TARGET_DIR=$built cargo build --quiet --profile "$profile" --locked -p gauntlet) ||
        { echo "$tag cannot be built here." >&2; exit 77; }
fi
now=$gauntlet

start() { # program, port, arguments...; the process id is in $served
    local gauntlet=$1
    shift
    serve "$@" --log-level error
}

leave() { # process id: it is told to end, and ends in order
    kill -TERM "$1"
    wait "$1" || { echo "A server did not end in order." >&2; return 1; }
}

guests_at() { # port, name: guests talk there until $work/stop-NAME exists
    python3 "$root/bench/restart.py" "$1" "$guests" "$work/stop-$2" "$work/guests-$2.json" &
    guests_pid=$!
    pids+=("$guests_pid")
}

play() { # what, port, arguments...
    python3 "$root/bench/upgrade.py" "$1" "http://127.0.0.1:$2" "${@:3}"
}

refuses() { # arguments of serve: the program of before does not begin, and says why
    local said
    if said=$(timeout 20 "$before" serve --port "$(free_port)" "$@" 2>&1); then
        echo "The program of before began on the new store." >&2
        return 1
    fi
    grep -q "newer" <<<"$said" || { echo "The program of before does not say why it did not begin: $said" >&2; return 1; }
}

echo "Upgrade from $("$before" --version) to $("$now" --version)"
bots_port=$(free_port)
bots "$bots_port" --think 20ms

echo
echo "## PostgreSQL, with players"
postgres
old_port=$(free_port) new_port=$(free_port)
start "$before" "$old_port" --store-url "$postgres"
old=$served
play bots "$old_port" "$bots_port" "$work/bots.json"
play create "$old_port" "$work/bots.json" "$matches" "$work/pg-before.json"
guests_at "$old_port" old
at_old=$guests_pid
sleep 5
"$now" migrate --store-url "$postgres"
play create "$old_port" "$work/bots.json" "$matches" "$work/pg-migrated.json"
start "$now" "$new_port" --store-url "$postgres"
guests_at "$new_port" new
at_new=$guests_pid
play create "$new_port" "$work/bots.json" "$matches" "$work/pg-both-new.json"
play create "$old_port" "$work/bots.json" "$matches" "$work/pg-both-old.json"
sleep 10
touch "$work/stop-old"
wait "$at_old"
leave "$old"
refuses --store-url "$postgres"
sleep 5
touch "$work/stop-new"
wait "$at_new"
play finished "$new_port" "$work"/pg-*.json
leave "$served"
play guests - "$work/guests-old.json" "$work/guests-new.json"

echo
echo "## A data file, whose server is killed"
data=$work/games.db port=$(free_port)
start "$before" "$port" --data "$data"
old=$served
play bots "$port" "$bots_port" "$work/bots.json"
play create "$port" "$work/bots.json" "$matches" "$work/file-over.json"
play finished "$port" "$work/file-over.json"
play frames "$port" "$work/file-over.json" "$work/frames-before.json"
play create "$port" "$work/bots.json" "$matches" "$work/file-running.json"
sleep 1
kill -9 "$old"
wait "$old" 2>/dev/null || true
if "$now" migrate --check --data "$data"; then
    echo "migrate --check finds nothing to do on a file of the version before." >&2
    exit 1
fi
"$now" backup "$work/copy.db" --data "$data"
"$now" migrate --data "$data"
refuses --data "$data"
"$now" restore "$work/copy.db" --data "$work/restored.db"
for file in "$data" "$work/restored.db"; do
    port=$(free_port)
    start "$now" "$port" --data "$file"
    play finished "$port" "$work/file-over.json" "$work/file-running.json"
    play frames "$port" "$work/file-over.json" "$work/frames-after.json"
    cmp "$work/frames-before.json" "$work/frames-after.json"
    leave "$served"
done
