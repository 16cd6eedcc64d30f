#!/usr/bin/env python3
"""Prints what the program is made of, as CycloneDX 1.5 in JSON: each crate that is compiled into it or runs while it is built, with
version, licence, checksum and what it needs in turn. All of it comes from `cargo metadata --locked` and Cargo.lock, and nothing else
(no time, no random number): the same lock file makes the same bytes.

usage: scripts/sbom.py [--target TRIPLE] > gauntlet.cdx.json
"""

import argparse
import json
import pathlib
import subprocess
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "gauntlet"
NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # URLs, RFC 9562


def metadata(target):
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def needed(resolved, root):
    """Ids of what `root` needs for itself, not for its tests: each with the ids that it needs at once."""
    nodes = {node["id"]: node for node in resolved["nodes"]}
    found, waiting = {}, [root]
    while waiting:
        crate = waiting.pop()
        if crate in found:
            continue
        uses = [dep["pkg"] for dep in nodes[crate]["deps"] if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
        found[crate] = sorted(set(uses))
        waiting += uses
    return found


def package_url(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    entry = {
        "type": "application" if package["name"] == PROGRAM else "library",
        "bom-ref": package_url(package),
        "name": package["name"],
        "version": package["version"],
        "purl": package_url(package),
    }
    if package["license"]:
        # Before SPDX expressions, Cargo wrote a slash where it means OR.
        entry["licenses"] = [{"expression": " OR ".join(part.strip() for part in package["license"].split("/"))}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def bill(found, lock):
    packages = {package["id"]: package for package in found["packages"]}
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}
    # `source` is null for crates of this repository.
    root = next(id for id, package in packages.items() if package["name"] == PROGRAM and package["source"] is None)
    graph = needed(found["resolve"], root)
    refs = sorted((package_url(packages[id]), id) for id in graph)
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[root], checksums)},
        "components": [component(packages[id], checksums) for _, id in refs if id != root],
        "dependencies": [{"ref": ref, "dependsOn": sorted(package_url(packages[use]) for use in graph[id])} for ref, id in refs],
    }
    serial = uuid.uuid5(NAMESPACE, json.dumps(content, sort_keys=True))
    return {"$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json", "serialNumber": f"urn:uuid:{serial}", **content}


def main():
    arguments = argparse.ArgumentParser(description="Prints what the program is made of (CycloneDX 1.5, JSON).")
    arguments.add_argument("--target", default="x86_64-unknown-linux-gnu", help="the system that it is built for")
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    print(json.dumps(bill(metadata(arguments.parse_args().target), lock), indent=2))


if __name__ == "__main__":
    main()
