"""Clients of three nodes behind one address, for bench/restart.sh: what they request, and what failed.

usage: restart.py PORT CLIENTS STOP_FILE FIGURES_FILE

Each is a guest at a table of its own, and goes on until STOP_FILE exists: it reads pages and its table, talks there once a second, waits for its own line in a poll, and makes a new
guest now and then. A failure is a request that has no response, or another status than it must have. At the end every line that was acknowledged must be in the table's feed.
"""

import asyncio
import collections
import json
import os
import sys
import time

PORT, CLIENTS, STOP, FIGURES = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
PAGES = ("/api/summary", "/api/games/live", "/api/stories/lobby", "/api/leaderboards")
# A guest may say one line a second.
LINE_INTERVAL_S = 1.2
PAUSE_S = 0.05

failures = collections.Counter()
requests = collections.Counter()
slowest_s = 0.0


class Client:
    def __init__(self):
        self.connection = self.token = None

    async def request(self, method, path, want, body=None, name=None):
        """The parsed body of the response, if it has the status that it must have."""
        global slowest_s
        name = f"{method} {name or path}"
        requests[name] += 1
        began = time.monotonic()
        try:
            if self.connection is None or self.connection[0].at_eof():
                self.connection = await asyncio.open_connection("127.0.0.1", PORT)
            reader, writer = self.connection
            data = b"" if body is None else json.dumps(body).encode()
            token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
            kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if body is not None else ""
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{token}{kind}\r\n".encode() + data)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            status = int(head.split(" ", 2)[1])
            length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
            text = await reader.readexactly(length)
            if "connection: close" in head:
                self.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            status, text = 0, repr(error).encode()
        if "wait=" not in path:
            slowest_s = max(slowest_s, time.monotonic() - began)
        if status == want:
            return json.loads(text)
        code = json.loads(text).get("code", "") if text.startswith(b"{") else text.decode(errors="replace").partition("\n")[0]
        failures[f"{name}: {status} {code}"] += 1
        return None

    def close(self):
        if self.connection is not None:
            self.connection[1].close()
        self.connection = None


async def until_made(make):
    while not os.path.exists(STOP):
        made = await make()
        if made is not None:
            return made
        await asyncio.sleep(PAUSE_S)
    sys.exit("a client could not begin before the end")


async def play(number):
    client = Client()
    guest = await until_made(lambda: client.request("POST", "/api/stories/guests", 201, {"name": f"Guest {number}"}))
    client.token = guest["token"]
    game = await until_made(lambda: client.request("POST", "/api/stories/games", 201, {}))
    table = f"/api/stories/tables/{game['table']}"
    first = (await until_made(lambda: client.request("GET", table, 200, name="/api/stories/tables/ID")))["seq"]
    seq, said = first, []
    while not os.path.exists(STOP):
        spoke_at = time.monotonic()
        text = f"line {len(said) + 1}"
        if await client.request("POST", f"{table}/chat", 200, {"text": text}, name="/api/stories/tables/ID/chat") is not None:
            said.append(text)
            feed = await client.request("GET", f"{table}/feed?after={seq}&wait=20s", 200, name="/api/stories/tables/ID/feed")
            seq = feed["events"][-1]["seq"] if feed and feed["events"] else seq
        for path in PAGES:
            await client.request("GET", path, 200)
            await asyncio.sleep(PAUSE_S)
        await client.request("GET", table, 200, name="/api/stories/tables/ID")
        if len(said) % 5 == 0:
            other = Client()
            await other.request("POST", "/api/stories/guests", 201, {"name": f"Guest {number} again"})
            other.close()
        await asyncio.sleep(max(0, LINE_INTERVAL_S - (time.monotonic() - spoke_at)))
    feed = await client.request("GET", f"{table}/feed?after={first}", 200, name="/api/stories/tables/ID/feed")
    heard = {event.get("text") for event in feed["events"]} if feed else set()
    failures["acknowledged lines that are not in the feed"] += len(set(said) - heard)
    client.close()


async def main():
    await asyncio.gather(*(play(number) for number in range(CLIENTS)))
    found = {what: count for what, count in failures.items() if count}
    with open(FIGURES, "w", encoding="utf-8") as file:
        json.dump({"requests": requests, "failures": found, "slowest_s": round(slowest_s, 2)}, file)


asyncio.run(main())
