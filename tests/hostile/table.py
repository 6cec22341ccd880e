#!/usr/bin/env python3
"""Results of test_hostile side by side, as Markdown.

    tests/hostile/table.py "at 4d53d39, cpu=before.json" "now, cpu=after.json" "now, H200=h200.json"

A file may be several, joined by commas: what a run with --filter found replaces what those before it found.
"""
import gzip
import json
import sys


def read(files):
    cases = {}
    for path in files.split(","):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            cases.update({case["name"]: case for case in json.load(file)["cases"]})
    return cases


def cell(case):
    if case is None:
        return ""
    won = f", {case['winner']} won" if case["winner"] else ""
    tricks = case["outcome"].split("|")
    outcome = tricks[0] if len(set(tricks)) == 1 else f"{tricks.count('ok')} of {len(tricks)} ok"
    honest = [trick for trick in case["blamed"] if trick in ("0", "1")]
    blamed = f", {' and '.join(honest)} blamed" if honest and case["verdict"] != "refused" else ""
    verdict = case["verdict"] if case["verdict"] == "held" else f"**{case['verdict']}**"
    return f"{verdict}: {outcome}{won}{blamed}, {case['seconds']:.1f} s"


def configurations(cases):
    return sum(len(case["outcome"].split("|")) for case in cases if case["class"] == "right")


def print_counts(columns, classes):
    print("| class | cases |" + "".join(f" {name}: held |" for name, _ in columns))
    print("| --- | --- |" + " --- |" * len(columns))
    for group, names in classes.items():
        held = []
        for _, cases in columns:
            run = [cases[name] for name in names if name in cases]
            good = sum(case["verdict"] in ("held", "listed") for case in run)
            held.append(f" {good} of {len(run)} |")
        print(f"| {group} | {len(names)} |" + "".join(held))
    total = [f" {sum(c['verdict'] in ('held', 'listed') for c in cases.values())} of {len(cases)} |" for _, cases in columns]
    print(f"| all | {sum(map(len, classes.values()))} |" + "".join(total))


def print_verdicts(columns):
    verdicts = sorted({case["verdict"] for _, cases in columns for case in cases.values()})
    print("| verdict |" + "".join(f" {name} |" for name, _ in columns))
    print("| --- |" + " --- |" * len(columns))
    for verdict in verdicts:
        counts = [sum(case["verdict"] == verdict for case in cases.values()) for _, cases in columns]
        print(f"| {verdict} |" + "".join(f" {count} |" for count in counts))


def print_cases(columns, names):
    print("| case | what it does |" + "".join(f" {name} |" for name, _ in columns))
    print("| --- | --- |" + " --- |" * len(columns))
    for name in names:
        case = next(cases[name] for _, cases in columns if name in cases)
        chance = f" (p: {case['chance']})" if case["chance"] else ""
        print(f"| {name} | {case['what']}{chance} |" + "".join(f" {cell(cases.get(name))} |" for _, cases in columns))


def main():
    columns = [(name, read(files)) for name, files in (word.split("=", 1) for word in sys.argv[1:])]
    if not columns:
        sys.exit(__doc__)
    classes = {}
    for _, cases in columns:
        for name, case in cases.items():
            classes.setdefault(case["class"], {})[name] = None
    print_counts(columns, classes)
    print()
    print_verdicts(columns)
    right = max(configurations(cases.values()) for _, cases in columns)
    print(f"\n{right} right-but-different configurations are in the class `right`; a number behind a case's name is its `trick`, 0 and 1 are honest.\n")
    print_cases(columns, [name for names in classes.values() for name in names])


if __name__ == "__main__":
    main()
