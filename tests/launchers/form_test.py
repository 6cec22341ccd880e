"""What can be said of the launchers without what they launch with."""

import ast
import re
import subprocess
import unittest

from surroundings import HONE, LAUNCHERS

MOST_LINES = 40


class Form(unittest.TestCase):
    def test_all_are_short(self):
        files = list(LAUNCHERS.iterdir())
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            self.assertLessEqual(len(file.read_text().splitlines()), MOST_LINES, file.name)

    def test_all_parse(self):
        for file in LAUNCHERS.iterdir():
            if file.suffix in (".sh", ".sbatch"):
                subprocess.run(["bash", "-n", file], check=True)
            elif file.suffix == ".py":
                ast.parse(file.read_text())

    def test_options_are_options(self):
        seen = 0
        for file in LAUNCHERS.iterdir():
            for verb, options in re.findall(r'^[^#\n]*\bhone(?: |", ")(tune|serve-trials)\b(.*)', file.read_text(), flags=re.M):
                known = subprocess.run([HONE, verb, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
                for option in re.findall(r"(?<![\w-])--[a-z-]+", options):
                    self.assertIn(option, known, f"{file.name}: hone {verb}")
                    seen += 1
        self.assertGreater(seen, 8)

    def test_problems_are_problems(self):
        for line in (LAUNCHERS / "problems.txt").read_text().splitlines():
            kernel, *options = line.split()
            if kernel != "matmul":  # an operation has no space of its own
                ended = subprocess.run([HONE, "space", kernel, "--arch", "sm_90a", *options], stdout=subprocess.DEVNULL, check=False)
                self.assertEqual(ended.returncode, 0, line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
