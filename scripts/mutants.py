#!/usr/bin/env python3
"""Changes lines that decide about saving, claiming and fencing, one at a time, and shows which change no test finds.

usage: scripts/mutants.py [COUNT=100] [SEED]     so many mutants, drawn by the seed (printed; the clock's without one)
       scripts/mutants.py --repeat NUMBER SEED   one of them again, with what the tests print

Mutants of Rust come from cargo-mutants (cargo install --locked cargo-mutants); those of the SQL in string literals, which it does not change, from
here. Each is built and tested in a copy of the tree (target/mutants), cheapest tests first, until one fails. Ends with 0: all were killed; 1: some
lived, each shown with its change; 2: it cannot be built, or a test fails without any change. Ctrl-C ends it, too, with the table so far.
"""

import fnmatch
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))), "mutants")
TREE, BUILD = os.path.join(WORK, "tree"), os.path.join(WORK, "build")
# A test program takes seconds to two minutes; the machine may be busy.
SECONDS_MAX = 600

# The files, and how each is tested: programs in order, with what they run. A program of `sim` is its simulators on fixed seeds.
STORE = [
    ("store", "lib", []),
    ("store", "conformance", ["sqlite::"]),
    ("store", "conformance", ["postgres::", "--skip", "plans::"]),
    ("store", "nodes", []),
    ("store", "table_nodes", []),
]
SIMULATED = {
    "matches": [("matches", 12), ("matches-late", 6), ("matches-alone", 6)],
    "tables": [("tables", 10), ("tables-late", 5), ("tables-alone", 5)],
    "hunts": [("hunts", 20)],
    "competitions": [("competitions", 6), ("competitions-late", 3), ("ladders", 3), ("ladders-late", 2)],
}
FILES = [
    ("crates/store/src/sql/claims.rs", [*STORE, "matches"]),
    ("crates/store/src/sql/waiting.rs", [*STORE, "matches"]),
    ("crates/store/src/sql/matches.rs", [*STORE, "matches"]),
    ("crates/store/src/sql/match_logs.rs", [*STORE, "matches"]),
    ("crates/store/src/sql/creations.rs", [*STORE, "matches"]),
    ("crates/store/src/sql/leases.rs", [*STORE, "matches", "tables"]),
    ("crates/store/src/sql/leaders.rs", [*STORE, "competitions"]),
    ("crates/store/src/sql/competitions.rs", [*STORE, "competitions"]),
    ("crates/store/src/sql/ladders/mod.rs", [*STORE, "competitions"]),
    ("crates/store/src/sql/ladders/ratings.rs", [*STORE, "competitions"]),
    ("crates/store/src/sql/tables.rs", [*STORE, "tables"]),
    ("crates/store/src/sql/worlds/lifecycle.rs", [*STORE, "hunts"]),
    ("crates/store/src/sql/worlds/log.rs", [*STORE, "hunts"]),
    ("crates/store/src/sql/worlds/mod.rs", [*STORE, "hunts"]),
    ("crates/store/src/counters.rs", [*STORE, "matches"]),
    ("crates/store/src/semantics.rs", [*STORE, "matches"]),
    ("crates/store/src/semantics/*.rs", [*STORE, "tables", "hunts"]),
    ("crates/node/src/lease.rs", [("node", "lib", []), "matches", "tables"]),
    ("crates/node/src/leader.rs", [("node", "lib", []), "competitions"]),
    ("crates/matches/src/room.rs", [("matches", "lib", []), "matches"]),
    ("crates/matches/src/worker.rs", [("matches", "lib", []), "matches"]),
    ("crates/tables/src/ownership.rs", [("tables", "lib", []), "tables"]),
    ("crates/tables/src/owner_context.rs", [("tables", "lib", []), "tables"]),
    ("crates/tables/src/owner_task.rs", [("tables", "lib", []), "tables"]),
    ("crates/tables/src/owned_table/commits.rs", [("tables", "lib", []), "tables"]),
    ("crates/tables/src/owned_table/loads.rs", [("tables", "lib", []), "tables"]),
    ("crates/worlds/src/ownership.rs", [("worlds", "lib", [])]),
    ("crates/worlds/src/writer/saving.rs", [("worlds", "lib", [])]),
]

