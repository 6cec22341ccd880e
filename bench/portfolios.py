#!/usr/bin/env python3
"""What portfolios predict for shapes that nobody tuned, beside what tuning reaches there and what exists, in one process on one GPU.

    python3 bench/portfolios.py --hone build/bin/hone --out OUT --shapes 24 --seed $(git log -n 1 --format=%H -- 'kernels_src/portfolios/*.json')
    python3 bench/portfolios.py --hone build/bin/hone --out OUT --only softmax:f32 matmul:bf16:layout=2 --store S.db --seed 1

Of each operation with a portfolio, shapes are drawn by the seed: log-uniform in its range, about half of the extents no multiples of 8,
none of those that the portfolio was made of (--table: the vendor table's cases in its range). Each shape is tuned for --budget in a store
of its own that knows nothing (--no-transfer), and the winner, the portfolio's choice and PyTorch are launched from here in the same rounds
(bench/vendor/timing.py). Results are written as portfolios.json after every shape; --limit ends a run cleanly, and the same command goes
on with what is left.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import random
import statistics
import sys
import tempfile

from vendor import cases, command

WORKS = {"softmax": "softmax", "layernorm": "layernorm", "rmsnorm": "rmsnorm", "row_sum": "row_sum", "transpose": "transpose", "matmul": "gemm"}
LAYOUT, MODELS_LAYOUT = 1, 2  # of matmul's operands: the default, and the one of models' weights, b[n, k]
RESERVE_S = 20.0
MOST_BYTES = 1 << 30


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="hone", metavar="PATH", help="the hone command (default: from PATH)")
    parser.add_argument("--out", default=".", metavar="DIR", type=pathlib.Path, help="where portfolios.json goes")
    parser.add_argument("--store", metavar="FILE", help="a store with portfolios (default: none, those that came with Hone)")
    parser.add_argument("--device", default="cuda:0", metavar="ID")
    parser.add_argument("--budget", default="5s", help="of every tuning session (default: 5s)")
    parser.add_argument("--shapes", type=int, default=24, help="for each portfolio (default: 24)")
    parser.add_argument("--seed", default="", help="of the shapes: the hash of the commit that holds the portfolios")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.6, metavar="S", help="that the rounds of a shape may take")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="of the whole run")
    parser.add_argument("--table", action="store_true", help="the cases of the vendor table instead of drawn shapes")
    parser.add_argument("--max-autotune", type=int, default=0, metavar="N", help="also time torch.compile's best at N of the shapes, spread over all")
    parser.add_argument("--compile-limit", type=float, default=30.0, metavar="SECONDS", help="of one torch.compile (default: 30)")
    parser.add_argument("--longer", metavar="BUDGET", help="of every tenth session, instead of --budget")
    parser.add_argument("--beside", action="store_true", help="also time what serves without --store, and the default")
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATION:DTYPE")
    parser.add_argument("--list", action="store_true", help="print the shapes")
    return parser.parse_args()


def parse_range(text):
    """{"rows": [(1, 65536)]}"""
    return {name: [tuple(map(int, (part.split("..") * 2)[:2])) for part in parts.split("|")]
            for name, parts in (axis.split("=") for axis in text.split(","))}


def draw(axes, generator, is_wanted):
    """A shape, log-uniform; half of the extents that vary are multiples of 8, 16, ... 128 as far as the span has room for them."""
    while True:
        shape = {}
        for name, parts in axes.items():
            low, high = generator.choice(parts)
            extent = min(high, int(math.exp(generator.uniform(math.log(max(1, low)), math.log(high + 1)))))  # a flag may be 0
            if low < high and generator.random() < 0.5:
                unit = 8 << generator.randrange(5)
                while unit >= 8 and (extent // unit == 0 or extent // unit * unit < low):
                    unit //= 2
                extent = extent // unit * unit if unit >= 8 else extent
            elif low < high and extent % 8 == 0:
                extent += 1 if extent < high else -1
            shape[name] = extent
        if is_wanted(shape):
            return shape


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of an operation, in the form that bench/vendor takes."""
    operation: str
    dtype: str
    shape: tuple

    @property
    def case(self):
        work = WORKS[self.operation]
        return cases.Case(work, self.dtype, tuple(dict(self.shape)[axis] for axis in cases.AXES[work]))

    @property
    def shape_text(self):
        return ",".join(f"{name}={extent}" for name, extent in self.shape)

    @property
    def name(self):
        return f"{self.operation}:{self.dtype}:{self.shape_text}"

    @property
    def expression(self):
        """As PyTorch computes it, of the same memory."""
        from vendor import works

        extents = dict(self.shape)
        if self.operation == "matmul" and extents["layout"] == MODELS_LAYOUT:
            product = works.EXPRESSIONS["gemm"]
            return lambda a, b: product(a, b.view(extents["n"], extents["k"]).t())
        return works.EXPRESSIONS[self.case.work]


