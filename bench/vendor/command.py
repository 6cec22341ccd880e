"""The hone command as the benchmark uses it: tune, export, and what kernels there are."""

import csv
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

GRACE_S = 120.0  # what a session may take beyond its budget: the last compile, the final round


class Deadline:
    """When a run has to be over."""

    def __init__(self, limit_s):
        self.end = time.monotonic() + limit_s

    def left(self):
        return self.end - time.monotonic()


def budget_seconds(text):
    total = 0.0
    for part in text.split(","):
        match = re.fullmatch(r"([0-9.]+)(s|m|h|trials)", part)
        if match is None:
            raise ValueError(f"budget '{text}': expected e.g. 20s, 5m or 200trials")
        total = max(total, float(match[1]) * {"s": 1.0, "m": 60.0, "h": 3600.0, "trials": 0.5}[match[2]])
    return total


def config_text(config):
    """"block=256,async=true", as --config takes it."""
    return ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config.items())


class Hone:
    def __init__(self, path, store, device, sources, deadline):
        self.path, self.store, self.device, self.sources, self.deadline = path, str(store), device, pathlib.Path(sources), deadline
        self._fields, self._operations = {}, {}

    def call(self, arguments, timeout_s):
        command = [self.path, *arguments, "--json"]
        timeout_s = min(timeout_s, self.deadline.left())
        if timeout_s <= 1.0:
            raise TimeoutError("no time left for " + shlex.join(command))
        # A session of its own, so that the workers of a command that hangs can be stopped with it.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(stopped, subprocess.TimeoutExpired):
                raise RuntimeError(f"{shlex.join(command)}: no answer within {timeout_s:.0f} s") from None
            raise
        lines = [line for line in out.splitlines() if line.startswith("{")]
        answer = json.loads(lines[-1]) if lines else {}
        if process.returncode != 0 or not answer:
            reason = answer.get("error", {}).get("message") or answer.get("detail") or err.strip()[-500:] or "no output"
            raise RuntimeError(f"{shlex.join(command)}: exit status {process.returncode}: {reason}")
        return answer

    def version(self):
        return subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def _name(self, kernel):
        """A kernel's name, or its file where it is not built in."""
        file = self.sources / kernel / f"{kernel}.cu"
        return kernel if kernel in self._builtin or not file.exists() else str(file)

    def problem_fields(self, kernels):
        """The fields of the problem of each of these kernels that there is."""
        known = self.call(["kernels"], 30.0)
        self._builtin = {kernel["name"] for kernel in known["kernels"]}
        self._operations = {each["kernel"]: one["operation"] for one in known["operations"] for each in one["implementations"]}
        for kernel in kernels:
            if kernel not in self._builtin and self._name(kernel) == kernel:
                continue
            try:
                self._fields[kernel] = tuple(self.call(["kernels", self._name(kernel)], 60.0)["shape"])
            except RuntimeError as error:  # a file needs libclang
                print(f"without {kernel}: {error}", file=sys.stderr)
        return self._fields

    def _problem(self, kernel, case):
        return [self._name(kernel), *self._shape(kernel, case), "--store", self.store]

    def _shape(self, kernel, case):
        shape = {field: case.shape[field] for field in self._fields[kernel] if field in case.shape}
        return ["--dtype", case.hone_dtype, "--shape", ",".join(f"{field}={extent}" for field, extent in shape.items())]

    def tune(self, kernel, case, budget, seed):
        command = ["tune", *self._problem(kernel, case), "--device", self.device, "--budget", budget, "--seed", str(seed)]
        return self.call(command, budget_seconds(budget) + GRACE_S)

    def failed_trials(self, session):
        """Of a session, the trials that failed otherwise than by being slow: outcome, configuration and what was said."""
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "trials.csv"
            self.call(["report", str(session), "--store", self.store, "--csv", str(table)], 60.0)
            with table.open(newline="") as rows:
                return [{"outcome": row["outcome"], "detail": row["detail"], "config": {name[2:]: value for name, value in row.items() if name.startswith("c.")}}
                        for row in csv.DictReader(rows) if row["outcome"] not in ("ok", "too_slow")]

    def export(self, kernel, case, config, folder, arch=None):
        """Path of the plan. `config` is a dict, "default", or None for what the store has."""
        command = ["export", *self._problem(kernel, case), "--out", str(folder), *(["--arch", arch] if arch else ["--device", self.device])]
        if config is not None:
            command += ["--config", config if isinstance(config, str) else config_text(config)]
        return self.call(command, 120.0)["file"]

    def export_untuned(self, kernel, case, folder):
        """Path of the plan of what the kernel's operation is served with where nothing was tuned: the choice of a portfolio."""
        command = ["export", self._operations.get(kernel, self._name(kernel)), *self._shape(kernel, case),
                   "--store", str(pathlib.Path(folder) / "nothing.db"), "--out", str(folder), "--device", self.device]
        return self.call(command, 120.0)["file"]
