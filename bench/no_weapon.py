"""Counts what a host that never asked for it is sent because strangers registered its URL, on a server that limits loopback addresses too.
Ends with 1 when a bar does not hold. Started by no-weapon.sh."""

import argparse
import asyncio
import json
import os
import sys
import time
import urllib.request

arguments = argparse.ArgumentParser()
for name in ("port", "honest-port", "seconds", "accounts"):
    arguments.add_argument(f"--{name}", required=True)
wanted = arguments.parse_args()
base = f"http://127.0.0.1:{wanted.port}"
seconds, accounts = int(wanted.seconds), int(wanted.accounts)
# The limits that docs/bots.md promises, for ten minutes.
ONE_ACCOUNT_MAX, HUNDRED_ACCOUNTS_MAX = 100, 1_000
# So many turns a hungry snake plays alone on average, at least: one that is not called dies after eleven.
HONEST_TURNS_MIN = 50
# No wall, and hazards that heal: a snake that no bot steers would live for ever.
ENDLESS = {"game_type": "wrapped", "map": "royale", "settings": {
    "hazardDamagePerTurn": -100, "shrinkEveryNTurns": 1, "foodSpawnChance": 0, "minimumFood": 0}}
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
MOVE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"move\":\"up\"}"


class Host:
    """Answers everything in the same way, and counts."""

    def __init__(self, answer: bytes) -> None:
        self.answer, self.requests, self.bytes = answer, 0, 0

    async def start(self) -> "Host":
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = 0
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                await reader.readexactly(length)
                self.requests, self.bytes = self.requests + 1, self.bytes + len(head) + length
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def request(method: str, path: str, body: object, token: str) -> dict:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    made = urllib.request.Request(base + path, json.dumps(body).encode() if body is not None else None, headers, method=method)
    with urllib.request.urlopen(made, timeout=60) as reply:
        return json.loads(reply.read() or b"null")


async def api(method: str, path: str, body: object, token: str) -> dict:
    return await asyncio.to_thread(request, method, path, body, token)


async def account(name: str) -> str:
    admin = os.environ["GAUNTLET_TOKEN"]
    await api("POST", "/api/admin/accounts", {"name": name}, admin)
    return (await api("POST", "/api/admin/tokens", {"account": name, "name": name, "role": "player"}, admin))["secret"]


async def snake(token: str, name: str, url: str) -> str:
    return (await api("POST", "/api/snakes", {"name": name, "url": url, "is_public": True}, token))["id"]


async def play(token: str, snakes: list[str], games: int, settings: dict) -> None:
    for one in snakes:
        for _ in range(games):
            await api("POST", "/api/games", {"snakes": [one]} | settings, token)


def spellings() -> list[str]:
    """Fifty hosts that are one address."""
    zeros = ["0", "00", "000", "0000"]
    mapped = [f"[{a}:{b}:{c}:0:0:ffff:127.0.0.1]" for a in zeros for b in zeros for c in zeros]
    return ["127.0.0.1", "localhost", *mapped][:50]


def metric(name: str) -> float:
    with urllib.request.urlopen(f"{base}/metrics", timeout=30) as reply:
        for line in reply.read().decode().splitlines():
            if line.split(" ")[0] == name:
                return float(line.split()[1])
    return 0.0