def group_of(operation, dtype, fixed):
    """softmax:f32, matmul:bf16:layout=2"""
    layout = fixed.get("layout", LAYOUT)
    return f"{operation}:{dtype}" + (f":layout={layout}" if layout != LAYOUT else "")


def group_of_portfolio(portfolio):
    return group_of(portfolio["operation"], portfolio["dtype"], {name: parts[0][0] for name, parts in parse_range(portfolio["range"]).items()})


def octaves(portfolio):
    return sum(math.log2(high / max(1, low) + 1) for parts in parse_range(portfolio["range"]).values() for low, high in parts)


def by_name(portfolios):
    """By group; of those of several ranges the widest, the others by what is theirs: softmax:f32:cols=131073..4194304. Later ones count."""
    ranges = {}
    for one in portfolios:
        ranges.setdefault(group_of_portfolio(one), {})[one["range"]] = one
    names = {}
    for group, all_ in ranges.items():
        widest = max(all_.values(), key=octaves)
        for one in all_.values():
            own = [axis for axis in one["range"].split(",") if axis not in widest["range"].split(",")]
            names[group if one is widest else f"{group}:{own[-1]}"] = one
    return names


def problems_of(portfolio, points, arguments):
    axes = parse_range(portfolio["range"])
    named = cases.AXES[WORKS[portfolio["operation"]]]
    generator = random.Random(f"{arguments.seed} {group_of_portfolio(portfolio)}")
    table = {case.extents for case in cases.all_cases() if case.work == WORKS[portfolio["operation"]]}

    def is_wanted(shape):
        problem = Problem(portfolio["operation"], portfolio["dtype"], tuple(shape.items()))
        return (problem.case.bytes <= MOST_BYTES and problem.case.flops <= 4e12 and tuple(shape[a] for a in named) not in table
                and tuple(shape.items()) not in points)

    if arguments.table:
        return of_table(portfolio, axes, named, points)
    return [Problem(portfolio["operation"], portfolio["dtype"], tuple(draw(axes, generator, is_wanted).items()))
            for _ in range(arguments.shapes)]


def of_table(portfolio, axes, named, points):
    """The vendor table's cases in the portfolio's range. None may have been measured for it."""
    fixed = {name: parts[0][0] for name, parts in axes.items()}
    problems = []
    for case in cases.all_cases():
        if case.work != WORKS[portfolio["operation"]] or case.dtype != portfolio["dtype"] or fixed.get("layout", LAYOUT) != LAYOUT:
            continue
        shape = {**fixed, **dict(zip(named, case.extents))}
        if all(any(low <= shape[name] <= high for low, high in parts) for name, parts in axes.items()):
            if tuple(shape.items()) in points:
                raise SystemExit(f"{case.name} was measured for the portfolio")
            problems.append(Problem(portfolio["operation"], portfolio["dtype"], tuple(shape.items())))
    return problems


def points_of(portfolio, hone, folder):
    """The shapes that the portfolio was made of."""
    file = folder / "portfolio.json"
    hone.call(["portfolios", portfolio["operation"], "--dtype", portfolio["dtype"], "--store", hone.store, "--range", portfolio["range"],
               "--product", portfolio["product"], "--generation", str(portfolio["generation"]), "--out", str(file)], 30.0)
    text = json.loads(file.read_text())
    count = len(text["best_us"])
    axes = [(axis["name"], text["extents"].get(axis["name"], axis["parts"][0][:1] * count)) for axis in text["range"]]
    return {tuple((name, extents[i]) for name, extents in axes) for i in range(count)}


def exported(hone, problem, folder, store, kernel=None, config=None):
    """`config`: one of the kernel's, or "default"."""
    from vendor import contenders

    words = ["export", kernel or problem.operation, "--dtype", problem.dtype, "--shape", problem.shape_text, "--device", hone.device,
             "--store", str(store), "--out", str(folder)]
    named = config if isinstance(config, str) else command.config_text(config or {})
    answer = hone.call(words + (["--config", named] if named else []), 60.0)
    return contenders.Exported(answer["file"]), answer


