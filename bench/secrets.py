"""The client of secrets.sh: makes accounts, guests, links, bots and games, reads everything as everybody, and searches what was kept.

usage: secrets.py collect|again PORT BOTS_PORT KEPT SECRETS | search KEPT SECRETS KEYS
"""

import base64
import concurrent.futures
import http.client
import json
import os
import re
import sys
import urllib.parse

# A feed or a poll is read for so long; it goes on for ever.
READ_S = 2.0
BYTES_MAX = 4 * 1024 * 1024
# What tokens and codes begin with: also those that this script does not know.
PREFIXES = re.compile(rb"\bg(?:nt|st|ni|ns)_[A-Za-z0-9_-]{16,}")
# In examples of the API's document.
EXAMPLE = b"0123456789"
PAGES = ["/", "/games", "/bots", "/hunts", "/stories", "/ladders", "/tournaments", "/duels", "/trials", "/account", "/operate", "/join", "/sign-in", "/docs", "/world"]


class Server:
    def __init__(self, port):
        self.port = port

    def send(self, method, path, token="", body=None, cookie=""):
        """The status, the headers, and the body as far as it comes in time."""
        headers = {"Host": f"127.0.0.1:{self.port}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if cookie:
            headers["Cookie"] = f"gauntlet_session={cookie}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=READ_S)
        text = b""
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            while len(text) < BYTES_MAX and (piece := response.read1(65536)):
                text += piece
        except TimeoutError:
            pass
        finally:
            connection.close()
        try:
            return response.status, response.getheaders(), text
        except UnboundLocalError:
            return 0, [], b""

    def make(self, method, path, token="", body=None):
        """The JSON of a request that must succeed."""
        status, headers, text = self.send(method, path, token, body)
        if not 200 <= status < 300:
            sys.exit(f"{method} {path}: {status} {text[:300]!r}")
        answer = json.loads(text) if text else {}
        cookies = [value for name, value in headers if name.lower() == "set-cookie"]
        return answer, (re.search(r"gauntlet_session=([^;]+)", cookies[0]).group(1) if cookies else "")


def set_up(server, bots_port):
    """Makes what there is to read: readers (name, token, cookie), ids for paths, and the secrets."""
    admin = os.environ["GAUNTLET_TOKEN"]
    secrets = {
        "password of the database": os.environ["PASSWORD"],
        "bootstrap token": admin,
        "limiter's token": os.environ["LIMITER_TOKEN"],
    }
    readers = [("stranger", "", ""), ("admin", admin, "")]
    for name, role in [("ann", "player"), ("ben", "player"), ("olga", "operator")]:
        server.make("POST", "/api/admin/accounts", admin, {"name": name})
        token = server.make("POST", "/api/admin/tokens", admin, {"account": name, "name": "laptop", "role": role})[0]["secret"]
        secrets[f"token of {name}"] = token
        readers.append((name, token, ""))
    tokens = {name: token for name, token, _ in readers}
    link = server.make("POST", "/api/sign-in-links", tokens["ann"], {})[0]
    secrets["code of a used sign-in link"] = link["code"]
    _, cookie = server.make("POST", "/api/sign-in-links/redeem", body={"code": link["code"]})
    secrets["session cookie of ann"] = cookie
    readers.append(("ann's browser", "", cookie))
    secrets["code of an open sign-in link"] = server.make("POST", "/api/sign-in-links", tokens["ann"], {})[0]["code"]
    secrets["code of an invitation"] = server.make("POST", "/api/invites", tokens["olga"], {"name": "Dan"})[0]["code"]
    snakes = []
    for at in range(2):
        bot = {"name": f"bot {at}", "url": f"http://127.0.0.1:{bots_port}/{('random', 'hungry')[at]}", "is_public": True}
        snakes.append(server.make("POST", "/api/snakes", tokens["ann"], bot)[0]["id"])
    secrets["signing secret of a bot"] = server.make("POST", f"/api/snakes/{snakes[0]}/signing-secret", tokens["ann"])[0]["secret"]
    secrets["signing secret that was replaced"] = server.make("POST", f"/api/snakes/{snakes[1]}/signing-secret", tokens["ann"])[0]["secret"]
    secrets["signing secret that replaced it"] = server.make("POST", f"/api/snakes/{snakes[1]}/signing-secret", tokens["ann"])[0]["secret"]
    game = server.make("POST", "/api/games", tokens["ann"], {"snakes": snakes})[0]["id"]
    duel = server.make("POST", "/api/duels", tokens["ann"], {"bots": [{"snake_id": snake} for snake in snakes], "games_max": 10})[0]["id"]
    ladder = server.make("POST", "/api/leaderboards", tokens["ann"], {"name": "a ladder", "is_public": True})[0]["id"]
    server.make("POST", f"/api/leaderboards/{ladder}/entries", tokens["ann"], {"battlesnake_id": snakes[0]})
    world = server.make("POST", "/api/worlds", tokens["olga"], {"name": "meadow", "width": 32, "height": 32})[0]["name"]
    hunt = server.make("POST", "/api/hunts", tokens["ann"], {})[0]["name"]
    # A hand of Stories: only its holder may see it. It is searched for as its list stands in JSON.
    hands = {}
    guests = {}
    for name in ("Gwen", "Gus"):
        guest = server.make("POST", "/api/stories/guests", body={"name": name})[0]
        secrets[f"token of the guest {name}"] = guest["token"]
        guests[name] = guest
        readers.append((name, guest["token"], ""))
    table = server.make("POST", "/api/stories/games", guests["Gwen"]["token"], {})[0]
    story = table["game"]["id"]
    first = table["game"]["own"]["hand"][0]
    server.make("POST", f"/api/stories/games/{story}/card", guests["Gwen"]["token"], {"card": first})
    server.make("POST", f"/api/stories/games/{story}/sentence", guests["Gwen"]["token"], {"sentence": "So far away"})
    server.make("POST", f"/api/stories/games/{story}/join", guests["Gus"]["token"])
    for name in ("Gwen", "Gus"):
        state = server.make("GET", f"/api/stories/games/{story}", guests[name]["token"])[0]
        hands[name] = json.dumps(state["game"]["own"]["hand"], separators=(",", ":"))
    return {
        "readers": readers,
        "secrets": secrets,
        "hands": hands,
        "ids": {
            "games": game,
            "snakes": snakes[0],
            "snake": snakes[0],
            "leaderboards": ladder,
            "duels": duel,
            "world": world,
            "worlds": world,
            "hunts": hunt,
            "table": table["table"] if isinstance(table["table"], str) else table["table"]["id"],
            "game": story,
            "player": guests["Gwen"]["player"],
            "turn": "1",
            "card": "1",
        },
    }


def routes(server, ids):
    """Every GET route of the document with ids in its path, and every page."""
    document = json.loads(server.send("GET", "/api/openapi.json")[2])
    paths = []
    for path, methods in document["paths"].items():
        if "get" not in methods:
            continue
        for name in re.findall(r"{(\w+)}", path):
            kind = path.split("/")[path.split("/").index(f"{{{name}}}") - 1]
            # What there is none of is asked for as well: refusals may say too much.
            value = ids.get(kind if name in ("id", "name") else name, "0190b5a4-7c1e-7000-8000-000000000001")
            path = path.replace(f"{{{name}}}", urllib.parse.quote(value, safe=""))
        paths.append(path)
    return paths + PAGES + [f"/games/{ids['games']}", f"/bots/{ids['snakes']}", f"/duels/{ids['duels']}"]


def read_all(server, state, kept, when):
    """Reads everything as everybody, and keeps it: a file for each reader and path."""
    paths = routes(server, state["ids"])

    def read(reader, path):
        name, token, cookie = reader
        status, headers, text = server.send("GET", path, token, cookie=cookie)
        head = "".join(f"{field}: {value}\n" for field, value in headers)
        file = os.path.join(kept, f"{when}-{name}-{urllib.parse.quote(path, safe='')}"[:200])
        with open(file, "wb") as out:
            out.write(f"{name} GET {path}\n{status}\n{head}\n".encode() + text)
        return status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda job: read(*job), [(reader, path) for reader in state["readers"] for path in paths]))
    answered = sum(200 <= status < 300 for status in statuses)
    print(f"{when}: {len(paths)} routes and pages as {len(state['readers'])} readers: {len(statuses)} answers, {answered} of them 2xx, {statuses.count(0)} without an answer")
    if answered < len(statuses) / 4:
        sys.exit("fewer than a quarter of the answers are good ones: this shows too little")


