#!/usr/bin/env python3
"""What a candidate costs that hangs, crashes or crawls, at each stage of its trial; that is wrong; that is far slower.

    bench/failures.py [--hone build/bin/hone] [--device cpu] [--n 1048576] [--budget 12] [--markdown]

For each stage and failure, one session over a failing configuration and honest ones, and one over the honest ones alone. One that fails in the
final round was the record of an earlier session: a final round always has that. Needs Python alone, so that it runs beside a portable binary on a
machine with a GPU: bench/failures.py --hone ./hone --device cuda:0
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

STAGES = ["none", "compile", "small problem", "user's problem", "timing", "final round"]
FAILURES = ["hang", "crash", "crawl", "wrong", "slower"]
EVERYWHERE = 3  # of the failures: the others are of the user's problem alone
USERS = STAGES.index("user's problem")
FINAL = STAGES.index("final round")
HONEST = 8  # configurations beside the failing one, the default among them
LATE = 32    # as many before one whose cost depends on what is known by then: whoever is far behind the fastest gets a first look alone
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


def tune(options, file, store, stages, failure, spares, more, budget):
    """The session's report, its trials and the seconds the command took."""
    fix = f"stage={'|'.join(map(str, stages))},failure={failure},spare={'|'.join(map(str, spares))},more={'|'.join(map(str, more))}"
    begin = time.monotonic()
    report = hone(options, "tune", file, "--device", options.device, "--shape", f"n={options.n}", "--store", store, "--fix", fix,
                  "--strategy", "exhaustive", "--budget", budget)
    seconds = time.monotonic() - begin
    return report, hone(options, "sessions", str(report["session"]), "--kernel", file, "--store", store)["results"], seconds


def session(options, stages, failure):
    """Over honest configurations and one that fails before the final round, if it does."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        return tune(options, kernel(options, folder, NEVER), folder / "failures.db", stages, failure,
                    range(HONEST if failure < EVERYWHERE else LATE), [0], "1000trials")


def session_of_finals(options, stages, failure):
    """Over more configurations than there is time for; a configuration that fails from shortly before the final round on holds the record."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        search = 0.93 * options.budget
        final_from = int(time.time() + options.record_seconds + search) + 1
        file, store = kernel(options, folder, final_from), folder / "failures.db"
        if stages != [0]:
            tune(options, file, store, [FINAL], failure, [0], [0], "1trials")
        late = time.time() - (final_from - search)
        if late > 0:
            sys.exit(f"the session that makes the record took {late:.1f} s longer than --record-seconds")
        time.sleep(-late)
        report, trials, seconds = tune(options, file, store, stages, failure, range(32), range(32), f"{options.budget}s")
        if report["seconds"] < search:
            sys.exit(f"the session tried all there is in {report['seconds']:.1f} s, before its final round was to fail: ask for a smaller --budget")
        return report, trials, seconds


def measure(options, stage, failure):
    run = session_of_finals if stage == FINAL else session
    report, trials, seconds = run(options, [stage, 0], failure)
    _, _, honest = run(options, [0], failure)
    failing = [t for t in trials if int(t["config"]["stage"]) == stage and t["outcome"] != "ok"]
    innocent = [t for t in trials if int(t["config"]["stage"]) == 0 and t["outcome"] not in ("ok", "too_slow")]
    shown = failing[-1] if failing else {"outcome": "ok", "detail": "", "seconds": {}}
    right = report["best"] is not None and int(report["best"]["config"]["stage"]) == 0
    return {"stage": STAGES[stage], "failure": FAILURES[failure], "outcome": shown["outcome"], "cost_s": seconds - honest, "trial_s": sum(shown.get("stages", {}).values()),
            "session_s": seconds, "honest_session_s": honest, "winner_is_honest": right, "innocent_failures": len(innocent),
            "budget_s": options.budget if stage == FINAL else None, "detail": shown["detail"].splitlines()[:1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--n", type=int, default=1 << 20)
    parser.add_argument("--budget", type=int, default=12, help="seconds, of the sessions whose final round fails")
    parser.add_argument("--record-seconds", type=int, default=6, help="what a session of one configuration takes at most")
    parser.add_argument("--timed-from", type=int, default=4, help="launches of a trial on the user's problem before it fails: those that validate it come first")
    parser.add_argument("--crawl-turns", type=int, default=10**10, help="of a loop that is not optimized away: a crawl")
    parser.add_argument("--markdown", action="store_true", help="a table instead of lines of JSON")
    options = parser.parse_args()
    if options.markdown:
        print("| stage | failure | outcome | trial, s | session longer by, s | session, s | without it, s | winner honest | innocent failures |\n|---|---|---|---|---|---|---|---|---|")
    for stage in range(1, len(STAGES)):
        for failure in range(len(FAILURES) if stage == USERS else EVERYWHERE):
            row = measure(options, stage, failure)
            if options.markdown:
                print(f"| {row['stage']} | {row['failure']} | {row['outcome']} | {row['trial_s']:.2f} | {row['cost_s']:.2f} | {row['session_s']:.2f} | "
                      f"{row['honest_session_s']:.2f} | {'yes' if row['winner_is_honest'] else 'NO'} | {row['innocent_failures']} |", flush=True)
            else:
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
