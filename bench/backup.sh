#!/usr/bin/env bash
# What a backup costs those who play: the trial leaderboard without backups and with one after the other (`gauntlet backup` of the trial's own data file, all the
# time that it runs), in alternating pairs. Held: the median of creation's p99 with backups is at most 25 % above that without, no move is late because of it, and
# each backup was verified; the last one is restored, and a server begins with it.
# usage: bench/backup.sh [pairs] [trial]     five pairs of `leaderboard` take about 35 minutes; `bench/backup.sh 1 demo` shows in a minute that it works, and its ratio says nothing
# Ends with 0: held, 1: not held, 77: no program built.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
pairs=${1:-5} trial=${2:-leaderboard}
# The lab makes a token for the server that it starts.
unset GAUNTLET_TOKEN GAUNTLET_BOOTSTRAP_TOKEN
failed=0

# Backs up whatever data file the trial below this folder has, until it is gone.
back_up_all_the_time() { # folder
    local data="" count=0
    while [ ! -e "$1/over" ]; do
        data=$(ls "$1"/*/server.db 2>/dev/null | head -n 1 || true)
        if [ -s "$data" ]; then
            rm -f "$1/backup.before" && { [ ! -e "$1/backup" ] || mv "$1/backup" "$1/backup.before"; }
            "$gauntlet" backup "$1/backup" --data "$data" >>"$1/backups.out" 2>&1 && count=$((count + 1)) || echo "$?" >>"$1/backups.failed"
        else
            sleep 0.2
        fi
    done
    echo "$count" >"$1/backups.count"
}

for pair in $(seq "$pairs"); do
    for what in without with; do
        folder=$work/$what-$pair
        mkdir "$folder"
        if [ "$what" = with ]; then back_up_all_the_time "$folder" & pids+=("$!"); fi
        "$gauntlet" run "$trial" --quiet --out "$folder" >"$folder/run.out" 2>&1 || { tail -n 20 "$folder/run.out" >&2; failed=1; }
        touch "$folder/over"
        [ "$what" = without ] || wait "${pids[-1]}"
    done
done
last=$work/with-$pairs/backup
"$gauntlet" restore "$last" --data "$work/restored/games.db" || failed=1
port=$(free_port)
GAUNTLET_BOOTSTRAP_TOKEN=a-token-for-this-measurement serve "$port" --data "$work/restored/games.db" --log-level warn || failed=1

python3 - "$work" "$pairs" "$trial" <<'PYTHON' || failed=1
import os, statistics, sys
from figures import read_run, table_head

work, pairs, trial = sys.argv[1], int(sys.argv[2]), sys.argv[3]
runs = {what: [read_run(f"{work}/{what}-{pair}") for pair in range(1, pairs + 1)] for what in ("without", "with")}
p99 = {what: [run["journeys"]["create_game"]["service_ms"]["p99"] for run in of] for what, of in runs.items()}
late = {what: [run["work"]["game"]["figures"]["late_moves"]["sum"] for run in of] for what, of in runs.items()}
made = [int(open(f"{work}/with-{pair}/backups.count").read()) for pair in range(1, pairs + 1)]
failures = sum(os.path.exists(f"{work}/with-{pair}/backups.failed") for pair in range(1, pairs + 1))
table_head(trial, "creation p99, ms: median (range)", "late moves", "backups a run")
for what, of in p99.items():
    print(f"| {what} backups | {statistics.median(of):.1f} ({min(of):.1f}–{max(of):.1f}) | {late[what]} | {made if what == 'with' else 0} |")
ratio = statistics.median(p99["with"]) / statistics.median(p99["without"])
print(f"creation p99 with / without: {ratio:.3f} (bar: 1.25); runs with a failed backup: {failures}")
sys.exit(ratio > 1.25 or failures > 0 or min(made) == 0 or sum(late["with"]) > sum(late["without"]))
PYTHON
exit "$failed"
