"""Of bench/competition-views.sh: fills a server with a tournament and a duel that are played to their ends, and loads their pages.

fill URL BOTS_URL BOTS                 prints the paths of the pages, one a line: tournament of BOTS, tournament of 2, duel
load URL PID SECONDS PATHS             requests a second, CPU and renderings of each page; ends with 1 when a bar is not held
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

from figures import table_head

PATIENCE_S = 900
CONNECTIONS = 16
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# A page costs what serving so many bytes costs: at most so much more than the API document, which never changes.
BYTES_COST_RATIO_MAX = 2.0
# A page that the client has costs the same, however large it is.
UNCHANGED_COST_RATIO_MAX = 1.5


def call(url, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {os.environ['GAUNTLET_TOKEN']}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, data, headers, method=method), timeout=60) as reply:
        return json.loads(reply.read() or b"null")


def wait_ended(url, path):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with urllib.request.urlopen(url + path, timeout=60) as reply:
            shown = json.loads(reply.read())
        if shown["status"] in ("finished", "cancelled"):
            return shown
        if time.monotonic() > deadline:
            sys.exit(f"{path} has not ended in {PATIENCE_S} s")
        time.sleep(0.5)


def tournament(url, snakes):
    wanted = {"name": "views", "entrants_max": max(len(snakes), 2), "entrants_per_account_max": len(snakes), "games_at_once": 256}
    path = f"/api/tournaments/{call(url, 'POST', '/api/tournaments', {**wanted, 'game': {'board': '7x7', 'timeout_ms': 5000}})['id']}"
    for snake in snakes:
        call(url, "POST", f"{path}/entries", {"snake_id": snake})
    call(url, "POST", f"{path}/start", {})
    return path


def fill(url, bots_url, bots):
    bots = int(bots)
    snakes = []
    for number in range(bots):
        snake = {"name": f"bot {number}", "url": f"{bots_url}/hungry/seed-{number}"}
        snakes.append(call(url, "POST", "/api/snakes", snake)["id"])
    large, small = tournament(url, snakes), tournament(url, snakes[:2])
    pair = [{"url": f"{bots_url}/hungry/seed-{number}", "name": f"bot {number}"} for number in range(2)]
    # Bounds that equal bots leave after thousands of games.
    duel = {"bots": pair, "is_public": True, "board": "7x7", "timeout_ms": 5000, "elo1": 10, "games_max": 400, "pairs_at_once": 16}
    duel = call(url, "POST", "/api/duels", duel)["id"]
    for path in (large, small, f"/api/duels/{duel}"):
        shown = wait_ended(url, path)
        print(path, shown["status"], file=sys.stderr)
        print(path)
    print(f"/duels/{duel}")


def cpu_s(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def renderings(url):
    page = urllib.request.urlopen(url + "/metrics").read().decode()
    found = re.search(r"^gauntlet_views_rendered_total (\S+)", page, re.M)
    return int(float(found.group(1))) if found else None


def get(url, path):
    with urllib.request.urlopen(url + path, timeout=60) as reply:
        return reply.read(), reply.headers.get("ETag")


def measure(url, pid, seconds, path, tag):
    """Requests a second, microseconds of the server's CPU a request."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", url + path]
    if tag:
        command[1:1] = ["-H", f"If-None-Match: {tag}"]
    begun_cpu, begun = cpu_s(pid), time.monotonic()
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    took, used = time.monotonic() - begun, cpu_s(pid) - begun_cpu
    done = int(re.search(r"(\d+) requests in", out).group(1))
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", out) or re.search(r"Socket errors: (.*)", out)
    if refused:
        sys.exit(f"{path}: {refused.group(0)}")
    return done / took, used / done * 1e6


def load(url, pid, seconds, paths):
    large, small, duel, page = open(paths).read().split()
    rows = {}
    table_head("page", "bytes", "requests/s", "CPU µs a request", "renderings")
    for name, path in (
        ("API document", "/api/openapi.json"),
        ("tournament, large", large),
        ("tournament of 2", small),
        ("duel", duel),
        ("duel's page", page),
    ):
        for is_known in (False, True):
            before = renderings(url)
            body, tag = get(url, path)
            if is_known and not tag:
                continue
            rate, cpu = measure(url, pid, seconds, path, tag if is_known else None)
            rendered = None if before is None else renderings(url) - before
            label = f"{name}, unchanged" if is_known else name
            rows[label] = (len(body), rate, cpu, rendered)
            print(f"| {label} | {0 if is_known else len(body):,} | {rate:,.0f} | {cpu:,.0f} | {'-' if rendered is None else rendered} |", flush=True)
    return 0 if held(rows) else 1


def held(rows):
    """Prints each bar with its figure."""
    document_bytes, _, document_cpu, _ = rows["API document"]
    large_bytes, _, large_cpu, _ = rows["tournament, large"]
    bars = [
        ("CPU a byte, large tournament to API document", (large_cpu / large_bytes) / (document_cpu / document_bytes), BYTES_COST_RATIO_MAX),
    ]
    unchanged = [rows.get(f"{name}, unchanged") for name in ("tournament, large", "tournament of 2")]
    if None in unchanged:
        print("FAILED: a page has no ETag")
        return False
    bars.append(("CPU a request, unchanged: large tournament to one of 2", unchanged[0][2] / unchanged[1][2], UNCHANGED_COST_RATIO_MAX))
    rendered = sum(row[3] or 0 for name, row in rows.items() if name != "API document")
    bars.append(("renderings of the four pages, which do not change", rendered, 4))
    for name, figure, most in bars:
        print(f"{name}: {figure:.2f}, at most {most}{'' if figure <= most else ' FAILED'}")
    return all(figure <= most for _, figure, most in bars)


if __name__ == "__main__":
    sys.exit({"fill": fill, "load": load}[sys.argv[1]](*sys.argv[2:]))
