"""A TCP proxy on 127.0.0.1 that delays what passes, both ways, by the milliseconds that a file has; `stall` passes nothing until the file says otherwise.

usage: slow_proxy.py PORT TARGET_PORT DELAY_FILE
"""

import asyncio
import sys

port, target, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
CHUNK = 65536


def delay():
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


async def pass_on(reader, writer):
    try:
        while data := await reader.read(CHUNK):
            while delay() == "stall":
                await asyncio.sleep(0.05)
            await asyncio.sleep(int(delay() or 0) / 1000)
            writer.write(data)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


async def serve(client_reader, client_writer):
    try:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", target)
    except ConnectionError:
        client_writer.close()
        return
    await asyncio.gather(pass_on(client_reader, server_writer), pass_on(server_reader, client_writer))


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()


asyncio.run(main())
