#!/usr/bin/env python3
"""Is a build better than another one? Both tune the cases of the vendor table, in turn, each in a store of its own.

    bench/builds.py --before path/to/old/hone --after path/to/new/hone [--device cuda:0] [--budget 6s] [--rounds 1] [--part 1/1] [--json FILE]
                    [--after-options "--likely ignore"] [WORK:DTYPE:EXTENTS...]

Prints, by case, the winners' times by the sessions' own final rounds, their ratio (above 1: `after` is faster), the ratio when `after` times both winners again in
turn, and the trials that both made; at the end the geometric mean of either ratio, the least, and how many are below 0.97. Of several kernels for one case (bf16 products) the fastest counts. --part 2/4 takes every fourth case, from the
second on: for several devices of a host.
"""
import argparse
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from vendor.cases import TABLE, Case, kernels_for  # noqa: E402

RUNS = 3


def all_cases():
    return [Case(work, dtype, tuple(extents)) for work, dtypes, shapes in TABLE for dtype in dtypes for extents in shapes]


def call(hone, *arguments):
    ended = subprocess.run([hone, *arguments, "--json"], capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"{hone} {' '.join(arguments)}: exit code {ended.returncode}: {ended.stderr.strip()[-300:]}")
    return json.loads(ended.stdout)


def problem_fields(hone):
    return {kernel["name"]: tuple(call(hone, "kernels", kernel["name"])["shape"]) for kernel in call(hone, "kernels")["kernels"]}


def tune(options, hone, more, kernel, case, fields, seed):
    shape = ",".join(f"{field}={case.shape[field]}" for field in fields if field in case.shape)
    with tempfile.TemporaryDirectory() as folder:
        report = call(hone, "tune", kernel, "--dtype", case.dtype, "--shape", shape, "--device", options.device, "--budget", options.budget,
                      "--seed", str(seed), "--store", f"{folder}/S.db", *more)
    trials = report["outcomes"]  # newer builds; `trials` was the object once
    return report["best"]["time_us"], sum(trials.values()), report["best"]["config"], kernel


def measure(options, case, fields):
    """The fastest of all kernels by each build, the better of its rounds."""
    best = {}
    for round_of in range(options.rounds):
        for build, hone, more in (("before", options.before, []), ("after", options.after, shlex.split(options.after_options))):
            found = [tune(options, hone, more, kernel, case, fields[kernel], options.seed + round_of) for kernel in kernels_for(case, fields)]
            time_us, _, config, kernel = min(found, key=lambda one: one[0])
            known = best.get(build)
            trials = sum(one[1] for one in found) + (known["trials"] if known else 0)
            best[build] = {"time_us": time_us, "config": config, "kernel": kernel} if known is None or time_us < known["time_us"] else known
            best[build]["trials"] = trials
    return best


def spelled(config):
    return ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in config.items())


def ratio_again(options, case, fields, best):
    """Of the two winners' times by the same build, each the median of some runs in turn; nothing where it does not have one of them."""
    times = {"before": [], "after": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            for build, found in times.items():
                kernel, shape = best[build]["kernel"], ",".join(f"{f}={case.shape[f]}" for f in fields[best[build]["kernel"]] if f in case.shape)
                try:
                    ran = call(options.after, "run", kernel, "--dtype", case.dtype, "--shape", shape, "--device", options.device, "--config",
                               spelled(best[build]["config"]), "--store", f"{folder}/S.db")
                except RuntimeError:
                    return None
                found.append(ran["time_us"])
    return statistics.median(times["before"]) / statistics.median(times["after"])


def summary(name, ratios, cases):
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name}: {len(ratios)} of {cases} cases, geometric mean {mean:.4f}, least {min(ratios):.3f}, below 0.97: {sum(ratio < 0.97 for ratio in ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--after-options", default="")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--budget", default="6s")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--json", help="everything, as JSON")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    part, parts = (int(number) for number in options.part.split("/"))
    known = {case.name: case for case in all_cases()}
    for name in options.cases:
        if name not in known:
            parser.error(f"unknown case {name}; there are {', '.join(known)}")
    cases = [known[name] for name in options.cases or known][part - 1::parts]
    fields = problem_fields(options.after)
    rows = []
    print("| case | before, us | after, us | ratio | again | trials before, after |\n|---|---|---|---|---|---|")
    for case in cases:
        try:
            best = measure(options, case, fields)
        except RuntimeError as error:
            print(f"| {case.name} | {error} | | | | |", flush=True)
            continue
        ratio = best["before"]["time_us"] / best["after"]["time_us"]
        again = ratio_again(options, case, fields, best)
        rows.append({"case": case.name, "ratio": ratio, "again": again, **best})
        print(f"| {case.name} | {best['before']['time_us']:.3f} | {best['after']['time_us']:.3f} | {ratio:.3f} | "
              f"{'' if again is None else format(again, '.3f')} | "
              f"{best['before']['trials']}, {best['after']['trials']} |", flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps({"budget": options.budget, "results": rows}, indent=1))
    print()
    summary("by the sessions", [row["ratio"] for row in rows], len(cases))
    summary("again", [row["again"] for row in rows if row["again"]], len(cases))


if __name__ == "__main__":
    main()
