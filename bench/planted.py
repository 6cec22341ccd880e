#!/usr/bin/env python3
"""Faults planted in a suite, and runs without any: what `hone bench` catches, and how often it is alarmed in vain.

    python3 bench/planted.py --hone build/bin/hone --expected FOLDER --record 5    # on the first machine: the thresholds
    python3 bench/planted.py --hone build/bin/hone --expected FOLDER --quiet 50    # there, and on machines started later

The suite is bench/suites/planted.toml, copied to a temporary folder; FOLDER takes the place of bench/suites/planted.expected and is written by
--record alone. The planted runs come first: one in which both kernels do more work (--more; the column `change` says what it costs), one in which
both compute one element wrongly. Then come the quiet runs, as many as begin within --limit; an alarm of theirs is printed as it comes.
Prints a table in Markdown. Exit code 1: a fault was not caught, or a quiet run was alarmed.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

SUITES = pathlib.Path(__file__).resolve().parent / "suites"
NOTHING = {"kMorePercent": "0", "kWrong": "false"}


def bench(given, folder, fault, *more):
    """One run with this in the kernels."""
    for file in (SUITES / "planted").glob("*.cu"):
        text = file.read_text()
        for name, value in (NOTHING | fault).items():
            before, found, after = text.partition(f"{name} = {NOTHING[name]};")
            if not found:
                sys.exit(f"{file} has no {name}")
            text = f"{before}{name} = {value};{after}"
        (folder / "planted" / file.name).write_text(text)
    command = [given.hone, "bench", folder / "planted.toml", "--device", given.device, "--store", folder / "planted.db", "--json", *more]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))} failed: {ended.stderr}")
    report = json.loads(ended.stdout)
    if (ended.returncode == 1) != report["alarm"]:
        sys.exit(f"exit code {ended.returncode}, but alarm is {report['alarm']}")
    return report


def row(what, case):
    change, allowed = (f"{100 * case[name]:+.2f} %" if case[name] is not None else "-" for name in ("change", "allowed"))
    return f"| {what} | {case['name']} | {case['verdict']} | {change} | {allowed} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", type=pathlib.Path, default=pathlib.Path("build/bin/hone"))
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--expected", type=pathlib.Path, default=SUITES / "planted.expected")
    parser.add_argument("--record", type=int, default=0, metavar="RUNS", help="to record before anything else")
    parser.add_argument("--more", type=int, default=5, metavar="PERCENT", help="of the time, about, as it was on an H100")
    parser.add_argument("--quiet", type=int, default=0, metavar="RUNS", help="without a fault")
    parser.add_argument("--limit", type=float, default=3600, metavar="SECONDS", help="after which no quiet run begins")
    given = parser.parse_args()
    given.hone = given.hone.resolve()
    if not given.hone.is_file():
        sys.exit(f"{given.hone} is not there: --hone names the command")
    begin, missed, alarms, quiet = time.monotonic(), [], 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(SUITES / "planted.toml", folder)
        (folder / "planted").mkdir()
        if given.expected.exists():
            shutil.copytree(given.expected, folder / "planted.expected")
        for _ in range(given.record):
            bench(given, folder, {}, "--record")
        if given.record:
            shutil.copytree(folder / "planted.expected", given.expected, dirs_exist_ok=True)
        print("| planted | case | verdict | change | allowed |\n| --- | --- | --- | --- | --- |")
        planted = ((f"more work ({given.more})", {"kMorePercent": str(given.more)}, "slower"), ("a wrong element", {"kWrong": "true"}, "wrong"))
        for what, fault, verdict in planted:
            report = bench(given, folder, fault)
            for case in report["cases"]:
                print(row(what, case), flush=True)
                missed += [case["name"]] if case["verdict"] != verdict else []
        while quiet < given.quiet and time.monotonic() - begin < given.limit:
            quiet += 1
            report = bench(given, folder, {})
            if report["alarm"]:
                alarms += 1
                print(*(row("nothing", case) for case in report["cases"]), sep="\n", flush=True)
    whose = "another" if report["one_other_machine"] else "this"
    print(f"\n{report['product']}, thresholds of {whose} machine: {alarms} of {quiet} quiet runs were alarmed; "
          f"not caught: {', '.join(missed) or 'nothing'}. {time.monotonic() - begin:.0f} s")
    sys.exit(1 if missed or alarms else 0)


if __name__ == "__main__":
    main()
