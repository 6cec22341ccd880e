"""The Kubernetes manifests against the API's schemas (PyPI's kubernetes-validate), and what schemas do not see."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from surroundings import BUDGET, ENVIRONMENT, LAUNCHERS, PROBLEMS, SLEEPER, skip, tuned_shapes, write_problems

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

    def test_each_pod_tunes_its_line(self):
        for file in MANIFESTS:
            pod = pod_of(file)
            container = pod["containers"][0]
            self.assertEqual(container["command"], ["bash", "-c"])
            with tempfile.TemporaryDirectory() as folder:
                problems = write_problems(folder)
                script = container["args"][0].replace("/problems/problems.txt", str(problems)).replace("0.0.0.0:9400", "127.0.0.1:0")
                store = str(Path(folder) / "S.db")  # in place of the URL of the Secret
                for index in (0, 2):
                    ended = subprocess.run(["bash", "-c", f'{script} "$@"', "pod", *SLEEPER, *BUDGET], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           env={**ENVIRONMENT, "JOB_COMPLETION_INDEX": str(index), "HONE_STORE": store}, check=False)
                    self.assertEqual(ended.returncode, 0, ended.stderr)
                    self.assertIn('"event":"session_ended"', ended.stderr)
                    self.assertIn("metrics at http://127.0.0.1:", ended.stderr)
                self.assertEqual(tuned_shapes(store), sorted([PROBLEMS[0], PROBLEMS[2]]))

    def test_volumes_are_there_and_passwords_come_from_secrets(self):
        for file in MANIFESTS:
            pod = pod_of(file)
            container = pod["containers"][0]
            self.assertEqual({one["name"] for one in container["volumeMounts"]}, {one["name"] for one in pod["volumes"]})
            for variable in container["env"]:
                self.assertIn("secretKeyRef", variable["valueFrom"])
            self.assertTrue(any(name.startswith("nvidia.com/") for name in container["resources"]["limits"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
