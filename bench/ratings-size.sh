#!/usr/bin/env bash
# Ladders at size, on SQLite and on PostgreSQL: two servers side by side, one whose ladders have ten thousand results and one with a million.
# How fast the results are rated; how many bytes each takes, by table and index; how long every page of the API takes on both, asked in
# turns over one connection each; how long `gauntlet ratings recompute` takes, and whether it finds every digit equal.
# Results are recorded without their matches (crates/store/examples/ladder_results.rs); everything else is the server's own work.
# Held: each page's 99th percentile at a million is at most twice that at ten thousand, and a millisecond. Recompute: equal.
# Needs about 3 GB under $TMPDIR and half an hour. Without Debian's postgresql, "both" measures SQLite and ends with 77: half is not shown.
# usage: bench/ratings-size.sh [results] [results of the small store] [requests a page] [sqlite | postgres | both]
# Ends with 0, 1 when not held, 77 where it cannot run.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
results=${1:-1000000} small=${2:-10000} requests=${3:-1000} databases=${4:-both}
failed=0 half=
[ "$databases" = sqlite ] || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || {
    echo "PostgreSQL is not installed: apt-get install postgresql" >&2
    [ "$databases" = both ] || exit 77
    databases=sqlite half=yes
}

(cd "$root" && cargo build --quiet --release --locked -p store --example ladder_results) || { echo "ladder_results cannot be built here." >&2; exit 77; }
fill=${CARGO_TARGET_DIR:-$root/target}/release/examples/ladder_results

seconds() { # command...: runs it; how long it took is in $took
    local began
    began=$(date +%s.%N)
    "$@"
    took=$(python3 -c 'import sys, time; print(f"{time.time() - float(sys.argv[1]):.1f}")' "$began")
}

# All results are rated when none waits; the rate counts from the moment at which the server is ready.
rate_all() { # port, results
    python3 "$root/bench/ratings_pages.py" rate "http://127.0.0.1:$1" "$2"
}

measure() { # what it is; small store, large store: as arguments of serve and of recompute, in two words each
    local small_store=$2 large_store=$3 small_port large_port small_pid
    echo
    echo "## $1"
    seconds "$fill" "${small_store#* }" "$small" >"$work/small.txt"
    seconds "$fill" "${large_store#* }" "$results" >"$work/large.txt"
    echo "$results results recorded in $took s"
    small_port=$(free_port)
    # shellcheck disable=SC2086 # two words
    serve "$small_port" $small_store
    small_pid=$served
    rate_all "$small_port" "$small" >/dev/null
    large_port=$(free_port)
    # shellcheck disable=SC2086
    serve "$large_port" $large_store
    rate_all "$large_port" "$results"
    python3 "$root/bench/ratings_pages.py" pages "http://127.0.0.1:$small_port" "http://127.0.0.1:$large_port" "$work/large.txt" "$requests" || failed=1
    stop_served
    served=$small_pid
    stop_served
    # shellcheck disable=SC2086
    seconds "$gauntlet" ratings recompute $large_store >"$work/recompute.txt" || { failed=1; echo "FAILED: gauntlet ratings recompute"; }
    echo "gauntlet ratings recompute of $results results: $took s"
    sed 's/^/    /' "$work/recompute.txt"
}

if [ "$databases" != postgres ]; then
    measure SQLite "--data $work/small.db" "--data $work/large.db"
    python3 "$root/bench/ratings_pages.py" sizes "$work/large.db" "$results"
    rm -f "$work"/small.db* "$work"/large.db*
fi
if [ "$databases" != sqlite ]; then
    postgres
    psql=$(dirname "$(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1)")/psql
    for name in small large; do "$psql" -q "$postgres" -c "CREATE DATABASE $name"; done
    at=${postgres%/postgres}
    measure PostgreSQL "--store-url $at/small" "--store-url $at/large"
    "$psql" -At -F ' ' "$at/large" -c "
        SELECT relname, pg_relation_size(oid) FROM pg_class
        WHERE relkind IN ('r', 'i') AND (relname LIKE 'ladder_%' OR relname LIKE 'competition_results%')" |
        python3 "$root/bench/ratings_pages.py" sizes - "$results"
fi
[ "$failed" -eq 0 ] || { echo "failed"; exit 1; }
[ -z "$half" ] || { echo "passed on SQLite; PostgreSQL is not shown: it is not installed here"; exit 77; }
echo "passed"
