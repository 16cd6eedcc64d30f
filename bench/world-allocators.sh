#!/usr/bin/env bash
# Which allocator and how many threads hold connections to a world for the least: bench/world-connections.sh in turns over jemalloc
# (built in), the system's allocator (a build without the feature jemalloc) and, under that build, whichever of mimalloc and tcmalloc
# Debian's packages libmimalloc2.0 and libtcmalloc-minimal4 have put on this machine.
# usage: SYSTEM_GAUNTLET=path/of/a/build/without/jemalloc bench/world-allocators.sh [connections] [rounds]
set -euo pipefail
here=$(dirname "$0")
source "$here/lib.sh"
connections=${1:-12000} rounds=${2:-3}
system=${SYSTEM_GAUNTLET:?names a build without jemalloc: cargo build --release --locked -p gauntlet --no-default-features, and keep it under another name}
[ -x "$system" ] || { echo "There is no $system: see the head of this script." >&2; exit 1; }

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

echo "| round | allocator | threads | connections | RSS with one mover, MiB | with them | RSS of each, bytes | allocated for each, bytes | processor a move, us |"
echo "|---|---|---|---|---|---|---|---|---|"
for round in $(seq "$rounds"); do
    for name in "${names[@]}"; do
        for threads in 1 2; do
            GAUNTLET=$work/$name "$here/world-connections.sh" "$connections" "$threads" | tail -n +3 | sed "s/^/| $round | $name | $threads /"
        done
    done
done
