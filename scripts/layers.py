#!/usr/bin/env python3
"""Prints the dependency circles between the modules of each crate.

usage: scripts/layers.py [CRATE ...] [--files] [--check] [--root ROOT]

CRATE   crates to look at (default: server, lab, then all others that have circles)
--files also print the circles between single files, with the imports that close them
--check print only circles between folders, and end with 1 if there are any
--root  the repository (default: the one that this script is in)

A module depends on another where its code names it by `crate::…`, `super::…` or `self::…`, in an import or elsewhere; `use` lists in braces
are followed, modules for tests are not looked at. A parent that declares `mod child;` does not depend on it by that, and `pub use child::…`
counts as a dependency of the parent on the child. Circles are the strongly connected components with more than one member:

folders  a crate's top-level modules, each with everything below it: a circle means that neither can be understood alone;
files    single files: a parent and its own children may form small circles that are harmless.
"""

import argparse
import collections
import os
import re
import signal
import sys

TEST_MODULE = re.compile(r"\n *#\[cfg\(test\)\]\n *mod \w+ \{")
TEST_FILE = re.compile(r"#\[cfg\((?:test|feature = \"testing\")\)\]\n *(?:pub(?:\([^)]*\))? )?mod (\w+);")
COMMENT = re.compile(r"//[^\n]*")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
USE = re.compile(r"\buse ((?:crate|super|self)::[^;]*);")
PATH = re.compile(r"(?<![\w:$])((?:crate|super|self)(?:::\w+)+)")


def is_test(path):
    return "/tests/" in path or path.endswith(("/tests.rs", "_test.rs", "_tests.rs"))


def modules_of(source):
    """Every file of a crate without its tests: module path (a tuple, () for lib.rs) -> file."""
    found = {}
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".rs") or is_test(path):
                continue
            parts = os.path.relpath(path, source)[: -len(".rs")].split(os.sep)
            if parts[-1] in ("mod", "lib", "main"):
                parts.pop()
            if tuple(parts) not in found or name == "lib.rs":
                found[tuple(parts)] = path
    tests = {
        module + (child,)
        for module, path in found.items()
        for child in TEST_FILE.findall(open(path, encoding="utf-8").read())
    }
    return {module: path for module, path in found.items() if not any(module[: len(test)] == test for test in tests)}


def expand(tree):
    """The paths of a use tree: `a::{b, c::{d, e as f}}` -> a::b, a::c::d, a::c::e."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [tree.split(" as ")[0].strip()] if tree else []
    prefix, paths, depth, start = tree[:brace], [], 0, brace + 1
    for at in range(brace, len(tree)):
        depth += {"{": 1, "}": -1}.get(tree[at], 0)
        if (tree[at] == "," and depth == 1) or depth == 0:
            paths += [prefix + path for path in expand(tree[start:at])]
            start = at + 1
        if depth == 0:
            break
    return paths


def resolve(path, module, modules):
    """The module that a path names, as the longest one that has a file; nothing where it is no module of the crate."""
    parts = path.split("::")
    base = {"crate": (), "self": module}.get(parts[0])
    if parts[0] == "super":
        base = module
        while parts and parts[0] == "super":
            base, parts = base[:-1], parts[1:]
    else:
        parts = parts[1:]
    target = base + tuple(parts)
    while target and target not in modules:
        target = target[:-1]
    return target


def dependencies(modules):
    """(from, to) -> the paths that name `to` in `from`."""
    found = collections.defaultdict(list)
    for module, file in modules.items():
        text = TEST_MODULE.split(open(file, encoding="utf-8").read())[0]
        text = STRING.sub('""', COMMENT.sub("", text))
        paths = [path for tree in USE.findall(text) for path in expand(" ".join(tree.split()))]
        paths += PATH.findall(USE.sub("", text))
        for path in paths:
            target = resolve(path, module, modules)
            if target != module and target:
                found[module, target].append(path)
    return found


def circles(edges):
    """Strongly connected components with more than one member (Tarjan), the largest first."""
    successors = collections.defaultdict(set)
    for source, target in edges:
        successors[source].add(target)
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(successors):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        walk = [(root, iter(sorted(successors[root])))]
        while walk:
            node, rest = walk[-1]
            following = next(rest, None)
            if following is None:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                walk.append((following, iter(sorted(successors[following]))))
            elif following in on_stack:
                low[node] = min(low[node], index[following])
    return sorted(found, key=len, reverse=True)


def top(module):
    return module[0]


def print_crate(name, source, with_files, folders_only):
    """Prints the circles of one crate, or only those between folders. Whether there are any."""
    modules = modules_of(source)
    files = dependencies(modules)
    folders = collections.Counter()
    for (source_module, target), paths in files.items():
        if source_module and top(source_module) != top(target):
            folders[top(source_module), top(target)] += len(paths)
    folder_circles, file_circles = circles(folders), circles({edge for edge in files if edge[0]})
    if not folder_circles and (folders_only or not file_circles):
        return False
    size = collections.Counter(top(module) for module in modules if module)
    in_circles = sum(size[folder] for circle in folder_circles for folder in circle)
    print(f"{name}: {len(modules)} files")
    print(f"  circles between folders: {len(folder_circles)}, with {in_circles} files")
    for circle in folder_circles:
        print(f"    {len(circle)} folders, {sum(size[folder] for folder in circle)} files: {', '.join(circle)}")
        for source_folder in circle:
            targets = [f"{target} {folders[source_folder, target]}" for target in circle if folders[source_folder, target]]
            print(f"      {source_folder} -> {', '.join(targets)}")
    if folders_only:
        return True
    print(f"  circles between files: {len(file_circles)}, with {sum(map(len, file_circles))} files")
    for circle in file_circles:
        involved = sorted({top(module) for module in circle})
        print(f"    {len(circle)} files in {', '.join(involved)}")
        if with_files:
            for source_module in circle:
                targets = ["::".join(target) for target in circle if (source_module, target) in files]
                print(f"      {'::'.join(source_module)} -> {', '.join(targets)}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crates", nargs="*")
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = parser.parse_args()
    folder = os.path.join(arguments.root, "crates")
    others = [name for name in sorted(os.listdir(folder)) if name not in ("server", "lab")]
    found = False
    for name in arguments.crates or ["server", "lab", *others]:
        has_circles = print_crate(name, os.path.join(folder, name, "src"), arguments.files, arguments.check)
        found |= has_circles
        if arguments.crates and not arguments.check and not has_circles:
            print(f"{name}: no circles")
    return int(arguments.check and found)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    sys.exit(main())