def forms(secret):
    """The ways in which a text, or bytes, may appear."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    encoded = {raw, urllib.parse.quote(raw, safe="").encode(), raw.hex().encode(), raw.hex().upper().encode()}
    if isinstance(secret, str):
        encoded.add(json.dumps(secret)[1:-1].encode())
    # In base64 at each of its three offsets, without the characters that the neighbours change.
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw)
        encoded.add(whole[(0, 2, 3)[offset] : len(whole) - 4])
        encoded.add(whole[(0, 2, 3)[offset] : len(whole) - 4].replace(b"+", b"-").replace(b"/", b"_"))
    return [form for form in encoded if len(form) >= 12]


def findings(kept, state):
    """Each place where a secret stands."""
    known = {name: forms(secret) for name, secret in state["secrets"].items()}
    found, files, size = [], 0, 0
    for folder, _, names in os.walk(kept):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                text = file.read()
            files, size = files + 1, size + len(text)
            found += [f"{path}: {what}" for what, all_forms in known.items() if any(form in text for form in all_forms)]
            # The server's own data is no report.
            if ".db" not in name:
                found += [f"{path}: a token: {match.decode()[:12]}…" for match in sorted(set(PREFIXES.findall(text))) if EXAMPLE not in match]
            for holder, hand in state["hands"].items():
                # Gwen tells the story: she sees all hands.
                if hand.encode() in text and f"-{holder}-" not in name and "-Gwen-" not in name:
                    found.append(f"{path}: the hand of {holder}")
    return found, files, size


def search(kept, state):
    found, files, size = findings(kept, state)
    print(f"{len(state['secrets'])} secrets and {len(state['hands'])} hands, searched for in {files} files of {size / 1e6:.1f} MB")
    for place in found:
        print(f"FOUND {place}", file=sys.stderr)
    # Each of them once in a place of its own: what is not found there would not have been found anywhere.
    planted = os.path.join(kept, "planted")
    os.mkdir(planted)
    missed = []
    for at, (what, secret) in enumerate(list(state["secrets"].items()) + [(f"the hand of {name}", hand) for name, hand in state["hands"].items()]):
        raw = secret if isinstance(secret, bytes) else secret.encode()
        for of, text in enumerate((raw, base64.b64encode(b"x" + raw))):
            if of and what.startswith("the hand"):
                continue
            with open(os.path.join(planted, f"{at}-{of}"), "wb") as out:
                out.write(b'{"level":"INFO","detail":"' + text + b'"}\n')
            hits = findings(planted, state)[0]
            os.remove(os.path.join(planted, f"{at}-{of}"))
            if not any(hit.endswith(what) for hit in hits):
                missed.append(f"{what} ({'in base64' if of else 'as it is'})")
    print(f"planted: {'all were found' if not missed else 'NOT FOUND: ' + ', '.join(missed)}")
    return bool(found or missed)


def main():
    if sys.argv[1] == "search":
        with open(sys.argv[3], encoding="utf-8") as file:
            state = json.load(file)
        with open(sys.argv[4], encoding="utf-8") as file:
            keys = [line.split() for line in file]
        if not keys:
            sys.exit("the database has no key: this shows too little")
        state["secrets"] |= {f"the key {name}": bytes.fromhex(key) for name, key in keys}
        sys.exit(search(sys.argv[2], state))
    when, port, bots_port, kept, secrets = sys.argv[1:]
    server = Server(int(port))
    if when == "collect":
        state = set_up(server, bots_port)
        with open(secrets, "w", encoding="utf-8") as out:
            json.dump(state, out)
    else:
        with open(secrets, encoding="utf-8") as file:
            state = json.load(file)
    read_all(server, state, kept, when)


if __name__ == "__main__":
    main()
