#!/usr/bin/env python3
"""Measures how much faster one session gets with several devices: on devices that sleep, or on real ones.

    python3 bench/devices.py --build build                             # 1, 2 and 4 sleeping devices; needs the tests' plugin to be built
    python3 bench/devices.py --build build --kernel gemm --dtype f32 --shape m=2048,n=2048,k=2048 --family cuda --counts 1,2 --budget 60s
    python3 bench/devices.py --build build --replay bench/spaces/gemm.NVIDIA_H200.json.gz --seeds 32 --strategy auto --budget 10s

For each number of devices one session runs in a store of its own. Trials per second count from the end of the default's trial, which is
measured alone, to the last trial of the search; the session's seconds have everything in them: starting, the final round, the record.
Printed is a table, with --json one object: for each number the trials, both rates, each device's share and factor, and the spread of the
control between devices, the seconds that a trial's code was in a compiler and how many compilers were at work in the mean, the seconds that the
strategy thought, and the seconds after the default's trial to the first trial within 1 % of the fastest of all these sessions.

--replay asks how good the winners are instead: sessions over a recorded space with as many simulated devices, each answering in the recorded
seconds of its trial, by the true (recorded) times of their winners.
"""

import argparse
import datetime
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="the build folder")
    parser.add_argument("--family", default="sleeper", help="devices FAMILY:0, FAMILY:1, ...")
    parser.add_argument("--counts", default="1,2,4", help="numbers of devices")
    parser.add_argument("--kernel", default="copy")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--shape", default="n=1024")
    parser.add_argument("--budget", default="200trials")
    parser.add_argument("--strategy", default="random")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--replay", type=pathlib.Path, metavar="SPACE", help="a recorded space")
    parser.add_argument("--seeds", type=int, default=32, help="sessions of a replay for each number of devices")
    parser.add_argument("--milliseconds", default="50", help="that a sleeping device takes for each request to time something")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def seconds_between(first, last):
    begin, end = (datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (first, last))
    return (end - begin).total_seconds()


def tuned(options, what, device, store, seed, *more, **environment):
    """The report of one session."""
    command = [options.build / "bin/hone", "tune", what, "--device", device, "--store", store, "--budget", options.budget, "--strategy",
               options.strategy, "--seed", str(seed), "--json", "--no-transfer", *more]
    ended = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: {ended.stderr}")
    return json.loads(ended.stdout)


def run_session(options, devices, folder):
    store = folder / f"{devices}.db"
    ids = ",".join(f"{options.family}:{i}" for i in range(devices))
    plugin = ["--plugin", options.build / "tests/plugin/devices/sleeping_device.so"] if options.family == "sleeper" else []
    report = tuned(options, options.kernel, ids, store, options.seed, "--dtype", options.dtype, "--shape", options.shape, *plugin,
                   SLEEPER_MS=options.milliseconds, SLEEPER_DEVICES=str(max(devices, 1)))
    with sqlite3.connect(store) as database:
        rows = list(database.execute("SELECT created_at, outcome, median_us, compile_seconds FROM trial ORDER BY id"))
    times = [row[0] for row in rows]
    searched = seconds_between(times[0], times[-1])
    compiled = sum(row[3] or 0.0 for row in rows)
    controls = [device["control_us"] for device in report["devices"] if device["control_us"]]
    return {
        "devices": devices,
        "trials": report["trials"],
        "search_seconds": searched,
        "trials_per_second": (len(times) - 1) / searched,
        "session_seconds": report["seconds"],
        "device_idle": report["device_idle"],
        "seconds_in_compiler": compiled / len(rows),
        "compilers_at_work": compiled / searched,
        "strategy_seconds": report["strategy_seconds"],
        "best_us": report["best"]["time_us"] if report["best"] else None,
        "progress": [(seconds_between(times[0], at), time_us) for at, outcome, time_us, _ in rows if outcome == "ok"],
        "control_spread": max(controls) / min(controls) - 1 if controls else 0.0,
        "shares": [{name: device[name] for name in ("id", "trials", "controls", "factor", "left")} for device in report["devices"]],
    }


def replayed_winner(options, devices, seed, folder):
    """The recorded time of the winner of one session, and its trials."""
    report = tuned(options, options.replay, "replay:*", folder / f"{devices}.{seed}.db", seed, HONE_REPLAY_DEVICES=str(devices))
    return report["best"]["time_us"], report["trials"]


def replay(options, folder):
    counts = [int(count) for count in options.counts.split(",")]
    runs = {count: [replayed_winner(options, count, seed, folder) for seed in range(options.seeds)] for count in counts}
    of_first = statistics.median(time_us for time_us, _ in runs[counts[0]])
    rows = []
    for count, winners in runs.items():
        times = [time_us for time_us, _ in winners]
        rows.append({"devices": count, "trials": statistics.median(trials for _, trials in winners), "median_us": statistics.median(times),
                     "worst_us": max(times), "close": sum(time_us <= 1.01 * of_first for time_us in times), "sessions": len(times)})
    if options.json:
        print(json.dumps({"space": options.replay.name, "budget": options.budget, "strategy": options.strategy, "runs": rows}))
        return
    print(f"| devices | trials | winners, us: median | worst | no more than 1 % behind the median of {counts[0]} |")
    print("| --- " * 5 + "|")
    for row in rows:
        print(f"| {row['devices']} | {row['trials']:.0f} | {row['median_us']:.2f} | {row['worst_us']:.2f} | {row['close']} of {row['sessions']} |")


def main():
    options = parse_arguments()
    if options.replay:
        with tempfile.TemporaryDirectory() as folder:
            replay(options, pathlib.Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_session(options, int(count), pathlib.Path(folder)) for count in options.counts.split(",")]
    best = min(time_us for run in runs for _, time_us in run["progress"])
    for run in runs:
        run["seconds_to_best"] = next((at for at, time_us in run.pop("progress") if time_us <= 1.01 * best), None)
        run["speedup"] = run["trials_per_second"] / runs[0]["trials_per_second"]
        run["session_speedup"] = run["trials"] / run["session_seconds"] / (runs[0]["trials"] / runs[0]["session_seconds"])
    if options.json:
        print(json.dumps({"kernel": options.kernel, "shape": options.shape, "budget": options.budget, "runs": runs}))
        return
    print("| devices | trials | trials/s | times as fast | whole session, s | times as fast | idle | s in a compiler | compilers at work | strategy, s | control's spread | s to within 1 % | best, us |")
    print("| --- " * 13 + "|")
    for run in runs:
        print(f"| {run['devices']} | {run['trials']} | {run['trials_per_second']:.2f} | {run['speedup']:.2f} | {run['session_seconds']:.1f} "
              f"| {run['session_speedup']:.2f} | {100 * run['device_idle']:.0f} % "
              f"| {run['seconds_in_compiler']:.2f} | {run['compilers_at_work']:.1f} | {run['strategy_seconds']:.1f} | {100 * run['control_spread']:.1f} % "
              f"| {'-' if run['seconds_to_best'] is None else format(run['seconds_to_best'], '.1f')} | {run['best_us']} |")


if __name__ == "__main__":
    main()
