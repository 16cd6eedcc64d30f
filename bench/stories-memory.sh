#!/usr/bin/env bash
# What live games and waiting players take, and that games which have ended take nothing: 12,000 players open a game each and wait for
# its news; beside them 100,000 games are opened by others, end by themselves, and are gone from memory.
# RSS is the server's own. The second figure must be at most 5 MiB above the first.
# usage: bench/stories-memory.sh [players] [games that end]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
players=${1:-12000} games=${2:-100000}
arriving_s=$(((players + 599) / 600)) ending_s=$(((games + 799) / 800))
first_s=$((arriving_s + 15))
# Games of those who pass end ten seconds after they were opened, and leave memory when no client has been there for fifteen more.
last_s=$((first_s + ending_s + 45))

# A journey that begins with a guest and a game of these settings, as TOML.
opens_a_game() { # name, settings
    cat <<TOML
[[journey]]
name = "$1"

[[journey.step]]
name    = "enter"
request = "POST /api/stories/guests"
json    = { name = "$1 {{index}}" }
expect  = 201
keep    = { me = "/token" }

[[journey.step]]
name    = "create"
request = "POST /api/stories/games"
headers = { authorization = "Bearer {{me}}" }
json    = { bots = false, settings = { $2 } }
expect  = 201
keep    = { table = "/table", seq = "/seq" }
TOML
}

cat >"$work/memory.toml" <<TOML
format  = 1
name    = "stories-memory"
summary = "Live games with waiting players, and games that end beside them"

[vars]
port = "free"

[target]
url     = "http://127.0.0.1:{{port}}"
spawn   = ["gauntlet", "serve", "--port", "{{port}}", "--data", "{{run.dir}}/server.db", "--stories-waiters-per-address-max", "19000", "--log-level", "warn"]
ready   = "/readyz"
metrics = "/metrics"

[[phase]]
name          = "players"
arrivals      = { rate = 600, for = "${arriving_s}s" }
in_flight_max = 18000
journey       = "player"
reconnect     = "journey"

[[phase]]
name          = "passing"
arrivals      = { rate = 800, for = "${ending_s}s" }
in_flight_max = 500
journey       = "passer"
at            = "${first_s}s"

$(opens_a_game player "game_timeout_ms = 3600000")

[[journey.step]]
name    = "poll"
request = "GET /api/stories/tables/{{table}}/feed?after={{seq}}&wait=$((last_s + 10))s"
headers = { authorization = "Bearer {{me}}" }
waits   = true
timeout = "$((last_s + 40))s"

$(opens_a_game passer "game_timeout_ms = 10000, countdown_ms = 5000")

[gates]
"player.errors" = "= 0"
"passer.errors" = "= 0"
TOML

"$gauntlet" run "$work/memory.toml" --quiet --out "$work/run" >"$work/run.out" 2>&1 || { tail -n 20 "$work/run.out" >&2; exit 1; }

python3 - "$work/run" "$first_s" "$last_s" "$players" "$games" <<'PYTHON'
import sys
from figures import read_samples, table_head

folder, (first_s, last_s, players, games) = sys.argv[1], map(int, sys.argv[2:])
samples = read_samples(folder, "server")
def at(second):
    sample = min(samples, key=lambda sample: abs(sample["t_s"] - second))
    return sample["processes"]["server"]["rss_bytes"] / 2**20, sample["metrics"]["gauntlet_tables"], sample["waiting"]
table_head("moment", "RSS, MiB", "live tables", "waiting")
rows = [("idle", 0), (f"{players:,} players wait", first_s - 1), (f"{games:,} games later", last_s)]
for name, second in rows:
    rss, tables, waiting = at(second)
    print(f"| {name} | {rss:.1f} | {tables:,.0f} | {waiting:,} |")
grown = at(last_s)[0] - at(first_s - 1)[0]
each = (at(first_s - 1)[0] - at(0)[0]) * 2**20 / players
print(f"\nA live game with a waiting player: {each:,.0f} bytes. {games:,} games that ended: {grown:+.1f} MiB (allowed: +5).")
sys.exit(grown > 5 or at(last_s)[1] > players * 1.01 or at(first_s - 1)[2] < players)
PYTHON