def tuned(hone, problem, budget, store):
    words = ["tune", problem.operation, "--dtype", problem.dtype, "--shape", problem.shape_text, "--device", hone.device, "--budget", budget,
             "--store", str(store), "--no-transfer"]
    if problem.operation == "matmul":
        words += ["--without", "cublaslt"]  # a library has no code to export; it is measured beside
    answer = hone.call(words, command.budget_seconds(budget) + 60.0)
    if answer["best"] is None:
        raise RuntimeError("no configuration was right")
    return answer.get("kernel") or problem.operation, answer["best"]["config"]


def times_of(everybody, case, stopwatch, arguments):
    """Microseconds by name: by events, and for what is short by graph replay."""
    from vendor import timing, works

    inputs = works.make_inputs(case)
    runs = {name: contender.bind(inputs) for name, contender in everybody.items()}
    first = {name: timing.summary(samples)["us"] for name, samples in stopwatch.events(runs, 8, 0.0).items()}
    if min(first.values()) >= timing.SHORT_US:
        return {name: timing.summary(samples)["us"]
                for name, samples in stopwatch.events(runs, arguments.rounds, arguments.seconds).items()}
    del runs
    sets = [works.make_inputs(case) for _ in range(stopwatch.sets_for(case.bytes))]
    graphs, keep = {}, []
    for name, contender in everybody.items():
        calls = [contender.bind(each) for each in sets]
        calls[0]()
        graph, outputs = timing.capture(calls)
        keep.append((calls, outputs))
        graphs[name] = graph
    samples = stopwatch.replays(graphs, arguments.rounds, arguments.seconds, case.bytes)
    return {name: timing.summary(taken)["us"] for name, taken in samples.items()}


@dataclasses.dataclass(frozen=True)
class Effort:
    """What a shape is worth: its tuning budget, and whether torch.compile looks for its best."""
    budget: str
    max_autotune: bool


