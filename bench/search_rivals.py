#!/usr/bin/env python3
"""Replays other people's search strategies on recorded tuning spaces, without a GPU, and puts Hone's own beside them.

    python3 bench/search_rivals.py --spaces DIR --repeats 100 --repeats-slow 10 --out rivals.json --hone build/bin/hone

DIR holds Kernel Tuner cache files (*.json.gz). The score is best possible time / best time found after so many unique evaluations: a
configuration that failed counts as one, a repeated proposal is free, 0 as long as nothing succeeded; where a strategy ends early its last
value holds on. A strategy is run once for the largest budget, as its user would, and read at the smaller ones. Printed is the mean over
spaces and repeats with a 95 % bootstrap interval over repeats. Repeat N has the random seed N.

Kernel Tuner and Optuna are installed into a virtual environment of their own. Every repeat that ends is kept beside the output file, so
that a run that was interrupted, or is asked for more repeats, goes on where it was. --only-report prints what is there.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time
import venv
import warnings

from search_rivals.recorded import Trace, list_spaces

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = {  # a package and the module that shows whether it is there
    "kernel_tuner": {"kernel_tuner": "kernel_tuner", "scikit-learn": "sklearn"},  # the second for its bayes_opt
    "optuna": {"optuna": "optuna", "scipy": "scipy"},  # the second for its GPSampler
}
OPTIONAL = {"optuna": {"torch": "torch"}}  # for its GPSampler, which is left out without it
SLOW = {
    "kernel_tuner": ["basinhopping", "bayes_opt", "dual_annealing, uncapped", "hybrid_vndx", "nsga2", "nsga3"],
    "optuna": ["TPESampler, pruned", "TPESampler, repaired", "GPSampler, repaired", "GPSampler, listed"],
}
SEARCH_LIMIT_S = 600.0  # CPU time of one search: a strategy that only repeats itself would never end

inherited = {}  # what a forked search takes over: the prepared space, the budget


class SearchTooLong(BaseException):
    """Not an Exception: a strategy that catches those must not swallow it."""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", type=pathlib.Path, required=True, help="folder of recorded spaces")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="JSON file for the table; repeats are kept in a folder beside it")
    parser.add_argument("--budgets", type=lambda text: sorted(map(int, text.split(","))), default=[25, 50, 100, 200])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--repeats-slow", type=int, default=10, help="repeats of the strategies that take half a second and more a search")
    parser.add_argument("--only", choices=list(REQUIREMENTS), help="one of the two tools")
    parser.add_argument("--strategies", type=lambda text: text.split(";"), help="only these, separated by semicolons")
    parser.add_argument("--jobs", type=int, default=1, help="searches run at the same time")
    parser.add_argument("--hone", help="the hone command, whose own strategies join the table")
    parser.add_argument("--hone-strategies", type=lambda text: text.split(";"), default=["auto"], help="separated by semicolons")
    parser.add_argument("--only-report", action="store_true", help="run no search; print what is there")
    parser.add_argument("--check", action="store_true", help="compare with Kernel Tuner's own entry point on the smallest space")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "venv-search")
    parser.add_argument("--without-torch", action="store_true", help="do not install torch: Optuna's GPSampler is left out")
    parser.add_argument("--torch-index", help="package index for torch: the default one's Linux package brings gigabytes of CUDA libraries")
    return parser.parse_args()


def enter_environment(arguments, tools):
    """Goes on in the virtual environment, made and filled where it is missing, with one thread a process."""
    python = arguments.venv / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == arguments.venv.resolve():
        return
    if not python.exists():
        venv.create(arguments.venv, with_pip=True)
    for tool in tools:
        if not is_there(python, REQUIREMENTS[tool]):
            install(python, REQUIREMENTS[tool], None)
        optional = {} if arguments.without_torch else OPTIONAL.get(tool, {})
        if not is_there(python, optional):
            try:
                install(python, optional, arguments.torch_index)
            except subprocess.CalledProcessError:
                print("going on without", *optional, flush=True)
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    os.execve(python, [str(python), *sys.argv], os.environ | threads)


def is_there(python, packages):
    return not packages or subprocess.run([python, "-c", "import " + ", ".join(packages.values())], stderr=subprocess.DEVNULL).returncode == 0


def install(python, packages, torch_index):
    print("installing", *packages, flush=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    if torch_index and "torch" in packages:
        subprocess.run([*pip, "--index-url", torch_index, "torch"], check=True)
        packages = [package for package in packages if package != "torch"]
    if packages:
        subprocess.run([*pip, *packages], check=True)


def versions(tools):
    """Of the packages that are installed."""
    found = {}
    for package in (package for tool in tools for package in [*REQUIREMENTS[tool], *OPTIONAL.get(tool, {})]):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


class Runs:
    """The finished searches of one strategy on one space: a file of one JSON object a line, to which every repeat is added."""

    def __init__(self, folder, tool, strategy, space, budget):
        self.path = folder / f"{tool}.{strategy.replace(', ', '-')}.{space}.{budget}.jsonl"

    def read(self):
        """A line that was cut off counts as a repeat that is missing."""
        runs = []
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            with contextlib.suppress(json.JSONDecodeError):
                runs.append(json.loads(line))
        return runs

    def missing(self, repeats):
        return sorted(set(range(repeats)) - {run["seed"] for run in self.read()})

    def add(self, run):
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")


def stop_search(signal_number, frame):
    raise SearchTooLong


def one_search(job):
    """In a forked process, so that no search sees what the one before it left behind in the shared space."""
    strategy, seed = job
    trace = Trace(inherited["search"].space)
    signal.signal(signal.SIGPROF, stop_search)
    signal.setitimer(signal.ITIMER_PROF, SEARCH_LIMIT_S)
    warnings.simplefilter("ignore")
    started = time.process_time()
    ended = "done"
    try:
        inherited["search"].run(strategy, seed, inherited["budget"], trace)
    except (Exception, SearchTooLong) as error:  # what it had found until then counts
        ended = repr(error)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {"strategy": strategy, "seed": seed, "ended": ended, "seconds": round(time.process_time() - started, 4),
            "evaluations": len(trace.seen), "improvements": trace.improvements}


def run_space(tool, space, jobs, keep, budget, processes):
    """Runs the searches of one space and hands each to `keep` as it ends."""
    module = importlib.import_module(f"search_rivals.with_{tool}")
    inherited.update(search=module.Search(space), budget=budget)
    gc.collect()
    gc.freeze()  # or the first collection in every forked process would copy all pages
    with multiprocessing.get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        for run in pool.imap_unordered(one_search, jobs, chunksize=1):
            keep[run["strategy"]].add(run)
    gc.unfreeze()


def run_all(tool, strategies, repeats, spaces, arguments, folder):
    """Brings every strategy to its repeats, space by space."""
    budget = arguments.budgets[-1]
    for space in spaces:
        keep = {strategy: Runs(folder, tool, strategy, space.name, budget) for strategy in strategies}
        jobs = [(strategy, seed) for strategy, runs in keep.items() for seed in runs.missing(repeats)]
        if jobs:
            started = time.perf_counter()
            run_space(tool, space, jobs, keep, budget, arguments.jobs)
            seconds = time.perf_counter() - started
            print(f"{time.strftime('%H:%M:%S')} {tool} {space.name}: {len(jobs)} searches in {seconds:.0f} s", flush=True)


def collect(tool, strategy, spaces, budget, folder):
    """The repeats of a strategy that are there on every space, by space."""
    found = {space.name: {run["seed"]: run for run in Runs(folder, tool, strategy, space.name, budget).read()} for space in spaces}
    seeds = sorted(set.intersection(*map(set, found.values())))
    return {name: [by_seed[seed] for seed in seeds] for name, by_seed in found.items()} if seeds else None


def report(arguments, tools, spaces, folder):
    """Writes and prints the table of what is there."""
    from search_rivals import table

    by_name = {space.name: space for space in spaces}
    rows = []
    for tool in tools:
        strategies = importlib.import_module(f"search_rivals.with_{tool}").STRATEGIES
        for strategy in strategies:
            if runs := collect(tool, strategy, spaces, arguments.budgets[-1], folder):
                rows.append(table.row_of(tool, strategy, runs, by_name, arguments.budgets))
    if arguments.hone:
        rows += table.hone_rows(arguments.hone, arguments.hone_strategies, arguments.spaces, arguments.budgets,
                                arguments.repeats, arguments.jobs)
    left_out = {tool: importlib.import_module(f"search_rivals.with_{tool}").LEFT_OUT for tool in tools}
    packages = versions(tools)
    document = {"budgets": arguments.budgets, "spaces": list(by_name), "packages": packages, "left_out": left_out, "rows": rows}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n")
    if rows:
        print(table.markdown(rows, arguments.budgets, 100 if 100 in arguments.budgets else arguments.budgets[-1]))
    for row in rows:
        if row.get("broken_off"):
            print(f"\n{row['tool']} {row['strategy']}: {row['broken_off']} searches broken off by an error or the time limit")
    print("\n" + ", ".join(f"{package} {version}" for package, version in packages.items()) + f"; {len(spaces)} spaces")
    for tool, reasons in left_out.items():
        print(f"not run of {tool}: " + "; ".join(f"{strategy} ({reason})" for strategy, reason in reasons.items()))


def check(spaces, budget):
    """Says for every strategy of Kernel Tuner whether the shared space gives what Kernel Tuner's own entry point gives."""
    from search_rivals import with_kernel_tuner

    smallest = min(spaces, key=lambda space: len(space.times))
    for strategy in with_kernel_tuner.STRATEGIES:
        if strategy != with_kernel_tuner.UNCAPPED:
            print(smallest.name, strategy, with_kernel_tuner.differences(smallest, strategy, 0, budget) or "the same", flush=True)


def main():
    arguments = parse_arguments()
    tools = [arguments.only] if arguments.only else list(REQUIREMENTS)
    enter_environment(arguments, tools)
    spaces = list_spaces(arguments.spaces)
    if not spaces:
        sys.exit(f"no recorded spaces in {arguments.spaces}")
    if arguments.check:
        check(spaces, arguments.budgets[-1])
        return
    folder = arguments.out.with_suffix(".runs")
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.only_report:
        for tool in tools:
            names = importlib.import_module(f"search_rivals.with_{tool}").STRATEGIES
            for slow in (False, True):
                chosen = [name for name in arguments.strategies or names if name in names and (name in SLOW[tool]) == slow]
                run_all(tool, chosen, arguments.repeats_slow if slow else arguments.repeats, spaces, arguments, folder)
    report(arguments, tools, spaces, folder)


if __name__ == "__main__":
    main()
