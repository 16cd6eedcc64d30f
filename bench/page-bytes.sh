#!/usr/bin/env bash
# What a first visit of each page of the console sends: bytes over the network by kind, as Chromium counts them, from a server without data. The later pages of a visit send only
# what they do not share with the ones before. Of a report: the size of the one file.
# usage: bench/page-bytes.sh [most KiB of scripts and styles that a first visit may send]
# Ends with 0: held, 1: a page sends more, 77: no npm or no Chromium here.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
most_kib=${1:-150}
command -v npm >/dev/null || { echo "There is no npm: apt-get install npm." >&2; exit 77; }
"$root/scripts/console.sh"
port=$(free_port)
serve "$port" --data "$work/empty.db" --log-level error
status=0
node "$root/bench/page_bytes.mjs" "http://127.0.0.1:$port" "$root/console" "$most_kib" / /stories /games /games?start /bots /ladders /tournaments /duels /world /hunts /trials /operate /account /docs /docs/api || status=$?
report=$root/console/dist/report/report.html
[ ! -f "$report" ] || printf '\nThe page of a report without its run: %s KiB, %s KiB compressed.\n' "$(($(wc -c <"$report") / 1024))" "$(($(gzip -9 <"$report" | wc -c) / 1024))"
exit "$status"
