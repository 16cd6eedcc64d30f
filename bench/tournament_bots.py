"""Bots whose games depend on nothing but their seeds: /last-N runs in a circle of four cells, and from turn N on upwards until it dies.
Prints its port, and serves until it is stopped."""

import asyncio
import json

CIRCLE = ("up", "right", "down", "left")
LOOKS = json.dumps({"apiversion": "1", "color": "#0a0b0c"}).encode()


def answer(path: str, body: bytes) -> bytes:
    parts = path.strip("/").split("/")
    if len(parts) == 1:
        return LOOKS
    if parts[1] != "move":
        return b"{}"
    last, turn = int(parts[0].removeprefix("last-")), json.loads(body)["turn"]
    return json.dumps({"move": "up" if turn >= last else CIRCLE[turn % 4]}).encode()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:")), 0)
            body = answer(head[0].split(" ")[1], await reader.readexactly(length))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
