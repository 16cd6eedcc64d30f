"""Measures the sweep over the health of bots on a server of its own: all bots are due in the same moment, as after an outage; then each again,
ten minutes later. Bots and their health are written into the data file of a stopped server, as copies of one bot that was registered and
checked over the API: registering ten thousand is not what is measured. Ends with 1 when a bar does not hold."""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
import uuid

arguments = argparse.ArgumentParser()
for name in ("gauntlet", "port", "data", "bots"):
    arguments.add_argument(f"--{name}", required=True)
wanted = arguments.parse_args()
count = int(wanted.bots)
# A bot is probed every ten minutes (docs/bots.md), up to a fifth earlier.
INTERVAL_S = 600
# Of those that are due at once, 256 are taken every two seconds: 8 s a thousand, and nearly as long again for the probes themselves.
LATE_MAX_S = 15 * max(count, 1_000) / 1_000
CORES_MAX = 0.5
base = f"http://127.0.0.1:{wanted.port}"
log = open(f"{wanted.data}/server.log", "ab")


def start() -> subprocess.Popen:
    command = [wanted.gauntlet, "serve", "--port", wanted.port, "--allow-private-bots"]
    server = subprocess.Popen(command, cwd=wanted.data, stdout=log, stderr=log)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{base}/readyz", timeout=5).read()
            return server
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server does not answer: {wanted.data}/server.log")


def call(method: str, path: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(base + path, data, headers, method=method), timeout=30) as reply:
        return json.loads(reply.read() or b"null")


def ask_bots(line: str) -> dict:
    bots.stdin.write(f"{line}\n")
    bots.stdin.flush()
    return {} if line == "reset" else json.loads(bots.stdout.readline())


def cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def multiply(original: uuid.UUID, url: str) -> None:
    """Copies of the first bot, all of them due."""
    database = sqlite3.connect(f"{wanted.data}/gauntlet-data/gauntlet.db")

    def copy(table: str, key: str, changes: dict) -> None:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        row = dict(zip(columns, database.execute(f"SELECT * FROM {table} WHERE {key} = ?", (original.bytes,)).fetchone()))
        row |= changes
        places = ", ".join("?" * len(row))
        database.execute(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))

    now_ms = int(time.time() * 1_000)
    for number in range(count):
        bot = original.bytes if number == 0 else uuid.UUID(int=original.int + number).bytes
        if number > 0:
            copy("bots", "id", {"id": bot, "name": f"bot {number}", "url": f"{url}/{number}"})
        copy("bot_health", "bot", {"bot": bot, "next_probe_at": now_ms, "watched_until": now_ms + 86_400_000})
    database.commit()
    database.close()


def measure(what: str, began: float, cpu_before: float, is_over) -> dict:
    """Until it is over: prints and returns the figures of the bots."""
    while not is_over(ask_bots(str(count)), time.monotonic() - began):
        time.sleep(0.5)
    took, cpu = time.monotonic() - began, cpu_s(server.pid) - cpu_before
    found = ask_bots(str(count)) | {"took_s": took, "cores": cpu / took}
    print(
        f"{what}: {found['asked']} of {count} bots in {took:.1f} s, {found['calls'] / took:.1f} calls/s, "
        f"{found['cores']:.3f} of a core ({cpu * 1e6 / max(found['calls'], 1):.0f} µs a call)",
        flush=True,
    )
    return found


# Who is stopped stops what it started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
bots = subprocess.Popen(
    [sys.executable, os.path.join(os.path.dirname(__file__), "health_bots.py")],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
)
bots_url = f"http://127.0.0.1:{bots.stdout.readline().strip()}"
server = start()
try:
    snake = call("POST", "/api/snakes", {"name": "bot 0", "url": f"{bots_url}/0"})
    if not call("POST", f"/api/snakes/{snake['id']}/check")["is_passed"]:
        sys.exit("the bot did not pass its first check")
    server.terminate()
    server.wait()
    multiply(uuid.UUID(snake["id"]), bots_url)
    # The sweep begins with the server.
    ask_bots("reset")
    began = time.monotonic()
    server = start()
    first = measure("all due at once", began, 0.0, lambda found, took: found["asked"] >= count or took > 3 * LATE_MAX_S)
    # The second round begins with the first bots four fifths of the interval after their first probe.
    ask_bots("reset")
    rest = (time.monotonic(), cpu_s(server.pid))
    second = measure("the round after it", *rest, lambda found, took: found["asked"] >= count or took > INTERVAL_S + 3 * LATE_MAX_S)
    print(f"longest time between two checks of one bot: {second['gap_max_s']} s (due after at most {INTERVAL_S})")
finally:
    for process in (server, bots):
        process.terminate()
        process.wait()
bars = [
    (f"all due at once are checked within {LATE_MAX_S:.0f} s", first["asked"] == count and first["took_s"] <= LATE_MAX_S),
    (f"no bot waits more than {INTERVAL_S + LATE_MAX_S:.0f} s", second["asked"] == count and second["gap_max_s"] <= INTERVAL_S + LATE_MAX_S),
    (f"the sweep in its rhythm takes at most {CORES_MAX} of a core", second["cores"] <= CORES_MAX),
]
for bar, holds in bars:
    print(f"{'held' if holds else 'FAILED'}: {bar}")
sys.exit(0 if all(holds for _, holds in bars) else 1)
