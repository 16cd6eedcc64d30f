#!/usr/bin/env python3
"""Runs the simulators (crates/sim) on fresh seeds, on several processes at once, for a while or for a number of seeds.

usage: scripts/simulate.py [MINUTES=10 | SEEDS=COUNT] [SIMULATOR=NAME,...] [FIRST=SEED] [PROCESSES=COUNT]
       scripts/simulate.py SIMULATOR=NAME SEED=SEED     runs one seed, and shows its plan and what went wrong

SIMULATOR is the name of a simulator or the beginning of some (tables: tables, tables-late …); without it all take turns. SEEDS counts those of
each simulator. The first seed is printed; without FIRST it is the clock's. Ends with 0: nothing was found; 1: something was; 2: wrong arguments,
or it cannot be built. Ctrl-C ends it, too, with the table of what was done.
"""

import collections
import json
import os
import queue
import selectors
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))), "release/simulate")
# A seed takes about a second. One that takes so long is found to hang; the machine may be busy.
SEED_SECONDS_MAX = 300
OPTIONS = ("MINUTES", "SEEDS", "SIMULATOR", "FIRST", "PROCESSES", "SEED")


def usage(why):
    print(f"simulate: {why}\n\n{__doc__}", file=sys.stderr, end="")
    sys.exit(2)


def read_options(arguments):
    options = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name not in OPTIONS:
            usage(f"there is no option {name!r}, but {', '.join(OPTIONS)}")
        if value:
            options[name] = value
    for name in set(options) - {"SIMULATOR"}:
        try:
            options[name] = float(options[name]) if name == "MINUTES" else int(options[name])
        except ValueError:
            usage(f"{name} is a number, not {options[name]!r}")
        if options[name] < 0 or (options[name] == 0 and name not in ("FIRST", "SEED")):
            usage(f"{name} is more than 0, not {options[name]}")
    if "MINUTES" in options and "SEEDS" in options:
        usage("either MINUTES or SEEDS")
    return options


def build():
    command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "sim", "--bin", "simulate"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(2)


def chosen(wanted):
    """The names of the simulators that are meant."""
    names = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if not wanted:
        return names
    for part in wanted.split(","):
        if not any(name == part or name.startswith(part + "-") for name in names):
            usage(f"there is no simulator {part!r}, but {', '.join(names)}")
    return [name for name in names if any(name == part or name.startswith(part + "-") for part in wanted.split(","))]


class Worker:
    """A process that runs one seed after the other."""

    def __init__(self):
        self.start()

    def start(self):
        # In a group of its own: Ctrl-C is for us alone.
        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self.rest = b""

    def stop(self):
        self.process.kill()
        self.process.wait()

    def run(self, name, seed):
        """What the program says of a seed, or that it ended or hung."""
        if self.process.poll() is not None:
            self.start()
        try:
            self.process.stdin.write(f"{name} {seed}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        deadline = time.monotonic() + SEED_SECONDS_MAX
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                line, found, after = self.rest.partition(b"\n")
                if found:
                    self.rest = after
                    # The other lines are the plan.
                    if line.startswith(b"{"):
                        return json.loads(line)
                    continue
                if not selector.select(max(0, deadline - time.monotonic())):
                    self.stop()
                    return {"failure": f"not over after {SEED_SECONDS_MAX} s"}
                read = os.read(self.process.stdout.fileno(), 1 << 16)
                if not read:
                    return {"failure": f"the process ended with {self.process.wait()}"}
                self.rest += read


class Totals:
    """What came of one simulator's seeds."""

    def __init__(self):
        self.seeds, self.simulated_ms, self.faults, self.failures = 0, 0, collections.Counter(), []

    def add(self, seed, result):
        self.seeds += 1
        if "failure" in result:
            self.failures.append((seed, result["failure"]))
        else:
            self.simulated_ms += result["simulated_ms"]
            self.faults.update(result["faults"])


def simulate(names, first, seeds, seconds, processes):
    """Runs until all seeds are done, the time is over, or Ctrl-C."""
    totals = {name: Totals() for name in names}
    lock, stop, results = threading.Lock(), threading.Event(), queue.Queue()
    counter = iter(range(seeds * len(names)) if seeds else iter(int, 1))
    deadline = time.monotonic() + seconds if seconds else None
    number = -1

    def next_seed():
        nonlocal number
        with lock:
            if stop.is_set() or (deadline and time.monotonic() >= deadline) or next(counter, None) is None:
                return None
            number += 1
            return names[number % len(names)], (first + number // len(names)) % 2**64

    def work(worker):
        while (task := next_seed()) is not None:
            result = worker.run(*task)
            if stop.is_set():
                break
            results.put((task, result))
        results.put(None)

    workers = [Worker() for _ in range(processes)]
    threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    running = processes
    try:
        while running:
            done = results.get()
            if done is None:
                running -= 1
                continue
            (name, seed), result = done
            totals[name].add(seed, result)
            if "failure" in result:
                print(f"{name} {seed}: {result['failure']}\n", flush=True)
    except KeyboardInterrupt:
        print("\nstopped", flush=True)
    stop.set()
    for worker in workers:
        worker.stop()
    return totals


def show(totals, seconds):
    rows = [["simulator", "seeds", "simulated h", "faults", "failed"]]
    for name, total in totals.items():
        hours = total.simulated_ms / 3_600_000
        rows.append([name, f"{total.seeds:,}", f"{hours:,.1f}", f"{total.faults.total():,}", str(len(total.failures))])
    everything = list(totals.values())
    rows.append([
        "all",
        f"{sum(total.seeds for total in everything):,}",
        f"{sum(total.simulated_ms for total in everything) / 3_600_000:,.1f}",
        f"{sum(total.faults.total() for total in everything):,}",
        str(sum(len(total.failures) for total in everything)),
    ])
    print_table(rows)
    kinds = sorted({kind for total in everything for kind in total.faults})
    families = list(dict.fromkeys(name.split("-")[0] for name in totals))
    rows = [["faults", *families]]
    for kind in kinds:
        of_family = lambda family: sum(total.faults[kind] for name, total in totals.items() if name.split("-")[0] == family)
        rows.append([kind, *(f"{of_family(family):,}" for family in families)])
    print()
    print_table(rows)
    print(f"\n{seconds / 60:.1f} minutes")
    failures = [(name, seed) for name, total in totals.items() for seed, _ in total.failures]
    for name, seed in failures:
        print(f"make simulate SIMULATOR={name} SEED={seed}")
    if failures:
        print("Keep a seed that failed: it belongs into FAILED_ONCE of its test in crates/sim/tests.")
    return bool(failures)


def print_table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(zip(row, widths))).rstrip())


def main():
    options = read_options(sys.argv[1:])
    build()
    if "SEED" in options:
        if "SIMULATOR" not in options:
            usage("SEED needs SIMULATOR")
        os.execv(PROGRAM, [PROGRAM, options["SIMULATOR"], str(options["SEED"])])
    names = chosen(options.get("SIMULATOR"))
    seeds = options.get("SEEDS")
    seconds = None if seeds else 60 * options.get("MINUTES", 10)
    first, processes = options.get("FIRST", time.time_ns()), options.get("PROCESSES", os.cpu_count() or 1)
    print(f"from seed {first} on, {processes} processes: {', '.join(names)}", flush=True)
    began = time.monotonic()
    totals = simulate(names, first, seeds, seconds, processes)
    sys.exit(show(totals, time.monotonic() - began))


if __name__ == "__main__":
    main()
