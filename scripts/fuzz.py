#!/usr/bin/env python3
"""Searches for bytes that break a parser (crates/fuzz), with libFuzzer, from the kept corpus on.

usage: scripts/fuzz.py SECONDS [TARGET...]   all targets in turn, or these; SECONDS in all
       scripts/fuzz.py --repeat FILE         runs the target in whose folder the file lies on it alone, and shows what breaks
       scripts/fuzz.py --keep                adds what was found to the corpus, as few and short inputs as cover the same
       scripts/fuzz.py --selftest            finds the three bugs that crates/fuzz/src/planted.rs has on purpose

What is found is in target/fuzz/corpus/TARGET, what breaks something in target/fuzz/crashes/TARGET.
Ends with 0: nothing broke; 1: something did, or a planted bug was not found; 2: wrong arguments, or it cannot be built.
"""

import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")))
OUT = os.path.join(BUILD, "fuzz")
KEPT = os.path.join(ROOT, "crates/fuzz/corpus")
PROGRAM = os.path.join(BUILD, "debug/fuzz")
# Longest input that is tried, in bytes: longer ones take the same branches, later.
INPUT_BYTES_MAX = 4096
# An input that takes longer than this breaks something as well; the machine may be busy.
INPUT_SECONDS_MAX = 30
MEMORY_MIB_MAX = 2048
# Inputs after which a planted bug must be found, and the seconds that they may take.
SELFTEST_RUNS, SELFTEST_SECONDS_MAX = 2_000_000, 120
# What a target may add to the kept corpus, in files and in bytes a file.
KEPT_FILES_MAX, KEPT_BYTES_MAX = 24, 1024


def build():
    """Builds the program, with our crates instrumented."""
    environment = os.environ | {"RUSTC_WORKSPACE_WRAPPER": os.path.join(ROOT, "scripts/fuzz-rustc.sh")}
    command = ["cargo", "build", "--quiet", "--locked", "-p", "fuzz", "--features", "libfuzzer"]
    if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
        sys.exit(2)


def targets():
    """The names of all targets, and those of the planted ones."""
    listed = subprocess.run([PROGRAM], env=os.environ | {"FUZZ_LIST": "1"}, stdout=subprocess.PIPE, text=True, check=True)
    names = listed.stdout.split()
    return [name for name in names if not name.startswith("planted-")], [name for name in names if name.startswith("planted-")]


def folder(*names):
    path = os.path.join(OUT, *names)
    os.makedirs(path, exist_ok=True)
    return path


def run(target, arguments, seeds=None):
    """Runs the program; returns its exit code and what it printed."""
    environment = os.environ | {"FUZZ_TARGET": target, "RUST_BACKTRACE": "1"} | ({"FUZZ_SEEDS": seeds} if seeds else {})
    ended = subprocess.run([PROGRAM, *arguments], cwd=OUT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return ended.returncode, ended.stdout.decode(errors="replace")


def search(target, seconds, runs=-1):
    """Searches for so long; returns a row of the table, and the files that break something with what was said."""
    found, crashes = folder("corpus", target), folder("crashes", target)
    before = set(os.listdir(crashes))
    kept = os.path.join(KEPT, target)
    folders = [found] + ([kept] if os.path.isdir(kept) else [])
    arguments = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-runs={runs}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MIB_MAX}",
        f"-artifact_prefix={crashes}/",
        "-print_final_stats=1",
        "-use_value_profile=1",
        *folders,
    ]
    code, text = run(target, arguments, seeds=found)
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    # Where it began, and where it got: edges of our crates that were reached.
    edges = [int(reached) for reached in re.findall(r"\bcov: (\d+)", text)]
    broken = sorted(set(os.listdir(crashes)) - before)
    row = {"inputs": int(executed.group(1)) if executed else 0, "first": edges[0] if edges else 0, "edges": edges[-1] if edges else 0}
    return row, [os.path.join(crashes, name) for name in broken], text if code else ""


def what_broke(text):
    """The line of the panic, or of libFuzzer's verdict."""
    lines = text.splitlines()
    at = next((at for at, line in enumerate(lines) if "panicked at" in line), None)
    if at is not None:
        return " ".join(lines[at : at + 2])[:400]
    return next((line for line in lines if "ERROR: libFuzzer" in line), lines[-1] if lines else "it printed nothing")[:400]


def search_all(seconds, chosen):
    known, _ = targets()
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"there is no target {', '.join(unknown)}: expected some of {' '.join(known)}")
    chosen = chosen or known
    share = seconds / len(chosen)
    print(f"{'target':22} {'inputs':>10} {'edges from the corpus':>22} {'edges reached':>14} {'broken':>7}")
    failed = []
    for target in chosen:
        row, broken, text = search(target, share)
        print(f"{target:22} {row['inputs']:10} {row['first']:22} {row['edges']:14} {len(broken):7}", flush=True)
        if broken or text:
            failed.append((target, broken, what_broke(text)))
    for target, broken, why in failed:
        print(f"{target}: {why}")
        for file in broken:
            print(f"    repeat it with: scripts/fuzz.py --repeat {os.path.relpath(file)}")
    return 1 if failed else 0


def repeat(file):
    target = os.path.basename(os.path.dirname(os.path.abspath(file)))
    code, text = run(target, [os.path.abspath(file)])
    print(text, end="")
    return 1 if code else 0


def keep():
    """The fewest inputs that reach what all do, the shortest first, as far as there is room."""
    for target in targets()[0]:
        kept, smallest = os.path.join(KEPT, target), folder("smallest", target)
        shutil.rmtree(smallest)
        os.makedirs(smallest)
        sources = [path for path in (kept, folder("corpus", target)) if os.path.isdir(path)]
        run(target, ["-merge=1", "-use_value_profile=0", smallest, *sources])
        files = sorted(os.listdir(smallest), key=lambda name: os.path.getsize(os.path.join(smallest, name)))
        files = [name for name in files if 0 < os.path.getsize(os.path.join(smallest, name)) <= KEPT_BYTES_MAX]
        # Spread over all lengths: the shortest alone would be refused early.
        step = max(1, -(-len(files) // KEPT_FILES_MAX))
        shutil.rmtree(kept, ignore_errors=True)
        os.makedirs(kept)
        for name in files[::step]:
            shutil.copy(os.path.join(smallest, name), os.path.join(kept, name))
        print(f"{target}: {len(files[::step])} of {len(files)} files")
    return 0


def selftest():
    missed = 0
    for target in targets()[1]:
        for of in ("corpus", "crashes"):
            shutil.rmtree(folder(of, target))
        began = time.monotonic()
        row, broken, text = search(target, SELFTEST_SECONDS_MAX, SELFTEST_RUNS)
        verdict = f"found after {row['inputs']} inputs, {time.monotonic() - began:.1f} s: {what_broke(text)}" if broken else "NOT FOUND"
        print(f"{target}: {verdict}", flush=True)
        missed += not broken
    return 1 if missed else 0


def main():
    arguments = sys.argv[1:]
    is_number = bool(arguments) and arguments[0].isascii() and arguments[0].isdigit()
    actions = {"--repeat": lambda: repeat(arguments[1]), "--keep": keep, "--selftest": selftest}
    wanted = {"--repeat": 2, "--keep": 1, "--selftest": 1}
    if not is_number and wanted.get(arguments[0] if arguments else "") != len(arguments):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    build()
    folder()
    sys.exit(search_all(int(arguments[0]), arguments[1:]) if is_number else actions[arguments[0]]())


if __name__ == "__main__":
    main()
