#!/usr/bin/env bash
# All official maps against the official program: it plays games of every map on every board that it knows for the map, by itself, with our
# sample bots as snakes; every turn of every game has to be one that our rule book allows (crates/bots/tests/maps).
# The program is built from its released module with Go, in a folder that is removed afterwards. Nothing of it is part of this
# repository, and nothing here is linked with it. Without Go or the module it ends with 77.
# usage: bench/maps-oracle.sh [games of each map on each board] [map...]
#   JOBS=n games at once (as many as processors), CHECKER=file the compiled tests (built otherwise), KEEP=1 keeps all files
set -euo pipefail
source "$(dirname "$0")/lib.sh"
games=${1:-200}
shift || true
version=v1.2.3
module=github.com/BattlesnakeOfficial/rules

build_official() { # the program is in $official
    command -v go >/dev/null || { echo "There is no Go here." >&2; return 1; }
    official=$work/official/battlesnake
    mkdir -p "$work/official"
    printf 'module official\ngo 1.24\nrequire %s %s\ntool %s/cli/battlesnake\n' $module $version $module >"$work/official/go.mod"
    (cd "$work/official" && go build -mod=mod -o battlesnake $module/cli/battlesnake 2>"$work/go.log") ||
        { tail -3 "$work/go.log" >&2; return 1; }
}
build_official || end_with 77

if [ -z "${CHECKER:-}" ]; then
    CHECKER=$(cd "$root" && cargo test --release -q -p bots --test maps --no-run --message-format=json |
        python3 -c 'import json, sys
print(next(t["executable"] for t in map(json.loads, sys.stdin) if t.get("executable") and t["target"]["name"] == "maps"))')
fi

port=$(free_port)
"$gauntlet" bots --port "$port" --think 0 >"$work/bots.log" 2>&1 &
pids+=("$!")
wait_ready "http://127.0.0.1:$port/hungry"

# One game: its number decides how many snakes, which bots, and which settings.
play() { # folder, map, width, height, most snakes, number
    local folder=$1 map=$2 width=$3 height=$4 most=$5 number=$6
    local counts=(1 2 4 "$most") bots=(random hungry flood) chances=(15 50 0) minima=(1 0 3) arguments=()
    local snakes=${counts[number % 4]} chance=${chances[number / 4 % 3]} minimum=${minima[number / 4 % 3]} damage=14 shrink=5
    [ "$snakes" -le "$most" ] || snakes=$most
    # A lone snake with enough food would live for ever.
    if [ "$snakes" = 1 ]; then chance=3 minimum=0 bots=(random random random); fi
    if [ "$map" = solo_maze ]; then bots=(hungry hungry hungry); fi
    if [ "$map" = healing_pools ]; then damage=-10; fi
    for ((at = 0; at < snakes; at++)); do
        arguments+=(--name "s$at" --url "http://127.0.0.1:$port/${bots[(at + number) % 3]}/seed-$number")
    done
    timeout 300 "$official" play -W "$width" -H "$height" -m "$map" -r "$((number + 1))" -o "$folder/$width-$height-$number.jsonl" \
        --foodSpawnChance "$chance" --minimumFood "$minimum" --hazardDamagePerTurn "$damage" --shrinkEveryNTurns "$shrink" \
        "${arguments[@]}" >/dev/null 2>&1
}
export -f play
export official port

failed=0
table_head map board games turns "hazards came" "hazards went" "snakes hurt" "food came" mazes "food ran"
for map in ${*:-$("$official" map list)}; do
    info=$("$official" map info "$map")
    most=$(sed -n 's/^Max Players: //p' <<<"$info")
    folder=$work/$map
    mkdir "$folder"
    for board in $(sed -n 's/^Board Sizes (WxH): //p' <<<"$info"); do
        for ((number = 0; number < games; number++)); do
            printf '%s %s %s %s %s %s\n' "$folder" "$map" "${board%x*}" "${board#*x}" "$most" "$number"
        done
    done >"$folder/plan"
    xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'play "$@"' play <"$folder/plan" || true
    played=$(find "$folder" -name '*.jsonl' -size +0 | wc -l)
    if [ "$played" != "$(wc -l <"$folder/plan")" ]; then
        echo "$map: $played of $(wc -l <"$folder/plan") games were played" >&2
        failed=1
    fi
    if ! MAPS_TRANSCRIPTS=$folder "$CHECKER" --exact official_games_keep_the_laws --nocapture >"$folder/verdict" 2>&1; then
        failed=1
        grep -m 3 -A 3 panicked "$folder/verdict" >&2 || tail -3 "$folder/verdict" >&2
    fi
    grep '^|' "$folder/verdict" || true
    [ -n "${KEEP:-}" ] || rm -rf "$folder"
done
exit $failed
