#!/usr/bin/env bash
# Hunts on PostgreSQL with two nodes; the one that owns them all is killed with -9 and stays dead. A hundred hunters in each walk and dig
# over WebSockets, two inputs a second; after the kill they ask the other node until it has their hunt, take their movers up and repeat what
# was not answered. One in ten does not come back. Prints how long it took until every hunt answered again, and holds the chests that were
# acknowledged against the ground, the hunters' scores and what was counted. Ends with 1 when anything that was acknowledged is lost or
# stands twice, when a hunt did not come back within 30 s, or when the movers of those who did not come back stay.
# usage: bench/world-nodes.sh [hunters] [kill at, s] [end at, s]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
hunters=${1:-1000} kill_at=${2:-10} end_at=${3:-30}

ulimit -n "$(ulimit -Hn)"
postgres
owner_port=$(free_port)
serve "$owner_port" --store-url "$postgres" --log-level error
owner=$served
disown "$owner" # its end is meant, and no news
port=$(free_port)
serve "$port" --store-url "$postgres" --log-level error

python3 - "$owner_port" "$owner" "$port" "$hunters" "$kill_at" "$end_at" <<'PYTHON'
import asyncio, json, os, random, signal, statistics, sys, time
from figures import table_head

OWNER_PORT, OWNER, PORT, HUNTERS, KILL_AT, END_AT = map(int, sys.argv[1:])
WORLDS = max(1, HUNTERS // 100)
SIDE, CHESTS, POINTS_MAX = 200, 20_000, 10
PACE_S = 0.5        # between two inputs of a hunter
BACK_MAX_S = 30
PROBE_S = 0.05      # between two questions whether a hunt is back
PAUSE_S = (0.5, 1)  # before a hunter asks again
STEPS = ["n", "ne", "e", "se", "s", "sw", "w", "nw"]

class Lost(Exception):
    """The connection is over: why, as the server said, and where the world is."""
    def __init__(self, code, address=""):
        super().__init__(code)
        self.code, self.address = code, address

class Line:
    """A WebSocket that speaks JSON."""
    @classmethod
    async def open(cls, port, world):
        line = cls()
        try:
            line.reader, line.writer = await asyncio.open_connection("127.0.0.1", port)
            line.writer.write(f"GET /api/worlds/{world}/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode())
            head = await line.reader.readuntil(b"\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError):
            raise Lost("connection")
        if not head.startswith(b"HTTP/1.1 101 "):
            raise Lost(head.split(b"\r\n")[0].decode())
        return line

    def say(self, frame):
        data = json.dumps(frame).encode()
        # A text of at most 125 bytes or of two bytes' length, masked with zeros.
        length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0x80 | 126]) + len(data).to_bytes(2, "big")
        self.writer.write(b"\x81" + length + bytes(4) + data)

    async def hear(self):
        """The name of the next frame, and what it says."""
        try:
            while True:
                kind, length = await self.reader.readexactly(2)
                if length >= 126:
                    length = int.from_bytes(await self.reader.readexactly(2 if length == 126 else 8), "big")
                data = await self.reader.readexactly(length)
                if kind == 0x81:
                    (name, said), = json.loads(data).items()
                    if name == "error":
                        raise Lost(said["code"], said.get("address", ""))
                    return name, said
                if kind == 0x88:
                    raise Lost("closed")
        except (OSError, asyncio.IncompleteReadError):
            raise Lost("connection")

    async def enter(self, **register):
        self.say({"hello": {"version": 1}})
        self.say({"register": register})
        while True:
            name, said = await self.hear()
            if name == "registered":
                return said
            if name == "refused":
                sys.exit(f"no client may register: {said}")

    def close(self):
        self.writer.close()

class Hunter:
    def __init__(self, world):
        self.world, self.port, self.id = world, OWNER_PORT, None
        self.score, self.pending, self.unsure = 0, None, 0
        self.is_ghost, self.is_in, self.anew, self.scores_off, self.turned_away = False, False, 0, 0, 0

    async def live(self, ends):
        """Until the end, and then until nothing that was asked waits for an answer; the connection stays."""
        while True:
            line = None
            try:
                line = await Line.open(self.port, self.world.name)
                await self.arrive(line)
                await self.play(line, ends)
                return
            except Lost as lost:
                self.turned_away += lost.code in ("elsewhere", "busy", "unavailable")
            finally:
                if line and not self.is_in:
                    line.close()
            if self.is_ghost or time.monotonic() > ends + BACK_MAX_S:
                self.unsure += self.pending == "dig"
                return
            self.port = PORT
            await asyncio.sleep(random.uniform(*PAUSE_S))

    async def arrive(self, line):
        resume = {"resume": {"id": self.id, "key": self.key}} if self.id else {}
        said = await line.enter(**resume)
        is_resumed, score = said.get("is_resumed", False), said.get("score", 0)
        if self.id and not is_resumed:
            # No node kept this mover: he came after the last snapshot, and nothing was his.
            self.anew, self.unsure = self.anew + 1, self.unsure + (self.pending == "dig")
            self.pending = None
        room = POINTS_MAX if self.pending == "dig" else 0
        self.scores_off += not self.score <= score <= self.score + room
        self.id, self.key, self.cell = said["id"], said["key"], (said.get("x", 0), said.get("y", 0))
        if self.pending is None:
            self.seq = said["next_seq"]
        self.is_in = True

    async def play(self, line, ends):
        try:
            await asyncio.sleep(random.uniform(0, PACE_S))
            while self.pending or time.monotonic() < ends:
                if self.pending is None:
                    self.pending = "dig" if self.seq % 2 else "move"
                asked = {"seq": self.seq} if self.pending == "dig" else {"seq": self.seq, "step": random.choice(STEPS)}
                line.say({self.pending: asked})
                self.heard(*await self.answer(line))
                await asyncio.sleep(PACE_S)
        except Lost:
            self.is_in = False
            raise
        self.line = line

    async def answer(self, line):
        while True:
            name, said = await line.hear()
            if said.get("seq") == self.seq:
                return name, said

    def heard(self, name, said):
        if name == "dug":
            self.score += said["points"]
            self.world.dug(self.cell)
        elif name == "moved":
            self.cell = said.get("x", 0), said.get("y", 0)
        elif said["code"] == "out_of_order":
            # It was applied before the kill, with an unknown answer.
            self.unsure += self.pending == "dig"
            self.pending, self.seq = None, said["expected_seq"]
            return
        elif said["code"] == "busy":
            return
        self.pending, self.seq = None, self.seq + 1

class World:
    def __init__(self, number):
        self.name, self.taken, self.twice = f"hunt-{number}", set(), 0

    def dug(self, cell):
        self.twice += cell in self.taken
        self.taken.add(cell)

    async def make(self):
        guest = await ask(OWNER_PORT, "POST", "/api/stories/guests", {"name": "maker"})
        hunt = {"name": self.name, "admission": "everybody", "width": SIDE, "height": SIDE, "tree_permille": 0, "chests": CHESTS,
                "power_ups": 0, "points_max": POINTS_MAX, "rounds": 1, "round_ms": 3_600_000}
        await ask(OWNER_PORT, "POST", "/api/hunts", hunt, guest["token"])

    async def is_elsewhere(self):
        """Whether the other node says whose this is."""
        line = await Line.open(PORT, self.name)
        try:
            await line.enter()
        except Lost as lost:
            return (lost.code, lost.address) == ("elsewhere", f"127.0.0.1:{OWNER_PORT}")
        finally:
            line.close()
        return False

    async def comes_back(self, killed):
        while time.monotonic() < killed + BACK_MAX_S:
            try:
                line = await Line.open(PORT, self.name)
                try:
                    await line.enter()
                    line.say({"leave": {}})
                    return time.monotonic() - killed
                finally:
                    line.close()
            except Lost:
                await asyncio.sleep(PROBE_S)
        return None

    async def ghosts(self, present, ends):
        """Movers without anybody behind them, once there are none or the time is over."""
        while True:
            movers = (await ask(PORT, "GET", f"/api/worlds/{self.name}/stats"))["movers"]
            if movers <= present or time.monotonic() > ends:
                return movers - present
            await asyncio.sleep(0.25)

    async def lying_again(self, acknowledged):
        items = (await ask(PORT, "GET", f"/api/worlds/{self.name}/sections"))["items"]
        return sum((item["x"], item["y"]) in acknowledged for item in items)

async def ask(port, method, path, body=None, token=os.environ["GAUNTLET_TOKEN"]):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = b"" if body is None else json.dumps(body).encode()
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n"
                 f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    answer = await reader.read()
    writer.close()
    if not head.startswith("HTTP/1.1 20"):
        sys.exit(f"{method} {path}: {head.splitlines()[0]} {answer[:300]}")
    return json.loads(answer)

async def counted():
    ends = time.monotonic() + BACK_MAX_S
    while True:
        statistics = await ask(PORT, "GET", "/api/hunts/statistics")
        if statistics["claims_behind"] == 0 or time.monotonic() > ends:
            return statistics["chests"]
        await asyncio.sleep(0.25)

async def main():
    worlds = [World(number) for number in range(WORLDS)]
    for world in worlds:
        await world.make()
    hunters = [Hunter(worlds[number % WORLDS]) for number in range(HUNTERS)]
    began = time.monotonic()
    living = [asyncio.create_task(hunter.live(began + END_AT)) for hunter in hunters]
    await asyncio.sleep(KILL_AT)
    if not all([await world.is_elsewhere() for world in worlds]):
        sys.exit("the other node did not say whose a hunt is")
    if not all(hunter.is_in for hunter in hunters):
        sys.exit("not everybody was in before the kill: ask for fewer hunters, or a later kill")
    for hunter in hunters[::10]:
        hunter.is_ghost = True
    before = sum(len(world.taken) for world in worlds)
    os.kill(OWNER, signal.SIGKILL)
    killed = time.monotonic()
    back = await asyncio.gather(*(world.comes_back(killed) for world in worlds))
    await asyncio.gather(*living)
    total = lambda what: sum(getattr(hunter, what) for hunter in hunters)
    present = [sum(hunter.is_in for hunter in hunters if hunter.world is world) for world in worlds]
    ghosts = sum([await world.ghosts(count, time.monotonic() + BACK_MAX_S) for world, count in zip(worlds, present)])
    acknowledged = sum(len(world.taken) for world in worlds)
    again = sum([await world.lying_again(world.taken) for world in worlds])
    chests = await counted()
    lost = again + max(0, acknowledged - chests)
    doubled = sum(world.twice for world in worlds) + max(0, chests - acknowledged - total("unsure"))
    found = [seconds for seconds in back if seconds is not None]
    is_back = len(found) == WORLDS
    seconds = [f"{value:.1f}" for value in (min(found), statistics.median(found), max(found))] if is_back else ["never"] * 3
    table_head("hunts", "hunters", "came back", "chests acknowledged before the kill", "in all", "lost", "doubled", "scores off", "began anew", "first hunt back, s", "median", "last", "ghosts")
    print(f"| {WORLDS} | {HUNTERS} | {sum(present)} | {before} | {acknowledged} | {lost} | {doubled} | {total('scores_off')} | {total('anew')} | {' | '.join(seconds)} | {ghosts} |")
    if total("turned_away") == 0:
        sys.exit("the kill reached no client: nothing was shown")
    missing = sum(not hunter.is_in for hunter in hunters) - len(hunters[::10])
    sys.exit(1 if not is_back or missing or lost or doubled or total("scores_off") or ghosts else 0)

asyncio.run(main())
PYTHON
