#!/usr/bin/env python3
"""What bench/portfolios.py tuned at drawn shapes, as measurements of a portfolio's text.

    python3 bench/learn_draws.py kernels_src/portfolios/nvidia_h200/matmul.bf16.json bench/results/untuned-h200-*.json.gz
    build/bin/rule --fit kernels_src/portfolios/nvidia_h200/matmul.bf16.json

Results are files of portfolios.py, also several in one JSON file, of the text's GPU (others are passed over). Shapes of the vendor table
stay out of texts. A winner that was ahead of all members by more than --ahead becomes a member, the most ahead first, as long as there is
room. What was launched at the new measurements, the points' floors and the trees `rule --fit` makes anew.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import statistics

from vendor import cases

LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"  # as engine/store/portfolio.cpp has them
UNMEASURED = "."
MOST_SLOWDOWN = 1.5  # logarithm
UNKNOWN_LEAD = 0.3   # of a winner beside which no member was measured


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--members", type=int, default=256, metavar="N", help="that the text may have")
    parser.add_argument("--ahead", type=float, default=0.02, metavar="LOGARITHM")
    return parser.parse_args()


def level_of(slowdown):
    logarithm = min(max(math.log(slowdown), 0.0), MOST_SLOWDOWN)
    return LEVELS[round(math.sqrt(logarithm / MOST_SLOWDOWN) * (len(LEVELS) - 1))]


def slowdown_of(level):
    return math.exp(MOST_SLOWDOWN * (LEVELS.index(level) / (len(LEVELS) - 1)) ** 2)


def rows_in(results, gpu):
    """Of each result of portfolios.py in what was read: its rows by "matmul:bf16:m=1,n=64,k=96,..."."""
    if isinstance(results, dict) and isinstance(results.get("rows"), dict):
        if results.get("gpu") == gpu:
            yield from results["rows"].items()
    elif isinstance(results, (dict, list)):
        for part in results.values() if isinstance(results, dict) else results:
            yield from rows_in(part, gpu)


def times_of(text, files):
    """By shape (extents in the order of the text's range), by kernel and configuration: microseconds."""
    names = {member["kernel"]: [value.split("=")[0] for value in member["config"].split(",")] for member in text["members"]}
    table = set(cases.PRODUCTS) if text["operation"] == "matmul" else set(cases.ROW_SHAPES)
    varying = list(text["extents"])
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for file in files:
        read = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for key, row in rows_in(json.loads(read), text["product"]):
            operation, dtypes, shape = key.split(":", 2)
            extents = {name: int(extent) for name, extent in (field.split("=") for field in shape.split(","))}
            at = tuple(extents.get(name) for name in varying)
            is_of_range = all(any(least <= extents.get(axis["name"], least) <= most for least, most in axis["parts"]) for axis in text["range"])
            if (operation, dtypes) != (text["operation"], text["dtypes"]) or not is_of_range or None in at or at in table:
                continue
            for kernel, configuration, time in ((row.get("tuned_kernel"), row.get("tuned_config"), row["us"].get("tuned")),
                                                (row.get("kernel"), row.get("config"), row["us"].get("predicted"))):
                if time and kernel in names and [value.split("=")[0] for value in configuration.split(",")] == names[kernel]:
                    times[at][kernel, configuration].append(time)
    return {at: {one: statistics.median(all_times) for one, all_times in here.items()} for at, here in times.items()}


def main():
    arguments = parse_arguments()
    text = json.loads(arguments.text.read_text())
    times = times_of(text, arguments.results)
    members = {(member["kernel"], member["config"]): place for place, member in enumerate(text["members"])}
    cells = [list(member["slowdowns"]) for member in text["members"]]
    kept = {key: [dict(zip((i for i, level in enumerate(own) if level != UNMEASURED), of_launch)) for own, of_launch in zip(cells, text[key])]
            for key in ("blocks", "tails")}
    points = {at: i for i, at in enumerate(zip(*text["extents"].values()))}

    lead = collections.Counter()
    for at, here in times.items():
        if here:
            best = min(here, key=here.get)
            known = [time for one, time in here.items() if one in members]
            if at in points:
                known += [text["best_us"][points[at]] * slowdown_of(own[points[at]]) for own in cells if own[points[at]] != UNMEASURED]
            ahead = math.log(min(known) / here[best]) if known else UNKNOWN_LEAD
            if best not in members and ahead > arguments.ahead:
                lead[best] += ahead
    new = [one for one, _ in lead.most_common(max(0, arguments.members - len(members)))]
    for kernel, configuration in new:
        members[kernel, configuration] = len(members)
        text["members"].append({"kernel": kernel, "config": configuration})
        cells.append([UNMEASURED] * len(text["best_us"]))
        for of_launch in kept.values():
            of_launch.append({})

    added = 0
    for at, here in times.items():
        here = {members[one]: time for one, time in here.items() if one in members}
        if at not in points and here:
            points[at] = len(text["best_us"])
            for name, extent in zip(text["extents"], at):
                text["extents"][name].append(extent)
            text["best_us"].append(float(f"{min(here.values()):.3g}"))
            text["floor_us"].append(text["best_us"][-1])  # until rule --fit
            for own in cells:
                own.append(UNMEASURED)
        for member, time in here.items():
            if cells[member][points[at]] == UNMEASURED:
                cells[member][points[at]] = level_of(max(1.0, time / text["best_us"][points[at]]))
                added += 1

    for member, own in zip(text["members"], cells):
        member["slowdowns"] = "".join(own)
    for key, of_launch in kept.items():
        text[key] = ["".join(known.get(i, UNMEASURED) for i, level in enumerate(own) if level != UNMEASURED)
                     for own, known in zip(cells, of_launch)]
    text.pop("trees", None)
    arguments.text.write_text(json.dumps(text))
    print(json.dumps({"shapes": len(text["best_us"]), "members": len(members), "new_members": len(new), "new_measurements": added}))


if __name__ == "__main__":
    main()
