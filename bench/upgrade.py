"""What bench/upgrade.sh asks of servers of two versions.

usage: upgrade.py bots URL BOTS_PORT BOTS_FILE               registers two bots; their ids are in BOTS_FILE
       upgrade.py create URL BOTS_FILE MATCHES MATCHES_FILE   creates matches between them, at once; ends when all are acknowledged
       upgrade.py finished URL MATCHES_FILE...                waits until all are over, two minutes at most; ends with 1 if one was cancelled, failed or is not there
       upgrade.py frames URL MATCHES_FILE HASHES_FILE         a hash of the frames of each
       upgrade.py guests - FIGURES_FILE...                    what bench/restart.py found; ends with 1 if a request failed
"""

import collections
import hashlib
import json
import os
import sys
import time
import urllib.request

import figures

DEADLINE_S = 120


def call(method, url, body=None):
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)


def register_bots(url, port, path):
    made = [call("POST", f"{url}/api/snakes", {"name": name, "url": f"http://127.0.0.1:{port}/{name}"}) for name in ("random", "hungry")]
    write(path, [bot["id"] for bot in made])


def create(url, bots, count, path):
    made = call("POST", f"{url}/api/games/batch", {"games": [{"snakes": read(bots), "board": "11x11"}] * int(count)})["items"]
    refused = [item for item in made if item["status"] != 201]
    if refused:
        sys.exit(f"{len(refused)} matches were refused: {refused[0]['problem']}")
    write(path, [item["id"] for item in made])


def await_end(url, *paths):
    games = [game for path in paths for game in read(path)]
    deadline = time.monotonic() + DEADLINE_S
    while True:
        states = collections.Counter()
        for begin in range(0, len(games), 500):
            found = call("POST", f"{url}/api/games/status", {"game_ids": games[begin : begin + 500]})
            states.update(game["status"] for game in found)
        is_over = sum(states[state] for state in ("waiting", "running")) == 0
        if is_over or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    print(f"{len(games)} matches acknowledged: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    if states["finished"] != len(games):
        sys.exit(1)


def hash_frames(url, path, to):
    def frames(game):
        found, seen = hashlib.sha256(), 0
        while True:
            page = call("GET", f"{url}/api/games/{game}/frames?offset={seen}")
            found.update(json.dumps(page["frames"], sort_keys=True).encode())
            seen += len(page["frames"])
            if seen >= page["count"] or not page["frames"]:
                return found.hexdigest()

    hashes = {game: frames(game) for game in read(path)}
    write(to, hashes)
    print(f"{len(hashes)} matches that were over, by their frames: {hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:16]}")


def show_guests(_, *paths):
    figures.table_head("guests", "requests", "failed", "which", "slowest, s")
    failed = 0
    for path in paths:
        found = read(path)
        failed += sum(found["failures"].values())
        which = ", ".join(f"{count} × {what}" for what, count in sorted(found["failures"].items())) or "none"
        name = os.path.basename(path).removeprefix("guests-").removesuffix(".json")
        print(f"| at the {name} node | {sum(found['requests'].values()):,} | {sum(found['failures'].values())} | {which} | {found['slowest_s']} |")
    sys.exit(bool(failed))


COMMANDS = {"bots": register_bots, "create": create, "finished": await_end, "frames": hash_frames, "guests": show_guests}
COMMANDS[sys.argv[1]](*sys.argv[2:])
