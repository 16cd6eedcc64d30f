#!/usr/bin/env python3
"""Prints the paths in ARCHITECTURE.md that lead to no file or folder, with their lines.

A path is a word between backquotes with a slash that ends in `.rs` or in a slash; `a/{b,c}.rs` is two. One that begins with the name of a
crate is a path in its `src/`.
"""

import os
import re


def expand(word):
    braces = re.search(r"\{([^{}]*)\}", word)
    if not braces:
        return [word]
    before, after = word[: braces.start()], word[braces.end() :]
    return [path for part in braces.group(1).split(",") for path in expand(before + part.strip() + after)]


def is_found(path):
    crate, _, rest = path.partition("/")
    return os.path.exists(path) or (os.path.isdir(f"crates/{crate}") and os.path.exists(f"crates/{crate}/src/{rest}"))


def main():
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))
    with open("ARCHITECTURE.md", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for word in re.findall(r"`([^`\s]+)`", line):
                if "/" not in word or not word.endswith((".rs", "/")):
                    continue
                for path in expand(word):
                    if not is_found(path):
                        print(f"ARCHITECTURE.md:{number}: {path}")


main()
