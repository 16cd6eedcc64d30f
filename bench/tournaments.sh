#!/usr/bin/env bash
# Tournaments: 10,000 random fields hold the rules of their formats; 128 bots over HTTP with kill -9 in every round have the same bracket as
# without. Prints its figures. Ends with 0: passed, 1: failed, 77: cannot run here. FIELDS=0 leaves the fields out.
# usage: bench/tournaments.sh [bots, a power of two]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
bots=${1:-128} fields=${FIELDS:-10000}

# A filter that no test matches would pass as well: how many ran is counted.
play_fields() {
    local begun=$SECONDS
    (cd "$root" && PROPTEST_CASES=$fields cargo test --quiet --release --locked -p engine --lib tournaments::tests::properties) >"$work/fields" 2>&1 ||
        { tail -n 30 "$work/fields" >&2; return 1; }
    grep -q '^test result: ok. [1-9]' "$work/fields" || { echo "No test played random fields." >&2; return 1; }
    echo "$fields random fields: passed in $((SECONDS - begun)) s"
}
if [ "$fields" -gt 0 ]; then
    command -v cargo >/dev/null || { echo "There is no cargo here." >&2; exit 77; }
    play_fields
fi

python3 "$root/bench/tournament_bots.py" >"$work/bots.port" &
pids+=("$!")
for _ in $(seq 100); do [ -s "$work/bots.port" ] && break; sleep 0.1; done
[ -s "$work/bots.port" ] || { echo "The bots did not begin to listen." >&2; exit 1; }

# One tournament in a data directory of its own: its bracket in a file.
play() { # name, kill in every round: yes or no
    local port data=$work/$1
    mkdir "$data"
    port=$(free_port)
    python3 "$root/bench/tournament_play.py" --gauntlet "$gauntlet" --port "$port" --data "$data" --kills "$2" \
        --bots "$bots" --bots-port "$(cat "$work/bots.port")" --out "$work/$1.json" &
    pids+=("$!")
    wait "$!"
}
play undisturbed no
play killed yes
if cmp -s "$work/undisturbed.json" "$work/killed.json"; then
    echo "$bots bots: the same bracket with kill -9 in every round as without"
else
    echo "$bots bots: the bracket differs:" >&2
    diff "$work/undisturbed.json" "$work/killed.json" | head -20 >&2
    exit 1
fi
