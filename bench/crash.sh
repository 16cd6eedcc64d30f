#!/usr/bin/env bash
# The leaderboard with `kill -9` of the server 90 s in, and a restart at 95 s. Creations that meet the dead server are tried again
# under their idempotency key. All games must finish exactly once; only the two gates of time that a pause must break are widened.
# usage: bench/crash.sh [kill at, s] [restart at, s]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
kill_at=${1:-90} restart_at=${2:-95}
port=$(free_port)

serve "$port" --data "$work/games.db"
"$gauntlet" run leaderboard --target "http://127.0.0.1:$port" --out "${OUT:-$root/runs}" \
    --set 'gates.game.pace.p99=< 3' &
lab=$!
pids+=("$lab")
sleep "$kill_at"
kill -9 "$served"
echo "killed -9 at $kill_at s"
sleep "$((restart_at - kill_at))"
serve "$port" --data "$work/games.db"
echo "restarted at $restart_at s"
wait "$lab"
