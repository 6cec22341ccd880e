"""bench/workload.py with a command that answers at once in place of hone: what a run keeps, and how it goes on."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "workload.py"
# Notes each call. Of `run` it fails where a file says so; the store that was split by gain serves what is faster.
FAKE = """#!/usr/bin/env python3
import json, os, pathlib, sys
folder, words = pathlib.Path(__file__).parent, sys.argv[1:]
with open(folder / "calls", "a") as file: file.write(words[0] + "\\n")
store = pathlib.Path(words[words.index("--store") + 1]) if "--store" in words else None
if words[0] == "devices": print(json.dumps({"devices": [{"id": "cuda:0", "product": "a card", "uuid": os.environ.get("FAKE_UUID", "1")}]}))
elif words[0] == "tune":
    store.write_text("")
    print(json.dumps({"product": "a card", "weighted_after_us": 1.0, "seconds": 1.0}))
elif words[0] == "best" and store.exists(): print(json.dumps({"kernel": "k", "config": {"c": store.stem if "gain" in store.stem else "same"}}))
elif words[0] == "run" and not (folder / "fails").exists(): print(json.dumps({"time_us": 1.0 if store.stem == "gain" else 2.0}))
else: sys.exit(1)
"""


class Workload(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.hone = self.folder / "hone"
        self.hone.write_text(FAKE)
        self.hone.chmod(0o755)

    def run_it(self, *words, **variables):
        self.calls().unlink(missing_ok=True)
        ended = subprocess.run([sys.executable, "-B", BENCH, "--hone", self.hone, "--out", self.folder / "out", "--most", "3", "--rounds", "1", *words],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables})
        self.made = self.calls().read_text().split() if self.calls().exists() else []
        return ended

    def refuses(self, *words, **variables):
        ended = self.run_it(*words, **variables)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("is of another run", ended.stderr)

    def calls(self):
        return self.folder / "calls"

    def result(self):
        return json.loads((self.folder / "out" / "workload.json").read_text())

    def test_times_what_each_store_serves(self):
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual(self.made.count("tune"), 2)
        self.assertEqual(self.result()["measured"], 3)
        weighted = self.result()["weighted_us"]
        self.assertAlmostEqual(weighted["even"] / weighted["gain"], 2.0)

    def test_goes_on_with_what_is_left(self):
        ended = self.run_it("--limit", "0")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("the same command goes on", ended.stderr)
        (self.folder / "fails").touch()
        self.assertIn("no problem could be measured", self.run_it().stderr)
        self.assertEqual(self.made.count("tune"), 2)
        (self.folder / "fails").unlink()
        self.assertEqual(self.run_it().returncode, 0)
        self.assertEqual(self.made.count("tune"), 0)
        self.assertEqual(self.result()["measured"], 3)
        self.run_it()
        self.assertEqual(self.made, ["devices"])

    def test_leaves_another_runs_folder_alone(self):
        self.run_it()
        before = self.result()
        for words, variables in ((("--budget", "1s"), {}), (("--most", "2"), {}), ((), {"FAKE_UUID": "2"})):
            self.refuses(*words, **variables)
        with open(self.hone, "a") as file:
            file.write("# another build\n")
        self.refuses()
        self.assertEqual(self.result(), before)


if __name__ == "__main__":
    unittest.main()