# What is changed in SQL: a pattern, and what the match becomes.
OPERAND = r"(?:\?\d+|'[^']*'|[\w.]+(?:\([^()]*\))?)"
CONDITION = rf"[\w.]+ (?:=|<>|<=|>=|<|>) {OPERAND}"
SQL_CHANGES = [
    (rf"(?<=\bWHERE )({CONDITION})", r"(\1 OR true)"),
    (rf"(?<=\bAND )({CONDITION})", r"(\1 OR true)"),
    (r"(?<=\bAND )(NOT (?!EXISTS)[\w.]+)", r"(\1 OR true)"),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" <> ", " = "),
    (r"\bNOT (?=[\w.]+\b(?! EXISTS| IN| NULL| MATERIALIZED))", ""),
    (r"\bNOT EXISTS\b", "EXISTS"),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"(?<=[\w)]) \+ 1\b", ""),
    (r"(?<=[\w)]) - 1\b", ""),
    (r"\bmax\(", "min("),
    (r"\bmin\(", "max("),
    (r"(?<== )true\b", "false"),
    (r"(?<== )false\b", "true"),
    (r"\bDESC\b", "ASC"),
]
IS_SQL = re.compile(r"\b(SELECT|UPDATE|INSERT|DELETE|WHERE|AND|ORDER BY)\b")
# String literals and what looks like one in Rust: raw ones, comments, characters.
RUST_TOKEN = re.compile(r'//[^\n]*|r#"(?:.|\n)*?"#|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')


def tests_of(file):
    return next(tests for pattern, tests in FILES if fnmatch.fnmatch(file, pattern))


