#!/usr/bin/env bash
# Duels: does the test keep its word? First 1,000 simulated duels a case with the code that the server runs: wrong verdicts, length beside
# Wald's expectation, intervals that miss the truth. Then 20 duels of sample bots over a real server, one bot stronger than the other: each
# must be found, as the candidate and as the baseline.
# usage: bench/duels.sh [simulated duels a case] [real duels]     GAUNTLET=path of the program
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
simulated=${1:-1000} real=${2:-20}
gauntlet=${GAUNTLET:-$root/target/release/gauntlet}
[ -x "$gauntlet" ] || { echo "there is no $gauntlet: make build, or name one with GAUNTLET" >&2; exit 77; }

cd "$root"
status=0
cargo run --quiet --release -p engine --example duels "$simulated" || status=1

work=$(mktemp -d)
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT
export GAUNTLET_BOOTSTRAP_TOKEN=a-secret-of-duels GAUNTLET_TOKEN=a-secret-of-duels
cd "$work"
address_of() { # file: the address in the first line of a program
    for _ in $(seq 100); do
        grep -om1 'http://[0-9.:]*' "$1" && return
        sleep 0.1
    done
    echo "nothing in $1" >&2
    return 1
}
"$gauntlet" bots --port 0 --think 0 >bots.txt 2>&1 & children+=($!)
"$gauntlet" serve --port 0 --data gauntlet.db --allow-private-bots --log-level warn >server.txt 2>&1 & children+=($!)
bots=$(address_of bots.txt)
server=$(address_of server.txt)

strong=strong=$bots/flood weak=weak=$bots/random
right=0 games=0
for duel in $(seq "$real"); do
    if [ $((duel % 2)) = 0 ]; then pair=("$weak" "$strong") want=0; else pair=("$strong" "$weak") want=3; fi
    code=0
    "$gauntlet" duel "${pair[@]}" --server "$server" --timeout-ms 2000 --json duel.json >duel.txt 2>&1 || code=$?
    if [ "$code" = "$want" ]; then right=$((right + 1)); else echo "duel $duel ended with $code instead of $want:"; cat duel.txt; fi
    games=$((games + $(python3 -c 'import json; p = json.load(open("duel.json"))["pairings"][0]; print(p["wins"] + p["draws"] + p["losses"])')))
done
echo
echo "$real real duels: $right right, at least $((real - 1)) wanted; $((games / real)) games a duel"
[ "$right" -ge $((real - 1)) ] || status=1
exit $status
