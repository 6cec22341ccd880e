"""The steps of the container file, run in a bare Debian where no builder of containers is. Needs root, debootstrap, and Debian's and Python's packages from the network.

HONE_BARE_ROOT=FILE.tar names a Debian 12 (debootstrap --variant=minbase) that is there already; HONE_DEB a package that cpack made.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from surroundings import BUILD, ENVIRONMENT, LAUNCHERS, need_programs, skip

need_programs("debootstrap", "chroot", "cpack")
if os.geteuid() != 0:
    skip("a bare root needs root")


def steps(file):
    """("RUN", "..."), ... with continued lines joined."""
    text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def make_package(folder):
    if "HONE_DEB" in os.environ:
        return Path(os.environ["HONE_DEB"])
    subprocess.run(["cmake", "--build", BUILD, "--target", "hone", "hone-worker", "hone_shared", "hone_runtime_shared", "hone_runtime_static"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cpack", "-G", "DEB", "-B", folder], cwd=BUILD, check=True, stdout=subprocess.DEVNULL)
    return next(Path(folder).glob("hone_*.deb"))


class Root:
    """A Debian of its own, without what a container file's steps bring."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = {"HOME": "/", "PATH": ENVIRONMENT["PATH"], "DEBIAN_FRONTEND": "noninteractive"}

    def __enter__(self):
        if "HONE_BARE_ROOT" in os.environ:
            subprocess.run(["tar", "-C", self.folder, "-xf", os.environ["HONE_BARE_ROOT"]], check=True)
        else:
            subprocess.run(["debootstrap", "--variant=minbase", "bookworm", self.folder], check=True, stdout=subprocess.DEVNULL)
        # How this machine reaches the network, and whom it trusts there.
        script = ('for f in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d/99*; do [ ! -f "$f" ] || cp "$f" "$0$f"; done; '
                  '[ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$0/trusted.crt"')
        subprocess.run(["sh", "-c", script, self.folder], check=True)
        if (self.folder / "trusted.crt").exists():
            self.environment["PIP_CERT"] = "/trusted.crt"
        subprocess.run(["mount", "-t", "proc", "proc", self.folder / "proc"], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder / "proc"], check=False)

    def run(self, *command):
        return subprocess.run(["chroot", self.folder, *command], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)


class Container(unittest.TestCase):
    def test_steps(self):
        context = Path(self.enterContext(tempfile.TemporaryDirectory()))
        package = make_package(context)
        root = self.enterContext(Root(self.enterContext(tempfile.TemporaryDirectory())))
        command = None
        for what, rest in steps(LAUNCHERS / "Containerfile"):
            if what == "FROM":
                self.assertTrue(rest.startswith("debian:12"), rest)
            elif what == "COPY":
                self.assertEqual(rest, "hone_*.deb /tmp/")
                shutil.copy(package, root.folder / "tmp")
            elif what == "RUN":
                ended = root.run("/bin/sh", "-c", rest)
                self.assertEqual(ended.returncode, 0, ended.stdout)
            elif what == "ENV":
                root.environment.update(word.split("=", 1) for word in shlex.split(rest))
            elif what == "CMD":
                command = re.findall('"([^"]*)"', rest)
            else:
                self.fail(f"the test knows no {what}")
        doctor = root.run(*command).stdout
        self.assertRegex(doctor, r"(?m)^ok +NVRTC")
        self.assertIn("refused", root.run("hone", "sessions", "--store", "postgres://x@127.0.0.1:1/hone").stdout)  # libpq was found, and tried
        self.assertNotEqual(root.run("sh", "-c", "ls /usr/local/cuda* || command -v nvcc").returncode, 0)
        # What a GPU's driver does not take part in: all spaces of a GPU, and code for it, compiled by the NVRTC of the wheel.
        self.assertEqual(root.run("hone", "space", "softmax", "--arch", "sm_90a", "--shape", "rows=64,cols=64").returncode, 0)
        self.assertEqual(root.run("sh", "-c", "ls /var/lib/apt/lists /tmp").stdout.count("hone"), 0)
        size = subprocess.run(["du", "-sxm", root.folder], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]
        print(f"the image's files: {size} MiB\n{doctor}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
