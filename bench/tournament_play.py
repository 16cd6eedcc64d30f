"""Plays one tournament on a server of its own, which is killed with -9 in every round if asked, and writes the bracket to a file:
who met whom, in which seats, with which places. Ends with 1 when the tournament does not end in ten minutes."""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request

arguments = argparse.ArgumentParser()
for name in ("gauntlet", "port", "data", "kills", "bots", "bots-port", "out"):
    arguments.add_argument(f"--{name}", required=True)
wanted = arguments.parse_args()
bots = int(wanted.bots)
base = f"http://127.0.0.1:{wanted.port}/api"
log = open(f"{wanted.data}/server.log", "ab")


def start() -> subprocess.Popen:
    command = [wanted.gauntlet, "serve", "--port", wanted.port, "--allow-private-bots"]
    return subprocess.Popen(command, cwd=wanted.data, stdout=log, stderr=log)


def call(method: str, path: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(base + path, data, headers, method=method), timeout=30) as reply:
        return json.loads(reply.read() or b"null")


def eventually(method: str, path: str, body: object = None) -> dict:
    """A server that has just started does not listen yet."""
    for _ in range(300):
        try:
            return call(method, path, body)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    sys.exit(f"the server does not answer: {wanted.data}/server.log")


def bracket(tournament: dict) -> list:
    names = [entrant["snake_name"] for entrant in tournament["entrants"]]
    name = lambda number: None if number is None else names[number]
    return [
        {
            "stage": pairing["stage"],
            "round": pairing["round"],
            "players": [name(player["entrant"]) for player in pairing["players"]],
            "games": [[game["status"], [names[seat] for seat in game["seats"]], game.get("places")] for game in pairing["games"]],
            "winner": name(pairing["winner"]),
            "decision": pairing["decision"],
        }
        for pairing in tournament["pairings"]
    ]


server = start()
eventually("GET", "/snakes")
created = call("POST", "/tournaments", {"name": "bench", "entrants_max": bots, "seed": 7, "game": {"timeout_ms": 10_000}})
path = f"/tournaments/{created['id']}"
for number in range(bots):
    url = f"http://127.0.0.1:{wanted.bots_port}/last-{5 + number}"
    snake = call("POST", "/snakes", {"name": f"bot {number}", "url": url})
    call("POST", f"{path}/entries", {"snake_id": snake["id"]})
begun = time.monotonic()
call("POST", f"{path}/start", {})
killed_rounds, kills = set(), 0
while True:
    tournament = eventually("GET", path)
    if tournament["status"] == "finished":
        break
    if time.monotonic() - begun > 600:
        sys.exit("the tournament did not end in ten minutes")
    current = {pairing["round"] for pairing in tournament["pairings"] if pairing["status"] == "playing"}
    if wanted.kills == "yes" and current - killed_rounds:
        killed_rounds |= current
        kills += 1
        server.kill()
        server.wait()
        server = start()
    time.sleep(0.05)
took = time.monotonic() - begun
with open(wanted.out, "w") as out:
    json.dump({"bracket": bracket(tournament), "standings": tournament["standings"]}, out, indent=1)
print(f"{bots} bots, {len(tournament['pairings'])} pairings, {tournament['games_created']} games, {kills} kills: {took:.1f} s")
server.terminate()
server.wait()