def efforts(count, arguments):
    """Of all shapes, in their order."""
    most = min(count, arguments.max_autotune)
    autotuned = {(2 * i + 1) * count // (2 * most) for i in range(most)}
    return [Effort(arguments.longer if arguments.longer and i % 10 == 9 else arguments.budget, i in autotuned) for i in range(count)]


def measure(problem, effort, hone, arguments, stopwatch, folder):
    from vendor import contenders, works

    with tempfile.TemporaryDirectory(dir=folder) as own:
        own = pathlib.Path(own)
        predicted, answer = exported(hone, problem, own / "predicted", hone.store)
        if answer["source"] != "predicted":
            raise RuntimeError(f"the portfolio did not serve: {answer['source']}")
        kernel, config = tuned(hone, problem, effort.budget, own / "tuned.db")
        best, _ = exported(hone, problem, own / "tuned", own / "tuned.db", kernel, config)
        case = problem.case
        function = problem.expression
        everybody = {"tuned": best, "predicted": predicted}
        without = None
        if arguments.beside:
            everybody["without store"], _ = exported(hone, problem, own / "without", own / "none.db")
            without = hone.call(["best", problem.operation, "--dtype", problem.dtype, "--shape", problem.shape_text, "--device",
                                 hone.device, "--store", str(own / "none.db")], 60.0)
            if problem.operation != "matmul":  # which has several kernels, and so no default
                everybody["default"], _ = exported(hone, problem, own / "default", own / "none.db", config="default")
        if case.work == "gemm":
            everybody["cuBLASLt"] = contenders.WithLibrary("cublaslt", function)
        if case.work != "transpose" or 1 not in dict(problem.shape).values():  # PyTorch makes a view of a single row or column
            everybody["torch eager"] = contenders.Expression(function)
        notes = []
        if effort.max_autotune and "torch eager" in everybody:
            try:
                everybody["torch.compile max-autotune"], _ = contenders.compiled(function, works.make_inputs(case), arguments.compile_limit)
            except Exception as error:  # whatever the compiler throws is a note, not the end
                notes.append(f"torch.compile: {contenders.describe(error)}")
        us = times_of(everybody, case, stopwatch, arguments)
    existing = min((us[name] for name in everybody if name == "cuBLASLt" or name.startswith("torch")), default=None)
    return {"us": us, "budget": effort.budget, "notes": notes, "without_store": without, "kernel": answer["kernel"], "config": command.config_text(answer["config"]), "tuned_kernel": kernel,
            "tuned_config": command.config_text(config), "to_tuned": us["tuned"] / us["predicted"], "to_existing": existing / us["predicted"] if existing else None}


def likeness(one, other):
    """How many words two names begin with in common."""
    same = 0
    for a, b in zip(one.split(), other.split()):
        if a != b:
            break
        same += 1
    return same


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summaries(rows):
    groups = {}
    for row in rows.values():
        groups.setdefault(row["portfolio"], []).append(row)
    return {group: {"shapes": len(all_), "to_tuned": mean([row["to_tuned"] for row in all_]), "worst": min(row["to_tuned"] for row in all_),
                    "below_85": sum(row["to_tuned"] < 0.85 for row in all_), "to_existing": mean([row["to_existing"] for row in all_ if row["to_existing"] is not None]),
                    **{f"to_tuned_{name.replace(' ', '_')}": mean([row["us"]["tuned"] / row["us"][name] for row in all_])
                       for name in ("without store", "default") if all(name in row["us"] for row in all_)}}
            for group, all_ in groups.items()}


def main():
    arguments = parse_arguments()
    if not arguments.seed and not arguments.table:
        raise SystemExit("--seed: of the shapes, the hash of the commit that holds the portfolios")
    deadline = command.Deadline(arguments.limit)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        hone = command.Hone(arguments.hone, arguments.store or folder / "none.db", arguments.device, ".", deadline)
        products = {one["id"]: one["product"] for one in hone.call(["devices"], 30.0)["devices"]}
        known = [one for one in hone.call(["portfolios", "--store", hone.store], 30.0)["portfolios"] if one["operation"] in WORKS]
        # What serves: made on this product, later rather than earlier, else shipped and named most like this one.
        product = products.get(arguments.device, "")
        known = [one for one in known if one["shipped"] or one["product"] == product]
        known.sort(key=lambda one: (-likeness(one["product"], product), one["product"], -one["generation"]), reverse=True)
        chosen = {name: one for name, one in by_name(known).items() if not arguments.only or name in arguments.only}
        problems = {name: problems_of(one, points_of(one, hone, folder), arguments) for name, one in chosen.items()}
        # One shape of each in turn: a run that is cut short has seen all of them.
        most = max(map(len, problems.values()), default=0)
        todo = [(name, problems[name][i]) for i in range(most) for name in problems if i < len(problems[name])]
        if arguments.list:
            print("\n".join(problem.name for _, problem in todo))
            return 0
        import torch

        from vendor import timing

        torch.set_grad_enabled(False)
        torch.backends.cuda.matmul.allow_tf32 = False
        stopwatch = timing.Stopwatch(1)
        arguments.out.mkdir(parents=True, exist_ok=True)
        file = arguments.out / "portfolios.json"
        document = json.loads(file.read_text()) if file.exists() else {"rows": {}, "failed": {}}
        document |= {"seed": arguments.seed, "gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "hone": hone.version(),
                     "budget": arguments.budget, "portfolios": chosen}
        for (portfolio, problem), effort in zip(todo, efforts(len(todo), arguments)):
            if problem.name in document["rows"] or deadline.left() < RESERVE_S:
                continue
            try:
                row = document["rows"][problem.name] = measure(problem, effort, hone, arguments, stopwatch, folder) | {"portfolio": portfolio}
                existing = f"{row['to_existing']:.3f} of existing" if row["to_existing"] else "nothing existing was timed"
                print(f"[{deadline.left():4.0f} s] {problem.name}: {row['to_tuned']:.3f} of tuned, {existing}", file=sys.stderr, flush=True)
            except TimeoutError:
                break
            except Exception as error:  # a shape that fails is a note, and not the end
                document["failed"][problem.name] = f"{type(error).__name__}: {error}"[:400]
                print(f"{problem.name}: {document['failed'][problem.name]}", file=sys.stderr, flush=True)
            torch.cuda.empty_cache()
            document["summary"] = summaries(document["rows"])
            file.write_text(json.dumps(document, indent=1))
        for group, one in document.get("summary", {}).items():
            print(f"{group:<16} {one['shapes']:3} shapes: {one['to_tuned']:.3f} of tuned (worst {one['worst']:.2f}, {one['below_85']} below .85), "
                  f"{one['to_existing']:.3f} of existing"
                  + "".join(f", {name} {one[key]:.3f} of tuned" for name, key in (("without the store", "to_tuned_without_store"), ("default", "to_tuned_default"))
                            if key in one))
    return 0


if __name__ == "__main__":
    sys.exit(main())
