"""Samples what a server takes of its machine, and whether that grows. See soak.sh.

usage: soak.py sample PROCESS FOLDER SECONDS      a line of JSON every so many seconds, until it is stopped
       soak.py judge FILE MINUTES SETTLED         a table; ends with 1 if something grows, with 77 if the run was too short to tell
"""
import json
import os
import statistics
import sys
import time

from figures import table_head

MIB = 1 << 20
# Under so many minutes the allocator's and the page cache's habits are larger than what is looked for.
MINUTES_MIN = 60
SHARE_AN_HOUR_MAX, COUNT_AN_HOUR_MAX = 0.03, 2
# Points of a line are medians of so many seconds: a sample in the middle of a burst says little.
POINT_S = 120


def sample(process, folder, every_s):
    began = time.monotonic()
    while True:
        try:
            with open(f"/proc/{process}/status") as file:
                status = dict(line.split(":", 1) for line in file)
            files = len(os.listdir(f"/proc/{process}/fd"))
        except (FileNotFoundError, ProcessLookupError):
            return
        disk = sum(entry.stat().st_blocks * 512 for entry in os.scandir(folder))
        row = {"at_s": time.monotonic() - began, "memory_bytes": int(status["VmRSS"].split()[0]) * 1024, "threads": int(status["Threads"])}
        print(json.dumps(row | {"files": files, "disk_bytes": disk}), flush=True)
        time.sleep(every_s)


def slope(points):
    """The median of the slopes of all pairs (Theil–Sen), which a few outliers do not turn."""
    pairs = [(points[i], points[j]) for i in range(len(points)) for j in range(i)]
    return statistics.median((a[1] - b[1]) / (a[0] - b[0]) for a, b in pairs) if pairs else 0.0


def judge(path, minutes, settled_min):
    rows = list(map(json.loads, open(path)))
    start_s = max(settled_min, minutes / 5) * 60
    rows = [row for row in rows if start_s <= row["at_s"] <= minutes * 60]
    if len({row["at_s"] // POINT_S for row in rows}) < 2:
        print(f"{minutes:g} minutes are too few: nothing is settled before the first {start_s / 60:g}.")
        sys.exit(77)
    grows = False
    table_head("", "first", "last", "lowest", "highest", "an hour more", "of it")
    for name, unit in (("memory_bytes", MIB), ("disk_bytes", MIB), ("files", 1), ("threads", 1)):
        points = {}
        for row in rows:
            points.setdefault(row["at_s"] // POINT_S, []).append(row)
        line = [(statistics.median(row["at_s"] for row in part), statistics.median(row[name] for row in part) / unit) for part in points.values()]
        an_hour, middle = slope(line) * 3600, statistics.median(value for _, value in line)
        values = [row[name] / unit for row in rows]
        share = an_hour / middle
        grows |= share > SHARE_AN_HOUR_MAX if unit == MIB else an_hour > COUNT_AN_HOUR_MAX
        label = name.replace("_bytes", ", MiB")
        print(f"| {label} | {line[0][1]:,.1f} | {line[-1][1]:,.1f} | {min(values):,.1f} | {max(values):,.1f} | {an_hour:+,.2f} | {share:+.1%} |")
    print(f"\n{len(rows)} samples from minute {start_s / 60:g} to {rows[-1]['at_s'] / 60:.0f}, lines through medians of {POINT_S} s.")
    if minutes < MINUTES_MIN:
        print(f"Not judged: that takes {MINUTES_MIN} minutes at least.")
        sys.exit(77)
    if grows:
        print("FAILED: something grows")
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "sample":
        sample(int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
    else:
        judge(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
