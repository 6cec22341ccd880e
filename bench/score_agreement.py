#!/usr/bin/env python3
"""Holds the score of `hone compare` against the package that defines it, on the same traces.

    python3 bench/score_agreement.py --hone build/bin/hone --spaces DIR --strategy random --strategy local_search

The package (autotuning_methodology, Willemsen et al., FGCS 159, 2024) is installed into a virtual environment of its own. Its classes are
fed what its experiments would feed them: a space's times and costs, and for each repeat the best found so far over cost. Printed are both
scores of every strategy on every space and their difference. With --unit evaluations every evaluation costs 1. The package's own score
differs from call to call, because it fits random subsets of the evaluations: it is called five times, and the spread is printed too. The
budget must reach the end of the package's range of costs: Hone's score ends at the budget, the package's holds the last value. Exit code
1 if the difference from the mean of the calls exceeds --tolerance and half of their spread.
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import venv
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALLS = 5
START, END, POINTS, CONFIDENCE = 0.01, 0.95, 10_000, 0.95  # the package's defaults


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "bin" / "hone"))
    parser.add_argument("--spaces", type=pathlib.Path, required=True, help="folder of Kernel Tuner caches")
    usual = ["pnpoly.RTX_3090", "convolution10p.MI250X", "convolution8p.RTX_Titan"]
    parser.add_argument("--only", nargs="*", default=usual, help="names of spaces")
    parser.add_argument("--strategy", action="append", required=True)
    parser.add_argument("--unit", choices=["evaluations", "seconds"], default="evaluations")
    parser.add_argument("--budget", default="400")
    parser.add_argument("--repeats", default="50")
    parser.add_argument("--tolerance", type=float, default=0.01)
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "venv-score")
    return parser.parse_args()


def enter_environment(arguments):
    python = arguments.venv / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == arguments.venv.resolve():
        return
    if not python.exists():
        venv.create(arguments.venv, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "autotuning_methodology==1.1.0"], check=True)
    os.execv(python, [str(python), *sys.argv])


def load_records(file):
    """Time (NaN where it failed) and cost in seconds of every record."""
    import numpy

    with gzip.open(file) as stream:
        text = stream.read().decode()
    try:
        cache = json.loads(text)["cache"]
    except json.JSONDecodeError:
        cache = json.loads(text.rstrip().rstrip(",") + "}}")["cache"]
    times, seconds = [], []
    for record in cache.values():
        time = record.get("time")
        times.append(time if isinstance(time, (int, float)) and 0 < time < 1e20 else numpy.nan)
        seconds.append(sum(record.get(key) or 0 for key in ("compile_time", "verification_time", "benchmark_time")) / 1e3)
    return numpy.array(times, dtype=float), numpy.array(seconds, dtype=float)


def statistics_of(times, costs):
    """The package's view of a space, filled without its file format."""
    import numpy
    from autotuning_methodology.searchspace_statistics import SearchspaceStatistics

    space = SearchspaceStatistics.__new__(SearchspaceStatistics)
    space.minimization = True
    space.size = len(times)
    space.objective_performances_total, space.objective_times_total = times, costs
    space.objective_times_total_sorted = numpy.sort(costs)
    space.objective_performances_total_sorted = numpy.sort(times[~numpy.isnan(times)])
    missing = [numpy.nan] * int(numpy.isnan(times).sum())
    space.objective_performances_total_sorted_nan = numpy.concatenate((space.objective_performances_total_sorted, missing))
    return space


