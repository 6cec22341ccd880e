"""The Ray launcher on a Ray of this machine that is told of two GPUs; each actor tunes on a device that only sleeps."""

import os
import subprocess
import sys
import tempfile
import unittest

from surroundings import BUDGET, ENVIRONMENT, LAUNCHERS, PROBLEMS, SLEEPER, PostgresServer, skip, tuned_shapes, write_problems

PYTHON = os.environ.get("HONE_RAY_PYTHON", sys.executable)
if subprocess.run([PYTHON, "-c", "import ray"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    skip("Ray is not installed for this Python (pip install ray; HONE_RAY_PYTHON names another)")


class Ray(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.store = self.enterContext(PostgresServer()).url
        self.problems = write_problems(self.folder)
        # Ray's folder has a short name, since sockets are in it. The launcher starts a Ray of its own, which ends with it.
        temporary = self.enterContext(tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True))
        self.environment = {**ENVIRONMENT, "RAY_TMPDIR": temporary, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_OVERRIDE_RESOURCES": '{"CPU": 2, "GPU": 2}'}
        self.environment.pop("RAY_ADDRESS", None)

    def launch(self, problems):
        return subprocess.run([PYTHON, LAUNCHERS / "ray_pool.py", "2", problems, self.store, *SLEEPER, *BUDGET], env=self.environment,
                              stdout=subprocess.PIPE, text=True, timeout=300, check=False)

    def test_a_pool_of_two_actors(self):
        ended = self.launch(self.problems)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        for problem in PROBLEMS:
            self.assertRegex(ended.stdout, problem + r" \d+\.\d us")
        self.assertEqual(tuned_shapes(self.store), sorted(PROBLEMS))
        self.problems.write_text("nonsense --shape n=1\n" + PROBLEMS[0] + "\n")
        ended = self.launch(self.problems)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("unknown built-in kernel", ended.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
