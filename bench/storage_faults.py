"""What bench/disk-full.sh and bench/postgres-faults.sh ask of servers whose storage fails. URLS are those of the nodes, with commas between them.

usage: storage_faults.py begin URLS STATE BOTS_PORT   registers two bots
       storage_faults.py fill URLS STATE              creates games, each under a key, until one is refused
       storage_faults.py watch URLS STATE SECONDS     what creations, reads and probes are answered while the disk is full; ends with 1 where that is not what is promised
       storage_faults.py load URLS STATE SECONDS      creates games at all nodes in turn, whatever is answered, and says what was
       storage_faults.py settle URLS STATE [may-lose] waits until every node saves again, repeats every creation under its key, waits for the ends of the games and counts them;
                                                      ends with 1 if an acknowledged one is lost, unless that may be
"""

import collections
import json
import os
import sys
import time
import urllib.error
import urllib.request

DEADLINE_S = 120
FILL_MAX = 20000


def request(method, url, body=None, key=None):
    """Status, headers and body of the response."""
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    sent = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=30) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read()


class State:
    def __init__(self, path):
        self.path = path
        self.bots, self.keys, self.acknowledged = [], 0, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.__dict__.update(json.load(file))

    def save(self):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(self.__dict__, file)

    def create(self, url, number):
        """Creates the game of a key; what the server answered."""
        body = {"snakes": self.bots, "seed": number, "board": "11x11"}
        status, headers, text = request("POST", f"{url}/api/games", body, f"game-{number}")
        if status == 201:
            self.acknowledged.setdefault(str(number), json.loads(text)["id"])
        return status, headers, text

    def create_next(self, url):
        self.keys += 1
        return self.create(url, self.keys)


def begin(urls, state, bots_port):
    url = urls[0]
    for name in ("random", "hungry"):
        status, _, text = request("POST", f"{url}/api/snakes", {"name": name, "url": f"http://127.0.0.1:{bots_port}/{name}"})
        assert status == 201, text
        state.bots.append(json.loads(text)["id"])


def fill(urls, state):
    url = urls[0]
    for _ in range(FILL_MAX):
        status, _, text = state.create_next(url)
        if status != 201:
            print(f"  {len(state.acknowledged)} games acknowledged, then {status}: {json.loads(text).get('code')}")
            return
    sys.exit("the disk does not fill up")


def metric(url, name):
    _, _, text = request("GET", f"{url}/metrics")
    return next((float(line.split()[1]) for line in text.decode().splitlines() if line.startswith(name + " ")), None)


def watch(urls, state, seconds):
    """While the disk is full: a creation, a list, a game, both probes and the metric, over and over."""
    url = urls[0]
    seen = collections.defaultdict(collections.Counter)
    known = next(iter(state.acknowledged.values()))
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        status, headers, text = state.create_next(url)
        code = json.loads(text).get("code") if status >= 400 else ""
        retry = "with Retry-After" if headers.get("Retry-After") else "without Retry-After"
        seen["creation"][f"{status} {code} {retry}"] += 1
        for name, path in (("list", "/api/games"), ("game", f"/api/games/{known}"), ("/healthz", "/healthz"), ("/readyz", "/readyz")):
            seen[name][request("GET", url + path)[0]] += 1
        seen["gauntlet_store_refusing"][metric(url, "gauntlet_store_refusing")] += 1
        time.sleep(0.05)
    for name, answers in seen.items():
        print(f"  {name}: " + ", ".join(f"{answer} x {count}" for answer, count in answers.most_common()))
    wanted = {
        "creation": {"503 store_unavailable with Retry-After"},
        "list": {200},
        "game": {200},
        "/healthz": {200},
        "/readyz": {503},
        "gauntlet_store_refusing": {1.0},
    }
    wrong = {name: set(answers) - wanted[name] for name, answers in seen.items() if set(answers) - wanted[name]}
    if wrong:
        print(f"  NOT HELD: {wrong}")
        sys.exit(1)


def load(urls, state, seconds):
    answers, slowest = collections.Counter(), 0.0
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            status, _, text = state.create_next(urls[state.keys % len(urls)])
            answers[f"{status} {json.loads(text).get('code') if status >= 400 else ''}".strip()] += 1
        except (OSError, TimeoutError) as error:
            answers[type(error).__name__] += 1
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    print("  creations: " + ", ".join(f"{answer} x {count}" for answer, count in answers.most_common()) + f"; slowest {slowest:.1f} s")


def until_saved(url, state):
    began = time.monotonic()
    while True:
        try:
            if state.create_next(url)[0] == 201:
                return time.monotonic() - began
        except (OSError, TimeoutError):
            pass
        if time.monotonic() - began > DEADLINE_S:
            sys.exit("  NOT HELD: the server does not save again")
        time.sleep(0.02)


def settle(urls, state, may_lose=None):
    waited = [until_saved(url, state) for url in urls]
    ready = [request("GET", f"{url}/readyz")[0] for url in urls]
    print("  saves again after " + ", ".join(f"{seconds:.2f} s" for seconds in waited) + f"; /readyz says {ready}")
    before, url = dict(state.acknowledged), urls[0]
    state.acknowledged = {}
    for number in range(1, state.keys + 1):
        status, _, text = state.create(url, number)
        assert status == 201, text
    lost = [game for number, game in before.items() if state.acknowledged[number] != game]
    games = set(state.acknowledged.values())
    states = await_ends(url, sorted(games))
    total = int(sum(float(line.split()[1]) for line in request("GET", f"{url}/metrics")[2].decode().splitlines() if line.startswith("gauntlet_matches{")))
    print(f"  {len(before)} acknowledged, {len(lost)} of them lost; {state.keys} keys, {len(games)} games, {total} stored: " + ", ".join(f"{count} {name}" for name, count in states.items()))
    if (lost and not may_lose) or not state.keys == len(games) == total == states["finished"]:
        sys.exit("  NOT HELD: a game is lost, stands twice or does not end")


def await_ends(url, games):
    deadline = time.monotonic() + DEADLINE_S
    while True:
        states = collections.Counter()
        for first in range(0, len(games), 500):
            found = json.loads(request("POST", f"{url}/api/games/status", {"game_ids": games[first : first + 500]})[2])
            states.update(game["status"] for game in found)
        if states["finished"] == len(games) or time.monotonic() > deadline:
            return states
        time.sleep(0.2)


if __name__ == "__main__":
    action, urls, path, *rest = sys.argv[1:]
    state = State(path)
    try:
        {"begin": begin, "fill": fill, "watch": watch, "load": load, "settle": settle}[action](urls.split(","), state, *rest)
    finally:
        state.save()