def curve_of(runs):
    """The package's curve of a strategy, from traces [(times in ms or None, costs)]."""
    import numpy
    from autotuning_methodology.curves import StochasticOptimizationAlgorithm

    longest = max(len(times) for times, _ in runs)
    fevals, cost, best = (numpy.full((longest, len(runs)), numpy.nan) for _ in range(3))
    for column, (times, costs) in enumerate(runs):
        length = len(times)
        found = numpy.fmin.accumulate(numpy.array([numpy.nan if time is None else time for time in times], dtype=float))
        fevals[:length, column], cost[:length, column], best[:length, column] = numpy.arange(1, length + 1), numpy.cumsum(costs), found
    results = types.SimpleNamespace(
        fevals_results=fevals,
        objective_time_results=cost,
        objective_time_results_per_key=cost[None],
        objective_performance_best_results=best,
        objective_performance_results_per_key=best[None],
    )
    names = {"group_name": "s", "group_display_name": "s", "device_name": "device", "application_name": "kernel"}
    description = types.SimpleNamespace(**names, stochastic=True, minimization=True, get_results=lambda: results)
    return StochasticOptimizationAlgorithm(description)


def package_score(space, runs):
    """get_strategy_scores() of the package for one strategy on one space."""
    import numpy
    from autotuning_methodology.baseline import RandomSearchCalculatedBaseline

    _, _, start, end = space.cutoff_point_fevals_time_start_end(START, END)
    costs = numpy.linspace(start=start, stop=end, num=POINTS)
    parts = curve_of(runs).get_curve_over_time(costs, dist=space.objective_performances_total_sorted, confidence_level=CONFIDENCE)
    curve = numpy.concatenate([parts[2], parts[6]]) if parts[6].size else parts[2]
    return float(numpy.mean(RandomSearchCalculatedBaseline(space).get_standardised_curves(costs, [curve], x_type="time")[0]))


def replay(arguments, folder):
    """Hone's report and traces."""
    traces = pathlib.Path(folder) / "traces.json"
    command = [arguments.hone, "compare", "--json", "--traces", str(traces), "--budgets", arguments.budget, "--repeats", arguments.repeats]
    command += ["--unit", arguments.unit]
    for name in arguments.only:
        command += ["--spaces", str(arguments.spaces / f"{name}.json.gz")]
    for strategy in arguments.strategy:
        command += ["--strategy", strategy]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    runs = collections.defaultdict(list)
    for run in json.loads(traces.read_text())["runs"]:
        runs[run["strategy"], run["space"]].append((run["time_us"], run["cost"]))
    return report, runs


def nearest(times_us, sorted_ms):
    """The record's own figures: the package looks them up in the space and must find them to the last bit."""
    import numpy

    exact = []
    for time in times_us:
        if time is not None:
            place = int(numpy.searchsorted(sorted_ms, time / 1e3))
            close = sorted_ms[max(place - 1, 0) : place + 2]
            time = float(close[numpy.argmin(numpy.abs(close - time / 1e3))])
        exact.append(time)
    return exact


def main():
    arguments = parse_arguments()
    enter_environment(arguments)
    warnings.simplefilter("ignore")
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        report, traces = replay(arguments, folder)
    worst, apart = 0.0, False
    print(f"{'space':28} {'strategy':24} {'hone':>10} {'package':>10} {'spread':>10} {'difference':>10}")
    for name in arguments.only:
        times, seconds = load_records(arguments.spaces / f"{name}.json.gz")
        space = statistics_of(times, seconds if arguments.unit == "seconds" else numpy.ones(len(times)))
        for strategy in report["strategies"]:
            runs = [(nearest(run, space.objective_performances_total_sorted), cost) for run, cost in traces[strategy["name"], name]]
            scores = [package_score(space, runs) for _ in range(CALLS)]
            own = next(one["score"] for one in strategy["per_space"] if one["space"] == name)
            difference = own - numpy.mean(scores)
            worst = max(worst, abs(difference))
            apart = apart or abs(difference) > arguments.tolerance + (max(scores) - min(scores)) / 2
            figures = (own, numpy.mean(scores), max(scores) - min(scores), difference)
            print(f"{name:28} {strategy['name']:24} " + " ".join(f"{figure:10.4f}" for figure in figures), flush=True)
    print(f"largest difference {worst:.4f}")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
