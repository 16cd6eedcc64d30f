# Shared by what shows or measures the match page: matches of sample bots, played to their end on a server of their own.
# Sourced after bench/lib.sh, with the server's port in $port and the bots' in $bots_port.

sample_snakes() { # count: registers so many, under names that a page must hold; their ids, one a line
    local names=("Hungry" "Flood" "Random" "<b>Björn & co</b>" "A name that is quite long for a snake" "Late sometimes" "Seven" "Eight")
    local bots=(hungry flood random flood/seed-3 hungry/think-40ms flood/late-0.05 hungry/seed-7 flood/seed-8) n
    for n in $(seq 0 $(($1 - 1))); do
        api POST /api/snakes "$(python3 -c 'import json, sys; print(json.dumps({"name": sys.argv[1], "url": sys.argv[2], "is_public": True}))' \
            "${names[$n]}" "http://127.0.0.1:$bots_port/${bots[$n]}")" | json_field id
    done
}

sample_match() { # board, map, game type, snake ids...: plays one to its end, at most 3 min; its id
    local board=$1 map=$2 game_type=$3 snakes id status
    shift 3
    snakes=$(printf '"%s",' "$@")
    id=$(api POST /api/games "{\"snakes\": [${snakes%,}], \"board\": \"$board\", \"map\": \"$map\", \"game_type\": \"$game_type\", \"seed\": \"7\"}" | json_field id)
    for _ in $(seq 360); do
        status=$(api GET "/api/games/$id/summary" | json_field status)
        [ "$status" = finished ] && echo "$id" && return
        sleep 0.5
    done
    echo "A sample match did not end in three minutes." >&2
    return 1
}
