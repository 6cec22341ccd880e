#!/usr/bin/env python3
"""Sessions on many workers over a PostgreSQL of its own, replayed on a recorded space: what kills do to them, and how far they scale.

    python3 bench/many_hosts.py chaos --build build --kills 20      # kill -9 of workers, coordinator and server at random moments
    python3 bench/many_hosts.py scale --build build --workers 1,4,16,64
    python3 bench/many_hosts.py quality --build build --pending 1,4,16,64

All of it runs on this machine: workers are processes of `hone serve-trials --replay`, which take as long as the record says, times --pace.
PostgreSQL (Debian's package postgresql) runs on a socket in a temporary directory. The output is one JSON object.
"""
import argparse
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCK = os.sysconf("SC_CLK_TCK")


class Server:
    """A PostgreSQL on a socket in a temporary directory."""

    def __init__(self):
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if not found:
            sys.exit("PostgreSQL is not installed: apt install postgresql")
        self.programs = found[-1].parent
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_pg_"))
        self.user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            os.chown(self.folder, pwd.getpwnam("postgres").pw_uid, pwd.getpwnam("postgres").pw_gid)
        self.run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8", "-D", self.folder / "data")
        self.databases = 0
        self.start()

    def run(self, program, *arguments):
        ended = subprocess.run([*self.user, self.programs / program, *arguments], cwd=self.folder, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"{program}: {ended.stderr}{ended.stdout}")

    def start(self):
        options = f"-k {self.folder} -c listen_addresses= -c max_connections=400"
        with open(os.devnull, "w") as nothing:
            ended = subprocess.run([*self.user, self.programs / "pg_ctl", "-w", "-s", "-D", self.folder / "data", "-l", self.folder / "log",
                                    "-o", options, "start"], cwd=self.folder, stdout=nothing, stderr=nothing)
        if ended.returncode != 0:
            sys.exit(f"pg_ctl: see {self.folder / 'log'}")

    def kill(self):
        os.kill(int((self.folder / "data/postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def stop(self):
        subprocess.run([*self.user, self.programs / "pg_ctl", "-s", "-m", "immediate", "-D", self.folder / "data", "stop"], cwd=self.folder,
                       capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self):
        self.databases += 1
        self.sql(f"postgres://postgres@/postgres?host={self.folder}", f"CREATE DATABASE d{self.databases}")
        return f"postgres://postgres@/d{self.databases}?host={self.folder}"

    @staticmethod
    def sql(url, statement, missing=""):
        """Rows of text fields; `missing` where the server does not answer."""
        ended = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-c", statement, url], capture_output=True, text=True,
                               env=dict(os.environ, PGOPTIONS="-c search_path=hone"))
        if ended.returncode != 0:
            return missing
        return [line.split("\t") for line in ended.stdout.splitlines()]


class Worker:
    """A process of hone serve-trials, and what it says it measured."""

    def __init__(self, options, url, log):
        self.log = open(log, "ab")
        self.process = subprocess.Popen([options.build / "bin/hone", "serve-trials", "--store", url, "--replay", options.space, "--pace",
                                         str(options.pace)], stdout=subprocess.DEVNULL, stderr=self.log, env=environment(options))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


def environment(options):
    return dict(os.environ, HONE_LEASE_SECONDS=str(options.lease), HONE_CONFIG="")


def tune(options, url, trials, seed=1, strategy=None):
    return [options.build / "bin/hone", "tune", options.space, "--workers", "--store", url, "--budget", f"{trials}trials", "--seed", str(seed),
            "--strategy", strategy or options.strategy, "--no-transfer", "--json"]


def seconds_of(pid):
    """Of the processor, that a process has had."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK


def session(options, server, workers, trials, seed=1, strategy=None):
    """An undisturbed one: its report, the coordinator's processor seconds, the wall seconds, the database."""
    url = server.database()
    with tempfile.TemporaryDirectory() as folder:
        running = [Worker(options, url, pathlib.Path(folder) / f"{i}") for i in range(workers)]
        try:
            while (rows := server.sql(url, "SELECT count(*) FROM worker WHERE state = 'idle'", [["0"]])) and int(rows[0][0]) < workers:
                time.sleep(0.2)
            began = time.time()
            coordinator = subprocess.Popen(tune(options, url, trials, seed, strategy), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           env=environment(options))
            used = 0.0
            out = ""
            while True:
                try:
                    out, err = coordinator.communicate(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    used = seconds_of(coordinator.pid)
            wall = time.time() - began
        finally:
            for worker in running:
                worker.kill()
    if coordinator.returncode != 0:
        sys.exit(f"the session ended with {coordinator.returncode}: {err}")
    return json.loads(out), used, wall, url


def configuration_of(report):
    return ",".join(f"{name}={value}" for name, value in report["best"]["config"].items())


def recorded(server, url):
    rows = server.sql(url, "SELECT position, outcome FROM trial ORDER BY id", None)
    return None if rows is None else [tuple(row) for row in rows]


def measured(folder):
    """How often workers began to say that they had measured a configuration."""
    counts = {}
    for log in folder.iterdir():
        for line in log.read_text(errors="replace").splitlines():
            if found := re.search(r": trial  (\S+)", line):
                counts[found[1]] = counts.get(found[1], 0) + 1
    return counts


def chaos(options):
    server = Server()
    chance = random.Random(options.seed)
    try:
        undisturbed, _, _, _ = session(options, server, options.processes, options.trials)
        url = server.database()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            started = 0

            def start_worker():
                nonlocal started
                started += 1
                return Worker(options, url, folder / f"{started}")

            workers = [start_worker() for _ in range(options.processes)]
            coordinator = None
            kills = {"worker": 0, "coordinator": 0, "server": 0}
            before, lost, ends = [], 0, []
            began = time.time()
            report = None
            while report is None and time.time() - began < options.limit:
                if coordinator is None:
                    output = open(folder.parent / f"{folder.name}.json", "w+")
                    coordinator = subprocess.Popen(tune(options, url, options.trials), stdout=output, stderr=subprocess.PIPE, text=True,
                                                   env=environment(options))
                time.sleep(chance.uniform(0.05, 2.0 * options.pause))
                if coordinator.poll() is not None:
                    if coordinator.returncode == 0:
                        output.seek(0)
                        report = json.load(output)
                        break
                    ends.append(coordinator.stderr.read().strip().splitlines()[-1:])
                    coordinator = None
                    continue
                if sum(kills.values()) < options.kills:
                    kind = chance.choice(("worker", "worker", "coordinator", "server"))
                    kills[kind] += 1
                    if kind == "worker":
                        place = chance.randrange(len(workers))
                        workers[place].kill()
                        workers[place] = start_worker()
                    elif kind == "coordinator":
                        coordinator.kill()
                        coordinator.wait()
                        coordinator = None
                    else:
                        server.kill()
                        time.sleep(chance.uniform(0.0, 1.0))
                        server.start()
                workers = [worker if worker.process.poll() is None else start_worker() for worker in workers]
                now = recorded(server, url)
                if now is not None:
                    lost += len(set(before) - set(now))
                    before = now
            for worker in workers:
                worker.kill()
            if report is None:
                sys.exit(f"the session did not end within {options.limit} s: {kills}, {ends}")
            says = measured(folder)
            marks = dict((label, int(count)) for label, count in server.sql(
                url, "SELECT label, count(*) FROM work WHERE label <> '' AND claimed <> '' GROUP BY label"))
            unmarked = {label: count for label, count in says.items() if count > marks.get(label, 0)}
            positions = server.sql(url, "SELECT count(*), count(DISTINCT position) FROM trial")[0]
            twice = sum(1 for count in says.values() if count > 1)
            return {"kills": kills, "trials": int(positions[0]), "positions": int(positions[1]),
                    "sessions": int(server.sql(url, "SELECT count(*) FROM session")[0][0]), "acknowledged_and_lost": lost,
                    "measured_twice_and_marked": twice - len(unmarked), "measured_twice_without_a_mark": unmarked,
                    "work": dict(server.sql(url, "SELECT state, count(*) FROM work GROUP BY state")),
                    "charged": int(server.sql(url, "SELECT count(*) FROM trial WHERE detail LIKE 'it ended the workers%'")[0][0]),
                    "coordinators_that_ended_with_an_error": ends, "best_us": report["best"]["time_us"],
                    "undisturbed_best_us": undisturbed["best"]["time_us"],
                    "ratio": report["best"]["time_us"] / undisturbed["best"]["time_us"], "seconds": time.time() - began}
    finally:
        server.stop()


def scale(options):
    server = Server()
    lines = []
    try:
        for workers in options.workers:
            report, used, wall, url = session(options, server, workers, max(options.trials, 12 * workers), strategy="random")
            waits = [float(row[0]) for row in server.sql(
                url, "SELECT EXTRACT(EPOCH FROM CAST(claimed_at AS timestamptz) - CAST(created_at AS timestamptz)) FROM work WHERE claimed_at <> ''")]
            span = [float(value) for value in server.sql(
                url, "SELECT EXTRACT(EPOCH FROM min(CAST(claimed_at AS timestamptz))), EXTRACT(EPOCH FROM max(CAST(updated_at AS timestamptz))) "
                "FROM work WHERE claimed_at <> '' AND label <> ''")[0]]
            lines.append({"workers": workers, "trials": report["trials"], "claims": len(waits), "claims_per_second": len(waits) / (span[1] - span[0]),
                          "median_wait_ms": 1e3 * statistics.median(waits), "longest_wait_ms": 1e3 * max(waits), "coordinator_cpu_seconds": used,
                          "coordinator_ms_per_trial": 1e3 * used / report["trials"], "coordinator_load": used / wall, "seconds": wall,
                          "devices_that_measured": sum(1 for device in report["devices"] if device["trials"] > 0)})
            print(json.dumps(lines[-1]), file=sys.stderr)
        return {"lines": lines}
    finally:
        server.stop()


def quality(options):
    """On simulated devices of one process, on the clock of the recorded seconds: what is pending is all that differs."""
    lines = []
    for pending in options.pending:
        best, seconds = [], []
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                command = [options.build / "bin/hone", "tune", options.space, "--device", "replay:*", "--store", f"{folder}/S.db", "--budget",
                           f"{options.trials}trials", "--seed", str(seed), "--strategy", options.strategy, "--no-transfer", "--json"]
                ended = subprocess.run(command, capture_output=True, text=True,
                                       env=dict(os.environ, HONE_REPLAY_DEVICES=str(pending), HONE_CONFIG=""))
                if ended.returncode != 0:
                    sys.exit(ended.stderr)
                report = json.loads(ended.stdout)
                best.append(report["best"]["time_us"])
                seconds.append(report["seconds"])
        lines.append({"pending": pending, "best_us": best, "median_best_us": statistics.median(best), "median_recorded_seconds": statistics.median(seconds)})
        print(json.dumps(lines[-1]), file=sys.stderr)
    return {"trials": options.trials, "strategy": options.strategy, "lines": lines}


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("chaos", "scale", "quality"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--space", default=str(ROOT / "bench/spaces/softmax.NVIDIA_H200.json.gz"), help="a recorded space")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--pace", type=float, default=0.2, help="seconds that a trial takes for each that it was recorded with")
    parser.add_argument("--lease", type=float, default=2.0, help="HONE_LEASE_SECONDS")
    parser.add_argument("--seed", type=int, default=1, help="of the kills")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--processes", type=int, default=4, help="workers of chaos")
    parser.add_argument("--pause", type=float, default=1.5, help="seconds between kills, in the mean")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which chaos gives up")
    parser.add_argument("--workers", type=numbers, default=[1, 4, 16, 64])
    parser.add_argument("--pending", type=numbers, default=[1, 4, 16, 64])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps({"what": options.what, "space": pathlib.Path(options.space).name, "pace": options.pace, "lease": options.lease,
                      **{"chaos": chaos, "scale": scale, "quality": quality}[options.what](options)}, indent=2))


if __name__ == "__main__":
    main()
