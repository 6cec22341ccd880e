"""Tuning, comparing strategies, and their results."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Mapping, Sequence

from . import _core
from ._engine import forget_default_engines
from ._progress import Progress
from ._strategy import Strategy
from ._tables import Table, trials as session_trials
from ._verbs import run


class TuneResult:
    """What a session found. Shows itself as text, and in a notebook with the convergence curve.

    report: all that `hone tune --json` prints (docs/json.md). Of an operation, `kernel` is the one that won.
    curve: [(seconds, best time so far in microseconds)], the last point as the final round measured it; by energy that point alone.
    """

    def __init__(self, report: dict, text: str, curve: Sequence[tuple[float, float]], store: str):
        self.report, self.curve, self._text, self._store = report, list(curve), text, store

    @property
    def kernel(self) -> str | None:
        return self.report.get("kernel")

    @property
    def device(self) -> str:
        return self.report["device"]

    @property
    def best(self) -> dict[str, Any] | None:
        """The fastest configuration that is right, {parameter: value}; None if there was none."""
        return self.report["best"]["config"] if self.report.get("best") else None

    @property
    def best_us(self) -> float | None:
        """Its median time in microseconds."""
        return self.report["best"]["time_us"] if self.report.get("best") else None

    @property
    def default_us(self) -> float | None:
        """The default configuration's, measured beside it."""
        return self.report["default_us"] if "default_us" in self.report else (self.report.get("default") or {}).get("time_us")

    @property
    def speedup(self) -> float:
        """default_us / best_us."""
        return self.report.get("speedup", 0.0)

    @property
    def interrupted(self) -> bool:
        return self.report.get("interrupted", False)

    @property
    def faults(self) -> dict:
        """How often the strategy lost its turn, and the message of the first time."""
        return self._session_report().get("strategy_faults", {})

    @property
    def session(self) -> int | None:
        """The session's number in the store; of an operation, that of the winner."""
        return self._session_report().get("session")

    @property
    def trials(self) -> Table:
        """Every trial of the session (see hone.trials)."""
        return session_trials(self.session, self._store) if self.session is not None else Table()

    def _session_report(self) -> dict:
        if "implementations" not in self.report:
            return self.report
        won = [one for one in self.report["implementations"] if one["kernel"] == self.kernel and one.get("tuned")]
        return won[0]["tuned"] if won else {}

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        from ._html import curve, table

        rows = []
        if self.default_us:
            default = (self.report.get("default") or {}).get("config", {})
            rows.append(["default", self.default_us, default])
        if self.best_us:
            rows.append(["best", self.best_us, self.best])
        head = f"{self.report.get('operation', self.kernel)} {self.report['dtype']} {_shape_text(self.report['shape'])} on {self.device}"
        return (
            f"<div><b>{head}</b>: {self.speedup:.2f}x{table(['', 'us', 'configuration'], rows)}{curve(self.curve, self.default_us)}</div>"
        )


def _strategies(strategy: str | type | Sequence) -> tuple[list[str], list[type]]:
    """The names of strategies, and those of them that are classes in Python."""
    given = strategy if isinstance(strategy, (list, tuple)) else [strategy]
    own = [one for one in given if isinstance(one, type) and issubclass(one, Strategy)]
    if wrong := [one for one in given if not isinstance(one, str) and one not in own]:
        raise TypeError(f"a strategy is a name or a subclass of hone.Strategy, not {wrong[0]!r}")
    return [one if isinstance(one, str) else one.name for one in given], own


def _shape_text(shape: Mapping[str, int | str | bool] | None) -> str | None:
    return ",".join(f"{name}={str(size).lower() if isinstance(size, bool) else size}" for name, size in shape.items()) if shape else None


