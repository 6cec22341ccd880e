#!/usr/bin/env python3
"""Counts the lines that tests ran, by folder, and holds them against tests/coverage_floor.txt.

    scripts/check_coverage.py BUILD                 BUILD has run its tests (preset coverage); exit code 1 below the floor
    scripts/check_coverage.py BUILD --report FILE   writes the tables as Markdown, too
    scripts/check_coverage.py BUILD --json FILE     and gcovr's own figures, file by file
"""
import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLOOR = ROOT / "tests/coverage_floor.txt"
FOLDERS = ("engine", "plugins", "search", "cache", "cli")
GCOVR = ROOT / ".cache/checkers/bin/gcovr"


def measure(build, out):
    if not GCOVR.exists():
        raise SystemExit("no gcovr here: run scripts/install_checkers.sh coverage")
    filters = [argument for folder in FOLDERS for argument in ("--filter", f"{folder}/")]
    subprocess.run([str(GCOVR), "--root", str(ROOT), "--object-directory", str(build), *filters, "--gcov-ignore-parse-errors=all", "--merge-mode-functions=merge-use-line-min", "--merge-lines",
                    "--exclude-unreachable-branches", "--exclude-throw-branches", "-j", "2", "--json-summary", str(out), str(build)], check=True, cwd=ROOT)
    return json.loads(out.read_text())["files"]


def folder_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in ("engine", "plugins", "cache") and len(parts) > 2 else parts[0]


def percent(covered, total):
    return 100.0 * covered / total if total else 100.0


def report(files, floor, total):
    sums = collections.defaultdict(lambda: [0, 0])
    for file in files:
        sums[folder_of(file["filename"])][0] += file["line_covered"]
        sums[folder_of(file["filename"])][1] += file["line_total"]
    yield "| folder | lines | run by tests | share | floor |"
    yield "|---|---:|---:|---:|---:|"
    for folder, (covered, lines) in sorted(sums.items()):
        yield f"| {folder} | {lines} | {covered} | {percent(covered, lines):.1f} % | {floor.get(folder, 0):.0f} % |"
    yield f"| all | {total[1]} | {total[0]} | {percent(*total):.1f} % | {floor.get('all', 0):.0f} % |"
    yield ""
    yield "| file | lines not run | share run |"
    yield "|---|---:|---:|"
    for file in sorted(files, key=lambda file: file["line_covered"] - file["line_total"])[:25]:
        yield f"| {file['filename']} | {file['line_total'] - file['line_covered']} | {percent(file['line_covered'], file['line_total']):.0f} % |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = measure(options.build.resolve(), options.json.resolve() if options.json else Path(folder) / "summary.json")
    floor = {name: float(share) for name, share in (line.split() for line in FLOOR.read_text().splitlines() if line and not line.startswith("#"))} if FLOOR.exists() else {}
    if not floor:
        raise SystemExit(f"{FLOOR.relative_to(ROOT)} names no floor: write one share a folder, and `all`")
    total = [sum(file["line_covered"] for file in files), sum(file["line_total"] for file in files)]
    text = "\n".join(report(files, floor, total))
    print(text)
    if options.report:
        options.report.write_text(text + "\n")
    shares = collections.defaultdict(lambda: [0, 0])
    for file in files:
        for name in (folder_of(file["filename"]), "all"):
            shares[name][0] += file["line_covered"]
            shares[name][1] += file["line_total"]
    low = [name for name, least in floor.items() if percent(*shares[name]) < least]
    for name in low:
        print(f"{name}: {percent(*shares[name]):.1f} % of the lines are run, {floor[name]:.0f} % are asked for (tests/coverage_floor.txt)")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
