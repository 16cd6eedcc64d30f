#!/usr/bin/env bash
# Bots whose names resolve slowly or never, beside an honest bot that is called by its name: games of 1,000 names of one domain whose DNS
# server is silent, and meanwhile games of the honest bot. Passed: no move of the honest bot is late, none of its calls failed, and the
# process has no more threads than before. Half a minute to two.
# The server sees a resolv.conf of its own (a mount of its own, so this needs root) and a DNS server on 127.0.0.53.
# Ends with 0: passed, 1: failed, 77: cannot run here.
# usage: bench/slow-names.sh [names]                          GAUNTLET names another program
set -euo pipefail
names=${1:-1000}
here=$(cd "$(dirname "$0")" && pwd)

command -v unshare >/dev/null || { echo "This needs unshare (util-linux)." >&2; exit 77; }
if [ "${SLOW_NAMES_MOUNTED:-}" = "" ]; then
    unshare -m true 2>/dev/null || { echo "This may make no mounts of its own: run it as root." >&2; exit 77; }
    python3 - <<'PYTHON' || { echo "Port 53 of 127.0.0.53 is not free." >&2; exit 77; }
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.53", 53))
PYTHON
    SLOW_NAMES_MOUNTED=1 exec unshare -m "$0" "$names"
fi
source "$here/lib.sh"

echo "nameserver 127.0.0.53" >"$work/resolv.conf"
mount --bind "$work/resolv.conf" /etc/resolv.conf
port=$(free_port) bots_port=$(free_port)
bots "$bots_port"
serve "$port" --data "$work/data.db"
python3 "$root/bench/slow_names.py" "http://127.0.0.1:$port" "$bots_port" "$served" "$names" && status=0 || status=$?
umount /etc/resolv.conf
exit "$status"
