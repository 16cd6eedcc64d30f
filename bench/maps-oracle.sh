#!/usr/bin/env bash
# All official maps against the official program: it plays games of every map on every board that it knows for the map, by itself, with our
# sample bots as snakes; every turn of every game has to be one that our rule book allows (crates/bots/tests/maps), and on
# each board the hazards that the map moves must have come, and gone, in some game.
# The program is built from its released module with Go, in a folder that is removed afterwards. Nothing of it is part of this
# repository, and nothing here is linked with it. Without Go or the module it ends with 77.
# usage: bench/maps-oracle.sh [games of each map on each board] [map...]
#        bench/maps-oracle.sh --hashes     games of one snake, which the official program repeats: are they those that were recorded
#                                          (crates/bots/tests/maps/solo_games.txt), and does our rule book allow each? A minute or two
#        bench/maps-oracle.sh --record     writes that file anew
#   JOBS=n games at once (as many as processors), CHECKER=file the compiled tests (built otherwise), KEEP=1 keeps all files
set -euo pipefail
source "$(dirname "$0")/lib.sh"
mode=games
case "${1:-}" in --hashes | --record) mode=${1#--} ;; esac
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

recorded=$root/crates/bots/tests/maps/solo_games.txt

# One snake that goes by the turn alone, on the first board of each map, from four seeds: nothing in such a game is drawn by anything but its
# seed. With two snakes the program deals out their places in the order of a Go map, and no seed repeats a game.
play_solo_games() {
    local map board width height seed folder=$work/solo
    mkdir "$folder"
    python3 "$root/bench/tournament_bots.py" >"$work/bots.port" &
    pids+=("$!")
    for _ in $(seq 100); do [ -s "$work/bots.port" ] && break; sleep 0.1; done
    for map in $("$official" map list); do
        board=$("$official" map info "$map" | sed -n 's/^Board Sizes (WxH): //p' | awk '{ print $1 }')
        [[ $board =~ ^[0-9]+x[0-9]+$ ]] || board=11x11
        width=${board%x*} height=${board#*x}
        for seed in 1 2 3 4; do
            timeout 300 "$official" play -W "$width" -H "$height" -m "$map" -r "$seed" -o "$folder/$map-$width-$height-$seed.jsonl" \
                --foodSpawnChance 25 --minimumFood 0 --hazardDamagePerTurn 14 --shrinkEveryNTurns 5 \
                --name s0 --url "http://127.0.0.1:$(cat "$work/bots.port")/last-60" >/dev/null 2>&1
        done
    done
    python3 "$root/bench/map_hashes.py" "$folder" >"$work/solo_games.txt"
    MAPS_SOLO_TRANSCRIPTS=$folder "$CHECKER" --exact official_games_of_one_snake_keep_the_laws --nocapture >"$work/verdict" 2>&1 || {
        grep -m 3 -A 3 panicked "$work/verdict" >&2 || tail -3 "$work/verdict" >&2
        return 1
    }
    [ "$(grep -c '^|' "$work/verdict")" -gt 0 ] || { echo "The checker judged no game." >&2; return 1; }
}
if [ "$mode" != games ]; then
    play_solo_games
    [ "$mode" = hashes ] || cp "$work/solo_games.txt" "$recorded"
    diff "$recorded" "$work/solo_games.txt" >&2 || { echo "The official program plays other games than were recorded." >&2; exit 1; }
    echo "$(wc -l <"$recorded") games of one snake on $(cut -d ' ' -f 1 "$recorded" | sort -u | wc -l) maps: as recorded, and our rule book allows each"
    exit 0
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
    # On a busy machine the program may not reach a snake in time, and gives up before the first turn: that is no game.
    for _ in 1 2 3; do
        timeout 300 "$official" play -W "$width" -H "$height" -m "$map" -r "$((number + 1))" -o "$folder/$width-$height-$number.jsonl" \
            --foodSpawnChance "$chance" --minimumFood "$minimum" --hazardDamagePerTurn "$damage" --shrinkEveryNTurns "$shrink" \
            "${arguments[@]}" >/dev/null 2>&1 && return
    done
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
    # A row for each board with games: one that is missing was not judged.
    judged=$(grep -c '^|' "$folder/verdict" || true) boards=$(cut -d ' ' -f 3,4 "$folder/plan" | sort -u | wc -l)
    if [ "$judged" = 0 ] || [ "$judged" != "$boards" ]; then
        echo "$map: the checker judged games on $judged of $boards boards" >&2
        failed=1
    fi
    grep '^|' "$folder/verdict" || true
    [ -n "${KEEP:-}" ] || rm -rf "$folder"
done
exit $failed
