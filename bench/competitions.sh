# Shared by what shows pages of competitions: a ladder, tournaments and a duel of sample bots, played on a server of their own.
# Sourced after bench/lib.sh, with the server's port in $port and the bots' in $bots_port.

as() { # token, method, path, JSON: a request by this token's account
    GAUNTLET_TOKEN=$1 api "${@:2}"
}

sample_account() { # name: makes it; a token of it
    api POST /api/admin/accounts "{\"name\": \"$1\"}" >/dev/null
    api POST /api/admin/tokens "{\"account\": \"$1\", \"name\": \"sample\"}" | json_field secret
}

sample_bot() { # token, name, path of its URL: a public bot; its id
    as "$1" POST /api/snakes "{\"name\": \"$2\", \"url\": \"http://127.0.0.1:$bots_port/$3\", \"is_public\": true}" | json_field id
}

wait_for() { # path, member, value: until the JSON there has it, at most 3 min
    for _ in $(seq 360); do
        [ "$(api GET "$1" | json_field "$2")" = "$3" ] && return
        sleep 0.5
    done
    echo "$1 did not come to $2 $3 in three minutes." >&2
    return 1
}

sample_ladder() { # a public ladder of two accounts, whose bots have ranks; its id
    local ann bob id bot
    ann=$(sample_account ann) bob=$(sample_account bob)
    id=$(api POST /api/leaderboards '{"name": "Duels on a small board", "players": 2, "board": "7x7", "season_days": 30}' | json_field id)
    for bot in Hungry=hungry Flood=flood/seed-3 Seven=hungry/seed-7 Random=random; do
        as "$ann" POST "/api/leaderboards/$id/entries" "{\"battlesnake_id\": \"$(sample_bot "$ann" "${bot%=*}" "${bot#*=}")\"}" >/dev/null
    done
    for bot in "Björn=flood" "A name that is quite long for a snake=hungry/seed-9" Eight=flood/seed-8 Late=hungry/late-0.05; do
        as "$bob" POST "/api/leaderboards/$id/entries" "{\"battlesnake_id\": \"$(sample_bot "$bob" "${bot%=*}" "${bot#*=}")\"}" >/dev/null
    done
    for _ in $(seq 360); do
        [ "$(api GET "/api/leaderboards/$id" | json_field games_applied)" -ge 80 ] && echo "$id" && return
        sleep 0.5
    done
    echo "The sample ladder did not play in three minutes." >&2
    return 1
}

sample_tournament() { # format as JSON, best of, snake ids...: started; its id
    local format=$1 best_of=$2 id snake
    shift 2
    id=$(api POST /api/tournaments "{\"name\": \"Spring cup\", \"best_of\": $best_of, \"format\": $format, \"game\": {\"board\": \"7x7\"}}" | json_field id)
    for snake in "$@"; do api POST "/api/tournaments/$id/entries" "{\"snake_id\": \"$snake\"}" >/dev/null; done
    api POST "/api/tournaments/$id/start" >/dev/null
    echo "$id"
}

sample_duel() { # paths of the URLs of two bots or more: begun, for everyone who has the link; its id
    local bots=() path
    for path in "$@"; do bots+=("{\"url\": \"http://127.0.0.1:$bots_port/$path\", \"name\": \"${path%%/*}\"}"); done
    api POST /api/duels "{\"bots\": [$(IFS=,; echo "${bots[*]}")], \"board\": \"7x7\", \"is_public\": true, \"games_max\": 100}" | json_field id
}
