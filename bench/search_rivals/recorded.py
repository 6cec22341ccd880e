"""A recorded tuning space, and what one search of it found."""

import functools
import gzip
import json
import pathlib


class Space:
    """Every valid configuration of a kernel with its recorded time; a configuration that failed has None."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = self.path.name.removesuffix(".json.gz")
        document = self.read()
        self.kernel = document["kernel_name"]
        self.problem = document["problem_size"]
        self.parameters = {name: document["tune_params"][name] for name in document["tune_params_keys"]}
        self.times = {
            tuple(record[name] for name in self.parameters): record["time"] if isinstance(record["time"], (int, float)) else None
            for record in document["cache"].values()
        }

    def read(self):
        """The file as it is."""
        return json.loads(gzip.decompress(self.path.read_bytes()))

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
        """Counts one evaluation and returns its time (None: it failed). Asking again for the same one is free."""
        time = self.space.times[configuration]
        if configuration not in self.seen:
            self.seen.add(configuration)
            if time is not None and (not self.improvements or time < self.improvements[-1][1]):
                self.improvements.append((len(self.seen), time))
        return time


def fraction_at(improvements, best, evaluations):
    """Best possible time / best time after so many evaluations; 0 before anything succeeded. The last value holds on."""
    found = [time for count, time in improvements if count <= evaluations]
    return best / found[-1] if found else 0.0
