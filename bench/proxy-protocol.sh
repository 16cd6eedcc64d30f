#!/usr/bin/env bash
# A server behind HAProxy that passes bytes on and sends headers of the PROXY protocol, and clients at two addresses. Held: no request of theirs failed; the audit log, a ban, a quota and the
# cap on connections tell the two apart; a header that a client makes up is refused; TLS that ends at HAProxy counts as TLS; and every header was read.
# usage: bench/proxy-protocol.sh [requests of each client]
# Ends with 0: held, 1: not held, 77: there is no HAProxy here.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
requests=${1:-300}
command -v haproxy >/dev/null || { echo "There is no haproxy: apt-get install haproxy." >&2; exit 77; }

NODE=$(free_port) FRONT=$(free_port) FRONT_TLS=$(free_port) CERTIFICATE=$work/haproxy.pem
export NODE FRONT FRONT_TLS CERTIFICATE GAUNTLET_LIMITER_DEFAULTS=false
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
cat "$work/cert.pem" "$work/key.pem" >"$CERTIFICATE"
serve "$NODE" --data "$work/games.db" --proxy-protocol --http-trusted-proxies 127.0.0.9 \
    --quotas-loopback --quotas-guests-per-hour 20 --http-limit-loopback --http-connections-per-address-max 16
haproxy -db -f "$root/bench/peers/haproxy-tcp.cfg" >"$work/haproxy.log" 2>&1 &
pids+=("$!")
wait_ready "http://127.0.0.1:$FRONT/readyz"

python3 - "$requests" <<'PYTHON'
import http.client, json, os, socket, ssl, sys
from concurrent.futures import ThreadPoolExecutor
from figures import table_head

requests, token = int(sys.argv[1]), os.environ["GAUNTLET_TOKEN"]
node, front, front_tls = (int(os.environ[name]) for name in ("NODE", "FRONT", "FRONT_TLS"))
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
broken = []


def held(what, have, want):
    print(f"| {what} | {have} |")
    if have != want:
        broken.append(f"{what}: {have}, and not {want}")


def connect(client, port=front):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(client, 0))


def call(client, method, path, body=None, known=False, port=front, connection=None):
    """The status and the body of one request; over a connection of its own, unless there is one."""
    used = connection or connect(client, port)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if known else {})
    used.request(method, path, json.dumps(body) if body is not None else None, headers)
    response = used.getresponse()
    status, text = response.status, response.read()
    if not connection:
        used.close()
    return status, text


def metrics():
    return call("127.0.0.4", "GET", "/metrics", port=node)[1].decode().splitlines()


def settle():
    """Until the server has seen that connections were closed: this one is left, and perhaps one of HAProxy's checks."""
    for _ in range(1000):
        if next(int(line.split()[1]) for line in metrics() if line.startswith("gauntlet_http_connections ")) <= 2:
            return
    sys.exit("connections that were closed are still there")


def load(client):
    """How many requests failed: half of them over one connection, half over one each."""
    kept = connect(client)
    statuses = [call(client, "GET", "/api/worlds", connection=kept if number % 2 else None)[0] for number in range(requests)]
    return sum(status != 200 for status in statuses)


def raw(client, data, port=node):
    with socket.create_connection(("127.0.0.1", port), 20, source_address=(client, 0)) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        try:
            while piece := connection.recv(65536):
                received += piece
        except ConnectionResetError:
            pass
        return received.decode(errors="replace")


table_head("what", "figure")
with ThreadPoolExecutor(4) as pool:
    held(f"requests that failed, of {4 * requests} by two clients", sum(pool.map(load, [FIRST, SECOND, FIRST, SECOND])), 0)

# A guest costs nothing: 20 an hour for each address.
made = {client: [call(client, "POST", "/api/stories/guests", {"name": "x"})[0] for _ in range(25)] for client in (FIRST, SECOND)}
held("guests that the first address got, and the second, of 25 each", [statuses.count(201) for statuses in made.values()], [20, 20])

# Sixteen connections at once for each.
settle()
def hold(client):
    kept, statuses = [], []
    for _ in range(20):
        kept.append(connect(client))
        statuses.append(call(client, "GET", "/api/worlds", connection=kept[-1])[0])
    return kept, statuses.count(200)
firsts, seconds = hold(FIRST), hold(SECOND)
held("connections that the first address got, and the second, of 20 each", [firsts[1], seconds[1]], [16, 16])
for connection in firsts[0] + seconds[0]:
    connection.close()
settle()

held("a ban of the second address, made by an admin at the first", call(FIRST, "POST", "/api/admin/bans", {"address": SECOND, "reason": "floods"}, known=True)[0], 201)
entries = json.loads(call(FIRST, "GET", "/api/admin/audit", known=True)[1])
held("addresses in the audit log", [entry["address"] for entry in entries if entry["action"] == "create_ban"], [FIRST])
held("status for the second, for the first, for another that connects directly", [call(SECOND, "GET", "/api/worlds")[0], call(FIRST, "GET", "/api/worlds")[0], call("127.0.0.4", "GET", "/api/worlds", port=node)[0]], [403, 200, 200])
frame = raw(SECOND, b"\x05frame", front)
held("frames of the second get the ban, too", "banned" in frame, True)

request = b"GET /api/worlds HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
forged = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + socket.inet_aton(FIRST) + socket.inet_aton("127.0.0.1") + b"\x12\x67\x01\xbb"
held("the second claims to be the first, directly", raw(SECOND, forged + request)[:12], "HTTP/1.1 400")
held("the same through HAProxy", raw(SECOND, forged + request, front)[:12], "HTTP/1.1 400")
held("HAProxy's address without a header", raw("127.0.0.9", request), "")

context = ssl.create_default_context(cafile=os.environ["CERTIFICATE"])
context.check_hostname = False
tls = http.client.HTTPSConnection("127.0.0.1", front_tls, timeout=20, source_address=(FIRST, 0), context=context)
tls.request("POST", "/api/session", "{}", {"Content-Type": "application/json", "Authorization": f"Bearer {token}", "Host": "localhost", "Origin": "https://localhost"})
response = tls.getresponse()
held("a session over TLS that ends at HAProxy", [response.status // 100, "Secure" in (response.getheader("set-cookie") or "")], [2, True])

outcomes = {line.split('"')[1]: int(line.split()[-1]) for line in metrics() if line.startswith("gauntlet_proxy_headers_total{")}
held("headers that named a client, and checks of HAProxy's own", [outcomes.pop("client") > 2 * requests, outcomes.pop("local") > 0], [True, True])
held("connections of HAProxy's that were refused", {name: count for name, count in outcomes.items() if count}, {"missing": 1})
for what in broken:
    print(what, file=sys.stderr)
sys.exit(bool(broken))
PYTHON
