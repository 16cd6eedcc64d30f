"""A bot that keeps a solo game going to its last turn: it follows its own tail, and eats only when it is hungry.

usage: long_game_bot.py INTERFACE PORT
"""
import collections, http.server, json, sys

HUNGRY_BELOW = 50
STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def distances(goals, blocked, width, height):
    """Steps to the nearest of `goals` from every cell from which one can be reached without entering `blocked`."""
    found, queue = dict.fromkeys(goals, 0), collections.deque(goals)
    while queue:
        x, y = cell = queue.popleft()
        for to in ((x, y + 1), (x, y - 1), (x - 1, y), (x + 1, y)):
            if to not in found and to not in blocked and 0 <= to[0] < width and 0 <= to[1] < height:
                found[to] = found[cell] + 1
                queue.append(to)
    return found


def way_to(food, body, width, height):
    """The cells from the head to the nearest food, or nothing where a snake that has gone there could not reach its tail any more."""
    away = distances(food, set(body[:-1]), width, height)
    way, cell = [], body[0]
    while not way or away[cell] > 0:
        x, y = cell
        near = [to for to in ((x, y + 1), (x, y - 1), (x - 1, y), (x + 1, y)) if to in away and to not in body[:-1]]
        if not near:
            return []
        cell = min(near, key=away.get)
        way.append(cell)
    after = (way[::-1] + body)[: len(body) + 1]
    return way if after[0] in distances([after[-1]], set(after[1:-1]), width, height) else []


def move(request):
    board, you = request["board"], request["you"]
    width, height = board["width"], board["height"]
    body = [(p["x"], p["y"]) for p in you["body"]]
    food = [(p["x"], p["y"]) for p in board["food"]]
    (x, y), tail, taken = body[0], body[-1], set(body[:-1])
    steps = {name: (x + dx, y + dy) for name, (dx, dy) in STEPS.items()}
    free = {name: to for name, to in steps.items() if to not in taken and 0 <= to[0] < width and 0 <= to[1] < height}
    way = way_to(food, body, width, height) if you["health"] < HUNGRY_BELOW and food else []
    if way:
        return next(name for name, to in free.items() if to == way[0])
    to_tail = distances([tail], taken, width, height)
    # A way on first: the tail can still be reached. Then what is not needed is not eaten.
    return min(free, key=lambda name: (free[name] not in to_tail, free[name] in food, to_tail.get(free[name], 0)), default="up")


class Bot(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave together, at once: otherwise each turn waits 40 ms for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer({"move": move(request)} if self.path.endswith("/move") else {})

    def do_GET(self):
        self.answer({"apiversion": "1", "author": "hostile", "color": "#888888"})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Bot).serve_forever()