async def main() -> int:
    honest = await account("honest")
    kind = os.environ["ATTACK"]
    think_ms = 50 if kind == "no-time" else 0
    bot = await snake(honest, "honest", f"http://127.0.0.1:{wanted.honest_port}/hungry/think-{think_ms}ms")
    failed = []

    async def watch_honest(stop: asyncio.Event) -> tuple[int, int, int]:
        games = late = turns = 0
        while not stop.is_set():
            made = await api("POST", "/api/games", {"snakes": [bot], "game_type": "solo"}, honest)
            while True:
                [game] = await api("POST", "/api/games/status", {"game_ids": [made["id"]]}, honest)
                if game["status"] not in ("waiting", "running"):
                    break
                await asyncio.sleep(0.2)
            games, late, turns = games + 1, late + game["late_moves"], turns + game["turns"]
        return games, turns, late

    async def attack(what: str, limit: int, host: Host, tokens: list[str], hosts: list[str], games: int,
                     replaced: bool = False) -> None:
        stop = asyncio.Event()
        watched = asyncio.create_task(watch_honest(stop))
        for number, token in enumerate(tokens):
            chosen = hosts if len(tokens) == 1 else hosts[:1]
            snakes = [await snake(token, f"{what} {number} {at}", f"http://{name}:{host.port}/{number}/{at}")
                      for at, name in enumerate(chosen)]
            await play(token, snakes, games, ENDLESS)
        if replaced:
            await asyncio.sleep(5)
            before, host.answer, host.requests, host.bytes = host.requests, NOT_FOUND, 0, 0
            print(f"{what}: answered {before} requests before it was replaced")
        await asyncio.sleep(seconds)
        stop.set()
        played, turns, late = await watched
        is_good = host.requests <= limit and late == 0 and played > 0 and turns >= played * HONEST_TURNS_MIN
        print(f"{what}: {host.requests} requests ({host.bytes} bytes) in {seconds} s, at most {limit}; "
              f"an honest bot beside it: {played} games, {turns} turns, {late} late moves", flush=True)
        if not is_good:
            failed.append(what)

    async def starve() -> None:
        """Games of a stranger give the honest bot a fifth of the time that it takes for a move."""
        [ladder, *_] = await api("GET", "/api/leaderboards", None, honest)
        await api("POST", f"/api/leaderboards/{ladder['id']}/entries", {"battlesnake_id": bot}, honest)
        stranger, stop = await account("stranger"), asyncio.Event()
        watched = asyncio.create_task(watch_honest(stop))
        games, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            batch = {"games": [{"snakes": [bot] * 4, "timeout_ms": 10}] * 10}
            await api("POST", "/api/games/batch", batch, stranger)
            games += 10
            await asyncio.sleep(1)
        stop.set()
        played, turns, late = await watched
        health = await api("GET", f"/api/snakes/{bot}/health", None, honest)
        throttled = metric("gauntlet_bot_calls_throttled_total")
        print(f"{kind}: {games} games of a stranger, {throttled:.0f} of their calls not made; the bot's own: {played} games, "
              f"{turns} turns, {late} late moves, its health: {health['status']}", flush=True)
        # The attack counts only if it used up what the stranger may fail.
        if late > 0 or not played or turns < played * HONEST_TURNS_MIN or health["status"] == "paused" or throttled == 0:
            failed.append(kind)

    # A server for each: all of them attack the same address.
    if kind == "one-account":
        await attack(kind, ONE_ACCOUNT_MAX, await Host(NOT_FOUND).start(), [await account("a")], ["127.0.0.1"], 50)
    elif kind == "fifty-names":
        await attack(kind, ONE_ACCOUNT_MAX, await Host(NOT_FOUND).start(), [await account("a")], spellings(), 4)
    elif kind == "replaced-bot":
        host = await Host(MOVE).start()
        await attack(kind, ONE_ACCOUNT_MAX, host, [await account("a")], spellings(), 4, replaced=True)
    elif kind == "many-accounts":
        tokens = [await account(f"a{number}") for number in range(accounts)]
        await attack(kind, HUNDRED_ACCOUNTS_MAX, await Host(NOT_FOUND).start(), tokens, ["127.0.0.1"], 5)
    elif kind == "no-time":
        await starve()
    print(f"{kind}: {metric('gauntlet_bot_calls_throttled_total'):.0f} calls were not made", flush=True)
    return 1 if failed else 0


started = time.monotonic()
status = asyncio.run(main())
print(f"took {time.monotonic() - started:.0f} s")
sys.exit(status)
