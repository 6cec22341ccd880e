"""Kernel Tuner's tune_kernel on Hone: change `import kernel_tuner` to `import hone.kernel_tuner as kernel_tuner`.

What differs is listed in docs/python.md.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import textwrap
from typing import Any, Callable, Mapping, Sequence

from . import _core
from ._c_expression import to_cpp
from ._engine import Engine
from ._errors import InvalidArgument
from ._tune import tune
from ._verbs import run

_STRATEGIES = {
    None: "exhaustive",
    "brute_force": "exhaustive",
    "random_sample": "random",
    "bayes_opt": "bayesian",
    "diff_evo": "differential_evolution",
    "firefly_algorithm": "particle_swarm",
    "pso": "particle_swarm",
    "greedy_ils": "greedy_ils",
    "greedy_mls": "local_search",
    "ordered_greedy_mls": "local_search",
    "mls": "local_search",
    "basinhopping": "dual_annealing",
    "minimize": "local_search",
    "dual_annealing": "dual_annealing",
    "simulated_annealing": "simulated_annealing",
    "genetic_algorithm": "genetic_algorithm",
}
_FIXED = 1000003  # of the generated Problem: no small problem has it, so that only the arguments' own sizes are run
_REFUSED = {
    "smem_args": "dynamic shared memory",
    "texmem_args": "textures",
    "observers": "observers",
    "objective": "other objectives than time",
    "objectives": "other objectives than time",
    "simulation_mode": "simulation (hone.tune(FILE) and hone.compare replay caches)",
}


def tune_kernel(
    kernel_name: str,
    kernel_source: str,
    problem_size: int | str | Sequence,
    arguments: Sequence[Any],
    tune_params: Mapping[str, Sequence],
    grid_div_x: Sequence[str] | None = None,
    grid_div_y: Sequence[str] | None = None,
    grid_div_z: Sequence[str] | None = None,
    restrictions: Sequence[str] | str | None = None,
    answer: Sequence[Any] | None = None,
    atol: float | None = 1e-6,
    verify: Callable | None = None,
    verbose: bool = False,
    lang: str | None = None,
    device: int | str = 0,
    cmem_args: Mapping[str, Any] | None = None,
    compiler: str | None = None,
    compiler_options: Sequence[str] | None = None,
    defines: Mapping[str, Any] | None = None,
    iterations: int | None = None,
    block_size_names: Sequence[str] | None = None,
    quiet: bool = False,
    strategy: str | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    cache: str | None = None,
    metrics: Mapping[str, Callable | str] | None = None,
    seed: int | None = None,
    store: str | os.PathLike | None = None,
    **rest: Any,
) -> tuple[list[dict], dict]:
    """Tunes a CUDA kernel as Kernel Tuner's function of that name does; returns (results, environment).

    Each result has the parameters and `time` in milliseconds, or the outcome as a text where the configuration failed. Every
    configuration is validated: against `answer`, or against what the first valid configuration gives. strategy_options: max_fevals,
    time_limit (seconds). `device` may be "cpu". `store`: where Hone keeps the session; None: the usual store.

    Raises hone.InvalidArgument for options without a counterpart, with what to do.
    """
    _refuse(lang, verify, cmem_args, rest)
    options = dict(strategy_options or {})
    names = list(block_size_names or ["block_size_x", "block_size_y", "block_size_z"])
    job = _Job(
        kernel_name,
        kernel_source,
        problem_size,
        arguments,
        tune_params,
        [grid_div_x, grid_div_y, grid_div_z],
        [restrictions] if isinstance(restrictions, str) else list(restrictions or []),
        names,
        dict(defines or {}),
        atol,
    )
    where = device if isinstance(device, str) else _device(device)
    flags = [one for one in compiler_options or [] if not one.startswith("-std")]
    checked = job.answers(answer, where, flags)
    path = job.write(checked)
    budget = ",".join(
        part
        for part in (
            f"{options.pop('max_fevals')}trials" if "max_fevals" in options else "",
            f"{options.pop('time_limit')}s" if "time_limit" in options else "",
        )
        if part
    )
    if strategy not in _STRATEGIES:
        raise InvalidArgument(f"Hone has no counterpart of the strategy {strategy!r}; known here: {', '.join(map(str, _STRATEGIES))}")
    space = _core.kernel_space([str(path), f"--device={where}", *(f"--flag={flag}" for flag in flags)])
    result = tune(
        path,
        device=where,
        budget=budget or f"{space.size}trials",
        strategy=_STRATEGIES[strategy],
        seed=seed or 0,
        store=store,
        inputs=job.inputs(),
        expect=checked,
        flags=flags,
        progress=False if quiet else None,
        likely="ignore",
        max_error=1e-12,
        no_transfer=True,
    )
    results = [job.result(row, metrics) for row in result.trials]
    if cache is not None:
        file = cache if cache.endswith((".json", ".json.gz")) else cache + ".json"
        run("sessions", str(result.session), record=file, kernel=path, store=store)
    if verbose:
        for one in results:
            print(", ".join(f"{name}={value}" for name, value in one.items()))
    if not quiet and result.best_us is not None:
        print(
            "best performing configuration: "
            + ", ".join(f"{name}={value}" for name, value in job.named(result.best or {}).items())
            + f", time={result.best_us / 1e3:.5f}ms"
        )
    return results, {
        "device_name": result.report["product"],
        "best_config": job.named(result.best or {}),
        "session": result.session,
        "store": result.report["store"],
    }


def _refuse(lang: str | None, verify: Callable | None, cmem_args: Any, rest: Mapping[str, Any]) -> None:
    if lang is not None and lang.upper() not in ("CUDA", "CUPY", "NVCUDA"):
        raise InvalidArgument(f"Hone tunes CUDA kernels, not {lang}")
    if verify is not None:
        raise InvalidArgument("verify: Hone compares with `answer` in its worker; write a kernel file with ACCEPT for checks of your own")
    if cmem_args:
        raise InvalidArgument("cmem_args: write a kernel file with CONSTANT (docs/kernels_more.md)")
    for name, value in rest.items():
        if name in _REFUSED and value:
            raise InvalidArgument(f"{name}: {_REFUSED[name]} are not taken over; write a kernel file (docs/coming_from.md)")
        if name not in {*_REFUSED, "platform", "log", "objective_higher_is_better"}:
            raise InvalidArgument(f"tune_kernel has no option {name}")


def _device(number: int) -> str:
    known = [one["id"] for one in run("devices")[0]["devices"]]
    return f"cuda:{number}" if f"cuda:{number}" in known else "cpu"


class _Job:
    """A call of tune_kernel as a kernel file."""

    def __init__(self, name, source, problem_size, arguments, parameters, grid_div, restrictions, block_names, defines, atol):
        self.name, self.arguments, self.atol = name, list(arguments), 1e-6 if atol is None else atol
        self.source = self._text_of(source)
        self.parameters = {key: list(values) for key, values in parameters.items()}
        if wrong := [key for key, values in self.parameters.items() if not all(isinstance(one, (bool, int, float)) for one in values)]:
            raise InvalidArgument(f"tune_params: {wrong[0]} has values that are no numbers; Hone defines macros from numbers")
        self.fields = {key: f"c.p_{key}" for key in self.parameters}
        if functions := [one for one in restrictions if not isinstance(one, str)]:
            raise InvalidArgument(
                f'restrictions: {functions[0]!r} is a function; write it as a text, such as "block_size_x * tile <= 1024"'
            )
        self.restrictions, self.defines = restrictions, defines
        self.declared = self._declaration()
        self.grid, self.block = self._geometry(problem_size, grid_div, block_names)

    @staticmethod
    def _text_of(source: str) -> str:
        if callable(source):
            raise InvalidArgument("kernel_source: a function that makes the source has no counterpart; pass its text, and tune macros")
        source = os.fspath(source)
        if "\n" not in source and os.path.exists(source):
            return f'#include "{os.path.abspath(source)}"\n'
        if "\n" not in source and "{" not in source:
            raise InvalidArgument(f"kernel_source: no file {source}")
        return textwrap.dedent(source) + "\n"

    def _declaration(self) -> list[tuple[str, str]]:
        """(type, name) of the kernel's parameters, as its source has them."""
        text = self.source
        if include := re.match(r'#include "(.*)"\n$', text):
            text = pathlib.Path(include[1]).read_text(encoding="utf-8")
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        found = re.search(rf"\b{re.escape(self.name)}\s*\(([^)]*)\)\s*\{{", text)
        if found is None:
            raise InvalidArgument(f"kernel_source has no kernel {self.name}")
        parts = [re.sub(r"__restrict__|__restrict|\s+", " ", one).strip() for one in found[1].split(",") if one.strip()]
        split = [re.fullmatch(r"(.*?[\s*&])(\w+)", one) for one in parts]
        if len(parts) != len(self.arguments) or not all(split):
            raise InvalidArgument(f"{self.name} has {len(parts)} parameters, and {len(self.arguments)} arguments were passed")
        return [(one[1].strip(), one[2]) for one in split]

    def _geometry(self, problem_size, grid_div, block_names) -> tuple[list[str], list[str]]:
        size = list(problem_size) if isinstance(problem_size, (list, tuple)) else [problem_size]
        grid, block = [], []
        for axis in range(3):
            name = block_names[axis] if axis < len(block_names) else ""
            block.append(self.fields.get(name, "1"))
            one = size[axis] if axis < len(size) else 1
            if callable(one) or callable(grid_div[axis]):
                raise InvalidArgument("problem_size and grid_div are numbers and texts here, not functions")
            total = to_cpp(str(one), self.fields)
            divisors = grid_div[axis]
            if divisors is None:
                divisors = [name] if name in self.fields and axis < len(size) else []
            divisor = " * ".join(f"(long)({to_cpp(str(part), self.fields)})" for part in divisors) or "1L"
            grid.append(f"ceil_div((long)({total}), {divisor})")
        return grid, block

    def inputs(self) -> dict[str, Any]:
        """Arrays by argument."""
        return {name: array for (kind, name), array in zip(self.declared, self.arguments) if "*" in kind}

    def answers(self, answer, device, flags) -> dict[str, Any]:
        """What is compared, by argument; without `answer`, what the first valid configuration gives."""
        if answer is not None:
            return {name: one for (_, name), one in zip(self.declared, answer) if one is not None}
        arrays = {name: array.copy() for name, array in self.inputs().items()}
        engine = Engine(device=device, store=os.devnull + "/none", force_default=["all"])
        made = engine.kernel(engine.add_kernel_file(self.write({}), flags), fixed=_FIXED)
        here = {name: _to_device(array, device) for name, array in arrays.items()}
        made(**here)
        after = {name: _to_host(array) for name, array in here.items()}
        changed = {name: array for name, array in after.items() if array.tobytes() != arrays[name].tobytes()}
        if not changed:
            raise InvalidArgument(f"{self.name} changes none of its arguments; pass answer=")
        return changed

    def write(self, checked: Mapping[str, Any]) -> pathlib.Path:
        """The kernel file, in a folder of its own; `checked`: the arguments that are compared."""
        text = self._text(checked)
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "hone" / "sources"
        path = cache / hashlib.sha256(text.encode()).hexdigest()[:16] / f"{self.name}.cu"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def _text(self, checked: Mapping[str, Any]) -> str:
        lines = [
            f"// {self.name}, as it was given to tune_kernel.",
            "#include <hone/kernel.h>",
            f"struct Problem {{ long fixed = {_FIXED}; }};",
            "struct Config {",
        ]
        for name, values in self.parameters.items():
            kind = (
                "bool"
                if all(isinstance(one, bool) for one in values)
                else "double"
                if any(isinstance(one, float) for one in values)
                else "int"
            )
            shown = [str(one).lower() if isinstance(one, bool) else repr(one) for one in values]
            lines.append(f'  TUNE({", ".join(shown)}) OPTION("-D{name}={{}}") {kind} p_{name} = {shown[0]};')
        lines += ["};", *(f"#define {name} {value}" for name, value in self.defines.items()), self.source]
        lines.append(f"KERNEL void {self.name}({', '.join(self._parameter(i, checked) for i in range(len(self.declared)))});")
        lines.append(
            "constexpr bool valid(Problem p, Config c, Device d) {\n  if (p.fixed != %d) return false;  // there is this problem alone"
            % _FIXED
        )
        lines += [f"  if (!({to_cpp(one, self.fields)})) return false;  // {one}" for one in self.restrictions]
        lines.append(f"  return (long)({self.block[0]}) * ({self.block[1]}) * ({self.block[2]}) <= d.threads_per_block;\n}}")
        lines.append(
            "constexpr Launch launch(Problem p, Config c) {\n"
            f"  return {{.grid = {{{', '.join(self.grid)}}}, .block = {{{', '.join(self.block)}}}}};\n}}"
        )
        outputs = list(checked) or [name for kind, name in self.declared if self._is_output(kind, name, checked)]
        for i, name in enumerate(outputs):  # the answers come from arrays
            lines.append(
                f"REFERENCE(1) TOLERANCE({name}, .absolute = {float(self.atol)!r}, .relative = 1e-5) "
                f"void {self.name}_reference{f'_{i}' if i else ''}(long i, double* {name}, Problem p) {{}}"
            )
        return "\n".join(lines) + "\n"

    @staticmethod
    def _is_output(kind: str, name: str, checked: Mapping[str, Any]) -> bool:
        return "*" in kind and (name in checked if checked else not kind.startswith("const"))

    def _parameter(self, i: int, checked: Mapping[str, Any]) -> str:
        kind, name = self.declared[i]
        if "*" not in kind:
            return f"SCALAR({self.arguments[i]}) {kind} {name}"
        mark = "INOUT" if self._is_output(kind, name, checked) else "IN"
        return f"{mark}(.elements = {self.arguments[i].size}) {kind} {name}"

    def named(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration by the names of tune_params."""
        return {name: configuration[f"p_{name}"] for name in self.parameters if f"p_{name}" in configuration}

    def result(self, row: Mapping[str, Any], metrics: Mapping[str, Callable | str] | None) -> dict[str, Any]:
        """A trial as Kernel Tuner reports it."""
        one = self.named(row)
        one["time"] = row["time_us"] / 1e3 if row["outcome"] == "ok" else row["outcome"]
        for name, metric in (metrics or {}).items() if row["outcome"] == "ok" else ():
            one[name] = metric(one) if callable(metric) else eval(metric, {}, dict(one))  # as Kernel Tuner does: the caller's own text
        return one


def _to_device(array, device: str):
    if device == "cpu":
        return array.copy()
    import torch

    return torch.from_numpy(array.copy()).to(device)


def _to_host(array):
    return array.cpu().numpy() if hasattr(array, "cpu") else array
