#!/usr/bin/env python3
"""Compares how many tests a build has with tests/floor.txt, so that none goes missing unnoticed.

    scripts/check_floor.py BUILD            exit code 1 where there are fewer
    scripts/check_floor.py BUILD --exact    or more: before a release
    scripts/check_floor.py BUILD --write    write down what there is; by hand, after a look at the difference
    scripts/check_floor.py BUILD --only test_base test_tune     these binaries alone: of a build that has no others
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOOR = ROOT / "tests/floor.txt"
HEAD = "# The entries of ctest, and the test cases of each binary. Who adds tests raises them: scripts/check_floor.py build --write\n"


def output_of(*command):
    # What tests need, a server say, need not be there to count them.
    ended = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, HONE_TESTS_COUNTED="1"))
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {ended.returncode}: {ended.stderr.strip() or ended.stdout.strip()}")
    return ended.stdout


def count(build):
    entries = output_of("ctest", "--test-dir", str(build), "-N")
    found = {"ctest": int(re.search(r"Total Tests: (\d+)", entries).group(1))}
    for binary in sorted((build / "bin").glob("test_*")):
        cases = re.search(r"test cases passing the current filters: (\d+)", output_of(binary, "--count"))
        if cases:  # test_hostile counts its cases itself
            found[binary.name] = int(cases.group(1))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="a build folder")
    parser.add_argument("--exact", action="store_true", help="more is wrong, too")
    parser.add_argument("--write", action="store_true", help="write tests/floor.txt")
    parser.add_argument("--only", nargs="+", default=[], metavar="BINARY", help="compare these alone, and the entries of ctest")
    options = parser.parse_args()
    found = count(options.build)
    if options.write:
        FLOOR.write_text(HEAD + "".join(f"{name} {number}\n" for name, number in found.items()))
        return 0
    floor = {name: int(number) for name, number in (line.split() for line in FLOOR.read_text().splitlines() if not line.startswith("#"))}
    wrong = 0
    compared = {"ctest", *options.only} if options.only else floor.keys() | found.keys()
    for name in sorted(compared):
        here, least = found.get(name, 0), floor.get(name, 0)
        if here < least:
            wrong += 1
            print(f"{name}: {here} tests, there were {least}: which one is gone, and why? (tests/floor.txt)")
        elif here > least:
            wrong += options.exact
            print(f"note: {name} has {here} tests, tests/floor.txt says {least}: raise it")
    print(f"{found['ctest']} entries of ctest, {sum(found.values()) - found['ctest']} test cases in {len(found) - 1} binaries")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