def _arrays(folder: str, given: Mapping[str, Any] | None) -> list[str]:
    """--input NAME=FILE for arrays, which are written, and for paths."""
    words = []
    for name, array in (given or {}).items():
        path = os.fspath(array) if isinstance(array, (str, os.PathLike)) else os.path.join(folder, f"{len(os.listdir(folder))}_{name}.npy")
        if not isinstance(array, (str, os.PathLike)):
            import numpy

            numpy.save(path, array)
        words.append(f"{name}={path}")
    return words


def tune(
    kernel: str | os.PathLike,
    *,
    dtype: str | None = None,
    shape: Mapping[str, int | str | bool] | None = None,
    device: str | None = None,
    budget: str = "60s",
    strategy: str | type[Strategy] = "auto",
    settings: Mapping[str, float] | None = None,
    seed: int = 0,
    store: str | os.PathLike | None = None,
    fix: Mapping[str, Any] | str | None = None,
    progress: bool | None = None,
    inputs: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
    flags: Sequence[str] = (),
    **rest: Any,
) -> TuneResult:
    """Searches the configurations of a kernel for a problem on a device and stores the winner.

        result = hone.tune("softmax", dtype="bf16", rows=4096, cols=1024, budget="20s")

    kernel: a built-in kernel or operation, or the path of a kernel file (.cu, needs libclang).
    dtype: "f32", "bf16", "In=e4m3,Out=bf16"; None: f32, or the kernel's only one.
    shape: extents and other fields of the problem; those that are no parameter of this function can be given by keyword.
    device: "cuda:0", "cpu"; None: the best present. "cuda:0,cuda:1" or "cuda:*": on all of these at once.
    budget: seconds, trials or both: "30s", "5m", "200trials", "30s,200trials".
    strategy: a name (hone.strategies()) or a subclass of hone.Strategy; settings: its parameters.
    store: path; None: the usual one. An interrupted session is resumed by the same call.
    fix: values that the search is kept to: {"block": [128, 256], "vec": 4}.
    progress: True, False; None: where a terminal or a notebook is.
    inputs, expect: arrays (or paths of .npy files) in place of drawn inputs, and of the reference's answers, by argument.
    flags: what a kernel file is compiled with: "-Iinclude", "-DNAME=1", "--use_fast_math".
    rest: other options of `hone tune` (fresh=True, max_error=1e-3, no_transfer=True, likely="only", with_=["mine.cu"]), else extents.

    The GIL is released. After Ctrl-C the best so far is stored and KeyboardInterrupt raised. Raises hone.Error: InvalidArgument, NotFound,
    BadKernel, Unavailable, ...
    """
    known = {
        "fresh",
        "max_error",
        "objective",
        "no_transfer",
        "likely",
        "with_",
        "without",
        "compile_workers",
        "graph_below",
        "plugin",
        "include",
        "define",
        "cuda_include",
    }
    extents = {**(shape or {}), **{name: rest.pop(name) for name in list(rest) if name not in known}}
    names, own = _strategies(strategy)
    fixed = (
        fix
        if isinstance(fix, str) or not fix
        else ",".join(
            f"{name}={'|'.join(_value(one) for one in (values if isinstance(values, (list, tuple)) else [values]))}"
            for name, values in fix.items()
        )
    )
    shown = Progress(os.path.basename(os.fspath(kernel)), budget, progress)
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        try:
            report, text, _ = run(
                "tune",
                os.fspath(kernel),
                progress=shown,
                strategies=own,
                dtype=dtype,
                shape=_shape_text(extents),
                device=device,
                budget=budget,
                strategy=names[0],
                set=[f"{name}={value}" for name, value in (settings or {}).items()],
                seed=seed,
                store=store,
                fix=fixed or None,
                input=_arrays(folder, inputs),
                expect=_arrays(folder, expect),
                **_flags(flags),
                **rest,
            )
        except BaseException:
            shown.close()
            raise
    best = (report.get("best") or {}).get("time_us")
    shown.close(report.get("seconds"), best)
    forget_default_engines()
    return TuneResult(report, text, shown.curve, report.get("store"))


