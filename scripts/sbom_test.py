#!/usr/bin/env python3
"""What scripts/sbom.py prints: of a small graph exactly, of this repository as a whole."""

import pathlib
import subprocess
import sys
import json
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sbom


def package(name, licence="MIT", source="registry"):
    return {"id": name, "name": name, "version": "1.0.0", "license": licence, "source": source}


def node(name, *uses):
    deps = [{"pkg": used, "dep_kinds": [{"kind": kind} for kind in kinds]} for used, *kinds in uses]
    return {"id": name, "deps": deps}


GRAPH = {
    "packages": [package("gauntlet", source=None), package("json", "MIT/Apache-2.0"), package("cc"), package("probe"), package("other")],
    "resolve": {
        "nodes": [
            node("gauntlet", ("json", None), ("probe", "dev"), ("cc", "build")),
            node("json", ("cc", "dev", None)),
            node("cc"),
            node("probe", ("other", None)),
            node("other"),
        ]
    },
}
LOCK = {"package": [{"name": "gauntlet", "version": "1.0.0"}, {"name": "json", "version": "1.0.0", "checksum": "00ff"}]}


class SmallGraph(unittest.TestCase):
    def setUp(self):
        self.bill = sbom.bill(GRAPH, LOCK)

    def test_has_what_is_built_and_builds_and_not_what_tests(self):
        self.assertEqual([crate["name"] for crate in self.bill["components"]], ["cc", "json"])
        self.assertEqual(self.bill["metadata"]["component"]["name"], "gauntlet")

    def test_licences_are_expressions_and_checksums_those_of_the_lock_file(self):
        cc, json_crate = self.bill["components"]
        self.assertEqual(json_crate["licenses"], [{"expression": "MIT OR Apache-2.0"}])
        self.assertEqual(json_crate["hashes"], [{"alg": "SHA-256", "content": "00ff"}])
        self.assertNotIn("hashes", cc)

    def test_says_what_needs_what(self):
        uses = {entry["ref"]: entry["dependsOn"] for entry in self.bill["dependencies"]}
        self.assertEqual(uses["pkg:cargo/gauntlet@1.0.0"], ["pkg:cargo/cc@1.0.0", "pkg:cargo/json@1.0.0"])
        self.assertEqual(uses["pkg:cargo/json@1.0.0"], ["pkg:cargo/cc@1.0.0"])


class ThisRepository(unittest.TestCase):
    def test_every_crate_from_outside_has_a_licence_and_a_checksum_and_twice_is_the_same(self):
        script = pathlib.Path(sbom.__file__)
        first, second = (subprocess.run([script], check=True, stdout=subprocess.PIPE).stdout for _ in range(2))
        self.assertEqual(first, second)
        bill = json.loads(first)
        ours = {path.name for path in (sbom.ROOT / "crates").iterdir()}
        refs = [crate["bom-ref"] for crate in bill["components"]]
        self.assertEqual(len(refs), len(set(refs)))
        self.assertTrue({"tokio", "rusqlite", "server"} <= {crate["name"] for crate in bill["components"]})
        for crate in bill["components"]:
            self.assertIn("licenses", crate, crate["name"])
            self.assertTrue("hashes" in crate or crate["name"] in ours, crate["name"])


if __name__ == "__main__":
    unittest.main()
