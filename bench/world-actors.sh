#!/usr/bin/env bash
# Built-in actors at a move a second each, in three levels up to the given number, while ten viewers watch over the
# network. Every move is timed by the server from the moment for which it was intended; planned, registered and moving are counted
# apart, and a move that fell out is a missed one. At the end stands where the knee is: the highest level that held, and the first that did not.
# usage: bench/world-actors.sh [actors] [seconds of a level] [threads that let actors move] [actors of the first level] [of the second]
set -euo pipefail
source "$(dirname "$0")/lib.sh"
actors=${1:-1000000} seconds=${2:-60} threads=${3:-1}
low=${4:-$((actors / 4))} middle=${5:-$((actors / 2))} mailbox=${MAILBOX:-65536}
trial world-actors --set "low=$low" --set "middle=$middle" --set "high=$actors" --set "threads=$threads" \
    --set "mailbox=$mailbox" --set "level=${seconds}s" --set "watch=$((seconds * 3 + 60))s"
python3 - "$record" "$mailbox" "$low" "$middle" "$actors" <<'PYTHON'
import sys
from figures import read_samples, table_head

P99_MS_MAX = 20  # as the trial's gate has it
mailbox_max = int(sys.argv[2])
held, broke = [], []
missed_before = 0
observed = [sample.get("observed", {}) for sample in read_samples(sys.argv[1])]
table_head("planned", "registered", "moving", "missed", "mailbox, highest seen", "p50, ms", "p99 of the last seconds: median, ms", "highest, ms")
for level in map(int, sys.argv[3:]):
    at = [look for look in observed if look.get("world.planned") == level and look.get("world.moving") == level]
    if not at:
        print(f"| {level:,} | - | - | - | - | - | - | - |")
        broke.append(level)
        continue
    last = at[-1]
    p99 = sorted(look["world.p99_ms"] for look in at if "world.p99_ms" in look) or [float("nan")]
    print(f"| {level:,} | {last['world.registered']:,.0f} | {last['world.moving']:,.0f} | {last['world.missed']:,.0f} | "
          f"{max(look['world.mailbox_max'] for look in at):,.0f} | {last.get('world.p50_ms', float('nan')):.2f} | "
          f"{p99[len(p99) // 2]:.2f} | {p99[-1]:.2f} |")
    missed, missed_before = last["world.missed"] - missed_before, last["world.missed"]
    is_held = p99[len(p99) // 2] < P99_MS_MAX and missed == 0 and max(look["world.mailbox_max"] for look in at) < mailbox_max
    (held if is_held and not broke else broke).append(level)
print()
words = [f"{held[-1]:,} actors held" if held else "no level held", f"{broke[0]:,} did not" if broke else "the knee is beyond it"]
print(f"Knee: {'; '.join(words)} (p99 under {P99_MS_MAX} ms in the median of a level's seconds, no move missed, room in the mailbox)")
PYTHON
echo
echo "Viewers: own move p99 $(cells move.latency_ms.p99) ms, update p99 $(cells push.view.delay_ms.p99) ms; the server's processor time $(cells server.cpu_s) s"
verdict
