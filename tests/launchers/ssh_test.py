"""The launcher over ssh, to an sshd of the test's own that stands for two hosts."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from surroundings import BUDGET, ENVIRONMENT, LAUNCHERS, PROBLEMS, SLEEPER, PostgresServer, need_programs, tuned_shapes, write_problems

need_programs("sshd", "ssh", "ssh-keygen")


class Ssh(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.enterContext(PostgresServer()).url
        self.problems = write_problems(self.folder)
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

    def launch(self, problems, *more):
        return subprocess.run(["bash", LAUNCHERS / "ssh_hosts.sh", "one,two", problems, self.store, *SLEEPER, *BUDGET, *more], text=True, timeout=300,
                              env={**ENVIRONMENT, "SSH": f"ssh -F {self.folder}/ssh"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def test_each_host_has_its_share(self):
        log = self.folder / "a log's name"  # quoted for the other side's shell
        ended = self.launch(self.problems, "--log", log)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertEqual(tuned_shapes(self.store), sorted(PROBLEMS))
        self.assertTrue(log.exists())

    def test_it_fails_where_a_session_does_and_goes_on_with_the_others(self):
        self.problems.write_text("\n".join(["nonsense --shape n=1", *PROBLEMS]) + "\n")
        ended = self.launch(self.problems)
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(tuned_shapes(self.store), sorted(PROBLEMS))


if __name__ == "__main__":
    unittest.main(verbosity=2)
