"""Of bench/ratings-size.sh: waits until results are rated, asks for the pages of ladders, adds up what tables take.

rate URL RESULTS                    until all are rated; prints the rate
pages SMALL LARGE NAMED REQUESTS    asks two servers in turns; ends with 1 where the large one is slower than held
sizes FILE|- RESULTS                bytes a result by table and index: of a SQLite file, or of lines "name bytes"
"""
import http.client, json, random, re, sqlite3, sys, time, urllib.parse

PATIENCE_S = 1800
WARM_UP = 20
DEEP_PAGE = 100


class Server:
    def __init__(self, url):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)

    def get(self, path, status=200):
        """Body, seconds, the path of the next page. Any other status ends the program."""
        began = time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - began
        if answer.status != status:
            sys.exit(f"{path} was answered with {answer.status}: {body[:300]}")
        link = re.search(r'<([^>]*)>; rel="next"', answer.headers.get("Link", ""))
        return body, took, link and link.group(1)

    def json(self, path):
        return json.loads(self.get(path)[0])

    def after(self, path, pages):
        """The path of the page that so many links lead to."""
        for _ in range(pages):
            path = self.get(path)[2] or sys.exit(f"{path} is the last page")
        return path


def rate(url, results):
    server, results = Server(url), int(results)
    began = time.monotonic()

    def rated():
        page = server.get("/metrics")[0].decode()
        return int(float(re.search(r"^gauntlet_ladder_results_rated_total (\S+)", page, re.M).group(1)))

    while (done := rated()) < results:
        if time.monotonic() - began > PATIENCE_S:
            sys.exit(f"{done} of {results} results were rated in {PATIENCE_S} s")
        time.sleep(0.05)
    took = time.monotonic() - began
    print(f"{results} results rated in {took:.1f} s: {results / took:,.0f} a second")


def pages(small, large, named, requests):
    servers, requests = [Server(small), Server(large)], int(requests)
    busy, crowded = (dict(zip(("ladder", "bot", "bots"), line.split()[1:])) for line in open(named))
    of_busy, of_crowded = (f"/api/leaderboards/{known['ladder']}" for known in (busy, crowded))
    seated = servers[1].json(f"{of_busy}/rankings?limit=500")
    bots = [entry["battlesnake_id"] for entry in seated["ranked"]]
    random.seed(1)
    chosen = [random.choice(bots) for _ in range(requests + WARM_UP)]
    half = len(bots) // DEEP_PAGE

    def ranking(of, sort, deep, limit):
        first = f"{of}/rankings?sort={sort}&limit={limit}"
        return lambda server: [server.after(first, deep)]

    def every(path):
        return lambda server: [path.format(bot) for bot in chosen]

    def deep_games(server):
        middle = server.json(of_busy)["games_applied"] // 2
        return [f"{of_busy}/entries/{bot}/games?after={middle}" for bot in chosen]

    def deep_opponents(server):
        return [f"{of_busy}/entries/{bot}/opponents?after={busy['bot']}" for bot in chosen]

    stranger = "00000000-0000-7000-8000-000000000001"
    asked = [
        ("ladders", lambda server: ["/api/leaderboards"]),
        ("a ladder", lambda server: [of_busy]),
        ("ranking by rating, 500", ranking(of_busy, "rating", 0, 500)),
        ("ranking by rating, from the middle", ranking(of_busy, "rating", half, DEEP_PAGE)),
        ("ranking by food, 500", ranking(of_busy, "food_eaten", 0, 500)),
        ("ranking by food, from the middle", ranking(of_busy, "food_eaten", half, DEEP_PAGE)),
        ("entry with its rank", every(of_busy + "/entries/{}")),
        ("games of an entry", every(of_busy + "/entries/{}/games")),
        ("games of an entry, from the middle", deep_games),
        ("games of a snake that never played", lambda server: [f"{of_busy}/entries/{stranger}/games"], 404),
        ("opponents of an entry", every(of_busy + "/entries/{}/opponents")),
        ("opponents, from the middle", deep_opponents),
        ("seats", lambda server: [f"{of_busy}/seats"]),
        ("full ladder", lambda server: [of_crowded]),
        ("full ladder: ranking, 500", ranking(of_crowded, "rating", 0, 500)),
        ("full ladder: ranking, from the middle", ranking(of_crowded, "rating", 20, 500)),
        ("full ladder: entry with its rank", lambda server: [f"{of_crowded}/entries/{crowded['bot']}"]),
    ]
    failed = []
    print("| page | small p50 ms | p99 | large p50 ms | p99 | at most |\n|---|---|---|---|---|---|")
    for name, paths_of, *status in asked:
        paths = [paths_of(server) for server in servers]
        times = [[], []]
        for number in range(-WARM_UP, requests):
            for server, known, took in zip(servers, paths, times):
                seconds = server.get(known[number % len(known)], *status)[1]
                if number >= 0:
                    took.append(seconds * 1e3)
        (_, low), (_, high) = figures = [(at(took, 0.5), at(took, 0.99)) for took in times]
        most = 2 * low + 1
        if high > most:
            failed.append(f"{name}: {high:.2f} ms, held to {most:.2f}")
        cells = " | ".join(f"{median:.2f} | {p99:.2f}" for median, p99 in figures)
        print(f"| {name} | {cells} | {most:.2f} |", flush=True)
    for line in failed:
        print(f"FAILED: {line}")
    sys.exit(1 if failed else 0)


def at(values, share):
    return sorted(values)[int((len(values) - 1) * share)]


def sizes(file, results):
    results = int(results)
    if file == "-":
        rows = [(line.split()[0], int(line.split()[1])) for line in sys.stdin]
    else:
        pages = "SELECT name, sum(pgsize) FROM dbstat WHERE name GLOB 'ladder_*' OR name GLOB 'competition_results*' GROUP BY name"
        try:
            rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True).execute(pages).fetchall()
        except sqlite3.OperationalError as error:
            print(f"bytes a result: this Python's SQLite cannot say ({error})")
            return
    for name, size in sorted(rows, key=lambda row: -row[1]):
        if size >= results:
            print(f"    {name:32} {size / results:8.1f} bytes a result")
    print(f"    {'all':32} {sum(size for _, size in rows) / results:8.1f} bytes a result")


if __name__ == "__main__":
    {"rate": rate, "pages": pages, "sizes": sizes}[sys.argv[1]](*sys.argv[2:])
