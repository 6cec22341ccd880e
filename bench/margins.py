#!/usr/bin/env python3
"""A strategy beside random search on each recorded space of a folder: what it is ahead by after a few evaluations, and where it is behind most.

    python3 bench/margins.py --hone build/bin/hone --spaces DIR [--strategy auto] [--repeats 100] [--allowed 0.01] [--out margins.json]

Random search is the calculated one, without chance in it. A margin has the 95 % bootstrap interval of the strategy's mean. The exit code is 1
where the strategy is behind by more than --allowed anywhere. DIR may be what bench/made_up_spaces.py wrote.
"""
import argparse
import json
import subprocess
import sys


def compare(arguments):
    command = [arguments.hone, "compare", "--spaces", arguments.spaces, "--strategy", arguments.strategy, "--budgets", arguments.budgets,
               "--repeats", str(arguments.repeats), "--jobs", str(arguments.jobs), "--seed", str(arguments.seed), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr or done.stdout)
    return json.loads(done.stdout)


def margins_of(report):
    """[(space, [(random, mean, half width of the interval) at each budget])], in the report's order."""
    random = {space["name"]: [point["mean"] for point in space["calculated_random"]] for space in report["spaces"]}
    rows = []
    for space in report["strategies"][0]["per_space"]:
        at = [(chance, found["mean"], (found["ci95"][1] - found["ci95"][0]) / 2.0)
              for chance, found in zip(random[space["space"]], space["fractions"])]
        rows.append((space["space"], at))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--spaces", required=True)
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--budgets", default="5,10,25,50")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--allowed", type=float, default=0.01)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    report = compare(arguments)
    rows, budgets = margins_of(report), [f"{budget:g}" for budget in report["budgets"]]
    print("| space | " + " | ".join(f"random at {budget}" for budget in budgets) + " | " + " | ".join(f"ahead at {budget}" for budget in budgets) + " |")
    print("|---" * (1 + 2 * len(budgets)) + "|")
    for space, at in rows:
        print(f"| {space} | " + " | ".join(f"{chance:.3f}" for chance, _, _ in at) + " | " +
              " | ".join(f"{mean - chance:+.3f} ±{half:.3f}" for chance, mean, half in at) + " |")
    mean = [(sum(at[b][0] for _, at in rows) / len(rows), sum(at[b][1] for _, at in rows) / len(rows)) for b in range(len(budgets))]
    print("| mean | " + " | ".join(f"{chance:.3f}" for chance, _ in mean) + " | " + " | ".join(f"{found - chance:+.3f}" for chance, found in mean) + " |")
    least, space, budget = min((at[b][1] - at[b][0], space, budgets[b]) for space, at in rows for b in range(len(budgets)))
    print(f"\nsmallest margin {least:+.4f}: {space} at {budget}; "
          f"{sum(found - chance < -arguments.allowed for _, at in rows for chance, found, _ in at)} of {len(rows) * len(budgets)} below "
          f"-{arguments.allowed:g}")
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump({"strategy": arguments.strategy, "repeats": arguments.repeats, "budgets": report["budgets"],
                       "spaces": [{"space": space, "at": [{"random": c, "mean": m, "half_width": h} for c, m, h in at]} for space, at in rows],
                       "smallest": {"margin": least, "space": space, "budget": budget}}, file, indent=1)
    sys.exit(1 if least < -arguments.allowed else 0)


if __name__ == "__main__":
    main()
