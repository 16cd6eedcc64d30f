#!/usr/bin/env bash
# The same users twice: by tsung (Debian's package: apt-get install tsung) and by the lab, each against a server of its own, and what the
# two tools say of them side by side. tsung knows means and extremes, and no percentiles; it counts from the moment of sending, so the
# lab's service time stands beside it.
# usage: bench/peers/tsung.sh [users a second] [seconds]     20 and 60 by default; 20 and 700 is the overload of the trial
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
rate=${1:-20}
seconds=${2:-60}
command -v tsung >/dev/null || { echo "There is no tsung: apt-get install tsung." >&2; exit 1; }
[[ $rate =~ ^[0-9]+$ && $seconds =~ ^[0-9]+$ && $rate -ge 1 && $rate -le 2000 && $seconds -ge 10 && $seconds -le 3600 ]] || {
    echo "users a second: 1 to 2000; seconds: 10 to 3600" >&2
    exit 2
}

fresh() { # name: a server for one of the two
    port=$(free_port)
    serve "$port" --data "$work/$1.db" --stories-game-timeout-ms 600000
}

fresh tsung
sed "s/PORT/$port/; s/RATE/$rate/; s/SECONDS/$seconds/" "$root/bench/peers/tsung/arrivals.xml" >"$work/arrivals.xml"
# Users who came last stay eight seconds; a user who still waits half a minute later never ends.
HOME=$work timeout $((seconds + 60)) tsung -f "$work/arrivals.xml" -l "$work/tsung" start >"$work/tsung.out" 2>&1 || {
    tail -n 20 "$work/tsung.out" >&2
    exit 1
}
kill "$served"; wait "$served" 2>/dev/null || true

fresh lab
"$gauntlet" run "$root/scenarios/stories-arrivals-stable.toml" --quiet --out "$work/lab" --target "http://127.0.0.1:$port" \
    --set "phase.users.arrivals={ poisson = $rate, for = \"${seconds}s\" }" --set "phase.users.in_flight_max=18000" --set "gates={}" \
    >"$work/lab.out" 2>&1 || { tail -n 20 "$work/lab.out" >&2; exit 1; }

python3 - "$work/tsung" "$work/lab" <<'PYTHON'
import glob, json, re, sys

STEPS = ("enter", "create", "state", "list")
# "stats: NAME count mean deviation max min mean_so_far count_so_far", every ten seconds: of an interval, and of all before it.
line = re.compile(r"^stats: (\S+) (\S+) (\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\s*$")
tsung, errors = {}, {}
for text in open(glob.glob(f"{sys.argv[1]}/**/tsung.log", recursive=True)[0]):
    if found := line.match(text):
        name, count, mean, top = found[1], int(float(found[2])), float(found[3]), float(found[5])
        known = tsung.setdefault(name, [0, 0.0, 0.0])
        tsung[name] = [known[0] + count, known[1] + mean * count, max(known[2], top)]
    elif found := re.match(r"^stats: (error_\S+|[45]\d\d) (\d+) (\d+)\s*$", text):
        errors[found[1]] = int(found[3])
run = json.load(open(glob.glob(f"{sys.argv[2]}/*/run.json")[0]))
steps = run["journeys"]["user"]["steps"]

print("| request | tsung: count | mean, ms | max, ms | lab: count | mean, ms | p99, ms | max, ms |")
print("|---|---|---|---|---|---|---|---|")
for step in STEPS:
    count, total, top = tsung.get(f"tr_{step}", [0, 0.0, 0.0])
    times = steps[step]["service_ms"]
    of_lab = " | ".join(f"{times[figure] or 0:.2f}" for figure in ("avg", "p99", "max"))
    print(f"| {step} | {count:,} | {total / max(count, 1):.2f} | {top:.2f} | {steps[step]['ok']:,} | {of_lab} |")
print(f"\nErrors: tsung {errors or 'none'}; lab {run['journeys']['user']['errors'] or 'none'}.")
late = run["generator"]["schedule_lag_ms"]["p99"]
print(f"The lab sent its users {late} ms late at the 99th percentile; tsung does not say.")
sys.exit(0 if tsung.get("tr_list") and not errors and run["journeys"]["user"]["errors"] == 0 else 1)
PYTHON
