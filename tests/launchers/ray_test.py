"""The Ray launcher on a Ray of this machine that is told of two GPUs; each actor tunes on a device that only sleeps."""

import os
import subprocess
import sys
import tempfile
import unittest

from surroundings import ENVIRONMENT, LAUNCHERS, TUNE, WORKER, PostgresServer, check_workers, skip

PYTHON = os.environ.get("HONE_RAY_PYTHON", sys.executable)
if subprocess.run([PYTHON, "-c", "import ray"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    skip("Ray is not installed for this Python (pip install ray; HONE_RAY_PYTHON names another)")


class Ray(unittest.TestCase):
    def setUp(self):
        self.store = self.enterContext(PostgresServer()).url
        # Ray's folder has a short name, since sockets are in it. The launcher starts a Ray of its own, which ends with it.
        temporary = self.enterContext(tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True))
        self.environment = {**ENVIRONMENT, **WORKER, "RAY_TMPDIR": temporary, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_OVERRIDE_RESOURCES": '{"CPU": 2, "GPU": 2}'}
        self.environment.pop("RAY_ADDRESS", None)

    def launch(self, *tune):
        return subprocess.run([PYTHON, LAUNCHERS / "ray_pool.py", "2", self.store, *tune], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300, check=False)

    def test_a_pool_of_two_actors(self):
        ended = self.launch(*TUNE, "--budget", "100trials")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        check_workers(self, self.store, workers=2, trials=100)
        self.assertNotEqual(self.launch("nonsense").returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
