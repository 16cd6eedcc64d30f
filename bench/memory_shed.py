"""People who come to tables of a server until its memory is used up. See memory-shed.sh.

usage: memory_shed.py PORT PROCESS SECONDS RUN
RUN is `without`: the server must be killed; or `default`: it must live, refuse, serve those who are there, and take new people after some left.
Prints one row; ends with 1 where that is not so.
"""
import asyncio
import collections
import json
import sys
import time

PORT, PROCESS, SECONDS, RUN = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
COMING_AT_ONCE = 32
ADDRESSES = [f"127.0.0.{at}" for at in range(2, 34)]
# A sentence and a chat line as long as may be: what people write is what takes memory.
LINE = "A long story. " * 14
REFUSALS_ENOUGH = 200


class Answer(Exception):
    """Anything but what was asked for: its status, or that there was none."""


async def send(reader, writer, method, path, body=None, token=""):
    content = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", "host: localhost", "content-type: application/json", f"content-length: {len(content)}"]
    if token:
        head.append(f"authorization: Bearer {token}")
    writer.write("\r\n".join([*head, "", ""]).encode() + content)
    status = int((await reader.readuntil(b"\r\n")).split()[1])
    length = 0
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    answer = await reader.readexactly(length) if length else b""
    if status >= 300:
        code = json.loads(answer).get("code", "") if answer[:1] == b"{" else ""
        raise Answer(f"{status} {code}".strip())
    return json.loads(answer) if answer[:1] in (b"{", b"[") else {}


class Person:
    """At a table of his own, with its feed open."""

    def __init__(self, at):
        self.address = ADDRESSES[at % len(ADDRESSES)]
        self.streams = []

    async def connect(self):
        stream = await asyncio.open_connection("127.0.0.1", PORT, local_addr=(self.address, 0))
        self.streams.append(stream)
        return stream

    async def come(self):
        reader, writer = await self.connect()
        token = (await send(reader, writer, "POST", "/api/stories/guests", {"name": "Ann"}))["token"]
        view = await send(reader, writer, "POST", "/api/stories/games", {}, token)
        game, table = view["game"]["id"], view["table"]
        await send(reader, writer, "POST", f"/api/stories/games/{game}/card", {"card": view["game"]["own"]["hand"][0]}, token)
        await send(reader, writer, "POST", f"/api/stories/tables/{table}/chat", {"text": LINE}, token)
        follower, asking = await self.connect()
        request = [f"GET /api/stories/tables/{table}/feed HTTP/1.1", "host: localhost", "accept: text/event-stream"]
        asking.write("\r\n".join([*request, f"authorization: Bearer {token}", "", ""]).encode())
        status = int((await follower.readuntil(b"\r\n")).split()[1])
        if status != 200:
            raise Answer(f"{status} overloaded" if status == 503 else str(status))

    def leave(self):
        for _, writer in self.streams:
            writer.close()


def is_alive():
    try:
        with open(f"/proc/{PROCESS}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def rss_mib():
    with open(f"/proc/{PROCESS}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS:"))


async def come_and_stay(people, answers, until):
    """Comes again and again, as many people as there are; tells what was answered."""
    while time.monotonic() < until and answers["503 overloaded"] < REFUSALS_ENOUGH and is_alive():
        person = Person(len(people) + sum(answers.values()))
        try:
            await asyncio.wait_for(person.come(), 20)
            people.append(person)
        except Answer as answer:
            answers[str(answer)] += 1
            person.leave()
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            answers[type(error).__name__] += 1
            person.leave()


async def main():
    people, answers = [], collections.Counter()
    until = time.monotonic() + SECONDS
    await asyncio.gather(*(come_and_stay(people, answers, until) for _ in range(COMING_AT_ONCE)))
    refused = answers.pop("503 overloaded", 0)
    faults = []
    await asyncio.sleep(2)
    lives, rss = is_alive(), "-"
    if RUN == "without":
        if lives:
            faults.append(f"the server lives: {len(people)} people do not use up the memory in {SECONDS} s")
    elif not lives:
        faults.append("the server was killed")
    else:
        rss = rss_mib()
        if refused < REFUSALS_ENOUGH:
            faults.append(f"only {refused} were refused")
        if answers:
            faults.append(f"other answers: {dict(answers)}")
        # Those who are there are served, and so is a person who comes after some left.
        reader, writer = await people[0].connect()
        await send(reader, writer, "GET", "/api/stories/lobby")
        for person in people[len(people) // 4 :]:
            person.leave()
        for attempt in range(60):
            await asyncio.sleep(1)
            try:
                await Person(attempt).come()
                break
            except Answer:
                continue
        else:
            faults.append("nobody was taken within a minute after three of four had left")
    print(f"| {RUN} | {len(people)} | {refused} | {sum(answers.values())} | {'lives' if lives else 'killed'} | {rss} |", flush=True)
    for fault in faults:
        print(f"Not held: {RUN}: {fault}", flush=True)
    sys.exit(1 if faults else 0)


asyncio.run(main())
