#!/usr/bin/env bash
# The built-in policies of a server that others reach: sixty guests behind one address play Stories faster than people do, and none is refused; one client
# at another address floods, and is; the class waits no longer for it.
# usage: bench/school-class.sh [tables of six] [games at each]
# Ends with 0: held, 1: not held, 77: no program built.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
port=$(free_port)
serve "$port" --interface 0.0.0.0 --advertise "127.0.0.1:$port" --data "$work/games.db" --log-level warn
python3 "$root/bench/school_class.py" "$port" "${1:-10}" "${2:-6}"
