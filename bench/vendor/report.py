"""The results as files: JSON with everything, Markdown with the tables."""

import json
import os
import pathlib
import statistics
import tempfile


def number(value, form):
    return format(value, form) if isinstance(value, (int, float)) and value == value else "-"


def table(header, rows):
    return ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(row) + " |" for row in rows)]


def copy_rate(document, row):
    return document["runs"][row["run"]]["copy_bytes_per_second"]


def rate(document, row):
    if row["flops"]:
        return f"{row['tflops']:.1f} TFLOP/s"
    return f"{row['gbytes_per_second'] * 1e9 / copy_rate(document, row):.1%} of copy"


def ragged(row):
    entries = row.get("ragged") or []
    if not entries:
        return "-"
    return "right" if all(entry["right"] for entry in entries) else "WRONG"


def single_call(row):
    """Of a case that is timed by graph replay: one call between two events behind a flush, Hone's against the fastest other."""
    times = {name: entry["us"] for name, entry in row.get("times_by_events", {}).items()}
    ours = times.get(f"Hone {row['kernel']}")
    theirs = [us for name, us in times.items() if not name.startswith("Hone ")]
    return f"{min(theirs) / ours:.3f} ({ours:.2f})" if ours and theirs else "-"


def main_row(document, row):
    return [
        row["case"].replace(":", " "), row["kernel"], number(row["hone_us"], ".2f"),
        f"{row['best_existing_us']:.2f} ({row['best_existing']})", f"**{row['ratio']:.3f}**",
        rate(document, row), "graph" if row["method"] == "graph replay" else "events", single_call(row), str(row["run"] + 1),
        f"{row['hone_error']:.1e} / {row['existing_error']:.1e}{'' if row['right'] else ' WRONG'}", ragged(row),
    ]


def gain_row(row):
    report = row["hone"][row["kernel"]]
    untuned_us = row.get("untuned_us")
    gain = row["default_us"] / row["hone_us"] if row["default_us"] else None
    over_untuned = untuned_us / row["hone_us"] if untuned_us else None
    return [row["case"].replace(":", " "), row["kernel"], number(row["default_us"], ".2f"), number(untuned_us, ".2f"), number(row["hone_us"], ".2f"),
            number(gain, ".2f"), number(over_untuned, ".2f"), str(report["valid"]), str(report["trials"]),
            number(report["seconds"], ".1f"), number(row["max_autotune_seconds"], ".1f")]


def all_times(row):
    fastest_first = sorted(row["times"].items(), key=lambda item: item[1]["us"])
    return f"- {row['case']}: " + ", ".join(f"{name} {entry['us']:.2f}" for name, entry in fastest_first)


def loss_tables(rows):
    """A matrix for each group: the row's shape run with the column's winner, as a multiple of its own winner's time."""
    groups = {}
    for row in rows:
        if row.get("losses"):
            work, dtype, extents = row["case"].split(":")
            groups.setdefault((work, dtype), {})[extents] = row["losses"]
    lines = []
    for (work, dtype), losses in groups.items():
        shapes = sorted({shape for own, others in losses.items() for shape in (own, *others)})
        if len(shapes) < 2:
            continue
        rows_of_table = [[own, *("1" if shape == own else number(losses[own].get(shape), ".2f") for shape in shapes)] for own in losses]
        lines += ["", f"{work} {dtype}:", "", *table(["run at \\ tuned for", *shapes], rows_of_table)]
    return lines


def machine_lines(document):
    lines = []
    for number_of_run, run in enumerate(document["runs"], 1):
        lines += [f"{number_of_run}. {run['date']}, {run['gpu']}, driver {run['driver']}, PyTorch {run['torch']} (CUDA {run['cuda']}), "
                  f"Triton {run['triton']}, {run['hone']}; copy of 4 GiB {run['copy_bytes_per_second'] / 1e12:.2f} TB/s "
                  f"({run['copy_after_fill_bytes_per_second'] / 1e12:.2f} TB/s where the flush leaves dirty lines): `{run['command']}`"]
    return lines


def markdown(document):
    rows = list(document["rows"].values())
    lines = ["# Hone beside PyTorch, torch.compile and cuBLAS", "",
             "Same process, inputs (uniform in [-1, 1)) and flush, interleaved samples, medians in microseconds; how, and what runs "
             "under a CUDA graph, says `bench/vendor/timing.py`. Best existing: the fastest of cuBLAS, cuBLASLt, PyTorch eager and "
             "torch.compile max-autotune; f32 without TF32. Ratio: existing / Hone, above 1 Hone is faster. Errors: ||out - ref|| / "
             "||ref|| against float64, Hone's and the best existing's. Ragged: each extent one more, the last three less. Under graph replay "
             "a call of Hone's begins while the one before it ends (programmatic dependent launch); a single call, which has none before it, is the "
             "column of that name: the ratio by events, and Hone's microseconds.",
             "", *machine_lines(document), ""]
    header = ["case", "kernel", "Hone us", "best existing us", "ratio", "rate", "timed by", "a single call", "run", "error Hone / existing", "ragged"]
    lines += table(header, [main_row(document, row) for row in rows])
    ratios = [row["ratio"] for row in rows]
    if ratios:
        lines += ["", f"Geometric mean of the ratios over {len(ratios)} cases: {statistics.geometric_mean(ratios):.3f}."]
    lines += ["", "## What tuning gains, and what it takes", "",
              "Untuned: what is served where nothing was tuned, by a portfolio that came with Hone; - where there is none for such problems. "
              "Gain: of the best over the default.", ""]
    header = ["case", "kernel", "default us", "untuned us", "best us", "gain", "over untuned", "configurations", "trials", "tuning s", "max-autotune s"]
    lines += table(header, [gain_row(row) for row in rows])
    losses = loss_tables(rows)
    if losses:
        lines += ["", "## The winner of one shape at another", "",
                  "Its time as a multiple of that of the shape's own winner; - where it is not valid.", *losses]
    lines += ["", "## All times", "", *(all_times(row) for row in rows)]
    notes = [f"- {row['case']}: {' '.join(note.split())}" for row in rows for note in row["notes"]]
    notes += [f"- {case}: {' '.join(why.split())}" for case, why in document["failed"].items()]
    lines += ["", "## Notes", "", *notes] if notes else []
    lines += ["", f"Not reached within the limit: {', '.join(document['left'])}."] if document["left"] else []
    return "\n".join(lines) + "\n"


def load(folder, stem):
    file = pathlib.Path(folder) / f"{stem}.json"
    if file.exists():
        return json.loads(file.read_text())
    return {"runs": [], "tuned": {}, "rows": {}, "failed": {}, "left": []}


def save(document, folder, stem):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, text in ((".json", json.dumps(document, indent=1) + "\n"), (".md", markdown(document))):
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, folder / (stem + suffix))
