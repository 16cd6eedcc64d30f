"""Bots that answer at once, each under a path of its own: /N. Notes when each was asked for a move. Prints its port, and then, at every line on
standard input, a line of JSON: calls in all, bots that were asked, and the longest time between two questions to one bot. The line is how many
bots there are: each is taken to have been asked when the count began, so that one that is never asked has a gap, too. `reset` begins anew."""

import asyncio
import json
import sys
import time

INDEX = json.dumps({"apiversion": "1", "color": "#0a0b0c"}).encode()
MOVE = json.dumps({"move": "up"}).encode()


class Count:
    def __init__(self) -> None:
        self.calls, self.gap_max_s, self.began, self.last, self.asked = 0, 0.0, time.monotonic(), {}, set()

    def ask(self, bot: str) -> None:
        now = time.monotonic()
        self.gap_max_s = max(self.gap_max_s, now - self.last.get(bot, self.began))
        self.last[bot] = now
        self.asked.add(bot)

    def figures(self, bots: int) -> dict:
        now = time.monotonic()
        oldest = min(self.last.values(), default=self.began) if len(self.last) >= bots else self.began
        return {"calls": self.calls, "asked": len(self.asked), "gap_max_s": round(max(self.gap_max_s, now - oldest), 1)}

    def reset(self) -> None:
        """Counts anew; when each bot was last asked is kept."""
        self.calls, self.gap_max_s, self.asked = 0, 0.0, set()


async def serve(count: Count, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:")), 0)
            await reader.readexactly(length)
            count.calls += 1
            parts = head[0].split(" ")[1].strip("/").split("/")
            if parts[-1] == "move":
                count.ask(parts[0])
            body = INDEX if len(parts) == 1 else MOVE
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    count = Count()
    server = await asyncio.start_server(lambda *pair: serve(count, *pair), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := (await commands.readline()).decode().strip():
        if line == "reset":
            count.reset()
        else:
            print(json.dumps(count.figures(int(line))), flush=True)


asyncio.run(main())
