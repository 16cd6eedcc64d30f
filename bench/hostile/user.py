"""A normal user: every half second a new game, a story, a look at /healthz and a walk into a world, every five seconds a hunt of their own and a walk into it, each over
a new connection.

usage: user.py HOST PORT TOKEN SNAKE SECONDS     (TOKEN and SNAKE: of a player's account)

Prints one line of JSON: {action: {"samples", "p50_ms", "p99_ms", "max_ms", "timeouts", "refused": {status: count}}}. Latency counts from
the moment at which an action was due. An action that takes longer than TIMEOUT_S is a time-out.
"""
import asyncio, base64, json, os, sys

PERIOD_S, HUNT_PERIOD_S, TIMEOUT_S = 0.5, 5.0, 5.0


class Refused(Exception):
    pass


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    return status, fields


class User:
    def __init__(self, host, port, token, snake):
        self.host, self.port, self.token, self.snake = host, port, token, snake

    async def request(self, method, path, token=None, body=None, expected=(200, 201)):
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            data = b"" if body is None else json.dumps(body).encode()
            fields = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Connection: close", f"Content-Length: {len(data)}"]
            if body is not None:
                fields.append("Content-Type: application/json")
            if token:
                fields.append(f"Authorization: Bearer {token}")
            writer.write("\r\n".join(fields).encode() + b"\r\n\r\n" + data)
            status, head = await read_head(reader)
            if "content-length" in head:
                answer = await reader.readexactly(int(head["content-length"]))
            else:
                answer = await reader.read()
            if status not in expected:
                code = ""
                try:
                    code = json.loads(answer).get("code", "")
                except ValueError:
                    pass
                raise Refused(f"{status} {code}".strip())
            return answer
        finally:
            writer.close()

    async def new_game(self):
        await self.request("POST", "/api/games", self.token, {"snakes": [self.snake, self.snake]})

    async def story(self):
        answer = json.loads(await self.request("POST", "/api/stories/games", self.token, {}))
        self.opened.append(answer["game"]["id"])

    async def hunt(self):
        answer = json.loads(await self.request("POST", "/api/hunts", self.token, {}))
        try:
            await self.walk(answer["name"])
        finally:
            # Not before: a player who has left a hunt cannot enter it.
            self.made.append(answer["name"])

    async def health(self):
        await self.request("GET", "/healthz")

    async def walk(self, world="plaza"):
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            key = base64.b64encode(os.urandom(16)).decode()
            writer.write((
                f"GET /api/worlds/{world}/socket HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {self.token}\r\n\r\n").encode())
            status, _ = await read_head(reader)
            if status != 101:
                raise Refused(str(status))
            for frame in ({"hello": {"version": 1}}, {"register": {"view": {"radius_x": 5, "radius_y": 5}}}):
                writer.write(text_frame(json.dumps(frame)))
            while True:
                said = await read_text(reader)
                if "registered" in said:
                    break
                if "error" in said or "refused" in said:
                    raise Refused(json.dumps(said))
            writer.write(text_frame(json.dumps({"leave": {}})))
        finally:
            writer.close()

    async def leave_what_was_made(self):
        """No user plays at these tables and in these hunts, and how many one may have is what a quota is about."""
        paths = [f"/api/stories/games/{game}/leave" for game in self.opened] + [f"/api/hunts/{hunt}/leave" for hunt in self.made]
        self.opened, self.made = [], []
        for path in paths:
            try:
                await asyncio.wait_for(self.request("POST", path, self.token, expected=(200, 204)), TIMEOUT_S)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                pass

    async def run(self, seconds):
        self.opened, self.made = [], []
        loop = asyncio.get_running_loop()
        begin, samples, tasks = loop.time() + 0.1, [], []

        async def act(name, action, due):
            await asyncio.sleep(due - loop.time())
            try:
                await asyncio.wait_for(action(), TIMEOUT_S)
                outcome = "ok"
            except TimeoutError:
                outcome = "timeout"
            except Refused as refused:
                outcome = str(refused)
            except (OSError, asyncio.IncompleteReadError) as error:
                outcome = type(error).__name__
            samples.append((name, (loop.time() - due) * 1000, outcome))
            await self.leave_what_was_made()

        actions = [("new game", self.new_game), ("story", self.story), ("health", self.health), ("walk", self.walk)]
        for turn in range(int(seconds / PERIOD_S)):
            for name, action in actions:
                tasks.append(asyncio.create_task(act(name, action, begin + turn * PERIOD_S)))
        for turn in range(int(seconds / HUNT_PERIOD_S)):
            tasks.append(asyncio.create_task(act("hunt", self.hunt, begin + turn * HUNT_PERIOD_S)))
        await asyncio.gather(*tasks)
        return samples


def text_frame(text):
    data, mask = text.encode(), os.urandom(4)
    length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
    return b"\x81" + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))


async def read_text(reader):
    while True:
        first, length = await reader.readexactly(2)
        if length == 126:
            length = int.from_bytes(await reader.readexactly(2), "big")
        elif length == 127:
            length = int.from_bytes(await reader.readexactly(8), "big")
        data = await reader.readexactly(length)
        if first & 0x0F == 8:
            raise Refused(f"closed {int.from_bytes(data[:2], 'big')} {data[2:].decode(errors='replace')}")
        if first & 0x0F == 1:
            return json.loads(data)


def figures(samples):
    said = {}
    for name in ("new game", "story", "health", "walk", "hunt"):
        took = sorted(ms for n, ms, outcome in samples if n == name and outcome == "ok")
        outcomes = [outcome for n, _, outcome in samples if n == name]
        refused = {o: outcomes.count(o) for o in set(outcomes) - {"ok", "timeout"}}
        at = lambda q: round(took[min(len(took) - 1, int(q * len(took)))], 1) if took else None
        said[name] = {"samples": len(outcomes), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0),
                      "timeouts": outcomes.count("timeout"), "refused": refused}
    return said


if __name__ == "__main__":
    host, port, token, snake, seconds = sys.argv[1:6]
    print(json.dumps(figures(asyncio.run(User(host, int(port), token, snake).run(float(seconds))))))
