#!/usr/bin/env bash
# Polls that wait: what each costs the server. Guests on connections of their own make three exchanges each, then ask for news of a
# table and wait for five minutes; nothing happens. Then something happens at every table, and all are answered.
# RSS is the server's own (/proc/PID/status), its difference to the same server before the guests came is divided by their number;
# processor time is read over a minute (/proc/PID/stat). Prints a row for each number of polls, and ends with 1 when a poll costs
# 4 KiB or more, or when waiting takes 1 % of a core or more. The clients are one process beside it, which sleeps meanwhile.
# usage: bench/stories-polls.sh [polls...]     500 10000 without arguments; at most what the file limit leaves
set -euo pipefail
source "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || set -- 500 10000
seconds=${SECONDS_HELD:-60}
tables=100

files=$(ulimit -Hn)
ulimit -n "$files"

table_head "polls" "RSS before, MiB" "RSS with them, MiB" "bytes a poll" "of one core before" "of one core over $seconds s" "last response after the changes"
missed=0
for polls in "$@"; do
    port=$(free_port)
    serve "$port" --data "$work/stories-$polls.db" --bot-connections-per-host 16 --http-connections-max "$((polls + 64))" --stories-waiters-per-address-max "$((polls + 64))" --log-level warn
    python3 - "$port" "$served" "$polls" "$seconds" "$tables" <<'PYTHON' || missed=$((missed + 1))
import json, os, socket, sys, time

port, pid, polls, seconds, tables = map(int, sys.argv[1:])

class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.token = ""

    def send(self, line, body=None):
        body = "" if body is None else json.dumps(body)
        token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{line} HTTP/1.1\r\nHost: bench\r\n{token}{kind}\r\n{body}".encode())

    def answer(self):
        text = b""
        while b"\r\n\r\n" not in text:
            text += self.more()
        head, _, body = text.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += self.more()
        status = int(head.split(b" ")[1])
        if not 200 <= status < 300:
            sys.exit(f"{status}: {body.decode()}")
        return json.loads(body)

    def more(self):
        return self.socket.recv(65536) or sys.exit("the server closed a connection")

    def ask(self, line, body=None):
        self.send(line, body)
        return self.answer()

    def sign_in(self):
        self.token = self.ask("POST /api/stories/guests", {"name": "guest"})["token"]

def rss_bytes():
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))

def cpu_s():
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

def share_over(span_s):
    cpu, begun = cpu_s(), time.monotonic()
    time.sleep(span_s)
    return (cpu_s() - cpu) / (time.monotonic() - begun)

def figure(name):
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")
    page = b"".join(iter(lambda: client.recv(65536), b"")).decode()
    return next(int(line.split()[1]) for line in page.splitlines() if line.startswith(name + " "))

def all_parked():
    end = time.monotonic() + 60
    while figure("gauntlet_http_parked") != polls:
        if time.monotonic() > end:
            sys.exit(f"{figure('gauntlet_http_parked')} of {polls} polls are parked")
        time.sleep(0.2)

host = Client()
games, owners = [], []
for _ in range(tables):
    host.sign_in()
    games.append(host.ask("POST /api/stories/games", {}))
    owners.append(host.token)
time.sleep(3)
idle_share = share_over(seconds / 2)
before = rss_bytes()

waiting = []
for number in range(polls):
    game = games[number % tables]
    client = Client()
    client.sign_in()
    seq = client.ask(f"GET /api/stories/games/{game['game']['id']}")["seq"]
    client.ask("GET /api/stories/lobby")
    client.send(f"GET /api/stories/tables/{game['table']}/feed?after={seq}&wait=300s")
    waiting.append(client)
all_parked()
time.sleep(3)

share = share_over(seconds)
all_parked()
each = (rss_bytes() - before) / polls
with_them = rss_bytes()

# The host's first connection was silent for too long.
host = Client()
begun = time.monotonic()
for game, host.token in zip(games, owners):
    host.ask(f"POST /api/stories/games/{game['game']['id']}/bots", {"are_on": True})
for client in waiting:
    news = client.answer()
    if len(news["events"]) != 1:
        sys.exit(f"not one event: {news}")
last = time.monotonic() - begun
MIB = 1024 * 1024
print(f"| {polls:,} | {before / MIB:.1f} | {with_them / MIB:.1f} | {each:,.0f} | {idle_share:.2%} | {share:.2%} | {last:.2f} s |", flush=True)
sys.exit(each >= 4096 or share >= 0.01)
PYTHON
    stop_served
done
[ "$missed" -eq 0 ]
