#!/usr/bin/env python3
"""How near does a search without the kernels' expectations come to the best that is known?

    bench/without_expectations.py --hone path/to/hone [--budgets 10s,30s] [--known first:30s,ignore:60s] [--device cuda:0] [--json FILE] [KERNEL:DTYPE:SHAPE...]

Each problem is searched in every budget with --likely ignore, each session in a store of its own that knows nothing, and not beginning with
what comes with Hone (--no-transfer; --shipped: beginning with it). The sessions of --known look for the best that is known: with
expectations first, and longer without any. At the end all winners are timed again in turn.
Prints, by problem, the time of every session's winner over the least of all, and for each budget the geometric mean.
"""
import argparse
import json
import math
import pathlib
import statistics
import tempfile

from builds import call, spelled

PROBLEMS = ["softmax:f32:rows=4096,cols=4096", "softmax:bf16:rows=128,cols=131072", "layernorm:bf16:rows=16384,cols=1024",
            "gemm:f32:m=1024,n=1024,k=1024", "gemm:f32:m=4096,n=4096,k=4096", "gemm_wgmma:bf16:m=1024,n=1024,k=1024",
            "gemm_wgmma:bf16:m=1536,n=1536,k=1536"]


def search(options, problem, likely, budget, seed):
    kernel, dtype, shape = problem.split(":")
    with tempfile.TemporaryDirectory() as folder:
        report = call(options.hone, "tune", kernel, "--dtype", dtype, "--shape", shape, "--device", options.device, "--likely", likely,
                      "--budget", budget, "--seed", str(seed), "--store", f"{folder}/S.db", *([] if options.shipped else ["--no-transfer"]))
    return {"likely": likely, "budget": budget, "config": report["best"]["config"], "session_us": report["best"]["time_us"],
            "trials": sum(report["outcomes"].values()), "outcomes": report["outcomes"], "seconds": report["seconds"], "device_idle": report["device_idle"], "stages": report["stages"]}


def time_again(options, problem, found):
    """Of every winner, the median of some runs in turn."""
    kernel, dtype, shape = problem.split(":")
    times = {spelled(one["config"]): [] for one in found}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.runs):
            for config, known in times.items():
                ran = call(options.hone, "run", kernel, "--dtype", dtype, "--shape", shape, "--device", options.device, "--config", config,
                           "--store", f"{folder}/S.db")
                known.append(ran["time_us"])
    for one in found:
        one["time_us"] = statistics.median(times[spelled(one["config"])])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", required=True)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budgets", default="10s,30s")
    parser.add_argument("--known", default="first:30s,ignore:60s", metavar="LIKELY:BUDGET,...")
    parser.add_argument("--runs", type=int, default=3, help="of each winner, at the end (default: 3)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shipped", action="store_true", help="begin with what portfolios that came with Hone would choose")
    parser.add_argument("--json", help="everything, as JSON")
    parser.add_argument("problems", nargs="*", metavar="KERNEL:DTYPE:SHAPE")
    options = parser.parse_args()
    for problem in options.problems:
        if problem.count(":") != 2:
            parser.error(f"'{problem}' is not KERNEL:DTYPE:SHAPE, as {PROBLEMS[0]} is")
    sessions = [("ignore", budget) for budget in options.budgets.split(",")]
    judged = len(sessions)
    sessions += [tuple(known.split(":")) for known in options.known.split(",") if known]
    print("| problem | best, us | " + " | ".join(f"{likely} {budget}" for likely, budget in sessions) + " | trials |")
    print("|---" * (len(sessions) + 3) + "|")
    results = []
    for problem in options.problems or PROBLEMS:
        found = [search(options, problem, likely, budget, options.seed + i) for i, (likely, budget) in enumerate(sessions)]
        time_again(options, problem, found)
        best = min(one["time_us"] for one in found)
        results.append({"problem": problem, "best_us": best, "sessions": found})
        ratios = " | ".join(f"{one['time_us'] / best:.3f}" for one in found)
        print(f"| {problem} | {best:.2f} | {ratios} | {', '.join(str(one['trials']) for one in found)} |", flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(results, indent=1))
    print()
    for i, (_, budget) in enumerate(sessions[:judged]):
        ratios = [one["sessions"][i]["time_us"] / one["best_us"] for one in results]
        print(f"without expectations, {budget}: geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.4f}, worst {max(ratios):.3f}")


if __name__ == "__main__":
    main()
