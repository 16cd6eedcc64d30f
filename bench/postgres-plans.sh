#!/usr/bin/env bash
# Games a second, the commits' 99th percentile and the database's processor time a game on PostgreSQL: of a new server, and of one that was
# started on a database which autovacuum found empty of running games. Plans that were made there must not cost more: the processor time of
# the new server, as a share of that afterwards, is compared with a floor. It tells a busy machine, which is slow both times, from a plan
# that reads whole tables. Starts a PostgreSQL of its own from Debian's package.
# usage: bench/postgres-plans.sh [games] [floor]; ends with 0, 1 when below the floor, 77 where there is no PostgreSQL
set -euo pipefail
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "PostgreSQL is not installed: apt-get install postgresql" >&2; exit 77; }
source "$(dirname "$0")/lib.sh"
games=${1:-1200} floor=${2:-0.7}

postgres
bots_port=$(free_port)
bots "$bots_port"

start() {
    port=$(free_port)
    serve "$port" --store-url "$postgres"
}

play() { # what it is; the database's processor time a game, in ms, is in $cost
    python3 - "$port" "$GAUNTLET_TOKEN" "$snake" "$games" "$1" "$postgres_pid" >"$work/cost" <<'PYTHON'
import json, os, pathlib, sys, time, urllib.request

PATIENCE_S = 600
port, token, snake, games, what, postgres = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6]

def ask(path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body and json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()

def cpu_s():
    """Of the database: of its first process, of those that it started, and of those of them that have ended."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, fields = stat.parent.name, stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if pid == postgres:
            ticks += sum(int(field) for field in fields[11:15])
        elif fields[1] == postgres:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")

def figures(page, name):
    rows = (line.rpartition(" ") for line in page.splitlines() if line.startswith(name))
    return {key: float(value) for key, _, value in rows}

def figures_of_store():
    """A page with the games that the store has ended, and their number: the page comes without where the database is slow to answer."""
    while time.monotonic() - began < PATIENCE_S:
        page = ask("/metrics")
        games = figures(page, "gauntlet_matches{")
        if games:
            return page, sum(games[f'gauntlet_matches{{state="{state}"}}'] for state in ("finished", "failed"))
        time.sleep(0.1)
    sys.exit(f"the games have not ended after {PATIENCE_S} s")

began = time.monotonic()
before, ended_before = figures_of_store()
began, cpu_before = time.monotonic(), cpu_s()
left = games
while left > 0:
    batch = min(left, 1000)
    ask("/api/games/batch", {"games": [{"snakes": [snake, snake]}] * batch})
    left -= batch
took = None
while True:
    page, ended = figures_of_store()
    # The last games end when the longest of them does, whatever the database does.
    if took is None and ended - ended_before >= 0.9 * games:
        took = time.monotonic() - began
    if ended - ended_before >= games:
        break
    time.sleep(0.1)
rate, cost_ms = 0.9 * games / took, 1000 * (cpu_s() - cpu_before) / games
bucket = "gauntlet_store_commit_seconds_bucket"
old, new = figures(before, bucket), figures(page, bucket)
counts = [(key.split('le="')[1].split('"')[0], value - old.get(key, 0.0)) for key, value in new.items()]
p99 = next(bound for bound, count in counts if count >= 0.99 * counts[-1][1])
print(f"{what}: nine of ten of {games} games in {took:.1f} s, {rate:.0f} a second; 99 of 100 commits within {p99} s; "
      f"{cost_ms:.1f} ms of the database's processor time a game", file=sys.stderr)
print(cost_ms)
PYTHON
    cost=$(cat "$work/cost")
}

start
snake=$(api POST /api/snakes "{\"name\": \"r\", \"url\": \"http://127.0.0.1:$bots_port/random\"}" | json_field id)
play "a new server"
fresh=$cost
stop_served
psql=$(ls /usr/lib/postgresql/*/bin/psql | tail -n 1)
"$psql" -q "$postgres" -c 'VACUUM ANALYZE'
start
# What an idle server asks is planned before there is anything to find.
sleep 2
play "after it was idle and analysed"
python3 -c "
import sys
share = $fresh / $cost
print(f'{share:.2f}: the new server\'s processor time of the database as a share of that afterwards; at least $floor is expected')
sys.exit(share < $floor)"
