"""Clients of three nodes behind one address, for bench/restart.sh: what they ask, and what failed.

usage: restart.py PORT CLIENTS STOP_FILE FIGURES_FILE

Asks until STOP_FILE exists. A failure is a request without a response, or with a status of 500 and more.
"""

import asyncio
import collections
import json
import os
import sys
import time

PORT, CLIENTS, STOP, FIGURES = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
PAUSE_S = 0.05

failures = collections.Counter()
requests = 0
slowest_s = 0.0


class Client:
    """A guest at a table of his own, on a connection that is kept."""

    def __init__(self):
        self.ends = self.token = self.table = None

    async def ask(self, method, path, body=None):
        """The status and the parsed body; status 0 when no response came."""
        global requests, slowest_s
        requests += 1
        began = time.monotonic()
        try:
            if self.ends is None or self.ends[0].at_eof():
                self.ends = await asyncio.open_connection("127.0.0.1", PORT)
            reader, writer = self.ends
            data = b"" if body is None else json.dumps(body).encode()
            token = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
            kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if body is not None else ""
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\n{token}{kind}\r\n".encode() + data)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            status = int(head.split(" ", 2)[1])
            length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
            answer = await reader.readexactly(length)
            if "connection: close" in head:
                self.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            status, answer = 0, repr(error).encode()
        slowest_s = max(slowest_s, time.monotonic() - began)
        if status == 0 or status >= 500:
            code = json.loads(answer).get("code", "") if answer.startswith(b"{") else answer.decode(errors="replace").partition("\n")[0]
            failures[f"{method} {path.replace(self.table or '-', 'ID')}: {status} {code}"] += 1
        return status, json.loads(answer) if answer.startswith((b"{", b"[")) else None

    def close(self):
        if self.ends is not None:
            self.ends[1].close()
        self.ends = None

    async def play(self, number):
        while self.token is None:
            status, guest = await self.ask("POST", "/api/stories/guests", {"name": f"Guest {number}"})
            self.token = guest["token"] if status == 201 else None
        while self.table is None:
            status, game = await self.ask("POST", "/api/stories/games", {})
            self.table = game["table"] if status == 201 else None
        line = 0
        while not os.path.exists(STOP):
            for path in ("/api/summary", "/api/games/live", "/api/stories/lobby", "/api/leaderboards", f"/api/stories/tables/{self.table}"):
                await self.ask("GET", path)
                await asyncio.sleep(PAUSE_S)
            line += 1
            await self.ask("POST", f"/api/stories/tables/{self.table}/chat", {"text": f"line {line}"})
            await asyncio.sleep(0.2)
        self.close()


async def main():
    await asyncio.gather(*(Client().play(number) for number in range(CLIENTS)))
    with open(FIGURES, "w", encoding="utf-8") as file:
        json.dump({"requests": requests, "failures": failures, "slowest_s": round(slowest_s, 2)}, file)


asyncio.run(main())
