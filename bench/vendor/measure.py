"""One row of the table: everybody checked against float64, then timed in the same rounds."""

import functools
import gc

import torch

from vendor import cases, contenders, timing, works

EPSILONS = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f64": 2.0**-52}
WEIGHTS = dict.fromkeys(cases.ATTENTION_FP8, 2.0**-5)  # works that round what they multiply, and by how much in the mean at most
LOSS_ROUNDS, ESTIMATE_ROUNDS = 30, 10
UNTUNED = "Hone untuned"


def precision(case):
    return WEIGHTS.get(case.work, EPSILONS[case.dtype])


def extents_text(case):
    return "x".join(map(str, case.extents))


def ours(kernel):
    return f"Hone {kernel}"


def default_of(kernel):
    return f"Hone {kernel} default"


class Row:
    """Measures a case. What fails is a note; what works is kept."""

    def __init__(self, case, tuned, hone, stopwatch, options):
        self.case, self.tuned, self.hone, self.stopwatch, self.options = case, tuned, hone, stopwatch, options
        self.notes = []
        self.result = {"case": case.name, "bytes": case.bytes, "flops": case.flops, "notes": self.notes}

    def attempt(self, what, action):
        try:
            return action()
        except TimeoutError:
            raise
        except Exception as error:
            self.notes.append(f"{what}: {contenders.describe(error)}")
            return None

    def exported(self, kernel, case, config, folder):
        return contenders.Exported(self.hone.export(kernel, case, config, self.options.scratch / folder))

    def untuned(self):
        kernel = next(iter(self.tuned[self.case.name]))
        return contenders.Exported(self.hone.export_untuned(kernel, self.case, self.options.scratch / "untuned"))

    def run(self):
        inputs = works.make_inputs(self.case)
        hones = {}
        for kernel, report in self.tuned[self.case.name].items():
            for name, config in ((ours(kernel), report["config"]), (default_of(kernel), report["default_config"])):
                export = functools.partial(self.exported, kernel, self.case, config, name)
                hones[name] = self.attempt(name, export)
        hones[UNTUNED] = self.attempt(UNTUNED, self.untuned)
        hones = {name: contender for name, contender in hones.items() if contender is not None}
        theirs, self.result["max_autotune_seconds"] = contenders.existing(self.case, inputs, self.options.compile_limit, self.notes)
        everybody = {**hones, **theirs}
        everybody = self.check(everybody, inputs)
        if not any(ours(kernel) in everybody for kernel in self.tuned[self.case.name]) or not any(name in everybody for name in theirs):
            raise RuntimeError("nothing to compare: " + "; ".join(self.notes))
        self.time(everybody, inputs)
        self.result["hone"] = self.tuned[self.case.name]
        self.conclude(hones, theirs)
        if self.options.losses:
            self.result["losses"] = self.attempt("winners of other shapes", lambda: self.losses(inputs))
        self.result["ragged"] = self.ragged()
        return self.result

    def check(self, everybody, inputs):
        """Errors against float64; those who cannot run are left out."""
        expected = works.reference(self.case, inputs)
        errors = {name: self.attempt(name, lambda contender=contender: works.error(contender.bind(inputs)(), expected))
                  for name, contender in everybody.items()}
        self.result["errors"] = {name: error for name, error in errors.items() if error is not None}
        return {name: everybody[name] for name in self.result["errors"]}

    def time(self, everybody, inputs):
        """Fills in times: by events, and for what is short by graph replay."""
        runs = {name: contender.bind(inputs) for name, contender in everybody.items()}
        first = self.stopwatch.events(runs, ESTIMATE_ROUNDS, 0.0)
        shortest = min(timing.summary(samples)["us"] for samples in first.values())
        self.result["method"] = "graph replay" if shortest < timing.SHORT_US else "events"
        by_events = self.stopwatch.events(runs, self.options.rounds, self.options.seconds)
        times = {name: timing.summary(samples) for name, samples in by_events.items()}
        if shortest < timing.SHORT_US:
            self.result["times_by_events"] = times
            del runs
            times = self.replayed(everybody, self.options.rounds)
        self.result["times"] = times

    def replayed(self, everybody, rounds):
        count = self.stopwatch.sets_for(self.case.bytes)
        sets = [works.make_inputs(self.case) for _ in range(count)]
        graphs, keep = {}, []
        for name, contender in everybody.items():
            def capture(contender=contender):
                calls = [contender.bind(inputs) for inputs in sets]
                calls[0]()
                graph, outputs = timing.capture(calls)
                keep.append((calls, outputs))
                return graph
            graph = self.attempt(f"{name} under a graph", capture)
            if graph is not None:
                graphs[name] = graph
        samples = self.stopwatch.replays(graphs, rounds, self.options.seconds, self.case.bytes)
        return {name: timing.summary(taken) for name, taken in samples.items()}

    def conclude(self, hones, theirs):
        times, errors = self.result["times"], self.result["errors"]
        us = {name: entry["us"] for name, entry in times.items()}
        winners = [ours(kernel) for kernel in self.tuned[self.case.name] if ours(kernel) in us]
        rivals = [name for name in theirs if name in us]
        if not winners or not rivals:
            raise RuntimeError("nothing to compare: " + "; ".join(self.notes))
        best, rival = min(winners, key=us.get), min(rivals, key=us.get)
        kernel = best.removeprefix("Hone ")
        allowed = 2 * min(errors[name] for name in rivals) + 2 * precision(self.case)
        self.result |= {
            "kernel": kernel, "hone_us": us[best], "default_us": us.get(default_of(kernel)), "untuned_us": us.get(UNTUNED),
            "best_existing": rival, "best_existing_us": us[rival], "ratio": us[rival] / us[best],
            "hone_error": errors[best], "existing_error": errors[rival], "right": errors[best] <= allowed,
            "gbytes_per_second": self.case.bytes / us[best] * 1e-3, "tflops": self.case.flops / us[best] * 1e-6,
        }

    def losses(self, inputs):
        """What the winners of the group's other shapes take here: times by shape, or why they cannot run."""
        kernel = self.result["kernel"]
        own, here, others = ours(kernel), {}, {}
        here[own] = self.exported(kernel, self.case, self.tuned[self.case.name][kernel]["config"], own)
        for name, reports in self.tuned.items():
            work, dtype, extents = name.split(":")
            if (work, dtype) != self.case.group or name == self.case.name or kernel not in reports:
                continue
            try:
                here[extents] = self.exported(kernel, self.case, reports[kernel]["config"], f"of {extents}")
            except RuntimeError as error:
                others[extents] = "not valid here" if "not valid" in str(error) else contenders.describe(error)
        if self.result["method"] == "graph replay":
            times = self.replayed(here, LOSS_ROUNDS)
        else:
            runs = {name: contender.bind(inputs) for name, contender in here.items()}
            samples = self.stopwatch.events(runs, LOSS_ROUNDS, self.options.seconds)
            times = {name: timing.summary(taken) for name, taken in samples.items()}
        base = times.pop(own)["us"]
        return {**{name: entry["us"] / base for name, entry in times.items()}, **others}

    def ragged(self):
        """The winner at neighbouring problems, or what the engine runs there where it is not valid; beside the library's error."""
        kernel, found = self.result["kernel"], []
        for neighbour in self.case.neighbours():
            entry = self.attempt(f"ragged {extents_text(neighbour)}", lambda neighbour=neighbour: self.ragged_one(kernel, neighbour))
            found.append(entry or {"case": neighbour.name, "right": False})
            gc.collect()
            torch.cuda.empty_cache()
        return found

    def ragged_one(self, kernel, neighbour):
        source = "winner"
        try:
            plan = self.exported(kernel, neighbour, self.tuned[self.case.name][kernel]["config"], "ragged")
        except RuntimeError as error:
            if "not valid" not in str(error):
                raise
            source = "default"
            plan = self.exported(kernel, neighbour, "default", "ragged")
        inputs = works.make_inputs(neighbour)
        expected = works.reference(neighbour, inputs)
        error = works.error(plan.bind(inputs)(), expected)
        # PyTorch has no path for some neighbours; then the result has only the type's precision to be held against.
        library = self.attempt(f"PyTorch at ragged {extents_text(neighbour)}",
                               lambda: works.error(works.EXPRESSIONS[neighbour.work](*inputs), expected))
        return {"case": neighbour.name, "configuration": source, "error": error, "existing_error": library,
                "right": error <= 2 * (library or 0.0) + 2 * precision(neighbour)}
