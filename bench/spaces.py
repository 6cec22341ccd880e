#!/usr/bin/env python3
"""Times the construction of search spaces: Hone beside Kernel Tuner's solver, its brute force and pyATF; Hone alone against size.

    python3 bench/spaces.py --definitions FILE.json --hone build/bin/hone --out docs/results/spaces-DATE

FILE holds a list of spaces ("name", "parameters", "constraints", "valid"). Everything is measured in one run on one machine: every tool in a
process of its own, importing and process start not counted, one core. Of the others processor time is taken, the least of three runs where
one takes under five seconds, so that a busy machine does not count against them; of Hone it is the time on the clock, the median of all runs.
A tool that takes longer than --limit seconds is stopped; the table says so and its ratio is then a lower bound. The others are installed from
PyPI into the virtual environment --venv. Written are OUT.json (everything), OUT.tables.md and OUT.svg (the plot). --only-hone measures Hone
again and keeps the others' figures; --only-report prints again what OUT.json holds.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = {"kernel_tuner": "kernel_tuner", "pyatf": "pyatf", "matplotlib": "matplotlib"}
TOOLS = {"kernel_tuner": "Kernel Tuner, its solver", "brute_force": "Kernel Tuner, brute force", "pyatf": "pyATF"}
QUERIED = ("gemm", "hotspot")
MOST_VALUES = 64  # of a synthetic space's parameter; real ones have fewer


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--definitions", type=pathlib.Path, help="JSON list of spaces")
    parser.add_argument("--hone", type=pathlib.Path, default=ROOT / "build/bin/hone")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="path without suffix")
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build/venv-search")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one tool may take for one space")
    parser.add_argument("--repeats", type=int, default=9, help="Hone's time is the median of so many runs; of the others there is one")
    parser.add_argument("--queries", type=int, default=20000)
    parser.add_argument("--only-hone", action="store_true", help="measure Hone again, keep the others' figures in OUT.json")
    parser.add_argument("--only-report", action="store_true")
    parser.add_argument("--build-with", choices=list(TOOLS), help=argparse.SUPPRESS)  # the process that is timed
    return parser.parse_args()


# In the process that is timed


def as_python(constraint):
    spelled = re.sub(r"!(?!=)", " not ", constraint.replace("&&", " and ").replace("||", " or "))
    return spelled.strip()


def build_kernel_tuner(space, framework):
    from kernel_tuner.searchspace import Searchspace

    restrictions = [as_python(text) for text in space["constraints"]]
    start = time.thread_time()
    built = Searchspace(space["parameters"], restrictions, max_threads=2**31, framework=framework)
    return time.thread_time() - start, built.size


def build_pyatf(space):
    """A constraint belongs to the last of its parameters, as pyATF wants it."""
    import pyatf

    names = list(space["parameters"])
    mine = {name: [] for name in names}
    for text in space["constraints"]:
        used = [name for name in names if re.search(rf"\b{name}\b", text)]
        mine[used[-1]].append((as_python(text), used))
    parameters = []
    start = time.thread_time()
    for name in names:
        needed = sorted({other for _, used in mine[name] for other in used} | {name}, key=names.index)
        body = " and ".join(f"({text})" for text, _ in mine[name])
        constraint = eval(f"lambda {', '.join(needed)}: {body}") if body else None
        parameters.append(pyatf.TP(name, pyatf.Set(*space["parameters"][name]), constraint))
    built = pyatf.search_space.SearchSpace(*parameters, verbosity=0)
    return time.thread_time() - start, built.constrained_size


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def build_with(tool):
    space = json.load(sys.stdin)
    import kernel_tuner.searchspace  # noqa: F401 importing is no part of what is measured
    import pyatf  # noqa: F401
    before = peak_bytes()
    if tool == "pyatf":
        seconds, size = build_pyatf(space)
    else:
        seconds, size = build_kernel_tuner(space, "PythonConstraint" if tool == "kernel_tuner" else "bruteforce")
    print("\n" + json.dumps({"seconds": seconds, "size": int(size), "bytes": peak_bytes() - before}))


# In the process that measures


def prepare(folder):
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    missing = [package for package, module in PACKAGES.items() if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode != 0]
    if missing:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *missing], check=True)
    return python


def versions(python):
    code = f"import importlib.metadata as m, json; print(json.dumps({{p: m.version(p) for p in {list(PACKAGES)}}}))"
    return json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout)


def run_rival(python, tool, space, limit):
    command = [python, __file__, "--out", "-", "--build-with", tool]
    limits = (int(limit), int(limit))
    done = subprocess.run(command, input=json.dumps(space), capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits))
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"stopped_after": limit}
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return result | {"equal": result["size"] == int(space["valid"])}


def time_rival(python, tool, space, limit):
    best = run_rival(python, tool, space, limit)
    for _ in range(2 if best.get("seconds", 5.0) < 5.0 else 0):
        again = run_rival(python, tool, space, limit)
        best = again if again.get("seconds", limit) < best["seconds"] else best
    return best


def hone(binary, file, *options):
    done = subprocess.run([binary, "space", file, "--count", "--json", *options], capture_output=True, text=True)
    if not done.stdout.startswith('{"file"'):
        raise SystemExit(f"{binary} space {file}: {done.stderr.strip()}")
    return json.loads(done.stdout)["spaces"]


def time_hone(binary, file, repeats):
    runs = [hone(binary, file) for _ in range(repeats)]
    merged = runs[0]
    for i, space in enumerate(merged):
        times = [run[i]["construction_ms"] for run in runs]
        space["construction_ms"], space["fastest_ms"] = statistics.median(times), min(times)
    return merged, statistics.median(sum(space["construction_ms"] for space in run) for run in runs), min(sum(s["construction_ms"] for s in run) for run in runs)


def synthetic(parameters, exponent):
    """About 10^exponent combinations: the parameters of tiled kernels, four of them tied by the constraints that such have, and again."""
    each = 10 ** (exponent / parameters)
    counts = [max(1, round(each))] * parameters
    for i in range(parameters):  # whole numbers of values, with a product as near as can be
        product = 1
        for count in counts:
            product *= count
        if product < 10**exponent / 1.1:
            counts[i] += 1
        elif product > 10**exponent * 1.1 and counts[i] > 2:
            counts[i] -= 1
    values = {f"x{i}": [2**k for k in range(count)] if count <= 11 and i % 3 == 0 else list(range(1, count + 1)) for i, count in enumerate(counts)}
    constraints = []
    for first in range(0, parameters - 1, 4):
        a, b, c, d = (f"x{min(first + i, parameters - 1)}" for i in range(4))
        constraints += [f"{a} * {b} <= {max(values[a]) * max(values[b]) // 2}"]
        if first + 3 < parameters:
            constraints += [f"{a} % {c} == 0 or {c} > {b}", f"({a} * {b} + 2 * {c}) * {d} * 4 <= {max(values[a]) * max(values[b]) * max(values[d]) * 2}"]
        if first >= 4:
            constraints += [f"x{first - 1} <= {a} + {b}"]
    product = 1
    for listed in values.values():
        product *= len(listed)
    return {"name": f"{parameters} parameters, 10^{exponent}", "parameters": values, "constraints": constraints}, product


def time_synthetic(binary, repeats):
    rows = []
    for exponent in range(3, 16):
        for parameters in (2, 3, 5, 10, 20, 40):
            if 2**parameters > 1.2 * 10**exponent or 10 ** (exponent / parameters) > MOST_VALUES:
                continue
            space, cartesian = synthetic(parameters, exponent)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump([space], file)
                file.flush()
                (measured,), median, _ = time_hone(binary, file.name, repeats)
            rows.append({"parameters": parameters, "combinations": cartesian, "valid": measured["size"], "exact": measured["exact"],
                         "ms": median, "bytes": measured["bytes"], "nodes": measured["nodes"]})
    return rows


def measure(arguments, kept):
    """Hone's figures; the others' too, unless there are any to keep."""
    definitions = json.loads(arguments.definitions.read_text())
    report = {"date": datetime.date.today().isoformat(), "machine": machine(), "limit_s": arguments.limit, "repeats": arguments.repeats}
    spaces, report["hone_total_ms"], report["hone_fastest_total_ms"] = time_hone(arguments.hone, arguments.definitions, arguments.repeats)
    report["spaces"] = spaces
    queried = hone(arguments.hone, arguments.definitions, "--time-queries", str(arguments.queries))
    report["query_ns"] = {space["name"]: space["query_ns"] for space in queried if space["name"] in QUERIED}
    report["synthetic"] = time_synthetic(arguments.hone, max(3, arguments.repeats // 3))
    if kept:
        report["limit_s"], report["versions"] = kept["limit_s"], kept["versions"]
        for space, before in zip(spaces, kept["spaces"]):
            space["rivals"] = before["rivals"]
        return report
    python = prepare(arguments.venv)
    report["versions"] = versions(python) | {"python": platform.python_version()}
    for space, definition in zip(spaces, definitions):
        space["rivals"] = {}
        for tool in TOOLS:
            space["rivals"][tool] = time_rival(python, tool, definition, arguments.limit)
            print(space["name"], tool, space["rivals"][tool], file=sys.stderr, flush=True)
    return report


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cores": len(names), "load": round(os.getloadavg()[0], 1)}


def seconds_of(rival):
    return rival.get("seconds", rival.get("stopped_after"))


def cell(rival, hone_s):
    if "error" in rival:
        return "failed: " + rival["error"]
    if "stopped_after" in rival:
        return f"stopped after {rival['stopped_after']:.0f} s (> {rival['stopped_after'] / hone_s:,.0f}x)"
    wrong = "" if rival["equal"] else f", counts {rival['size']}"
    return f"{rival['seconds']:.3g} s ({rival['seconds'] / hone_s:,.0f}x{wrong})"


def rivals_table(report):
    lines = ["| space | combinations | valid | Hone | " + " | ".join(TOOLS.values()) + " |", "| --- |" + " --- |" * (3 + len(TOOLS))]
    for space in report["spaces"]:
        cells = [cell(space["rivals"][tool], space["construction_ms"] / 1e3) for tool in TOOLS]
        lines.append(f"| {space['name']} | {int(space['cartesian']):,} | {int(space['size']):,} {'=' if space['equal'] else '!='} | "
                     f"{space['construction_ms']:.3f} ms | " + " | ".join(cells) + " |")
    totals = []
    for tool in TOOLS:
        rivals = [space["rivals"][tool] for space in report["spaces"]]
        total = sum(seconds_of(rival) or 0.0 for rival in rivals)
        bound = "> " if any("seconds" not in rival for rival in rivals) else ""
        totals.append(f"{bound}{total:.3g} s ({bound}{total / report['hone_total_ms'] * 1e3:,.0f}x)")
    lines.append(f"| all eight | | | {report['hone_total_ms']:.2f} ms | " + " | ".join(totals) + " |")
    return lines


def lead(report, space):
    """Of Hone over the best of the others that count right."""
    finished = [rival["seconds"] for rival in space["rivals"].values() if "seconds" in rival and rival["equal"]]
    return min(finished) * 1e3 / space["construction_ms"]


def total_lead(report):
    totals = [[space["rivals"][tool].get("seconds") for space in report["spaces"]] for tool in TOOLS]
    return min(sum(seconds) for seconds in totals if None not in seconds) * 1e3 / report["hone_total_ms"]


def memory_table(report):
    lines = ["| space | Hone, bytes of the structure | " + " | ".join(TOOLS.values()) + " |", "| --- | --- |" + " --- |" * len(TOOLS)]
    for space in report["spaces"]:
        cells = [f"{rival['bytes'] / 2**20:,.1f} MiB" if "bytes" in rival else "-" for rival in space["rivals"].values()]
        lines.append(f"| {space['name']} | {space['bytes']:,} | " + " | ".join(cells) + " |")
    return lines


def queries_table(report):
    lines = ["| space | at | index | contains | sample | Hamming neighbours | adjacent neighbours | nearest |", "| --- |" + " --- |" * 7]
    for name, times in report["query_ns"].items():
        around = [f"{times[kind]:.0f} ({times[kind + '_found']:.1f} of them)" for kind in ("hamming_neighbours", "adjacent_neighbours")]
        cells = [f"{times[key]:.0f}" for key in ("at", "index", "contains", "sample")] + around + [f"{times['nearest']:.0f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def synthetic_table(report):
    lines = ["| parameters | combinations | valid | ms | bytes | nodes |", "| --- |" + " --- |" * 5]
    for row in report["synthetic"]:
        valid = f"{int(row['valid']):.3g}" if row["exact"] else "not counted"
        lines.append(f"| {row['parameters']} | {row['combinations']:.2g} | {valid} | {row['ms']:.3f} | {row['bytes']:,} | {row['nodes']:,} |")
    return lines


def markdown(report, stem):
    leads = {space["name"]: lead(report, space) for space in report["spaces"]}
    least = min(leads, key=leads.get)
    packages = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    lines = [f"{report['date']}, {report['machine']['cpu']}, {report['machine']['cores']} cores, load {report['machine']['load']} when Hone was measured; "
             f"{packages}.", "", "## Construction", "", *rivals_table(report), "",
             f"All eight in {report['hone_total_ms']:.2f} ms, the median of {report['repeats']} runs (fastest {report['hone_fastest_total_ms']:.2f} ms), "
             f"{total_lead(report):,.0f} times ahead of the best of the others over all eight. Space by space the lead over the best one is from "
             f"{leads[least]:,.0f}x ({least}) to {max(leads.values()):,.0f}x.", "",
             "## Memory", "", *memory_table(report), "", "## Queries", "", *queries_table(report), "",
             "## Size", "", f"![construction time and bytes against combinations]({stem}.svg)", "", *synthetic_table(report)]
    return "\n".join(lines) + "\n"


PLOT = """
import json, sys
import matplotlib
matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "hone"
import matplotlib.pyplot as plt
rows = json.load(open(sys.argv[1]))["synthetic"]
figure, axes = plt.subplots(1, 2, figsize=(10, 4))
for axis, key, label in zip(axes, ("ms", "bytes"), ("construction, ms", "diagrams, bytes")):
    for parameters in sorted({row["parameters"] for row in rows}):
        mine = [row for row in rows if row["parameters"] == parameters]
        axis.loglog([row["combinations"] for row in mine], [row[key] for row in mine], marker="o", markersize=3, label=f"{parameters} parameters")
    axis.set_xlabel("combinations")
    axis.set_ylabel(label)
    axis.grid(alpha=0.3)
axes[0].legend(fontsize=7)
figure.tight_layout()
figure.savefig(sys.argv[2], metadata={"Date": None})
"""


def main():
    arguments = parse_arguments()
    if arguments.build_with:
        build_with(arguments.build_with)
        return
    stored = arguments.out.with_name(arguments.out.name + ".json")
    if not arguments.only_report:
        report = measure(arguments, json.loads(stored.read_text()) if arguments.only_hone else None)
        stored.write_text(json.dumps(report, indent=1) + "\n")
    report = json.loads(stored.read_text())
    text = markdown(report, arguments.out.name)
    arguments.out.with_name(arguments.out.name + ".tables.md").write_text(text)
    subprocess.run([prepare(arguments.venv), "-c", PLOT, stored, arguments.out.with_name(arguments.out.name + ".svg")], check=True)
    print(text)


if __name__ == "__main__":
    main()
