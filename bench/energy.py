#!/usr/bin/env python3
"""The winner by time beside the winner by energy, of a memory-bound and of a compute-bound kernel.

usage: energy.py [--hone HONE] [--device ID] [--budget 120s] [--store FILE] [--pairs 10] [--plugin FILE] [--case "KERNEL DTYPE SHAPE [FIX]"]...

Each kernel is tuned twice, for time and for energy. Both winners are then measured in turns, each time in a process of its own: the ratios of
neighbours give the difference, its median and an interval of order statistics (95 % or more from 6 pairs on). Prints a table in Markdown.
Needs a device with an energy counter; power limits and clocks stay as they are.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

CASES = ["copy f32 n=67108864", "gemm f32 m=4096,n=4096,k=4096"]  # bound by memory, and by arithmetic


def interval(values: list[float]) -> tuple[float, float, float]:
    """Median and the narrowest pair of order statistics that holds it with 95 %; the extremes where there are too few."""
    ordered, n = sorted(values), len(values)
    rank, below = 1, 0.5**n
    while rank < n // 2 and below + math.comb(n, rank) * 0.5**n <= 0.025:
        below += math.comb(n, rank) * 0.5**n
        rank += 1
    return statistics.median(ordered), ordered[rank - 1], ordered[n - rank]


class Hone:
    def __init__(self, given: argparse.Namespace):
        self.command = given.hone
        self.common = ["--device", given.device, "--store", given.store] + (["--plugin", given.plugin] if given.plugin else [])
        self.budget = given.budget

    def call(self, verb: str, case: list[str], *more: str) -> dict:
        kernel, dtype, shape = case[:3]
        words = [self.command, verb, kernel, "--dtype", dtype, "--shape", shape, *self.common, *more, "--json"]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{ended.stderr}")
        return json.loads(ended.stdout)

    def winner(self, case: list[str], objective: str) -> dict:
        fixed = ["--fix", case[3]] if len(case) > 3 else []
        return self.call("tune", case, "--budget", self.budget, "--objective", objective, *fixed)["best"]["config"]

    def measured(self, case: list[str], config: dict) -> dict:
        text = ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config.items())
        return self.call("run", case, "--config", text, "--objective", "energy")


def changed(by_time: dict, by_energy: dict) -> str:
    return ", ".join(f"{name} {by_time[name]} → {by_energy[name]}" for name in by_time if by_time[name] != by_energy[name]) or "nothing"


def percent(ratios: list[float]) -> str:
    middle, low, high = (100 * (ratio - 1) for ratio in interval(ratios))
    return f"{middle:+.2f} % ({low:+.2f} to {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--store", default="energy.db")
    parser.add_argument("--plugin")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--case", action="append", help="default: " + "; ".join(CASES))
    given = parser.parse_args()
    hone = Hone(given)
    print("| kernel | winner by energy, from that by time | time by time | time by energy | energy by time | energy by energy | change of energy | change of time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for case in (text.split(maxsplit=3) for text in given.case or CASES):
        by_time, by_energy = hone.winner(case, "time"), hone.winner(case, "energy")
        pairs = [(hone.measured(case, by_time), hone.measured(case, by_energy)) for _ in range(given.pairs)]
        middle = lambda which, field: statistics.median(pair[which][field] for pair in pairs)
        print(
            f"| {' '.join(case[:3])} | {changed(by_time, by_energy)} | {middle(0, 'time_us'):.2f} us | {middle(1, 'time_us'):.2f} us "
            f"| {1e3 * middle(0, 'energy_j'):.3f} mJ | {1e3 * middle(1, 'energy_j'):.3f} mJ "
            f"| {percent([b['energy_j'] / a['energy_j'] for a, b in pairs])} | {percent([b['time_us'] / a['time_us'] for a, b in pairs])} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
