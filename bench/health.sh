#!/usr/bin/env bash
# What it costs to keep an eye on the health of bots: all of them due at once, then each again in its rhythm. Prints calls a second, the share
# of a core and the longest time between two checks of one bot, as the bots saw it. Some twelve minutes, on one data file.
# Ends with 0: passed, 1: failed, 77: cannot run here.
# usage: bench/health.sh [bots]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
bots=${1:-10000}

python3 -c 'import sqlite3' 2>/dev/null || { echo "This Python has no sqlite3." >&2; exit 77; }
mkdir "$work/data"
python3 "$root/bench/health_sweep.py" --gauntlet "$gauntlet" --port "$(free_port)" --data "$work/data" --bots "$bots"
