#!/usr/bin/env python3
"""Builds the tests of the workspace, or runs their programs side by side: most of them wait more than they compute.

usage: scripts/run_tests.py build | run | timed

build   builds all tests, and the programs that they start
run     runs all but the timed tests, one program for each core at a time; prints the output of each when it ends
timed   runs the timed tests, one by one: they hold the load generator to its schedule and need the machine alone

Ends with 1 if a test failed.
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

PROGRAMS_AT_ONCE = os.cpu_count() or 2
# Within a program, too: a test that waits for a socket, a process or a timer leaves its core to another one.
THREADS_OF_A_PROGRAM = max(2, os.cpu_count() or 2)
# These take longest, and begin first: what begins last ends last.
FIRST = ("gauntlet: server", "lab: lab", "store: conformance", "server: api", "sim: seeds")
# The programs with timed tests, and what is in the name of each such test.
TIMED_PROGRAMS, TIMED_TESTS = "lab: lab", "::schedule::"


def build():
    """Builds all tests. Returns the name, the executable and the package's folder of each program."""
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cargo:
        messages = [json.loads(line) for line in cargo.stdout]
    if cargo.returncode:
        sys.exit(cargo.returncode)
    programs = []
    for message in messages:
        if message.get("executable") and message["profile"]["test"]:
            folder = os.path.dirname(message["manifest_path"])
            programs.append((f"{os.path.basename(folder)}: {message['target']['name']}", message["executable"], folder))
    return sorted(programs, key=lambda program: FIRST.index(program[0]) if program[0] in FIRST else len(FIRST))


def run(name, executable, folder, arguments=(), threads=THREADS_OF_A_PROGRAM):
    """Runs one program in its package's folder, as cargo does. Returns whether it passed."""
    environment = os.environ | {"CARGO_MANIFEST_DIR": folder, "RUST_TEST_THREADS": str(threads)}
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        program = subprocess.Popen([executable, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    took_s, computed_s = time.monotonic() - began, used.ru_utime + used.ru_stime
    print(f"     Running {name} ({took_s:.1f} s, {computed_s:.1f} s of processor, exit {program.returncode})\n{text}", flush=True)
    return program.returncode == 0


def main():
    if sys.argv[1:] not in (["build"], ["run"], ["timed"]):
        sys.exit(__doc__)
    programs = build()
    timed = [program for program in programs if program[0] == TIMED_PROGRAMS]
    if sys.argv[1] == "run":
        with concurrent.futures.ThreadPoolExecutor(PROGRAMS_AT_ONCE) as pool:
            arguments = {program: ("--skip", TIMED_TESTS) for program in timed}
            passed = list(pool.map(lambda program: run(*program, arguments.get(program, ())), programs))
        if not all(passed):
            sys.exit("failed: " + ", ".join(name for (name, _, _), ok in zip(programs, passed) if not ok))
    elif sys.argv[1] == "timed":
        passed = [run(*program, (TIMED_TESTS,), threads=1) for program in timed]
        if not all(passed):
            sys.exit("the timed tests failed")


if __name__ == "__main__":
    main()
