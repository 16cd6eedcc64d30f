#!/usr/bin/env bash
# The leaderboard on PostgreSQL with two nodes; one of them is killed with -9 at 90 s and stays dead. Games are created through the
# node that survives. Starts a PostgreSQL of its own from Debian's package, with the durability of its defaults.
# usage: bench/two-nodes.sh [kill at, s]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
kill_at=${1:-90}

postgres

port_a=$(free_port)
serve "$port_a" --store-url "$postgres"
port_b=$(free_port)
serve "$port_b" --store-url "$postgres"
doomed=$served
"$gauntlet" run leaderboard --target "http://127.0.0.1:$port_a" --out "${OUT:-$root/runs}" ${SET:-} \
    --set 'gates.game.pace.p99=< 10' --set 'gates.game.queue_wait_s.p99=< 60' --set 'gates.game.drain_s=< 600' \
    --set 'gates.game.figures.late_moves.sum=>= 0' &
lab=$!
pids+=("$lab")
sleep "$kill_at"
kill -9 "$doomed"
echo "killed -9 one of two nodes at $kill_at s"
wait "$lab"
