#!/usr/bin/env python3
"""Compares each source file with what clang-format 14.0.6 makes of it.

Files that were written before this check differ in places; scripts/format_debt.txt says in how many lines each. No file may differ in more,
and one that is not listed in none.

    scripts/check_format.py             exit code 1 where a file differs in more lines than before
    scripts/check_format.py --diff      and show how
    scripts/check_format.py --fix FILE  format these files
    scripts/check_format.py --write     write down how many lines differ now: what was mended stays mended
"""
import argparse
import concurrent.futures
import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = "14.0.6"
DEBT = ROOT / "scripts/format_debt.txt"
SUFFIXES = (".cpp", ".hpp", ".h", ".c", ".cu", ".inc")
AS_IT_IS = ("tests/abi2/", "tests/fuzz/corpus/")  # a frozen header; inputs of the fuzzers


def clang_format():
    """The pinned version: this machine's, or that of the wheel that install_checkers.sh puts into .cache."""
    for tool in (ROOT / ".cache/checkers/bin/clang-format", shutil.which("clang-format-14"), shutil.which("clang-format")):
        if tool and Path(tool).exists():
            said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
            if f"version {VERSION}" in said:
                return str(tool)
    raise SystemExit(f"no clang-format {VERSION} here: run scripts/install_checkers.sh format")


def sources():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name.endswith(SUFFIXES) and not name.startswith(AS_IT_IS) and (ROOT / name).is_file()]


def compare(tool, name):
    """The lines in which the file differs, and the difference as text."""
    text = (ROOT / name).read_text(encoding="utf-8")
    ended = subprocess.run([tool, "--style=file", f"--assume-filename={ROOT / name}"], input=text, capture_output=True, text=True, cwd=ROOT)
    if ended.returncode != 0:
        raise SystemExit(f"{name}: {ended.stderr.strip()}")
    diff = list(difflib.unified_diff(text.splitlines(), ended.stdout.splitlines(), name, "formatted", lineterm="", n=0))
    return sum(line.startswith("-") for line in diff[2:]) + sum(line.startswith("+") for line in diff[2:]), "\n".join(diff)


def read_debt():
    lines = [line.split(maxsplit=1) for line in DEBT.read_text().splitlines() if line and not line.startswith("#")] if DEBT.exists() else []
    return {name: int(count) for count, name in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="these alone")
    parser.add_argument("--diff", action="store_true", help="show what differs")
    parser.add_argument("--fix", action="store_true", help="format the files")
    parser.add_argument("--write", action="store_true", help=f"write {DEBT.relative_to(ROOT)}")
    options = parser.parse_args()
    tool, names = clang_format(), sources()
    if options.files:
        wanted = {str(Path(name).resolve().relative_to(ROOT)) for name in options.files}
        names = [name for name in names if name in wanted]
    if options.fix and not (options.files and names):
        parser.error("--fix needs files that git knows: reformatting a kernel's source changes its hash, and what was tuned for it")
    if options.fix:
        subprocess.run([tool, "--style=file", "-i", *names], check=True, cwd=ROOT)
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(names, pool.map(lambda name: compare(tool, name), names)))
    if options.write:
        head = "# Lines in which a file differs from what clang-format makes of it. Numbers only fall: scripts/check_format.py --write.\n"
        DEBT.write_text(head + "".join(f"{count} {name}\n" for name, (count, _) in found.items() if count))
        return 0
    debt, worse = read_debt(), 0
    for name, (count, diff) in found.items():
        allowed = debt.get(name, 0)
        if count > allowed:
            worse += 1
            print(f"{name}: {count} lines differ from what clang-format makes of it, {allowed} are allowed: scripts/check_format.py --fix {name}")
            if options.diff:
                print(diff)
    better = sum(count < debt.get(name, 0) for name, (count, _) in found.items())
    left = sum(count for count, _ in found.values())
    print(f"{len(found)} files, {worse} worse than before, {better} better; {left} lines differ in all")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