def files():
    tracked = subprocess.run(["git", "ls-files", "crates"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [file for file in tracked if any(fnmatch.fnmatch(file, pattern) for pattern, _ in FILES)]


def text_of(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as source:
        return source.read()


def sql_mutants(file):
    text = text_of(file)
    ends = text.find("#[cfg(test)]\nmod ")
    for token in RUST_TOKEN.finditer(text[: ends if ends >= 0 else len(text)]):
        if token[0].startswith(("//", "'")) or not IS_SQL.search(token[0]):
            continue
        for pattern, becomes in SQL_CHANGES:
            for match in re.finditer(pattern, token[0]):
                at = token.start() + match.start()
                yield {"file": file, "line": text.count("\n", 0, at) + 1, "start": at, "end": at + len(match[0]), "text": match.expand(becomes)}


def rust_mutants(chosen):
    arguments = [argument for file in chosen for argument in ("--file", file)]
    listed = subprocess.run(["cargo", "mutants", "--list", "--json", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if listed.returncode:
        print("mutants: cargo-mutants is needed: cargo install --locked cargo-mutants", file=sys.stderr)
        sys.exit(2)
    for mutant in json.loads(listed.stdout):
        text, span = text_of(mutant["file"]), mutant["span"]
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        offset = lambda place: starts[place["line"] - 1] + place["column"] - 1
        yield {
            "file": mutant["file"],
            "line": span["start"]["line"],
            "start": offset(span["start"]),
            "end": offset(span["end"]),
            "text": mutant["replacement"],
        }


def draw(seed, count):
    """Mutants in the order in which the seed draws them, from each line once before any line is drawn again."""
    chosen = files()
    mutants = [mutant for file in chosen for mutant in sql_mutants(file)] + list(rust_mutants(chosen))
    mutants.sort(key=lambda mutant: (mutant["file"], mutant["start"], mutant["end"], mutant["text"]))
    dice = random.Random(seed)
    dice.shuffle(mutants)
    seen = {}
    for mutant in mutants:
        line = (mutant["file"], mutant["line"])
        mutant["turn"] = seen[line] = seen.get(line, -1) + 1
    mutants.sort(key=lambda mutant: mutant["turn"])
    return mutants[:count], len(mutants), len(seen)


def copy_tree():
    """What is tracked, as it is; only what differs is written, so that builds stay incremental."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    for file in filter(None, tracked):
        source, copy = os.path.join(ROOT, file), os.path.join(TREE, file)
        if not os.path.exists(source):
            continue
        with open(source, "rb") as before:
            content = before.read()
        if os.path.exists(copy):
            with open(copy, "rb") as after:
                if after.read() == content:
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)


def write(file, text):
    with open(os.path.join(TREE, file), "w", encoding="utf-8") as copy:
        copy.write(text)


def mutated(mutant):
    text = text_of(mutant["file"])
    return text[: mutant["start"]] + mutant["text"] + text[mutant["end"] :]


def show_change(mutant):
    """The lines before and after."""
    text = text_of(mutant["file"])
    first, last = text.rfind("\n", 0, mutant["start"]) + 1, text.find("\n", mutant["end"])
    before, after = text[first:last], text[first : mutant["start"]] + mutant["text"] + text[mutant["end"] : last]
    lines = before.split("\n")
    shown = lines if len(lines) <= 6 else [*lines[:3], "…", lines[-1]]
    return "\n".join([*("    - " + line for line in shown), *("    + " + line for line in after.split("\n"))])


def cargo(package, program):
    """The path of a test program, built; `None` if it cannot be."""
    kind = ["--bin", "simulate"] if package == "sim" else ["--lib"] if program == "lib" else ["--test", program]
    command = ["cargo", "build" if package == "sim" else "test", "--locked", "-p", package, *kind, "--message-format=json"]
    command += [] if package == "sim" else ["--no-run"]
    environment = os.environ | {"CARGO_TARGET_DIR": BUILD, "CARGO_INCREMENTAL": "1"}
    built = subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if built.returncode:
        return None
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith(b"{")]
    wanted = lambda message: message.get("executable") and message["target"]["name"] in (program, package, "simulate")
    return next(message["executable"] for message in messages if wanted(message))


def run(executable, arguments, package, lines=None, shown=False):
    """`None` if it passed, else what happened. What it started ends with it."""
    output = None if shown else subprocess.DEVNULL
    program = subprocess.Popen(
        [executable, *arguments],
        cwd=os.path.join(TREE, "crates", package),
        stdin=subprocess.PIPE if lines else subprocess.DEVNULL,
        stdout=subprocess.PIPE if lines else output,
        stderr=output,
        start_new_session=True,
    )
    try:
        printed, _ = program.communicate(lines, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    if lines:
        failed = b'{"failure"' in printed or printed.count(b'\n{"faults"') + printed.startswith(b'{"faults"') < lines.count(b"\n")
        if shown:
            print(printed.decode(errors="replace"))
        return "failed" if failed or program.returncode else None
    return "failed" if program.returncode else None


def test(tests, shown=False):
    """What became of the tree as it is: killed by the build, by which test, timed out, or lived."""
    for wanted in tests:
        if isinstance(wanted, str):
            program = cargo("sim", "simulate")
            lines = "".join(f"{name} {seed}\n" for name, seeds in SIMULATED[wanted] for seed in range(seeds)).encode()
            name, ended = f"sim: {wanted}", program and run(program, [], "sim", lines, shown)
        else:
            package, target, arguments = wanted
            program = cargo(package, target)
            name, ended = f"{package}: {target} {' '.join(arguments)}".strip(), program and run(program, arguments, package, shown=shown)
        if program is None:
            return "build", name
        if ended:
            return ("timed out" if ended == "timed out" else "test"), name
    return "lived", ""


def main():
    arguments = sys.argv[1:]
    repeated = int(arguments[1]) if arguments[:1] == ["--repeat"] else None
    count = repeated if repeated else int(arguments[0]) if arguments else 100
    given = arguments[2:] if repeated else arguments[1:]
    seed = int(given[0]) if given else time.time_ns() // 10**9
    copy_tree()
    drawn, of_mutants, of_lines = draw(seed, count)
    print(f"seed {seed}: {len(drawn)} of {of_mutants} mutants at {of_lines} lines of {len(files())} files", flush=True)
    if repeated:
        mutant = drawn[repeated - 1]
        print(f"{mutant['file']}:{mutant['line']}\n{show_change(mutant)}")
        write(mutant["file"], mutated(mutant))
        print(test(tests_of(mutant["file"]), shown=True))
        return write(mutant["file"], text_of(mutant["file"]))
    began, ends, lived = time.monotonic(), {}, []
    needed = {str(wanted): wanted for mutant in drawn for wanted in tests_of(mutant["file"])}
    end, name = test(list(needed.values()))
    if end != "lived":
        print(f"mutants: without any change, {name}: {end}", file=sys.stderr)
        sys.exit(2)
    print(f"without any change all pass ({time.monotonic() - began:.0f} s)", flush=True)
    try:
        for number, mutant in enumerate(drawn, 1):
            started = time.monotonic()
            write(mutant["file"], mutated(mutant))
            end, name = test(tests_of(mutant["file"]))
            write(mutant["file"], text_of(mutant["file"]))
            ends[end] = ends.get(end, 0) + 1
            print(f"{number} {mutant['file']}:{mutant['line']} {end} {name} ({time.monotonic() - started:.0f} s)", flush=True)
            if end == "lived":
                lived.append((number, mutant))
                print(show_change(mutant), flush=True)
    except KeyboardInterrupt:
        print("\nstopped")
    total = sum(ends.values())
    print(f"\n{total} drawn, {ends.get('build', 0)} killed by the build, {ends.get('test', 0)} by tests, {ends.get('timed out', 0)} timed out, {len(lived)} lived; {(time.monotonic() - began) / 60:.0f} minutes")
    for number, mutant in lived:
        print(f"{number} {mutant['file']}:{mutant['line']}\n{show_change(mutant)}")
    sys.exit(bool(lived))


if __name__ == "__main__":
    main()
