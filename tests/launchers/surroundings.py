"""What the launchers' tests share: the built command, a PostgreSQL server, devices that only sleep."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LAUNCHERS = REPOSITORY / "examples" / "launchers"
BUILD = Path(os.environ["HONE_BINARY_DIR"])
HONE = BUILD / "bin" / "hone"
SLEEPER = ["--device", "sleeper:0", "--plugin", str(BUILD / "tests" / "plugin" / "devices" / "sleeping_device.so")]
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"}
PROBLEMS = ["copy --shape n=1024", "copy --shape n=2048", "copy --shape n=4096", "copy --shape n=8192"]
BUDGET = ["--budget", "4trials", "--timing-seconds", "0.01"]


def skip(why):
    """ctest reports the exit code as skipped. With HONE_TESTS_NEED=launchers it is a failure."""
    print("skipped:", why)
    sys.exit(1 if "launchers" in os.environ.get("HONE_TESTS_NEED", "") else 77)


def need_programs(*programs):
    os.environ["PATH"] = ENVIRONMENT["PATH"]
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        skip(f"{', '.join(missing)} not installed")


def hone(*arguments):
    ended = subprocess.run([HONE, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(ended.stdout)


def write_problems(folder):
    file = Path(folder) / "problems.txt"
    file.write_text("\n".join(PROBLEMS) + "\n")
    return file


def postgres_programs():
    """The newest that Debian's package has, else that of the path."""
    found = subprocess.run("(command -v initdb; ls -v -d /usr/lib/postgresql/*/bin/initdb) 2>&- | tail -n 1", shell=True, stdout=subprocess.PIPE, text=True,
                           check=False).stdout.strip()
    return Path(found).parent if found else skip("PostgreSQL is not installed (apt install postgresql)")


class PostgresServer:
    """On a socket in a folder of its own; ends with the block."""

    def __init__(self):
        self.programs = postgres_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="hone_pg_"))
        self.url = f"postgres://postgres@/postgres?host={self.folder}"

    def __enter__(self):
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self._run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        self._run("pg_ctl", "-w", "-s", "-l", self.folder / "log", "-o", f"-k {self.folder} -c listen_addresses=", "start")
        return self

    def __exit__(self, *_):
        self._run("pg_ctl", "-w", "-s", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program, *arguments):
        as_user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*as_user, self.programs / program, "-D", self.folder / "data", *arguments], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


# What the tests give to launchers of workers: what to tune, and what the workers have besides, as they sleep.
TUNE = ["copy", "--shape", "n=1024", "--plugin", SLEEPER[3], "--strategy", "random", *BUDGET[2:]]
WORKER = {"WORKER": " ".join(SLEEPER), "SLEEPER_MS": "20"}


def check_workers(case, store, workers, trials):
    """One session is done, with so many trials, of which each of so many workers has some."""
    sessions = hone("sessions", "--store", store)["sessions"]
    case.assertEqual([(one["state"], one["trials"]) for one in sessions], [("done", trials)])
    devices = hone("sessions", str(sessions[0]["session"]), "--store", store)["devices"]
    case.assertEqual(len(devices), workers, devices)
    for device in devices:
        case.assertGreater(device["trials"], 0, devices)


def tuned_shapes(store):
    """Of the finished sessions."""
    sessions = hone("sessions", "--store", store)["sessions"]
    return sorted(f"{one['kernel']} --shape n={one['shape']['n']}" for one in sessions if one["state"] == "done")
