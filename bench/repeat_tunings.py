#!/usr/bin/env python3
"""How well do sessions repeat? Each problem is tuned with many seeds, each time in a store of its own, and the winners are timed again.

    bench/repeat_tunings.py [--hone build/bin/hone] [--device cuda:0] [--seeds 32] [--budget 2s] [--likely first] [--rounds 3] [--json FILE] [KERNEL:DTYPE:SHAPE...]

The winners of a problem are timed in rounds, each of them once in a round, in an order that is shuffled anew; a winner's time is the median of
its rounds. Of several devices, sessions use all and this the first. Prints, by problem: how many configurations there are and how many a
session tried, how many different winners there were, how many sessions ended within 1 % of the best of all winners, the worst, how many configurations could not be told from a winner, and what was lost by
whom: of a session's winner over the best of all, measuring lost its ratio to the best of all winners that this session has tried, and the search
lost the rest (medians, and the worst).
"""
import argparse
import json
import random
import statistics
import subprocess
import tempfile

PROBLEMS = ["softmax:bf16:rows=8192,cols=8192", "softmax:f32:rows=4096,cols=4096", "gemm:f32:m=2048,n=2048,k=2048",
            "gemm_mma:bf16:m=1024,n=1024,k=1024", "copy:f32:n=67108864"]


def hone(options, *arguments):
    device = options.device if arguments[0] == "tune" else options.device.split(",")[0]
    ended = subprocess.run([options.hone, *arguments, "--json", "--device", device], capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: exit code {ended.returncode}: {ended.stderr.strip()}")
    return json.loads(ended.stdout)


def spelled(config):
    return ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config.items())


def tune(options, kernel, dtype, shape, seed):
    """The report, and all that the session has tried."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/S.db"
        report = hone(options, "tune", kernel, "--dtype", dtype, "--shape", shape, "--budget", options.budget, "--seed", str(seed), "--likely",
                      options.likely, "--store", store)
        listed = subprocess.run([options.hone, "sessions", str(report["session"]), "--kernel", kernel, "--store", store, "--json"],
                                capture_output=True, text=True, check=True)
        return report, {spelled(trial["config"]) for trial in json.loads(listed.stdout)["results"] if trial["outcome"] == "ok"}


def time_again(options, kernel, dtype, shape, winners):
    times = {winner: [] for winner in winners}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            order = sorted(winners)
            random.shuffle(order)
            for winner in order:
                ran = hone(options, "run", kernel, "--dtype", dtype, "--shape", shape, "--config", winner, "--store", f"{folder}/S.db")
                times[winner].append(ran["time_us"])
    return {winner: statistics.median(of_one) for winner, of_one in times.items()}


def measure(options, problem):
    kernel, dtype, shape = problem.split(":")
    sessions = [tune(options, kernel, dtype, shape, seed) for seed in range(options.seeds)]
    reports = [report for report, _ in sessions]
    winners = [spelled(report["best"]["config"]) for report in reports]
    times = time_again(options, kernel, dtype, shape, set(winners))
    best = min(times.values())
    ratios = sorted(times[winner] / best for winner in winners)
    reached = [min(time for config, time in times.items() if config in tried | {winner}) for (_, tried), winner in zip(sessions, winners)]
    by_measuring = sorted(times[winner] / best_tried for winner, best_tried in zip(winners, reached))
    by_search = sorted(best_tried / best for best_tried in reached)
    return {"problem": problem, "valid": reports[0]["space"]["valid"], "tried": statistics.median(r["trials"] for r in reports),
            "winners": len(times), "within": sum(ratio <= 1.01 for ratio in ratios), "sessions": len(ratios), "best_us": best,
            "median": statistics.median(ratios), "worst": ratios[-1], "tied": statistics.median(len(r["tied"]) for r in reports),
            "ratios": ratios, "winners_us": [times[winner] for winner in winners], "by_measuring": by_measuring, "by_search": by_search}


def median_and_worst(ratios):
    return f"{statistics.median(ratios):.3f}, {ratios[-1]:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--budget", default="2s")
    parser.add_argument("--likely", default="first", help="only: no more than the likely configurations")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    options = parser.parse_args()
    rows = []
    print("| problem | valid | tried | different winners | within 1 % | median | worst | ties | lost by measuring | lost by the search |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for problem in options.problems:
        row = measure(options, problem)
        rows.append(row)
        print(f"| {problem} | {row['valid']} | {row['tried']:.0f} | {row['winners']} | {row['within']} of {row['sessions']} | "
              f"{row['median']:.3f} | {row['worst']:.3f} | {row['tied']:.0f} | {median_and_worst(row['by_measuring'])} | {median_and_worst(row['by_search'])} |", flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
