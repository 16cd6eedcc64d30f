# Shared by what shows pages of Stories: tables in every phase, with guests of their own.
# Sourced after bench/lib.sh, with the server's port in $port.

sample_guest() { # name: a guest; the token
    api POST /api/stories/guests "{\"name\": \"$1\"}" | json_field token
}

story() { # token, path, JSON: a request by this guest
    GAUNTLET_TOKEN=$1 api POST "/api/stories/$2" "${3:-{\}}"
}

sample_card() { # token, game, place in the hand: its number
    GAUNTLET_TOKEN=$1 api GET "/api/stories/games/$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)["game"]["own"]["hand"][int(sys.argv[1])])' "$3"
}

# In create, invitation, vote or complete: three people at it. Sets $table, and the tokens of two of them: $teller and $player.
sample_table() { # phase
    local game other told mine theirs
    teller=$(sample_guest Ann) player=$(sample_guest Ben) other=$(sample_guest "Camilla of the long name")
    game=$(story "$teller" games | python3 -c 'import json, sys; print(json.load(sys.stdin)["game"]["id"])')
    table=${game%-*}
    story "$player" "games/$game/join" >/dev/null
    story "$other" "games/$game/join" >/dev/null
    [ "$1" = create ] && return
    told=$(sample_card "$teller" "$game" 1) mine=$(sample_card "$player" "$game" 0) theirs=$(sample_card "$other" "$game" 2)
    story "$teller" "games/$game/card" "{\"card\": $told}" >/dev/null
    story "$teller" "games/$game/sentence" '{"sentence": "What the sea keeps, and never gives back"}' >/dev/null
    story "$other" "tables/$table/chat" '{"text": "Ann, that could be anything"}' >/dev/null
    story "$other" "games/$game/pick" "{\"card\": $theirs}" >/dev/null
    [ "$1" = invitation ] && return
    story "$player" "games/$game/pick" "{\"card\": $mine}" >/dev/null
    story "$teller" "games/$game/voting" >/dev/null
    [ "$1" = vote ] && return
    story "$player" "games/$game/vote" "{\"card\": $told}" >/dev/null
    story "$other" "games/$game/vote" "{\"card\": $mine}" >/dev/null
    story "$teller" "games/$game/complete" >/dev/null
}
