"""Plays one tournament on a server of its own, which is killed with -9 in every round if asked, and writes the bracket to a file:
who met whom, in which seats, with which places. Ends with 1 when the tournament does not end in ten minutes, or when a round was over
before the server could be killed in it. Its server ends with it, also when it is stopped."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
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


def play() -> None:
    global server
    eventually("GET", "/snakes")
    created = call("POST", "/tournaments", {"name": "bench", "entrants_max": bots, "seed": 7, "game": {"timeout_ms": 10_000}})
    path = f"/tournaments/{created['id']}"
    for number in range(bots):
        url = f"http://127.0.0.1:{wanted.bots_port}/last-{5 + number}"
        snake = call("POST", "/snakes", {"name": f"bot {number}", "url": url})
        call("POST", f"{path}/entries", {"snake_id": snake["id"]})
    begun = time.monotonic()
    call("POST", f"{path}/start", {})
    killed_rounds = set()
    while True:
        tournament = eventually("GET", path)
        if tournament["status"] == "finished":
            break
        if time.monotonic() - begun > 600:
            sys.exit("the tournament did not end in ten minutes")
        current = {pairing["round"] for pairing in tournament["pairings"] if pairing["status"] == "playing"}
        if wanted.kills == "yes" and current - killed_rounds:
            killed_rounds |= current
            server.kill()
            server.wait()
            server = start()
        time.sleep(0.05)
    took = time.monotonic() - begun
    with open(wanted.out, "w") as out:
        json.dump({"bracket": bracket(tournament), "standings": tournament["standings"]}, out, indent=1)
    kills = f"killed in {len(killed_rounds)} rounds" if killed_rounds else "not killed"
    print(f"{bots} bots, {len(tournament['pairings'])} pairings, {tournament['games_created']} games, {kills}: {took:.1f} s")
    rounds = {pairing["round"] for pairing in tournament["pairings"]}
    if wanted.kills == "yes" and rounds - killed_rounds:
        sys.exit(f"the server was not killed in rounds {sorted(rounds - killed_rounds)}: they were over too soon")


# The script that runs this ends it with SIGTERM.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
server = start()
try:
    play()
finally:
    server.terminate()
    server.wait()
