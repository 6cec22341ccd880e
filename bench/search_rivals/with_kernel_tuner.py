"""Kernel Tuner's strategies on a recorded space, in its own simulation mode and with its default settings.

The space and the cache are loaded once: `tune_kernel` is called with a strategy object of ours, which keeps what it was handed (search
space, simulation runner, options). A repeat then calls a strategy's `tune` with exactly these, as `tune_kernel` would.
"""

import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
import warnings

import numpy

# Kernel Tuner loads torch where it is installed, and every forked search would pay for its pages; nothing here needs it.
torch = sys.modules.get("torch")
sys.modules["torch"] = None
from kernel_tuner import interface, util  # noqa: E402

if torch:
    sys.modules["torch"] = torch
else:
    del sys.modules["torch"]

from search_rivals.recorded import Trace

LEFT_OUT = {
    "brute_force": "no search strategy",
    "pyatf_strategies": "ends in a TypeError with pyATF 0.0.13, whose constructor it calls with other arguments",
    "skopt": "up to a minute for 40 evaluations, and it breaks off where configurations fail",
}
UNCAPPED = "dual_annealing, uncapped"  # given max_fevals it stops after so many calls, repeated and invalid ones included
STRATEGIES = [name for name in interface.strategy_map if name not in LEFT_OUT] + [UNCAPPED]


def base_name(strategy):
    return strategy.split(",")[0]


class Keep:
    """A "strategy" that keeps what tune_kernel prepared instead of searching."""

    def tune(self, searchspace, runner, tuning_options):
        self.prepared = searchspace, runner, tuning_options
        return []


def without_samples(document):
    """Leaves out the single samples behind a mean: they are most of the file, and no strategy looks at them."""
    for record in document["cache"].values():
        record.pop("times", None)
    return document


def tune_recorded(space, strategy, strategy_options, **more):
    """Kernel Tuner's own entry point on a recorded space."""

    def is_recorded(configuration):  # the caches do not hold the restrictions of their space, only its members
        return tuple(configuration.values()) in space.times

    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder) / "cache.json"  # tune_kernel reads no compressed cache
        cache.write_text(json.dumps(without_samples(space.read())))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel which is never launched has no arguments, and overflows in strategies
            return interface.tune_kernel(
                space.kernel, f"void {space.kernel}();", space.problem, [], space.parameters, restrictions=[is_recorded], lang="C",
                strategy=strategy, strategy_options=strategy_options, cache=str(cache), simulation_mode=True, quiet=True, **more)


class Search:
    def __init__(self, space):
        self.space = space
        keep = Keep()
        tune_recorded(space, keep, {})
        self.searchspace, self.runner, self.options = keep.prepared
        for strategy in map(base_name, STRATEGIES):
            interface.strategy_map[strategy].tune  # Kernel Tuner loads its module when first used: once here, not in every repeat
        if set(self.searchspace.list) != set(space.times):
            raise RuntimeError(f"{space.name}: Kernel Tuner's space is not the recorded one")

    def run(self, strategy, seed, budget, trace):
        """One search. Changes the prepared state, so it must run in a process of its own."""
        budget = min(budget, self.searchspace.size)
        options = self.options
        options["strategy"] = base_name(strategy)
        given = {} if strategy == UNCAPPED else {"max_fevals": budget}
        options.strategy_options = interface.Options(given)  # as an attribute: tune_kernel's own is one and would hide an item
        options["max_fevals"] = budget
        options["seed"] = seed
        options["budget"] = util.TuningBudget(None, budget)
        self.record_into(trace)
        random.seed(seed)
        numpy.random.seed(seed)
        with contextlib.redirect_stdout(io.StringIO()):
            interface.strategy_map[base_name(strategy)].tune(self.searchspace, self.runner, options)

    def record_into(self, trace):
        """Lets the trace see every configuration as it is answered, so that it is there when a strategy breaks off."""
        answer = self.runner.run

        def run(configurations, tuning_options):
            results = answer(configurations, tuning_options)
            for configuration, result in zip(configurations, results):
                if result is not None and tuple(configuration) in self.space.times:  # None: the budget is spent
                    trace.record(tuple(configuration))
            return results

        self.runner.run = run


def differences(space, strategy, seed, budget):
    """What differs between a search of the shared space and the same search by tune_kernel itself; None where nothing does."""
    shared = Trace(space)
    Search(space).run(strategy, seed, budget, shared)
    random.seed(seed)
    numpy.random.seed(seed)
    results, _ = tune_recorded(space, strategy, {"max_fevals": budget}, seed=seed)
    own = Trace(space)
    for result in results:
        own.record(tuple(result[name] for name in space.parameters))
    if (shared.improvements, shared.seen) == (own.improvements, own.seen):
        return None
    return f"{len(shared.seen)} evaluations, {shared.improvements[-1]}; tune_kernel: {len(own.seen)}, {own.improvements[-1]}"
