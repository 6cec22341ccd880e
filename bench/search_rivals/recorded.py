"""A recorded tuning space, and what one search of it found."""

import functools
import gzip
import json
import pathlib


def slow_time(record):
    return record["times"][0] if record["time"] == "too_slow" and record.get("times") else None


class Space:
    """Every valid configuration of a kernel with its recorded time; a configuration that failed has None, and so has one of Hone's that was left as
    too slow after its first runs: it finds nothing, but every tool is told how slow it was."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.name.removesuffix(".json.gz")
        document = json.loads(gzip.decompress(self.path.read_bytes()))
        self.kernel = document["kernel_name"]
        self.problem = document["problem_size"]
        self.parameters = {name: document["tune_params"][name] for name in document["tune_params_keys"]}
        self.times = {
            tuple(record[name] for name in self.parameters): record["time"] if isinstance(record["time"], (int, float)) else None
            for record in document["cache"].values()
        }
        self.slow = {  # what strategies are told of these
            tuple(record[name] for name in self.parameters): slow_time(record)
            for record in document["cache"].values() if slow_time(record) is not None
        }

    def read(self):
        """The file as other tools are to see it: what was too slow has its time, words and keys are Kernel Tuner's ("False")."""
        document = json.loads(gzip.decompress(self.path.read_bytes()))
        for record in document["cache"].values():
            if slow_time(record) is not None:
                record["time"] = slow_time(record)
            elif isinstance(record["time"], str) and not record["time"].endswith("Config"):  # Kernel Tuner knows its own words for failures alone
                record["time"] = "CompilationFailedConfig" if record["time"].startswith("compile") else "RuntimeFailedConfig"
        document["cache"] = {",".join(str(record[name]) for name in self.parameters): record for record in document["cache"].values()}
        return document

    @functools.cached_property
    def best(self):
        return min(time for time in self.times.values() if time is not None)


def list_spaces(directory):
    """The Kernel Tuner caches of a folder; the same records in the T4 format are left out."""
    paths = [path for path in sorted(pathlib.Path(directory).glob("*.json.gz")) if not path.name.endswith(".T4.json.gz")]
    return [Space(path) for path in paths]


class Trace:
    """What a search evaluated: counts unique configurations, remembers when the best time improved."""

    def __init__(self, space):
        self.space = space
        self.seen = set()
        self.improvements = []

    def record(self, configuration):
        """Counts one evaluation and returns what a strategy is told (None: it failed). Asking again for the same one is free."""
        time = self.space.times[configuration]
        if configuration not in self.seen:
            self.seen.add(configuration)
            if time is not None and (not self.improvements or time < self.improvements[-1][1]):
                self.improvements.append((len(self.seen), time))
        return self.space.slow.get(configuration, time)


def fraction_at(improvements, best, evaluations):
    """Best possible time / best time after so many evaluations; 0 before anything succeeded. The last value holds on."""
    found = [time for count, time in improvements if count <= evaluations]
    return best / found[-1] if found else 0.0
