#!/usr/bin/env bash
# 2,167 creations by the bulk route: two batches of 1,000 and one of 167, one after the other; each is one commit.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
port=$(free_port) bots_port=$(free_port)
auth=(-H "Authorization: Bearer $GAUNTLET_TOKEN" -H 'Content-Type: application/json')

bots "$bots_port" --think 200ms
serve "$port" --data "$work/games.db"
snake=$(api POST /api/snakes "{\"name\": \"r\", \"url\": \"http://127.0.0.1:$bots_port/random\"}" | json_field id)
for count in 1000 1000 167; do
    python3 -c "import json; print(json.dumps({'games': [{'snakes': ['$snake', '$snake']}] * $count}))" >"$work/batch.json"
    took=$(curl -fsS -o "$work/answer.json" -w '%{time_total}' "${auth[@]}" "http://127.0.0.1:$port/api/games/batch" --data-binary "@$work/batch.json")
    created=$(python3 -c "import json; print(sum(i['status'] == 201 for i in json.load(open('$work/answer.json'))['items']))")
    echo "$created of $count created in $took s"
done
