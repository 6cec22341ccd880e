"""Scores of recorded searches: means over spaces and repeats with bootstrap intervals, as JSON and as Markdown."""

import json
import subprocess

import numpy

from search_rivals.recorded import fraction_at

RESAMPLES = 2000
FEWEST_REPEATS = 4  # from which an interval over repeats says something


def row_of(tool, strategy, runs, spaces, budgets):
    """One strategy's scores. `runs` holds for every space the same repeats in the same order."""
    scores = numpy.array([[[fraction_at(run["improvements"], spaces[name].best, budget) for budget in budgets] for run in repeats]
                          for name, repeats in runs.items()])
    of_repeats = scores.mean(axis=0)
    low, high = interval(of_repeats)
    everything = [run for repeats in runs.values() for run in repeats]
    return {
        "tool": tool,
        "strategy": strategy,
        "repeats": len(of_repeats),
        "fractions": [{"budget": budget, "mean": mean, "ci95": [a, b]}
                      for budget, mean, a, b in zip(budgets, of_repeats.mean(axis=0).tolist(), low.tolist(), high.tolist())],
        "evaluations": float(numpy.mean([run["evaluations"] for run in everything])),
        "seconds": float(numpy.mean([run["seconds"] for run in everything])),
        "broken_off": sum(run["ended"] != "done" for run in everything),
        "spaces": {name: space_row(repeats, of_space, budgets) for (name, repeats), of_space in zip(runs.items(), scores)},
    }


def space_row(repeats, scores, budgets):
    return {
        "evaluations": float(numpy.mean([run["evaluations"] for run in repeats])),
        "fractions": [{"budget": budget, "mean": mean, "deviation": deviation}
                      for budget, mean, deviation in zip(budgets, scores.mean(axis=0).tolist(), scores.std(axis=0).tolist())],
    }


def interval(of_repeats):
    """95 % of the means over resampled repeats. The spaces are what they are and are not resampled; a repeat is resampled in all of them
    at once, because one seed gives the same first configurations on every space of a kernel, and so the same luck.
    """
    random = numpy.random.default_rng(0)
    count = len(of_repeats)
    middle = of_repeats.mean(axis=0)
    means = of_repeats[random.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    # Resampling few values is known to be too narrow: their variance is (n - 1) / n of the one looked for.
    widened = middle + (means - middle) * (count / max(count - 1, 1)) ** 0.5
    return numpy.quantile(widened.clip(0.0, 1.0), [0.025, 0.975], axis=0)


def hone_rows(hone, strategies, directory, budgets, repeats, jobs):
    """What `hone compare` says about Hone's own strategies on the same spaces; without it the table is still worth printing."""
    command = [hone, "compare", "--spaces", str(directory), "--budgets", ",".join(map(str, budgets)), "--repeats", str(repeats),
               "--jobs", str(jobs), "--json"]
    for strategy in strategies:
        command += ["--strategy", strategy]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if answer.returncode != 0:
        print("hone compare failed: its rows are missing\n")
        return []
    rows = json.loads(answer.stdout)["strategies"]
    return [{"tool": "hone", "strategy": row["name"], "repeats": repeats, "fractions": row["fractions"]} for row in rows]


def at(row, budget):
    return next(entry for entry in row["fractions"] if entry["budget"] == budget)


def markdown(rows, budgets, sort_budget):
    """The rows, best first. Where Hone's own are among them, a column compares the best of them with each."""
    rows = sorted(rows, key=lambda row: -at(row, sort_budget)["mean"])
    hone = next((row for row in rows if row["tool"] == "hone"), None)
    heads = ["tool", "strategy", "repeats", *map(str, budgets), "evaluations", "CPU s a search"]
    heads += [f"Hone at {sort_budget}"] if hone else []
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = [row["tool"], row["strategy"], str(row["repeats"]), *(fraction_cell(row, budget) for budget in budgets)]
        cells += [f"{row[key]:.{digits}f}" if key in row else "" for key, digits in (("evaluations", 0), ("seconds", 2))]
        cells += [against(row, hone, sort_budget)] if hone else []
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fraction_cell(row, budget):
    entry = at(row, budget)
    if row["repeats"] < FEWEST_REPEATS:
        return f"{entry['mean']:.3f}"
    low, high = entry["ci95"]
    return f"{entry['mean']:.3f} ({low:.3f} to {high:.3f})"


def against(row, hone, budget):
    """Which of Hone and a rival is better beyond the intervals of both."""
    if row["tool"] == "hone":
        return ""
    if row["repeats"] < FEWEST_REPEATS:
        return "too few repeats"
    hone_low, hone_high = at(hone, budget)["ci95"]
    low, high = at(row, budget)["ci95"]
    if hone_low > high:
        return "better, disjoint"
    return "worse, disjoint" if hone_high < low else "overlap"
