#!/usr/bin/env bash
# Which allocator and how many threads hold connections to a world for the least: bench/world-connections.sh in turns over jemalloc
# (built in), the system's allocator (a build without the feature jemalloc) and, under that build, whichever of mimalloc and tcmalloc
# Debian's packages libmimalloc2.0 and libtcmalloc-minimal4 have put on this machine.
# Rounds alternate, so that what else the machine does falls on all alike; when the next one would not end within the time, there is
# no further one. Prints medians over the rounds with the lowest and highest beside them, and keeps every row in the given file.
# usage: SYSTEM_GAUNTLET=path/of/a/build/without/jemalloc bench/world-allocators.sh [connections] [rounds] [seconds at most]
#        [TCP|WebSocket|both] [file for all rows]
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"
connections=${1:-15000} rounds=${2:-5} seconds_max=${3:-570} kinds=${4:-TCP}
system=${SYSTEM_GAUNTLET:?names a build without jemalloc: cargo build --release --locked -p gauntlet --no-default-features, and keep it under another name}
[ -x "$system" ] || { echo "There is no $system: see the head of this script." >&2; exit 1; }
rows=${5:-$work/rows}
: >"$rows"

library() { ldconfig -p | awk -v name="$1" 'index($1, name) == 1 { print $NF; exit }'; }
program() { # name, binary, library: a program that starts the server so
    printf '#!/bin/sh\nexec env LD_PRELOAD=%s %s "$@"\n' "$3" "$2" >"$work/$1"
    chmod +x "$work/$1"
    names+=("$1")
}
names=()
program jemalloc "$gauntlet" ""
program glibc "$system" ""
for name in mimalloc tcmalloc_minimal; do
    path=$(library "lib$name.so")
    if [ -n "$path" ]; then program "$name" "$system" "$path"; else echo "lib$name is not here: left out." >&2; fi
done

done_rounds=0 longest_s=0
for round in $(seq "$rounds"); do
    [ $((SECONDS + longest_s)) -le "$seconds_max" ] || break
    begun_s=$SECONDS
    for name in "${names[@]}"; do
        for threads in 1 2; do
            GAUNTLET=$work/$name "$here/world-connections.sh" "$connections" "$threads" "$kinds" | tail -n +3 |
                sed "s/^/| $round | $name | $threads /" >>"$rows"
        done
    done
    done_rounds=$round
    took_s=$((SECONDS - begun_s))
    longest_s=$((took_s > longest_s ? took_s : longest_s))
done

python3 - "$rows" <<'PYTHON'
import statistics, sys
from figures import table_head

measured = {}
for line in open(sys.argv[1]):
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    key = (cells[1], cells[2], cells[3])
    measured.setdefault(key, []).append([float(cell.replace(",", "")) for cell in cells[4:]])

def spread(values, digits):
    # Only jemalloc counts what it handed out.
    if any(value != value for value in values):
        return "-"
    show = lambda value: f"{value:,.{digits}f}"
    return f"{show(statistics.median(values))} ({show(min(values))} to {show(max(values))})"

table_head("allocator", "threads", "connections", "RSS with one mover, MiB", "with them", "RSS of each, bytes", "allocated for each, bytes", "processor a move, us")
for (name, threads, what), rows in measured.items():
    columns = list(zip(*rows))
    print(f"| {name} | {threads} | {what} | " + " | ".join(spread(column, digits) for column, digits in zip(columns, (1, 1, 0, 0, 1))) + " |")
PYTHON
echo
echo "$done_rounds of $rounds rounds, in $SECONDS s."
