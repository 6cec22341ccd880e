#!/usr/bin/env python3
"""Do the settings of a strategy generalise? Each kernel is left out in turn while the settings are chosen on the others.

    python3 bench/leave_one_out.py --hone build/bin/hone --spaces DIR [--repeats 20] [--out leave_one_out.json]

The menu holds the defaults of `auto` and a change of each of them, the plain textbook among them. For each kernel (by the name
in the files) the entry with the best mean fraction over 25, 50 and 100 evaluations on all other kernels is chosen, and its result on the
kernel left out is printed beside that of the defaults, of the textbook and of random search.
"""
import argparse
import json
import statistics
import subprocess
import sys

MENU = ["auto", "auto:initial=3", "auto:initial=10", "auto:spread=0", "auto:spread=2", "auto:spread=4", "auto:draws=1", "auto:draws=4", "auto:draws=16", "auto:chance=0", "auto:chance=1", "auto:compression=0", "auto:compression=1", "auto:failure_quantile=0.5",
        "auto:prior_quantile=0.5", "auto:alignment=0", "auto:initial=15,compression=0,failure_quantile=0.5,prior_quantile=0.5,alignment=0"]
ALWAYS = ["bayesian", "random"]
BUDGETS = [25, 50, 100, 200]


def compare(arguments):
    command = [arguments.hone, "compare", "--spaces", arguments.spaces, "--budgets", ",".join(map(str, BUDGETS)), "--repeats", str(arguments.repeats),
               "--json"]
    for entry in MENU + ALWAYS:
        command += ["--strategy", entry]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def by_kernel(report):
    """{strategy: {kernel: [mean fraction at each budget]}}, means over the kernel's spaces."""
    table, kernel_of = {}, {space["name"]: space["kernel"] for space in report["spaces"]}
    for strategy, entry in ((entry["name"], entry) for entry in report["strategies"]):
        spaces = {}
        for space in entry["per_space"]:
            spaces.setdefault(kernel_of[space["space"]], []).append([f["mean"] for f in space["fractions"]])
        table[strategy] = {kernel: [statistics.mean(column) for column in zip(*rows)] for kernel, rows in spaces.items()}
    return table


def merit(rows):
    return statistics.mean(statistics.mean(row[:3]) for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--spaces", required=True)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    table = by_kernel(compare(arguments))
    kernels = sorted(table["auto"])
    results = []
    for held_out in kernels:
        chosen = max(MENU, key=lambda entry: merit([table[entry][kernel] for kernel in kernels if kernel != held_out]))
        results.append({"held_out": held_out, "chosen": chosen,
                        "fractions": {name: table[entry][held_out] for name, entry in
                                      [("chosen", chosen), ("defaults", "auto"), ("textbook", "bayesian"), ("random", "random")]}})
    text = lambda row: " / ".join(f"{value:.3f}" for value in row)
    print("| held out | chosen on the others | there, chosen | there, defaults | there, bayesian | there, random |\n|---|---|---|---|---|---|")
    for r in results:
        print(f"| {r['held_out']} | {r['chosen']} | " + " | ".join(text(row) for row in r["fractions"].values()) + " |")
    means = {name: [statistics.mean(column) for column in zip(*(r["fractions"][name] for r in results))] for name in results[0]["fractions"]}
    print("| mean over kernels | | " + " | ".join(text(row) for row in means.values()) + " |")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"budgets": BUDGETS, "repeats": arguments.repeats, "kernels": results, "means": means, "table": table}, file, indent=1)


if __name__ == "__main__":
    main()
