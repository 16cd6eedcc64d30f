#!/usr/bin/env bash
# How good the pairings of ladders are, without a server: bots whose strength is known are paired by the matchmaker's function, play games whose
# ends chance draws from their strengths, and are rated. Ladders of 1,000 bots with 2, 4 and 8 in a match, with a first seat that is worth a
# whole beta, with one match at a time; of 10,000 bots; and 50,000 matches of 200 bots for the seats. About 20 s of one processor.
# usage: bench/ladder-pairing.sh [bots] [games a bot]
set -euo pipefail
cd "$(dirname "$0")/.."
bots=${1:-1000}
games=${2:-50}
program=${CARGO_TARGET_DIR:-target}/release/ladder-pairing
cargo build --quiet --release -p ladder-bench --bin ladder-pairing || { echo "ladder-pairing cannot be built here." >&2; exit 77; }
"$program" "$bots" "$games" | python3 -c '
import sys

figures = {}
for line in sys.stdin:
    name, value = line.split()
    figures[name] = float(value)
    print(f"{name:28} {value}")

limits = []
for ladder in ("four", "two", "eight", "bias", "idle", "large"):
    limits += [
        (f"{ladder}.spearman", lambda value: value >= 0.95, "at least 0.95"),
        (f"{ladder}.gap_of_random", lambda value: value <= 0.5, "at most half of random pairings"),
        (f"{ladder}.top_share", lambda value: 0.9 <= value <= 1.1, "within 10 % of the median bot"),
    ]
limits += [
    ("seats.points_off_max", lambda value: value <= 1, "at most 1 point"),
    ("seats.spearman", lambda value: value >= 0.95, "at least 0.95, whatever the first seat is worth"),
]
failed = [(name, figures[name], wanted) for name, holds, wanted in limits if not holds(figures[name])]
for name, value, wanted in failed:
    print(f"FAILED: {name} is {value}, wanted {wanted}")
print("failed" if failed else f"passed: {len(limits)} limits")
sys.exit(1 if failed else 0)
'
