#!/usr/bin/env python3
"""What a proposal costs a strategy: the mean over a long search, and over its last asks.

    python3 bench/ask_time.py --hone build/bin/hone --space SPACES/gemm.RTX_2080_Ti.json.gz --strategy auto --strategy bayesian

A replayed search ends when it finds the optimum, which here would be long before the history is long. So the search runs on a copy of the
recorded space in which one of the slowest configurations is made the fastest: nothing leads there. The two budgets are asked of the same
seed, so the longer search goes on where the shorter one ended, and their difference is the last asks alone.
"""

import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=str(ROOT / "build" / "bin" / "hone"))
    parser.add_argument("--space", type=pathlib.Path, required=True, help="a Kernel Tuner cache")
    parser.add_argument("--strategy", action="append", required=True)
    parser.add_argument("--evaluations", type=int, default=500)
    parser.add_argument("--last", type=int, default=100, help="asks at the end of the search that are also averaged alone")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--best-of", type=int, default=1, help="runs, of which the fastest counts: for a machine that others use")
    return parser.parse_args()


def hide_optimum(space, folder):
    """Writes the copy."""
    with gzip.open(space, "rt") as file:
        document = json.load(file)
    right = [record for record in document["cache"].values() if isinstance(record.get("time"), (int, float))]
    slowest, fastest = max(right, key=lambda record: record["time"]), min(right, key=lambda record: record["time"])
    time = 0.99 * min(fastest.get("times") or [fastest["time"]])
    slowest.update(time=time, times=[time] * len(slowest.get("times") or [time]))
    with gzip.open(folder / space.name, "wt") as file:
        json.dump(document, file)
    return len(document["cache"])


def replay(arguments, folder, strategy, evaluations):
    """(asks of a search, microseconds of all of them, microseconds of the longest per cent)"""
    command = [arguments.hone, "compare", "--spaces", folder, "--strategy", strategy, "--budgets", evaluations, "--repeats",
               arguments.repeats, "--jobs", 1, "--json"]
    answer = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"ask_time.py: {answer.stderr.strip()}")
    report = json.loads(answer.stdout)["strategies"][0]
    asks = (report["evaluations"] + report["repeated"]) / report["runs"]
    return asks, asks * report["ask_us"]["mean"], report["ask_us"]["p99"]


def fastest(arguments, folder, strategy, evaluations):
    """The same of several runs, each time the least of them."""
    runs = [replay(arguments, folder, strategy, evaluations) for _ in range(arguments.best_of)]
    return tuple(min(values) for values in zip(*runs))


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        size = hide_optimum(arguments.space, folder)
        print(f"{arguments.space.name}, {size} configurations, {arguments.repeats} searches, best of {arguments.best_of}\n")
        print(f"| strategy | asks | us, mean | us, last {arguments.last} | us, longest per cent |\n|---|---|---|---|---|")
        for strategy in arguments.strategy:
            asks, total, longest = fastest(arguments, folder, strategy, arguments.evaluations)
            before, total_before, _ = fastest(arguments, folder, strategy, arguments.evaluations - arguments.last)
            last = f"{(total - total_before) / (asks - before):.3g}" if asks > before else "-"
            print(f"| {strategy} | {asks:.0f} | {total / asks:.3g} | {last} | {longest:.3g} |", flush=True)


if __name__ == "__main__":
    main()
