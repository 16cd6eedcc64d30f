#!/usr/bin/env python3
"""Counts private vocabulary and size in the Rust sources: a tool for looking, not a judge.

usage: scripts/words.py [ROOT] [--list]

ROOT    the repository (default: the one that this script is in)
--list  also print what was counted, with its place

Counted without tests, in crates/ and bench/:
- files and types that are named with a noun of the list below, which the field has another word for;
- functions that tell, ask, hear or say;
- bare type names that are defined more than twice in a crate, and bare names that could mean anything;
- functions over 70 lines, and lines of code.

A term that is right where it stands goes into docs/glossary.md, one line each, at most 20 of them:

- `Term`: what it is, and its source. In: crate, crate.

The term itself is not counted anywhere; in the crates after "In:" names that contain it are not counted either (`SeatRow`, `stages/`).
"""

import argparse
import collections
import os
import re
import signal

PRIVATE = set(
    """house desk door tray teller pen outlet bell crew hand outpost leg course flight book dials fold conductor pulse fleet
    speech told said asked heard bulletin news posts tiding sheaf beat rhythm hall tally tenure tenant ears parting keeper
    sitter payer ruling beside trouble mistake errand kin roster stillborn seat place line stage life way lending""".split()
)
VERBS = set("tell tells told ask asks hear hears heard say says said".split())
VAGUE = set("Place Seat Line Desk Tally Life Stage Part Door Keeper Told Asked Said Heard Held Book".split())
FUNCTION_LINES_MAX = 70

TEST_MODULE = re.compile(r"\n#\[cfg\(test\)\]\nmod \w+ \{")
TYPE = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type) (\w+)", re.M)
FUNCTION = re.compile(r"( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)")
GLOSSARY_LINE = re.compile(r"^- `(\w+)`:(.*)$", re.M)
GLOSSARY_CRATES = re.compile(r"\bIn: ([\w, ]+)\.$")


def words(name):
    """The words of a name in CamelCase or snake_case, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z][a-z0-9]*|[a-z0-9]+", name)]


def singular(word):
    return word[:-1] if word.endswith("s") and word[:-1] in PRIVATE else word


class Glossary:
    """Terms that are right: by name everywhere, as a part of names in the crates that their lines state."""

    def __init__(self, root):
        self.terms = set()
        self.words_of_crate = collections.defaultdict(set)
        path = os.path.join(root, "docs", "glossary.md")
        if not os.path.exists(path):
            return
        for term, rest in GLOSSARY_LINE.findall(open(path, encoding="utf-8").read()):
            self.terms.add(term)
            crates = GLOSSARY_CRATES.search(rest)
            for crate in re.findall(r"\w+", crates.group(1)) if crates else []:
                self.words_of_crate[crate].add(term.lower())

    def is_private(self, name, crate):
        if name in self.terms:
            return False
        private = {singular(word) for word in words(name)} & PRIVATE
        return bool(private - self.words_of_crate[crate])


def is_test(path):
    return "/tests/" in path or path.endswith(("/tests.rs", "_test.rs")) or "/benches/" in path


def sources(root):
    """Paths of all Rust files but tests, relative to the root."""
    for top in ("crates", "bench"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            if "/target" in folder:
                continue
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".rs") and not is_test(path):
                    yield os.path.relpath(path, root)


def functions(rows):
    """Each function with its first line and its length; no length where it has no body of its own."""
    start = None
    for number, row in enumerate(rows, 1):
        match = FUNCTION.match(row)
        if match:
            yield match.group(2), number, None
            start = None if row.rstrip().endswith(";") else (number, match.group(1), match.group(2))
        elif start and row == start[1] + "}":
            yield start[2], start[0], number - start[0]
            start = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    repository = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("root", nargs="?", default=repository)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()

    glossary = Glossary(arguments.root)
    files, types, verbs, long = [], [], [], []
    types_of_crate = collections.defaultdict(collections.Counter)
    lines_of_code = 0
    for path in sources(arguments.root):
        parts = path[: -len(".rs")].split(os.sep)
        crate, inside = parts[1], [part for part in parts[2:] if part not in ("src", "mod")]
        if any(glossary.is_private(part, crate) for part in inside):
            files.append(path)
        text = TEST_MODULE.split(open(os.path.join(arguments.root, path), encoding="utf-8").read())[0]
        rows = text.split("\n")
        lines_of_code += sum(1 for row in rows if row.strip() and not row.lstrip().startswith("//"))
        for name in TYPE.findall(text):
            types_of_crate[crate][name] += 1
            if glossary.is_private(name, crate):
                types.append(f"{name}  {path}")
        for name, number, length in functions(rows):
            if length is None and set(name.split("_")) & VERBS:
                verbs.append(f"{name}  {path}")
            if length is not None and length > FUNCTION_LINES_MAX:
                long.append(f"{path}:{number} {name}, {length} lines")
    counted = [(crate, name, n) for crate, names in types_of_crate.items() for name, n in names.items()]
    counted = [row for row in counted if row[1] not in glossary.terms]
    repeated = [f"{crate} {name} {n}" for crate, name, n in counted if n > 2]
    vague = [f"{crate} {name} {n}" for crate, name, n in counted if name in VAGUE]

    print(f"files under a private noun                {len(files)}")
    print(f"types with a private noun                 {len(types)}")
    print(f"functions that tell, ask, hear or say     {len(verbs)}")
    print(f"type names defined over twice in a crate  {len(repeated)}")
    print(f"vague bare type names                     {sum(n for _, name, n in counted if name in VAGUE)}")
    print(f"functions over {FUNCTION_LINES_MAX} lines                   {len(long)}")
    print(f"code lines (no tests, comments, blanks)   {lines_of_code}")
    print(f"glossary terms                            {len(glossary.terms)}")
    if arguments.list:
        titles = ("files", "types", "functions", "over twice in a crate", "vague", "long")
        for title, found in zip(titles, (files, types, verbs, repeated, vague, long)):
            print(f"\n{title}:", *sorted(found), sep="\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    main()
