"""What the Python parts of the measurements share: records of trials, metrics of a server, tables in Markdown."""

import glob
import json
import os


def find(folder, name):
    """The file of this name of the one run in a folder or just below it; None if there is no run."""
    paths = [path for path in (f"{folder}/{name}", *glob.glob(f"{folder}/*/{name}")) if os.path.exists(path)]
    return paths[0] if paths else None


def read_run(folder):
    """The record of the one run in a folder or just below it; None if there is none."""
    path = find(folder, "run.json")
    return path and json.load(open(path))


def read_samples(folder, process=None):
    """The timeline's samples of that run, once a second; only those in which this process was running."""
    rows = map(json.loads, open(find(folder, "timeline.jsonl")))
    return [row for row in rows if row["kind"] == "sample" and (process is None or process in row["processes"])]


def read_metrics(path):
    """Every series of a saved /metrics page."""
    rows = (line.rsplit(" ", 1) for line in open(path) if not line.startswith("#"))
    return {series: float(value) for series, value in rows}


def table_head(*columns):
    """Prints the head of a table."""
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
