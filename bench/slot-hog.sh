#!/usr/bin/env bash
# One account has many slow games waiting, more than a process has slots; then another creates a few. How long do the games of the second wait for
# their first /start? Prints median and 99th percentile. Ends with 0: the second waits less than 5 s and the first still gets most of the slots,
# 1: failed, 77: cannot run here.
# usage: bench/slot-hog.sh [slots]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "There is no python3 here." >&2; exit 77; }
slots=${1:-40}
port=$(free_port) bots_port=$(free_port)

# Games of slow bots take minutes: what the hog has begun does not end while this is measured.
bots "$bots_port" --think 900ms
serve "$port" --data "$work/games.db" --matches-at-once "$slots"
other=$("$gauntlet" token create --data "$work/games.db" --role player --account other --name bench)
python3 - "$port" "$bots_port" "$slots" "$other" <<'PYTHON'
import json, os, sys, time, urllib.request
from datetime import datetime

port, bots_port, slots = (int(text) for text in sys.argv[1:4])

def call(token, method, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, data=body and json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as response:
        return json.load(response)

class Account:
    def __init__(self, name, token, path):
        self.token = token
        self.bot = call(token, "POST", "/api/snakes", {"name": name, "url": f"http://127.0.0.1:{bots_port}/{path}"})["id"]
        self.games = []

    def create(self, count):
        games = [{"snakes": [self.bot, self.bot], "timeout_ms": 1000}] * count
        items = call(self.token, "POST", "/api/games/batch", {"games": games})["items"]
        assert all(item["status"] == 201 for item in items), items[:3]
        self.games += [item["id"] for item in items]

    def waits_s(self, now):
        return [wait_s(game, now) for game in call(self.token, "POST", "/api/games/status", {"game_ids": self.games})]

# Of a game that has not begun, the time that it has waited so far.
def wait_s(game, now):
    at = lambda name: datetime.fromisoformat(game[name]).timestamp() if game.get(name) else None
    return (at("started_at") or now) - at("created_at")

def quantile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]

hog = Account("hog", os.environ["GAUNTLET_TOKEN"], "hungry/think-900ms")
other = Account("other", sys.argv[4], "hungry/think-0")
hog.create(10 * slots)
time.sleep(10)
running = sum(1 for wait in hog.waits_s(float("inf")) if wait != float("inf"))
print(f"{slots} slots, {10 * slots} slow games of the first account: {running} run after 10 s")
for _ in range(20):
    other.create(1)
    time.sleep(1)
time.sleep(5)
waits = sorted(other.waits_s(time.time()))
median, p99 = quantile(waits, 0.5), quantile(waits, 0.99)
print(f"{len(waits)} games of the second account: wait median {median:.2f} s, p99 {p99:.2f} s")
sys.exit(0 if p99 < 5 and running >= slots // 2 else 1)
PYTHON
