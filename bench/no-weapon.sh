#!/usr/bin/env bash
# What a host gets that never was a bot, because strangers registered its URL and started games that nothing would end: from one account, under
# fifty names, from a bot that is replaced after it has answered, and from a hundred accounts. Beside it an honest bot at the same address
# plays. Then a stranger's games give that bot no time to answer. Prints requests, late moves and turns played. The promises are for ten minutes: run it with 600 to see all of them; most comes in the first seconds.
# Ends with 0: passed, 1: failed, 77: cannot run here.
# usage: bench/no-weapon.sh [seconds of each attack] [accounts of the last]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seconds=${1:-60}
accounts=${2:-100}
failed=0

command -v python3 >/dev/null || { echo "There is no python3." >&2; exit 77; }
honest=$(free_port)
bots "$honest" --think 0
for attack in one-account fifty-names replaced-bot many-accounts no-time; do
    port=$(free_port)
    mkdir "$work/$attack"
    serve "$port" --limit-loopback-bots --data "$work/$attack/gauntlet.db"
    ATTACK=$attack python3 "$root/bench/no_weapon.py" --port "$port" --honest-port "$honest" --seconds "$seconds" \
        --accounts "$accounts" || failed=1
    stop_served
done
exit "$failed"
