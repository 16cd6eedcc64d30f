#!/usr/bin/env bash
# Tickets in a storm over two nodes on one PostgreSQL, while each is killed with -9 in turn and started again: does every player of every
# hunt get a response? A player has one when a ticket says `matched`, or when another one is refused as `in_hunt`.
# usage: bench/tickets-storm.sh [tickets, 4006] [kills, 4]
# Prints hunts and players without a response; ends with 0 when there are none, 1 when there are, 77 without a PostgreSQL.
set -euo pipefail
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || { echo "There is no PostgreSQL: apt-get install postgresql." >&2; exit 77; }
source "$(dirname "$0")/lib.sh"
tickets=${1:-4006} kills=${2:-4}

postgres
# Not among the ports that the kernel gives to connections: while a node is gone, one of the storm's would take its port.
port_a=$(ports_in_a_row 2)
port_b=$((port_a + 1))
serve "$port_a" --store-url "$postgres"
node_a=$served
serve "$port_b" --store-url "$postgres"
node_b=$served

python3 - "$port_a" "$port_b" "$tickets" "$work/over" <<'PYTHON' &
import asyncio, collections, json, random, re, sys

ports, count, over = [int(port) for port in sys.argv[1:3]], int(sys.argv[3]), sys.argv[4]
PLAYERS, TRIES, AT_ONCE, LASTS_S, LIST_S = 3, 400, 400, 240, 60
room = asyncio.Semaphore(AT_ONCE)
heard = collections.defaultdict(set)

async def ask(method, path, token=None, body=None, patience=20):
    """Status, body and address of the next page, from one of the nodes; None when it did not answer."""
    try:
        return await asyncio.wait_for(once(random.choice(ports), method, path, token, body), patience)
    except (OSError, ValueError, IndexError, asyncio.TimeoutError):
        # Also what was cut off in the middle by the death of its node.
        return None, {}, None

async def once(port, method, path, token, body):
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {len(data)}\r\n"
    if data:
        head += "Content-Type: application/json\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    async with room:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(head.encode() + b"\r\n" + data)
            answer = await reader.read()
        finally:
            writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    link = re.search(rb"(?im)^link: <([^>]+)>", head)
    return int(head.split(b" ", 2)[1]), json.loads(body), link and link[1].decode()

async def play(number):
    for _ in range(TRIES):
        status, guest, _ = await ask("POST", "/api/stories/guests", body={"name": f"guest {number}"})
        if status == 201:
            return await hunt(number, guest["token"])
        await asyncio.sleep(0.2)

async def hunt(number, token):
    ticket = None
    for _ in range(TRIES):
        if ticket is None:
            status, said, _ = await ask("POST", "/api/hunts/tickets", token, {"players": PLAYERS, "wait_ms": 60_000})
            if status == 201:
                ticket = said["id"]
                continue
            if status == 409 and said["code"] == "in_hunt":
                return heard[re.search(r"(hunt-\w+)", said["detail"])[1]].add(number)
            # The ticket of a request that was not answered: who cannot know its id waits until it ends.
        else:
            status, said, _ = await ask("GET", f"/api/hunts/tickets/{ticket}?wait=2s", token)
            if status == 200 and said["state"] == "matched":
                return heard[said["hunt"]].add(number)
            if status in (404, 410) or (status == 200 and said["state"] != "waiting"):
                ticket = None
                continue
        await asyncio.sleep(random.uniform(0.05, 0.3))

async def all_hunts():
    found, path = {}, "/api/hunts?limit=100"
    while path:
        status, page, link = await ask("GET", path)
        if status != 200:
            await asyncio.sleep(0.5)
            continue
        found |= {hunt["name"]: hunt["players"] for hunt in page if hunt["admission"] == "matched"}
        path = link
    return found

async def main():
    plays = [asyncio.create_task(play(number)) for number in range(count)]
    done, late = await asyncio.wait(plays, timeout=LASTS_S)
    open(over, "w").close()
    for task in late:
        task.cancel()
    await asyncio.sleep(8)
    try:
        hunts = await asyncio.wait_for(all_hunts(), LIST_S)
    except asyncio.TimeoutError:
        sys.exit(f"no node has listed the hunts within {LIST_S} s")
    deaf = {name: players - len(heard[name]) for name, players in hunts.items() if players != len(heard[name])}
    placed = len(set().union(*heard.values()))
    twice = sum(len(who) for who in heard.values()) - placed
    print(f"{len(hunts)} hunts, {sum(deaf.values())} players without a response, {twice} in two hunts, {count - placed} without a hunt, {len(late)} of them still waiting")
    for name, missing in deaf.items():
        print(f"  {name}: {missing} without a response")
    sys.exit(1 if deaf or twice or not hunts else 0)

asyncio.run(main())
PYTHON
storm=$!
pids+=("$storm")

restart() { # process, port; the new one is in $served
    is_ours "$1" || { echo "The node on port $2 ended by itself:" >&2; tail "$work/server-$2.log" >&2; exit 1; }
    kill -9 "$1"
    sleep 6
    serve "$2" --store-url "$postgres"
}

for kill in $(seq "$kills"); do
    sleep 8
    [ ! -e "$work/over" ] || break
    if [ $((kill % 2)) -eq 1 ]; then
        restart "$node_a" "$port_a"; node_a=$served
    else
        restart "$node_b" "$port_b"; node_b=$served
    fi
done
wait "$storm"
