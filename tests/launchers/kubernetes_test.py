"""The Kubernetes manifests against the API's schemas (PyPI's kubernetes-validate), and what schemas do not see."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from surroundings import ENVIRONMENT, LAUNCHERS, SLEEPER, PostgresServer, check_workers, skip

PYTHON = os.environ.get("HONE_KUBERNETES_PYTHON", sys.executable)
if subprocess.run([PYTHON, "-c", "import kubernetes_validate, yaml"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    skip("kubernetes-validate is not installed for this Python (pip install kubernetes-validate; HONE_KUBERNETES_PYTHON names another)")

MANIFESTS = sorted(LAUNCHERS.glob("kubernetes_*.yaml"))
VERSIONS = ["1.28", "1.33", "1.37"]


def validate(file, version):
    script = ("import sys, yaml, kubernetes_validate\n"
              "for one in yaml.safe_load_all(open(sys.argv[1])):\n"
              "    kubernetes_validate.validate(one, sys.argv[2], strict=True)\n")
    return subprocess.run([PYTHON, "-c", script, file, version], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def pod_of(file):
    script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))['spec']['template']['spec']))"
    return json.loads(subprocess.run([PYTHON, "-c", script, file], stdout=subprocess.PIPE, text=True, check=True).stdout)


class Kubernetes(unittest.TestCase):
    def test_manifests_fit_their_schemas(self):
        self.assertGreaterEqual(len(MANIFESTS), 2)
        for file in MANIFESTS:
            for version in VERSIONS:
                with self.subTest(file=file.name, version=version):
                    ended = validate(file, version)
                    self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_a_wrong_field_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            wrong = Path(folder) / "wrong.yaml"
            wrong.write_text(MANIFESTS[0].read_text().replace("restartPolicy", "restartPolice"))
            self.assertNotEqual(validate(wrong, VERSIONS[0]).returncode, 0)

    def test_the_pods_commands_work(self):
        with PostgresServer() as server, tempfile.TemporaryDirectory() as folder:
            workload = Path(folder) / "workload.jsonl"
            workload.write_text('{"hone_workload": 1}\n{"kernel": "copy", "dtype": "f32", "shape": {"n": 1024}, "count": 3}\n')
            running = []
            logs = {}
            for name, more in (("kubernetes_job", SLEEPER), ("kubernetes_mig_job", [*SLEEPER, "--device", "sleeper:1"]),
                               ("kubernetes_tune", ["--budget", "100trials", *SLEEPER[2:]])):
                container = pod_of(LAUNCHERS / f"{name}.yaml")["containers"][0]
                words = [*container["command"], *container["args"]]
                words = [str(workload) if word.startswith("/workload/") else "127.0.0.1:0" if word == "0.0.0.0:9400" else word for word in words]
                logs[name] = Path(folder) / name
                with open(logs[name], "wb") as log:
                    # The last device counts.
                    running.append(subprocess.Popen([*words, *more], stdout=subprocess.DEVNULL, stderr=log, env={**ENVIRONMENT, "HONE_STORE": server.url, "SLEEPER_MS": "20"}))
            self.assertEqual(running[-1].wait(300), 0, logs["kubernetes_tune"].read_text())
            for worker in running[:-1]:
                worker.terminate()
                worker.wait(60)
            check_workers(self, server.url, workers=2, trials=100)
            self.assertIn('"event":"session_ended"', logs["kubernetes_tune"].read_text())
            for name in ("kubernetes_job", "kubernetes_mig_job"):
                self.assertIn('"event":"worker_trial"', logs[name].read_text())
                self.assertIn('"event":"worker_left"', logs[name].read_text())
                self.assertIn("metrics at http://127.0.0.1:", logs[name].read_text())

    def test_volumes_are_there_and_passwords_come_from_secrets(self):
        for file in MANIFESTS:
            pod = pod_of(file)
            container = pod["containers"][0]
            self.assertEqual({one["name"] for one in container.get("volumeMounts", [])}, {one["name"] for one in pod.get("volumes", [])})
            for variable in container["env"]:
                self.assertIn("secretKeyRef", variable["valueFrom"])
            gpus = [name for name in container["resources"].get("limits", {}) if name.startswith("nvidia.com/")]
            self.assertEqual(len(gpus), 1 if "serve-trials" in container["command"] else 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
