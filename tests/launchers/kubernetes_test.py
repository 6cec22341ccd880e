"""The Kubernetes manifests against the API's schemas (PyPI's kubernetes-validate), and what schemas do not see."""

import subprocess
import sys
import os
import tempfile
import unittest
from pathlib import Path

from surroundings import LAUNCHERS, skip

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

    def test_shell_scripts_inside_are_shell(self):
        for file in MANIFESTS:
            script = "import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))['spec']['template']['spec']['containers'][0]['args'][0])"
            text = subprocess.run([PYTHON, "-c", script, file], stdout=subprocess.PIPE, text=True, check=True).stdout
            subprocess.run(["bash", "-n", "-c", text], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
