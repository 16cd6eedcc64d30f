#!/usr/bin/env bash
# Does anything grow? A server under the trial "soak" for so many minutes: matches, card games, hunts that come, end and are deleted, and ten hunters in
# the built-in hunt. Its memory, the bytes of its data folder, its files and threads, every five seconds; a line through each of them, from the
# moment at which as much is deleted as comes (twice the period for which things are kept, and a fifth of the run at least).
# Held: all gates of the trial; memory and disk grow by at most 3 % an hour, files and threads by at most two an hour. Under an hour nothing of this
# can be told from noise: the figures are printed, and it ends with 77, as where a gate is void because the load came late.
# usage: bench/soak.sh [minutes, 120]
#   KEEP=1 keeps the record of the trial and the samples
# Ends with 0, 1 when not held, 77 where that is not shown.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
minutes=${1:-120} keep_min=5
mkdir "$work/data"
port=$(free_port)
serve "$port" --data "$work/data/server.db" --log-level warn --stories-game-timeout-ms 60000 --keep-for ${keep_min}m --stories-keep-for ${keep_min}m \
    --hunts-keep-for ${keep_min}m --competitions-keep-for ${keep_min}m --answers-keep-for ${keep_min}m
"$gauntlet" bots --hunt "127.0.0.1:$port" >"$work/hunters.log" 2>&1 &
pids+=("$!")
python3 "$root/bench/soak.py" sample "$served" "$work/data" 5 >"$work/samples" &
pids+=("$!")
trial soak --target "http://127.0.0.1:$port" --set duration="${minutes}m"
verdict
verdict=$(json_field verdict <"$record/run.json")
echo
held=0
python3 "$root/bench/soak.py" judge "$work/samples" "$minutes" $((2 * keep_min)) || held=$?
case "$verdict $held" in
"passed 0") ;;
"failed "* | *" 1") exit 1 ;;
*) exit 77 ;;
esac
