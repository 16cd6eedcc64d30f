"""Compares the runs of two programs, before and now, that bench/ratings-cost.sh recorded: scenario, program and folder of each, one a line.

usage: ratings_cost.py FILE; ends with 1 when a figure of now is worse than before by more than before's own spread, or a run did not pass.
"""

import statistics
import sys
from collections import defaultdict

import figures

# By scenario: what it is called, where it stands in the record, and whether more is better.
FIGURES = {
    "games-300-instant": [
        ("finished a minute", lambda run: run["work"]["game"]["throughput_per_min"], True),
        ("CPU of the server, s", lambda run: run["server"]["cpu_s"], False),
    ],
    "leaderboard": [
        ("drained after, s", lambda run: run["work"]["game"]["drain_s"], False),
        ("queue wait p99, s", lambda run: run["work"]["game"]["queue_wait_s"]["p99"], False),
        ("late moves", lambda run: run["work"]["game"]["figures"]["late_moves"]["sum"], False),
        ("CPU of the server, s", lambda run: run["server"]["cpu_s"], False),
    ],
}


def shown(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g}–{max(values):.4g})"


def main():
    runs = defaultdict(lambda: defaultdict(list))
    with open(sys.argv[1]) as file:
        for line in file:
            scenario, program, folder = line.rstrip("\n").split("\t")
            runs[scenario][program].append(figures.read_run(folder))
    failed = []
    figures.table_head("trial", "figure", "before: median (range)", "now", "now / before")
    for scenario, programs in runs.items():
        for name, read, is_more_better in FIGURES[scenario]:
            before, now = ([read(run) for run in programs[program]] for program in ("before", "now"))
            base, new = statistics.median(before), statistics.median(now)
            worse_by = base - new if is_more_better else new - base
            is_held = worse_by <= max(before) - min(before)
            failed += [] if is_held else [f"{scenario}: {name}"]
            print(f"| {scenario} | {name} | {shown(before)} | {shown(now)} | {new / base if base else 1:.3f} |")
        for program, records in programs.items():
            failed += [f"{scenario} of {program}: {run['verdict']}" for run in records if run["verdict"] != "passed"]
    for what in failed:
        print(f"Not held: {what}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
