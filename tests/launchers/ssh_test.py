"""The launcher over ssh, to an sshd of the test's own that stands for two hosts."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from surroundings import ENVIRONMENT, LAUNCHERS, TUNE, WORKER, PostgresServer, check_workers, need_programs

need_programs("sshd", "ssh", "ssh-keygen")


class Ssh(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.enterContext(PostgresServer()).url
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = one.getsockname()[1]
        (self.folder / "authorized").write_text(f'environment="PATH={ENVIRONMENT["PATH"]}" ' + (self.folder / "user.pub").read_text())
        (self.folder / "sshd").write_text(f"ListenAddress 127.0.0.1:{port}\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/authorized\n"
                                          f"PermitRootLogin yes\nStrictModes no\nPermitUserEnvironment yes\nUsePAM no\nPidFile {self.folder}/pid\n")
        (self.folder / "ssh").write_text(f"Host one two\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {self.folder}/user\n"
                                         f"  StrictHostKeyChecking no\n  UserKnownHostsFile {self.folder}/known\n  LogLevel ERROR\n")
        os.makedirs("/run/sshd", exist_ok=True)
        self.sshd = subprocess.Popen([shutil.which("sshd"), "-D", "-e", "-f", self.folder / "sshd"], stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)
        self.fail("sshd does not listen")

    def end(self):
        self.sshd.terminate()
        self.sshd.wait()

    def test_a_worker_for_each_gpu_of_each_host(self):
        log = self.folder / "a log's name"
        worker = WORKER["WORKER"].replace("sleeper:0", "sleeper:$gpu")
        self.assertIn("$gpu", worker)
        script = (LAUNCHERS / "ssh_workers.sh").read_text().replace("${WORKER:-}", worker)  # a device for each worker, as the GPUs are
        ended = subprocess.run(["bash", "-c", script, "ssh_workers.sh", "one:1,two:2", self.store, *TUNE, "--budget", "100trials", "--log", log], text=True, timeout=300,
                               env={**ENVIRONMENT, **WORKER, "SSH": f"ssh -F {self.folder}/ssh"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        check_workers(self, self.store, workers=3, trials=100)
        self.assertTrue(log.exists())

    def test_it_fails_where_the_session_does(self):
        ended = subprocess.run(["bash", LAUNCHERS / "ssh_workers.sh", "one:1", self.store, "nonsense"], text=True, timeout=300,
                               env={**ENVIRONMENT, **WORKER, "SSH": f"ssh -F {self.folder}/ssh"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("nonsense", ended.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