def tune_workload(
    workload: str | os.PathLike, *, budget: str = "60s", store: str | os.PathLike | None = None, device: str | None = None, **rest: Any
) -> dict:
    """Tunes the problems of a workload file with one budget, where it saves most time (docs/workloads.md).

    rest: other options of `hone tune --workload`: split, skip_tuned=True, strategy, seed. Returns what --json prints: weighted_before_us,
    weighted_after_us, gain, items, ... Raises hone.Error.
    """
    report, _, _ = run("tune", workload=workload, budget=budget, store=store, device=device, **rest)
    forget_default_engines()
    return report


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flags(flags: Sequence[str]) -> dict[str, list[str]]:
    """-I, -D and others as the command's options."""
    sorted_flags: dict[str, list[str]] = {"include": [], "define": [], "flag": []}
    for flag in flags:
        kind = {"-I": "include", "-D": "define"}.get(flag[:2], "flag")
        sorted_flags[kind].append(flag[2:].strip() if kind != "flag" else flag)
    return {kind: words for kind, words in sorted_flags.items() if words}


class Comparison:
    """What hone.compare found: `table` (a row for each strategy), and `report`, all that `hone compare --json` prints."""

    def __init__(self, report: dict, text: str):
        self.report, self._text = report, text

    @property
    def table(self) -> Table:
        return Table(self.report["strategies"])

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self._text)}</pre>"


def compare(
    strategies: Sequence[str | type[Strategy]],
    spaces: str | os.PathLike,
    *,
    budgets: Sequence[int] | None = None,
    repeats: int = 100,
    seed: int = 0,
    **rest: Any,
) -> Comparison:
    """Scores strategies on recorded spaces, without a GPU: how good their best is after each budget (docs/comparing.md).

    strategies: names ("auto", "bayesian:initial=8") and subclasses of hone.Strategy. Those in Python take turns with the GIL.
    spaces: a folder or file of recorded spaces: Hone's, Kernel Tuner's caches, T4.
    budgets: evaluations at which results are compared. repeats: searches of each strategy on each space.
    rest: other options of `hone compare`: batch, jobs, unit, transfer, report.
    """
    names, own = _strategies(list(strategies))
    report, text, _ = run(
        "compare",
        strategies=own,
        strategy=names,
        spaces=spaces,
        repeats=repeats,
        seed=seed,
        budgets=",".join(str(one) for one in budgets) if budgets else None,
        **rest,
    )
    return Comparison(report, text)


def space(
    kernel: str | os.PathLike | Mapping[str, Sequence],
    constraints: Sequence[str] = (),
    *,
    dtype: str | None = None,
    device: str | None = None,
    fix: str | None = None,
    name: str = "space",
    **shape: int | str | bool,
) -> _core.Space:
    """A search space, built without listing it.

        hone.space("softmax", rows=512, cols=2048)                                   # of a kernel or a kernel file, for a problem
        hone.space({"block": [32, 64], "tile": [1, 2, 4]}, ["block * tile <= 128"])  # of parameters and constraints
        hone.space("space.json")                                                     # of a T1 file or a description (docs/spaces.md)

    Constraints are text in Python's or C's syntax, with Python's arithmetic. Raises hone.Error (code 'empty_space') where nothing is valid.
    """
    import json

    if isinstance(kernel, Mapping):
        text = json.dumps(
            {"name": name, "parameters": {key: list(values) for key, values in kernel.items()}, "constraints": list(constraints)}
        )
        return _core.describe_space(text, name)
    path = os.fspath(kernel)
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if '"ConfigurationSpace"' in text or '"parameters"' in text:
            return _core.describe_space(text, path)
    words = [path]
    for option, value in {"dtype": dtype, "device": device, "fix": fix, "shape": _shape_text(shape)}.items():
        if value is not None:
            words.append(f"--{option}={value}")
    return _core.kernel_space(words)
