#!/usr/bin/env bash
# What connections to a world take of the server's memory, while they say nothing, and of its processor for each move: over TCP and
# over WebSockets, without views. Each connection has made three exchanges before it is counted: hello, registration, a step.
# RSS is the server's own; "allocated" is what the program holds by its allocator's count, without what that keeps for later.
# usage: bench/world-connections.sh [connections] [threads] [TCP|WebSocket|both]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
connections=${1:-5000} threads=${2:-2} kinds=${3:-both}
[ "$kinds" != both ] || kinds="TCP WebSocket"

cat >"$work/connect.py" <<'PYTHON'
import base64, os, re, resource, socket, struct, sys, time, urllib.request

kind, (port, server, connections) = sys.argv[1], map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
HELLO, MOVE = bytes([0x0a, 2, 8, 1]), 0x22
REGISTER = bytes([0x12, 7, 0x0a, 5]) + b"plaza"
MOVES = 6
# One address has 28,232 ports by default, and the kernel looks for a free one ever longer once the half of them is taken.
SOURCES = 3
# So many come in together, step by step: each has had its answer before anybody's next exchange.
TOGETHER = 200

def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])

def move(seq):
    body = b"\x08" + varint(seq) + b"\x10\x00"
    return bytes([MOVE]) + varint(len(body)) + body

class Tcp:
    opened = 0
    def __init__(self):
        source = f"127.0.0.{1 + Tcp.opened % SOURCES}"
        Tcp.opened += 1
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: the port is chosen with both ends known
        self.socket.bind((source, 0))
        self.socket.connect(("127.0.0.1", port))
        self.unread = b""
    def send(self, frame):
        self.socket.sendall(varint(len(frame)) + frame)
    def length(self):
        for at, byte in enumerate(self.unread[:5]):
            if byte < 128:
                return at + 1, sum((b & 127) << 7 * i for i, b in enumerate(self.unread[: at + 1]))
    def frame(self):
        while True:
            found = self.length()
            if found and len(self.unread) >= sum(found):
                head, length = found
                frame, self.unread = self.unread[head : head + length], self.unread[head + length :]
                return frame
            piece = self.socket.recv(4096)
            assert piece, "the server ended the connection"
            self.unread += piece

class Web(Tcp):
    def __init__(self):
        super().__init__()
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /api/worlds/plaza/socket HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.unread:
            self.unread += self.socket.recv(4096)
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        assert b" 101 " in head, head
    def send(self, frame):
        self.socket.sendall(bytes([0x82, 0x80 | len(frame), 0, 0, 0, 0]) + frame)
    def length(self):
        if len(self.unread) >= 2 and self.unread[1] < 126:
            return 2, self.unread[1]
        if len(self.unread) >= 4 and self.unread[1] == 126:
            return 4, struct.unpack(">H", self.unread[2:4])[0]

def metrics():
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    def value(name):
        found = re.search(rf"^{re.escape(name)} (\S+)$", page, re.M)
        return float(found.group(1)) if found else float("nan")  # an allocator that does not count
    return value

def memory():
    time.sleep(2)  # the allocator gives pages back after a second
    rss = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server}/status").read()).group(1)) * 1024
    return rss, metrics()("gauntlet_allocated_bytes")

def enter(kind, count):
    clients = [kind() for _ in range(count)]
    for asked, answer in ((HELLO, 0x0a), (REGISTER, 0x12), (move(1), 0x1a)):
        for client in clients:
            client.send(asked)
        for client in clients:
            assert client.frame()[0] == answer
    return clients

first = enter(Tcp, 1)
rss, allocated = memory()
clients = []
while len(clients) < connections:
    clients += enter({"TCP": Tcp, "WebSocket": Web}[kind], min(TOGETHER, connections - len(clients)))
more_rss, more_allocated = memory()
before = metrics()("process_cpu_seconds_total")
for seq in range(2, 2 + MOVES):
    for client in clients:
        client.send(move(seq))
    for client in clients:
        client.frame()
cpu_us = (metrics()("process_cpu_seconds_total") - before) / (MOVES * connections) * 1e6
each = lambda more, less: (more - less) / connections
print(f"| {connections:,} over {kind} | {rss / 2**20:.1f} | {more_rss / 2**20:.1f} | {each(more_rss, rss):,.0f} | "
      f"{each(more_allocated, allocated):,.0f} | {cpu_us:.1f} |", flush=True)
PYTHON

table_head "connections" "RSS with one mover, MiB" "with them" "RSS of each, bytes" "allocated for each, bytes" "processor a move, us"
for kind in $kinds; do
    port=$(free_port)
    serve "$port" --data "$work/$kind.db" --threads "$threads" --http-connections-max $((connections + 200)) --log-level warn
    python3 "$work/connect.py" "$kind" "$port" "$served" "$connections"
done
