#!/usr/bin/env bash
# Exactness over HTTP: a limit of 50, 100 calls of one client at once on 100 connections, again and again with another client.
# Of each hundred exactly 50 must be allowed, and each of those with a remainder of its own: 49, 48, ... 0. All but the last
# byte of every request is there before the first last byte is sent, so that all of them are under way together.
# usage: bench/limiter-exact.sh [times]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
times=${1:-1000}
port=$(free_port)

serve "$port" --only limiter --data "$work/limiter.db" --log-level warn
curl -fsS -o /dev/null "http://127.0.0.1:$port/api/v1/configure" -H 'Content-Type: application/json' \
    -d '{"window_seconds": 36000, "request_per_window": 50}'

python3 - "$port" "$times" <<'PYTHON'
import json, socket, sys

port, times = map(int, sys.argv[1:])
CALLS, LIMIT = 100, 50

def answer(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(4096) or sys.exit("the server has closed a connection")
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(4096) or sys.exit("the server has closed a connection")
    return int(head.split()[1]), json.loads(body)

connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CALLS)]
for connection in connections:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
wrong = 0
for turn in range(times):
    body = json.dumps({"client_id": f"exact-{turn}", "resource": "api"}).encode()
    request = b"POST /api/v1/ratelimit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for connection in connections:
        connection.sendall(request[:-1])
    for connection in connections:
        connection.sendall(request[-1:])
    answers = [answer(connection) for connection in connections]
    allowed = sorted(said["remaining"] for status, said in answers if status == 200 and said["allowed"])
    denied = [said for status, said in answers if status == 200 and not said["allowed"]]
    is_right = allowed == list(range(LIMIT)) and len(denied) == CALLS - LIMIT
    is_right = is_right and all(said["remaining"] == 0 and said["retry_after"] >= 1 for said in denied)
    if not is_right:
        wrong += 1
        print(f"turn {turn}: {len(allowed)} allowed with remainders {allowed}, {len(denied)} denied", file=sys.stderr)
print(f"{times - wrong:,} of {times:,} times exactly {LIMIT} of {CALLS} calls at once were allowed")
sys.exit(wrong > 0)
PYTHON
