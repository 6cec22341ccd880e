"""Optuna's samplers on a recorded space.

Optuna knows no constraints between parameters: it samples the Cartesian product, here the rank of a value in its parameter. What the
samplers are told is what serves them best:

* a time is told as its logarithm, a failed configuration as the worst time seen so far;
* `pruned`: a proposal outside the space is told as pruned, one that was evaluated before is told again; both cost nothing;
* `repaired`: such a proposal is replaced by the nearest configuration not evaluated yet (by distance of normalised ranks), and the
  sampler is told that it proposed that one. Every proposal is then an evaluation;
* `listed`: GPSampler scores every configuration not evaluated yet by its acquisition function, through the method that it offers for
  that, instead of optimising the function over the product. Random proposals at the start are repaired.
"""

import importlib
import math
import random

import numpy
import optuna
from optuna.trial import TrialState

try:  # Optuna loads these when they are first used, which would be anew in every forked repeat.
    for lazy in ("torch", "scipy.optimize", "optuna._gp.acqf", "optuna._gp.gp", "optuna._gp.optim_mixed", "optuna._gp.prior"):
        importlib.import_module(lazy)
    HAS_GP = True
except ImportError:
    HAS_GP = False

LEFT_OUT = {"GPSampler, pruned": "ignores pruned trials and would propose the same again"}
PROPOSALS_PER_EVALUATION = 50  # what "costs nothing" is capped at
TIE = 1e-9  # of distances, which are sums of rounded numbers
CHUNK = 2048  # configurations scored at a time: the distances of all of them to all trials may not fit into memory

SAMPLERS = {
    "TPESampler, pruned": lambda search, seed: optuna.samplers.TPESampler(seed=seed),
    "TPESampler, repaired": lambda search, seed: optuna.samplers.TPESampler(seed=seed),
    "GPSampler, repaired": lambda search, seed: optuna.samplers.GPSampler(seed=seed, deterministic_objective=True),
    "GPSampler, listed": lambda search, seed: ListedGPSampler(search, seed=seed, deterministic_objective=True),
}
STRATEGIES = [name for name in SAMPLERS if HAS_GP or not name.startswith("GPSampler")]
LEFT_OUT |= {name: "needs torch, which is not installed" for name in SAMPLERS if name not in STRATEGIES}


class ListedGPSampler(optuna.samplers.GPSampler):
    """GPSampler that proposes the best configuration of a list that it was not told about."""

    def __init__(self, search, **options):
        super().__init__(**options)
        self.search = search

    def _optimize_acqf(self, acqf, best_params):
        open_ones = self.search.ranks_by_name[self.search.is_open]
        points = numpy.column_stack([grid[ranks] for grid, ranks in zip(acqf.search_space.get_choices_of_discrete_params(), open_ones.T)])
        scores = [acqf.eval_acqf_no_grad(points[start:start + CHUNK]) for start in range(0, len(points), CHUNK)]
        return points[numpy.concatenate(scores).argmax()]


class Search:
    def __init__(self, space):
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.space = space
        self.values = {name: values for name, values in space.parameters.items() if len(values) > 1}
        self.distributions = {name: optuna.distributions.IntDistribution(0, len(values) - 1) for name, values in self.values.items()}
        self.configurations = list(space.times)
        self.number = {configuration: number for number, configuration in enumerate(self.configurations)}
        columns = [(index, values) for index, values in enumerate(space.parameters.values()) if len(values) > 1]
        self.ranks = numpy.array([[values.index(configuration[index]) for index, values in columns] for configuration in space.times])
        names = list(self.values)
        self.ranks_by_name = self.ranks[:, [names.index(name) for name in sorted(names)]]  # the order of Optuna's own columns
        self.scale = numpy.array([1.0 / (len(values) - 1) for _, values in columns])

    def run(self, strategy, seed, budget, trace):
        """One search."""
        random.seed(seed)
        numpy.random.seed(seed)
        study = optuna.create_study(sampler=SAMPLERS[strategy](self, seed))
        self.is_open = numpy.ones(len(self.configurations), dtype=bool)
        budget = min(budget, len(self.configurations))
        worst = None
        for _ in range(budget * PROPOSALS_PER_EVALUATION):
            if len(trace.seen) >= budget:
                return
            trial = study.ask(self.distributions)
            proposed = chosen = self.configuration(trial.params)
            if not strategy.endswith("pruned") and (proposed is None or proposed in trace.seen):
                chosen = self.nearest_open(trial.params)
            if chosen is None:
                study.tell(trial, state=TrialState.PRUNED)
                continue
            self.is_open[self.number[chosen]] = False
            time = trace.record(chosen)
            value = worst if time is None else math.log(time)
            worst = value if worst is None else max(worst, value)
            self.tell(study, trial, chosen if chosen != proposed else None, value)

    def configuration(self, ranks):
        """The configuration that Optuna proposes, None where it is outside the space."""
        configuration = tuple(values[ranks.get(name, 0)] for name, values in self.space.parameters.items())
        return configuration if configuration in self.number else None

    def nearest_open(self, ranks):
        """The configuration not evaluated yet that is nearest to a proposal; among equally near ones a random one."""
        distance = (numpy.abs(self.ranks - [ranks[name] for name in self.values]) * self.scale).sum(axis=1)
        distance[~self.is_open] = numpy.inf
        return self.configurations[random.choice(numpy.flatnonzero(distance <= distance.min() + TIE).tolist())]

    def tell(self, study, trial, instead, value):
        """Tells a proposal's value (None: it failed and no time is known yet), or that of the configuration evaluated instead of it."""
        if instead is None and value is not None:
            study.tell(trial, value)
            return
        study.tell(trial, state=TrialState.FAIL)  # the samplers ignore it
        if value is not None:
            ranks = dict(zip(self.values, self.ranks[self.number[instead]].tolist()))
            study.add_trial(optuna.trial.create_trial(params=ranks, distributions=self.distributions, value=value))
