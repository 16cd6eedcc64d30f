"""One line for each file of the official program: map, board, seed, frames, and a hash of what was on the board in each.

usage: map_hashes.py FOLDER    of files MAP-WIDTH-HEIGHT-SEED.jsonl

Ids are drawn anew for each game, and latencies are times: they are left out. Hazards and food are sorted: some maps list them in the
order of a Go map."""

import hashlib
import json
import pathlib
import sys


def frames(path):
    for line in path.read_text().splitlines():
        read = json.loads(line)
        if "board" not in read:
            continue
        board = read["board"]
        cells = lambda name: sorted((cell["x"], cell["y"]) for cell in board[name])
        snakes = [(snake["health"], [(cell["x"], cell["y"]) for cell in snake["body"]]) for snake in board["snakes"]]
        yield [read["turn"], board["width"], board["height"], snakes, cells("food"), cells("hazards")]


for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jsonl")):
    name, width, height, seed = path.stem.rsplit("-", 3)
    played = list(frames(path))
    if not played:
        sys.exit(f"{path} has no frames")
    digest = hashlib.sha256(json.dumps(played, separators=(",", ":")).encode()).hexdigest()
    print(f"{name} {width}x{height} seed {seed} frames {len(played)} {digest}")
