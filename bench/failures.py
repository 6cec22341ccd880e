#!/usr/bin/env python3
"""What a candidate costs that hangs, crashes or crawls, at each stage of its trial.

    bench/failures.py [--hone build/bin/hone] [--device cpu] [--n 1048576] [--budget 12] [--markdown]

For each stage and failure, one session over a failing configuration and honest ones, and one over the honest ones alone. Needs Python alone,
so that it runs beside a portable binary on a machine with a GPU: bench/failures.py --hone ./hone --device cuda:0
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STAGES = ["none", "compile", "small problem", "user's problem", "timing", "final round"]
FAILURES = ["hang", "crash", "crawl"]
HONEST = 8  # configurations beside the failing one, the default among them
NEVER = 1 << 60


def hone(options, *arguments):
    ended = subprocess.run([options.hone, *arguments, "--json"], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {ended.returncode}: {ended.stderr.strip()}")
    return json.loads(ended.stdout)


def kernel(options, folder, final_from):
    text = pathlib.Path(__file__).with_name("failures").joinpath("failing.cu").read_text()
    for name, value in [("TIMED_FROM", options.timed_from), ("FINAL_FROM", final_from), ("CRAWL_TURNS", options.crawl_turns)]:
        text = text.replace(name, f"{value}L")
    file = folder / "failing.cu"
    file.write_text(text)
    return file


def session(options, stage, failure, spares, budget, final_from, more=1):
    """The session's report, its trials and the seconds the command took, in a store of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file, store = kernel(options, folder, final_from), folder / "failures.db"
        fix = f"stage={stage}|0,failure={failure}|0,spare={'|'.join(map(str, spares))},more={'|'.join(map(str, range(more)))}"
        begin = time.monotonic()
        report = hone(options, "tune", file, "--device", options.device, "--shape", f"n={options.n}", "--store", store, "--fix", fix,
                      "--strategy", "exhaustive", "--budget", budget)
        seconds = time.monotonic() - begin
        trials = hone(options, "sessions", str(report["session"]), "--kernel", file, "--store", store)["results"]
    return report, trials, seconds


def measure(options, stage, failure):
    spares, budget, final_from, more = range(HONEST), "1000trials", NEVER, 1
    if STAGES[stage] == "final round":  # it has to fail when the search is over, and not before
        spares, budget, more = range(32), f"{options.budget}s", 32
        final_from = int(time.time() + 0.93 * options.budget)
    report, trials, seconds = session(options, stage, failure, spares, budget, final_from, more)
    _, _, honest = session(options, 0, 0, spares, budget, NEVER, more)
    failing = [t for t in trials if int(t["config"]["stage"]) == stage and t["outcome"] != "ok"]
    innocent = [t for t in trials if int(t["config"]["stage"]) == 0 and t["outcome"] != "ok"]
    shown = failing[-1] if failing else {"outcome": "ok", "detail": "", "seconds": {}}
    right = report["best"] is not None and int(report["best"]["config"]["stage"]) == 0
    return {"stage": STAGES[stage], "failure": FAILURES[failure], "outcome": shown["outcome"], "cost_s": seconds - honest, "trial_s": sum(shown.get("stages", {}).values()),
            "session_s": seconds, "honest_session_s": honest, "winner_is_honest": right, "innocent_failures": len(innocent),
            "budget_s": options.budget if STAGES[stage] == "final round" else None, "detail": shown["detail"].splitlines()[:1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n", type=int, default=1 << 20)
    parser.add_argument("--budget", type=int, default=12, help="seconds, of the sessions whose final round fails")
    parser.add_argument("--timed-from", type=int, default=40, help="launches of a trial before it fails in timing")
    parser.add_argument("--crawl-turns", type=int, default=10**10, help="of a loop that is not optimized away: a crawl")
    parser.add_argument("--markdown", action="store_true", help="a table instead of lines of JSON")
    options = parser.parse_args()
    if options.markdown:
        print("| stage | failure | outcome | trial, s | session longer by, s | session, s | without it, s | winner honest | innocent failures |\n|---|---|---|---|---|---|---|---|---|")
    for stage in range(1, len(STAGES)):
        for failure in range(len(FAILURES)):
            row = measure(options, stage, failure)
            if options.markdown:
                print(f"| {row['stage']} | {row['failure']} | {row['outcome']} | {row['trial_s']:.2f} | {row['cost_s']:.2f} | {row['session_s']:.2f} | "
                      f"{row['honest_session_s']:.2f} | {'yes' if row['winner_is_honest'] else 'NO'} | {row['innocent_failures']} |", flush=True)
            else:
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
