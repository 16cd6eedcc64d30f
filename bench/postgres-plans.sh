#!/usr/bin/env bash
# Games a second and the commits' 99th percentile on PostgreSQL: of a new server, and of one that was started on a database which autovacuum
# found empty of running games. Plans that were made there must not be slower: their games a second, as a share of the new server's, are
# compared with a floor. Starts a PostgreSQL of its own from Debian's package.
# usage: bench/postgres-plans.sh [games] [floor]; ends with 0, 1 when below the floor, 77 where there is no PostgreSQL
set -euo pipefail
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "PostgreSQL is not installed: apt-get install postgresql" >&2; exit 77; }
source "$(dirname "$0")/lib.sh"
games=${1:-1200} floor=${2:-0.7}
auth=(-H "Authorization: Bearer $GAUNTLET_TOKEN" -H 'Content-Type: application/json')

postgres
bots_port=$(free_port)
bots "$bots_port"

start() {
    port=$(free_port)
    serve "$port" --store-url "$postgres"
}

play() { # what it is; games a second are in $rate
    python3 - "$port" "$GAUNTLET_TOKEN" "$snake" "$games" "$1" >"$work/rate" <<'PYTHON'
import json, sys, time, urllib.request

port, token, snake, games, what = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]

def ask(path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body and json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()

def figures(page, name):
    rows = (line.rpartition(" ") for line in page.splitlines() if line.startswith(name))
    return {key: float(value) for key, _, value in rows}

def ended(page):
    return sum(figures(page, f'gauntlet_matches{{state="{state}"}}').popitem()[1] for state in ("finished", "failed"))

before, began = ask("/metrics"), time.monotonic()
left = games
while left > 0:
    batch = min(left, 1000)
    ask("/api/games/batch", {"games": [{"snakes": [snake, snake]}] * batch})
    left -= batch
while ended(page := ask("/metrics")) - ended(before) < games:
    if time.monotonic() - began > 600:
        sys.exit("the games have not ended after 600 s")
    time.sleep(0.1)
took = time.monotonic() - began
bucket = "gauntlet_store_commit_seconds_bucket"
old, new = figures(before, bucket), figures(page, bucket)
counts = [(key.split('le="')[1].split('"')[0], value - old.get(key, 0.0)) for key, value in new.items()]
p99 = next(bound for bound, count in counts if count >= 0.99 * counts[-1][1])
print(f"{what}: {games} games in {took:.1f} s, {games / took:.0f} a second; 99 of 100 commits within {p99} s", file=sys.stderr)
print(games / took)
PYTHON
    rate=$(cat "$work/rate")
}

start
snake=$(curl -fsS "${auth[@]}" "http://127.0.0.1:$port/api/snakes" -d "{\"name\": \"r\", \"url\": \"http://127.0.0.1:$bots_port/random\"}" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
play "a new server"
fresh=$rate
kill "$served"
wait "$served" || true
psql=$(ls /usr/lib/postgresql/*/bin/psql | tail -n 1)
"$psql" -q "$postgres" -c 'VACUUM ANALYZE'
start
# What an idle server asks is planned before there is anything to find.
sleep 2
play "after it was idle and analysed"
python3 -c "
import sys
share = $rate / $fresh
print(f'{share:.2f} of the new server\'s games a second; at least $floor are expected')
sys.exit(share < $floor)"
