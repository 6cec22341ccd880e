#!/usr/bin/env python3
"""`auto` against `random` and against exhaustive search on a GPU, all else equal.

    python3 bench/search_gpu.py --hone build/bin/hone --out OUT_DIR [--seeds 10] [--trials 200] [--exhaustive 300s] [--problem K:DTYPE:SHAPE]...

For each problem every configuration is tried once (or as many as the budget allows, in a random order: then "best known" is the best of those and
of all searches). Then each strategy searches with each seed from an empty store, so that compilation is paid every time and nothing is transferred.
A search is judged by the times of the exhaustive session, not by its own: a lucky sample cannot win. Printed, and written as search_gpu.json and
search_gpu.md: mean fraction of the best known after N trials, trials and seconds to 95 % of it.
"""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import time

PROBLEMS = ["transpose:bf16:rows=4096,cols=4096", "softmax:bf16:rows=128,cols=131072", "gemm:f32:m=1024,n=1024,k=1024"]
MARKS = (25, 50, 100, 200)
GOAL = 0.95


def tune(hone, problem, strategy, seed, budget, store):
    """One session; returns its report, or exits with what the command said."""
    kernel, dtype, shape = problem
    command = [hone, "tune", kernel, "--device", "cuda:0", "--dtype", dtype, "--shape", shape, "--strategy", strategy, "--seed", str(seed),
               "--budget", budget, "--store", str(store), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def trials(store):
    """(configuration, median or None, seconds since the session began) in the order tried."""
    rows = sqlite3.connect(store).execute(
        "SELECT t.configuration, CASE WHEN t.outcome = 'ok' THEN t.median_us END, (julianday(t.created_at) - julianday(s.created_at)) * 86400 "
        "FROM trial t JOIN session s ON s.id = t.session ORDER BY t.id")
    return rows.fetchall()


def judge(search, table, best_us):
    """Fraction of the best known after each trial, and the seconds each took from the start."""
    fractions, found = [], float("inf")
    for configuration, own_us, _ in search:
        judged = table.get(configuration, own_us)
        found = min(found, judged if judged and own_us else float("inf"))
        fractions.append(best_us / found)
    return fractions, [seconds for _, _, seconds in search]


def summary(searches):
    """Means over seeds; a search that never reaches the goal counts with all its trials and seconds."""
    reached = [next((i for i, f in enumerate(fractions) if f >= GOAL), None) for fractions, _ in searches]
    trials_to = [len(fractions) if r is None else r + 1 for (fractions, _), r in zip(searches, reached)]
    seconds_to = [seconds[-1] if r is None else seconds[r] for (_, seconds), r in zip(searches, reached)]
    return {
        "seeds": len(searches),
        "fractions": {str(n): statistics.mean(f[min(n, len(f)) - 1] for f, _ in searches) for n in MARKS},
        "reached": sum(r is not None for r in reached),
        "trials_to_goal": statistics.mean(trials_to), "trials_to_goal_worst": max(trials_to),
        "seconds_to_goal": statistics.mean(seconds_to), "seconds_in_all": statistics.mean(s[-1] for _, s in searches),
    }


def measure(arguments, problem, folder):
    name = "-".join(problem).replace(",", "-").replace("=", "")
    exhaustive_store = folder / f"{name}.exhaustive.db"
    started = time.monotonic()
    report = tune(arguments.hone, problem, "random", 0, arguments.exhaustive, exhaustive_store)
    record = trials(exhaustive_store)
    table = {configuration: us for configuration, us, _ in record if us}
    searches = {strategy: [] for strategy in arguments.strategies}
    for seed in range(1, arguments.seeds + 1):
        for strategy in arguments.strategies:
            store = folder / f"{name}.{strategy}.{seed}.db"
            tune(arguments.hone, problem, strategy, seed, f"{arguments.trials}trials", store)
            searches[strategy].append(trials(store))
            store.unlink()
    best_us = min([*table.values(), *(us for runs in searches.values() for run in runs for configuration, us, _ in run
                                      if us and configuration not in table)])
    judged = {strategy: [judge(run, table, best_us) for run in runs] for strategy, runs in searches.items()}
    first = next(i for i, f in enumerate(judge(record, table, best_us)[0]) if f >= GOAL)
    return {"kernel": problem[0], "dtype": problem[1], "shape": problem[2], "valid": report["space"]["valid"], "tried": len(record),
            "best_us": best_us, "default_us": (report["default"] or {}).get("time_us"), "exhaustive_seconds": record[-1][2],
            "exhaustive_trials_to_goal": first + 1, "strategies": {s: summary(j) for s, j in judged.items()},
            "wall_seconds": time.monotonic() - started}


def markdown(results):
    lines = []
    for r in results:
        lines += [f"## {r['kernel']} {r['dtype']} {r['shape']}", "",
                  f"{r['tried']} of {r['valid']} configurations tried in {r['exhaustive_seconds']:.0f} s; best known {r['best_us']:.2f} us, "
                  f"default {r['default_us']:.2f} us.", "",
                  "| strategy | " + " | ".join(f"at {n}" for n in MARKS) + " | reached 95 % | trials to 95 % (worst) | seconds to 95 % | seconds in all |",
                  "|" + "---|" * (len(MARKS) + 5)]
        for strategy, s in r["strategies"].items():
            lines.append(f"| {strategy} | " + " | ".join(f"{s['fractions'][str(n)]:.3f}" for n in MARKS) +
                         f" | {s['reached']} of {s['seeds']} | {s['trials_to_goal']:.0f} ({s['trials_to_goal_worst']}) | "
                         f"{s['seconds_to_goal']:.1f} | {s['seconds_in_all']:.1f} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--out", default=".", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--exhaustive", default="300s", help="budget of the session that tries everything")
    parser.add_argument("--problem", action="append", help="KERNEL:DTYPE:SHAPE, repeatable")
    parser.add_argument("--strategies", nargs="+", default=["auto", "random"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = []
    for problem in arguments.problem or PROBLEMS:
        results.append(measure(arguments, problem.split(":"), arguments.out))
        (arguments.out / "search_gpu.json").write_text(json.dumps(results, indent=1) + "\n")
        (arguments.out / "search_gpu.md").write_text(markdown(results))
        print(markdown(results[-1:]), flush=True)


if __name__ == "__main__":
    main()
