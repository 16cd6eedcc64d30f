"""Of bench/home-feeds.sh: keeps a server busy with matches, holds watchers, and takes the server's CPU time with them and without.

URL PID WATCHERS SECONDS SPANS SNAKES...     prints both figures; ends with 1 when a bar is not held
"""

import base64
import json
import os
import selectors
import socket
import statistics
import sys
import threading
import time
import urllib.parse
import urllib.request

from figures import table_head

# Matches that run at any time besides the one that is watched, so many turns a second each as the bots' time to think allows.
MATCHES = 40
SETTLE_S = 3
CORE_MAX = 0.10
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def call(url, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers, method=method), timeout=60) as reply:
        return json.loads(reply.read() or b"null")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


class Load(threading.Thread):
    """Starts a match for each one that ends."""

    def __init__(self, url, snakes):
        super().__init__(daemon=True)
        self.url, self.game = url, {"snakes": snakes[:2], "board": "11x11"}

    def run(self):
        while True:
            summary = call(self.url, "GET", "/api/summary")["games"]
            missing = MATCHES - summary["running"] - summary["waiting"]
            for _ in range(missing):
                call(self.url, "POST", "/api/games", self.game)
            time.sleep(1)


class Watchers:
    """Connections that only read. What is counted is the text `mark` in what arrives."""

    def __init__(self, url, count, path, mark, headers=""):
        parts = urllib.parse.urlsplit(url)
        self.selector, self.counts, self.mark, self.lost = selectors.DefaultSelector(), [0] * count, mark, 0
        self.tails, self.sockets = [b""] * count, []
        for number in range(count):
            connection = socket.create_connection((parts.hostname, parts.port))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{headers}\r\n".encode())
            connection.setblocking(False)
            self.selector.register(connection, selectors.EVENT_READ, number)
            self.sockets.append(connection)

    def read(self, seconds):
        """Reads for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                self.receive(key.fileobj, key.data)

    def receive(self, connection, number):
        data = connection.recv(65_536)
        if not data:
            self.selector.unregister(connection)
            self.lost += 1
            return
        # A mark may come in two pieces.
        text = self.tails[number] + data
        self.counts[number] += text.count(self.mark)
        self.tails[number] = text[-(len(self.mark) - 1):]

    def close(self):
        for connection in self.sockets:
            connection.close()


def span(pid, seconds, wait):
    """The share of a core that the server takes while this waits."""
    before, begun = cpu_s(pid), time.monotonic()
    wait(seconds)
    return (cpu_s(pid) - before) / (time.monotonic() - begun)


def watched(pid, seconds, watchers):
    """The same with watchers, and how often each was told something meanwhile."""
    watchers.read(SETTLE_S)
    before = list(watchers.counts)
    share = span(pid, seconds, watchers.read)
    told = [count - earlier for count, earlier in zip(watchers.counts, before)]
    lost = watchers.lost
    watchers.close()
    time.sleep(SETTLE_S)
    return share, told, lost


def live_match(url, snakes):
    """A match that has begun and goes on for long."""
    game = call(url, "POST", "/api/games", {"snakes": snakes, "board": "25x25"})["id"]
    while call(url, "GET", f"/api/games/{game}/summary")["status"] == "waiting":
        time.sleep(0.1)
    return game


def measure(name, pid, seconds, spans, open_watchers, prepare):
    """Spans without and with watchers in turns; whether the bar holds."""
    shares, told, lost = [], [], 0
    for _ in range(spans):
        prepare()
        time.sleep(SETTLE_S)
        without = span(pid, seconds, time.sleep)
        with_them, counts, gone = watched(pid, seconds, open_watchers(prepare()))
        shares.append((without, with_them))
        told.append((min(counts), statistics.mean(counts), max(counts)))
        lost += gone
    cost = statistics.mean(after - before for before, after in shares)
    least, mean = min(row[0] for row in told), statistics.mean(row[1] for row in told)
    without, with_them = (statistics.mean(column) for column in zip(*shares))
    print(f"| {name} | {without:.3f} | {with_them:.3f} | **{cost:.3f}** | {mean / seconds:.2f} | {least} | {lost} |")
    is_told = lost == 0 and least >= seconds / 2
    return cost < CORE_MAX and is_told


def main(url, pid, watchers, seconds, spans, *snakes):
    watchers, seconds, spans = int(watchers), int(seconds), int(spans)
    Load(url, list(snakes)).start()
    while call(url, "GET", "/api/summary")["games"]["running"] < MATCHES:
        time.sleep(0.5)
    print(f"{watchers:,} watchers, {spans} x {seconds} s with them and without, {MATCHES} matches at any time; shares of one core")
    table_head("watched", "without", "with", "cost", "told a second", "least told", "lost")
    is_held = measure(
        "the summary's feed", pid, seconds, spans,
        lambda _: Watchers(url, watchers, "/api/summary/feed", b"\ndata: ", "Accept: text/event-stream\r\n"),
        lambda: None,
    )
    upgrade = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
    is_held &= measure(
        "one live match", pid, seconds, spans,
        lambda game: Watchers(url, watchers, f"/api/games/{game}/events", b'"Type":"frame"', upgrade),
        lambda: live_match(url, list(snakes)),
    )
    print(f"Bar: each costs less than {CORE_MAX:.0%} of a core, nobody is lost, and everybody is told at least every other second: {'held' if is_held else 'NOT HELD'}")
    sys.exit(not is_held)


main(*sys.argv[1:])
