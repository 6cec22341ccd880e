#!/usr/bin/env python3
"""Records search spaces of the kernels in bench/recordings on a device, for hone compare.

    python3 bench/record_spaces.py --hone build/bin/hone --device cuda:0 --out DIR [--uniform 1000] [--local 400] [--part 1800] [--seconds 540]

Six kernels at two shapes. Of each of the twelve problems --uniform configurations are drawn from all legal ones, and --local follow by an iterated local
search, which knows nothing of the others; both tell what is legal, not what is likely. Beside them each kernel has a part of its space at its first shape
that is tried from end to end: a seed draws so many of each parameter's values that --part configurations are left at most, the defaults among them.
Each file holds failures, stage times, registers, spills, shared memory and occupancy as `hone sessions --record` writes them. A session ends early
when its share of --seconds is used up: what was tried is what is recorded, and DIR/summary.json says how much that is.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import time

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")
SHAPES = {
    "stencil3d": ["nx=256,ny=256,nz=256", "nx=100,ny=120,nz=400"],
    "nbody": ["n=8192", "n=3000"],
    "conv2d": ["rows=2048,cols=2048,size=7", "rows=4096,cols=512,size=3"],
    "spmv": ["rows=131072,cols=131072,entries=2097152", "rows=16384,cols=1048576,entries=4194304"],
    "key_sums": ["n=8388608,bins=256", "n=2097152,bins=8192"],
    "hadamard": ["rows=32768,log_len=8", "rows=8192,log_len=9"],
}
PART_SEED = {"stencil3d": 4, "nbody": 4, "conv2d": 4, "spmv": 5, "key_sums": 1, "hadamard": 4}  # of parts of 860 configurations and more with 8 or 9 parameters


def hone(arguments, *words):
    done = subprocess.run([arguments.hone, *words, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr or done.stdout)
        return None
    return json.loads(done.stdout)


def parameters_of(arguments, file):
    described = hone(arguments, "kernels", file)
    return {p["name"]: (p["values"], p["default"]) for p in described["parameters"]}


def part_of(arguments, file, shape, most, seed):
    """Values to keep of each parameter, as --fix takes them: values go one at a time, until few enough configurations are left."""
    chance, share = random.Random(seed), 1.0
    kept = {name: (list(values), default) for name, (values, default) in parameters_of(arguments, file).items()}
    while True:
        if share * math.prod(len(values) for values, _ in kept.values()) <= 1.2 * most:  # few enough, as far as is known: count them
            fix = ",".join(f"{name}=" + "|".join(values) for name, (values, _) in kept.items())
            space = hone(arguments, "space", file, "--shape", shape, "--device", arguments.device, "--fix", fix)
            if space is None:
                return None
            if 0 < space["size"] <= most:
                return fix
            share = space["size"] / space["cartesian"]
        # Of the parameters with the most values more often: what is left has several values of each.
        name = chance.choices(list(kept), [(len(values) - 1) ** 2 for values, _ in kept.values()])[0]
        values, default = kept[name]
        values.remove(chance.choice([v for v in values if v != default]))


def tune(arguments, file, shape, store, strategy, trials, seconds, *more):
    begun = time.monotonic()
    report = hone(arguments, "tune", file, "--shape", shape, "--device", arguments.device, "--store", store, "--strategy", strategy, "--likely", "ignore",
                  "--no-transfer", "--seed", str(arguments.seed), "--budget", f"{max(2.0, seconds):.1f}s,{trials}trials", *more)
    if report is None:
        return None
    return {"strategy": strategy, "trials": sum(report["outcomes"].values()), "outcomes": {k: v for k, v in report["outcomes"].items() if v},
            "best_us": report["best"]["time_us"], "default_us": report["default"]["time_us"], "seconds": round(time.monotonic() - begun, 2)}


def record(arguments, name, file, sessions, store):
    if not any(sessions):
        return None
    ids = ",".join(str(k + 1) for k in range(sum(s is not None for s in sessions)))
    out = os.path.join(arguments.out, f"{name}.json.gz")
    return hone(arguments, "sessions", ids, "--store", store, "--record", out, "--kernel", file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--product", default="NVIDIA_H200", help="the middle of the files' names")
    parser.add_argument("--out", required=True)
    parser.add_argument("--uniform", type=int, default=1000)
    parser.add_argument("--local", type=int, default=400)
    parser.add_argument("--part", type=int, default=1800)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kernels, with commas between")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    kernels = [k for k in SHAPES if not arguments.only or k in arguments.only.split(",")]
    jobs = [(k, turn, False) for turn in range(2) for k in kernels] + [(k, 0, True) for k in kernels]
    share = {"whole": (arguments.uniform + arguments.local), "part": arguments.part}
    end, summary = time.monotonic() + arguments.seconds, []
    for done, (kernel, turn, part) in enumerate(jobs):
        left = end - time.monotonic()
        weight = lambda job: share["part" if job[2] else "whole"]
        seconds = left * weight(jobs[done]) / sum(weight(job) for job in jobs[done:]) * 0.94  # the rest is for beginning and recording
        if seconds < 2:
            break
        file, shape = os.path.join(KERNELS, f"{kernel}.cu"), SHAPES[kernel][turn]
        name = f"{kernel}{'_part' if part else '_' + str(turn + 1)}.{arguments.product}"
        store = os.path.join(arguments.out, f"{name}.db")
        if part:
            fix = part_of(arguments, file, shape, arguments.part, PART_SEED[kernel])
            sessions = [fix and tune(arguments, file, shape, store, "exhaustive", arguments.part + 10, seconds, "--fix", fix)]
        else:
            fix = None
            uniform = seconds * arguments.uniform / (arguments.uniform + arguments.local)
            sessions = [tune(arguments, file, shape, store, "random", arguments.uniform, uniform),
                        tune(arguments, file, shape, store, "greedy_ils", arguments.local, seconds - uniform)]
        recorded = record(arguments, name, file, sessions, store)
        summary.append({"name": name, "shape": shape, "fix": fix, "seconds": round(seconds, 1), "sessions": sessions, "recorded": recorded})
        print(name, json.dumps(sessions), recorded and (recorded["trials"], recorded["ok"]), flush=True)
        with open(os.path.join(arguments.out, "summary.json"), "w", encoding="utf-8") as file_out:
            json.dump(summary, file_out, indent=1)


if __name__ == "__main__":
    main()
