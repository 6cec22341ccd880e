"""The Slurm launchers on two nodes of this machine, with devices that only sleep."""

import tempfile
import unittest
from pathlib import Path

from slurm_cluster import SlurmCluster, missing
from surroundings import BUDGET, ENVIRONMENT, LAUNCHERS, PROBLEMS, SLEEPER, TUNE, WORKER, PostgresServer, check_workers, skip, tuned_shapes, write_problems

if missing():
    skip(f"{missing()}: apt install slurm-wlm munge, as root")


class Slurm(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cluster = self.enterContext(SlurmCluster(self.enterContext(tempfile.TemporaryDirectory())))
        self.store = self.enterContext(PostgresServer()).url
        self.problems = write_problems(self.folder)

    def submit(self, *words):
        submitted = self.cluster.run("sbatch", "--parsable", "--wait", "--time=10", *words, cwd=self.folder, env={"PATH": ENVIRONMENT["PATH"], **WORKER})
        output = "".join(file.read_text() for file in self.folder.glob("slurm-*.out"))
        self.assertEqual(submitted.returncode, 0, submitted.stdout + output + self.cluster.log())
        return output

    def test_array_job(self):
        self.submit(f"--array=1-{len(PROBLEMS)}", "--cpus-per-task=1", LAUNCHERS / "slurm_array.sbatch", self.problems, self.store, *SLEEPER, *BUDGET)
        self.assertEqual(tuned_shapes(self.store), sorted(PROBLEMS))
        self.assertEqual(len(list(self.folder.glob("hone-*.jsonl"))), len(PROBLEMS))

    def test_one_session_with_a_worker_for_each_gpu(self):
        self.submit("--ntasks=2", "--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=1", LAUNCHERS / "slurm_workers.sbatch", self.store, *TUNE,
                    "--budget", "100trials")
        check_workers(self, self.store, workers=2, trials=100)
        logs = {file.name: file.read_text() for file in self.folder.glob("hone-*-*.jsonl")}
        self.assertEqual(len(logs), 2)
        for text in logs.values():  # the job's end reached them
            self.assertEqual(text.count('"event":"worker_left"'), 1)

    def test_a_job_fails_where_a_session_does(self):
        self.problems.write_text("nonsense --shape n=1\n")
        submitted = self.cluster.run("sbatch", "--wait", "--array=1", "--cpus-per-task=1", LAUNCHERS / "slurm_array.sbatch", self.problems, self.store, *SLEEPER,
                                     cwd=self.folder, env={"PATH": ENVIRONMENT["PATH"]})
        self.assertNotEqual(submitted.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
