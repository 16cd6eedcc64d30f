#!/usr/bin/env bash
# Whose fault is silence while the server stands still? Games of a bot that never answers and of one that does, on a server that is stopped
# and continued (SIGSTOP) in several rhythms. Passed: the silent bot is `late` in all rhythms but those in which the server stood for three
# quarters of the time in pauses of 375 ms and more, and no answer of the honest bot is late in any. Two minutes.
# Ends with 0: passed, 1: failed, 77: cannot run here.
# usage: bench/stalled-calls.sh                               GAUNTLET names another program
set -euo pipefail
source "$(dirname "$0")/lib.sh"
port=$(free_port) bots_port=$(free_port)
bots "$bots_port"
serve "$port" --data "$work/data.db"
python3 "$root/bench/stalled_calls.py" "http://127.0.0.1:$port" "$bots_port" "$served"
