#!/usr/bin/env bash
# Card tables on PostgreSQL with two nodes; the one that owns them all is killed with -9 and stays dead. Six players at each table wait for
# news at the node that survives, and talk there: until the kill both go through it to the owner. Prints how long it took until every
# table answered again, and checks what each player received against its sequence. Ends with 1 when anything was missed or received twice, when
# something that was acknowledged is gone, or when a table did not come back within 30 s.
# usage: bench/stories-nodes.sh [tables] [kill at, s] [end at, s]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
tables=${1:-50} kill_at=${2:-10} end_at=${3:-30}

postgres
waits=$((tables * 6 * 4 + 64))
room=(--http-connections-max "$((waits * 2))" --stories-waiters-max "$waits" --stories-waiters-per-address-max "$waits" --bot-connections-per-host 16 --log-level error)
owner_port=$(free_port)
serve "$owner_port" --store-url "$postgres" "${room[@]}"
owner=$served
disown "$owner" # its end is meant, and no news
port=$(free_port)
serve "$port" --store-url "$postgres" "${room[@]}"

python3 - "$owner_port" "$owner" "$port" "$tables" "$kill_at" "$end_at" <<'PYTHON'
import asyncio, json, os, signal, statistics, sys, time
from figures import table_head

OWNER_PORT, OWNER, PORT, TABLES, KILL_AT, END_AT = map(int, sys.argv[1:])
PLAYERS = 6
PACE_S = 0.5  # between two lines at a table: each player talks every three seconds, and may once a second
BACK_MAX_S = 30
PAUSE_S = 0.25

class Line:
    """A connection that is made anew when it is lost."""
    def __init__(self, port, token=None):
        self.port, self.token, self.ends = port, token, None

    async def ask(self, method, path, body=None):
        """The status and the body; status 0 when the connection was lost."""
        try:
            if self.ends is None:
                self.ends = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self.ends
            data = b"" if body is None else json.dumps(body).encode()
            token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
            kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if body is not None else ""
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{token}{kind}\r\n".encode() + data)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:"))
            answer = await reader.readexactly(length)
            if "connection: close" in head:
                self.close()
            return int(head.split(" ", 2)[1]), json.loads(answer or b"null")
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 0, None

    def close(self):
        if self.ends is not None:
            self.ends[1].close()
        self.ends = None

    async def must(self, method, path, body, want):
        status, answer = await self.ask(method, path, body)
        if status != want:
            sys.exit(f"{method} {path}: {status} {answer}")
        return answer

class Player:
    def __init__(self, token):
        self.token, self.seq, self.texts = token, None, []
        self.missed = self.twice = self.views = self.refused = 0

    async def listen(self, table):
        line = Line(PORT, self.token)
        while True:
            status, answer = await line.ask("GET", f"/api/stories/tables/{table}/feed?after={self.seq}&wait=25s")
            if status == 200:
                self.hear(answer)
            elif status == 410:
                self.views, self.seq = self.views + 1, answer["seq"]
            else:
                self.refused += 1
                await asyncio.sleep(PAUSE_S)

    def hear(self, answer):
        for event in answer["events"]:
            if event["seq"] <= self.seq:
                self.twice += 1
            self.missed += max(0, event["seq"] - self.seq - 1)
            self.seq = max(self.seq, event["seq"])
            self.texts += [event["text"]] if "text" in event else []

class Table:
    async def open(self):
        """At the node that will die."""
        line = Line(OWNER_PORT)
        guests = [await line.must("POST", "/api/stories/guests", {"name": f"player {n}"}, 201) for n in range(PLAYERS)]
        self.players = [Player(guest["token"]) for guest in guests]
        line.token = self.players[0].token
        state = await line.must("POST", "/api/stories/games", {}, 201)
        self.id, self.said, self.unsure = state["table"], [], set()
        for player in self.players[1:]:
            line.token = player.token
            await line.must("POST", f"/api/stories/games/{state['game']['id']}/join", None, 200)
        line.close()
        line = Line(PORT)
        for player in self.players:
            line.token = player.token
            player.seq = (await line.must("GET", f"/api/stories/tables/{self.id}", None, 200))["seq"]
        line.close()
        self.listening = [asyncio.create_task(player.listen(self.id)) for player in self.players]

    async def talk(self, until):
        """One line after the other; one whose response was lost is sent again, and may be received twice."""
        lines, number = [Line(PORT, player.token) for player in self.players], 0
        while time.monotonic() < until:
            text = f"line {number}"
            status = 0
            while status != 200:
                status, _ = await lines[number % PLAYERS].ask("POST", f"/api/stories/tables/{self.id}/chat", {"text": text})
                if status != 200:
                    self.unsure.add(text)
                    await asyncio.sleep(PAUSE_S)
                if time.monotonic() > until + BACK_MAX_S:
                    return
            self.said.append(text)
            number += 1
            await asyncio.sleep(PACE_S)
        for line in lines:
            line.close()

    async def comes_back(self, killed):
        line = Line(PORT)
        while time.monotonic() < killed + BACK_MAX_S:
            status, _ = await line.ask("GET", f"/api/stories/tables/{self.id}")
            if status == 200:
                line.close()
                return time.monotonic() - killed
            await asyncio.sleep(0.05)
        return None

    async def settle(self):
        """Until all players have received everything."""
        line, ends = Line(PORT), time.monotonic() + BACK_MAX_S
        for player in self.players:
            line.token = player.token
            seq = (await line.must("GET", f"/api/stories/tables/{self.id}", None, 200))["seq"]
            while player.seq < seq and time.monotonic() < ends:
                await asyncio.sleep(0.02)
            player.missed += max(0, seq - player.seq)
        for task in self.listening:
            task.cancel()
        line.close()

    def lost(self):
        """Lines that were acknowledged, and that a player did not receive; or received twice although they were sent once."""
        once = lambda player, text: player.texts.count(text) == 1 or text in self.unsure and text in player.texts
        return sum(not once(player, text) for player in self.players for text in self.said)

async def main():
    tables = [Table() for _ in range(TABLES)]
    for table in tables:
        await table.open()
    began = time.monotonic()
    talking = [asyncio.create_task(table.talk(began + END_AT)) for table in tables]
    await asyncio.sleep(KILL_AT)
    os.kill(OWNER, signal.SIGKILL)
    back = await asyncio.gather(*(table.comes_back(time.monotonic()) for table in tables))
    await asyncio.gather(*talking)
    await asyncio.gather(*(table.settle() for table in tables))
    players = [player for table in tables for player in table.players]
    total = lambda what: sum(getattr(player, what) for player in players)
    found = [seconds for seconds in back if seconds is not None]
    heard, lost = sum(len(player.texts) for player in players), sum(table.lost() for table in tables)
    table_head("tables", "players", "lines acknowledged", "received", "first table back, s", "median", "last", "missed", "received twice", "had to begin anew", "acknowledged and not heard once")
    said = sum(len(table.said) for table in tables)
    seconds = [f"{value:.1f}" for value in (min(found), statistics.median(found), max(found))] if len(found) == TABLES else ["never"] * 3
    print(f"| {TABLES} | {len(players)} | {said} | {heard} | {' | '.join(seconds)} | {total('missed')} | {total('twice')} | {total('views')} | {lost} |")
    if total("refused") == 0:
        sys.exit("the kill reached no client: nothing was shown")
    sys.exit(1 if len(found) < TABLES or total("missed") or total("twice") or total("views") or lost else 0)

asyncio.run(main())
PYTHON
