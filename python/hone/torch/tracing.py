"""What a model launches, as a workload."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_CACHE_DTYPES = _DTYPES | {torch.float8_e4m3fn: "e4m3"}


class Workload:
    """Problems and how often each was launched. save() writes what `hone tune --workload` reads (docs/workloads.md)."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, tuple[tuple[str, int], ...]]] = Counter()

    def add(self, kernel: str, dtype: str, **extents: int) -> None:
        self.counts[kernel, dtype, tuple(extents.items())] += 1

    @property
    def problems(self) -> list[dict[str, Any]]:
        """[{"kernel", "dtype", "shape", "count"}], the most frequent first."""
        return [
            {"kernel": kernel, "dtype": dtype, "shape": dict(shape), "count": count}
            for (kernel, dtype, shape), count in self.counts.most_common()
        ]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the file. Raises OSError."""
        lines = [json.dumps({"hone_workload": 1}), *map(json.dumps, self.problems)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def tune(self, budget: str = "60s", **options: Any) -> dict:
        """Tunes all problems with one budget (hone.tune_workload); kernels that are looked up afterwards find the winners."""
        import tempfile

        from .._tune import tune_workload
        from .ops import refresh

        with tempfile.TemporaryDirectory(prefix="hone-") as folder:
            self.save(path := os.path.join(folder, "workload.jsonl"))
            report = tune_workload(path, budget=budget, **options)
        refresh()
        return report

    def __repr__(self) -> str:
        from .._tables import Table

        return repr(Table(self.problems))


def _rows(x: torch.Tensor) -> dict[str, int]:
    return {"rows": x.numel() // max(x.shape[-1], 1), "cols": x.shape[-1]}


def _product(a: torch.Tensor, b: torch.Tensor, terms: int) -> dict[str, int]:
    """Of aten's mm and addmm, whose operands may be transposed views."""
    a_lies, b_lies = a.stride(-1) != 1 and a.stride(0) == 1, b.stride(-1) != 1 and b.stride(0) == 1
    return {"m": a.shape[0], "n": b.shape[1], "k": a.shape[1], "layout": 1 + b_lies + 2 * a_lies, "terms": terms}


def _ours(a, b, bias, layout, activation) -> dict[str, int]:
    k, m = (a.shape[-1], a.numel() // a.shape[-1]) if layout <= 2 else a.shape
    return {
        "m": m,
        "n": b.shape[0 if layout % 2 == 0 else 1],
        "k": k,
        "layout": layout,
        "terms": 1 if bias is None else 3,
        "activation": activation,
    }


def _value_head(k: torch.Tensor, v: torch.Tensor) -> dict[str, int]:
    return {} if v.shape[-1] == k.shape[-1] else {"value_head": v.shape[-1]}


def _attention(q, k, v, causal, window, scale) -> dict[str, int]:
    batch, heads, keys, head = k.shape
    return {
        "batch": batch,
        "heads": heads,
        "group": q.shape[1] // heads,
        "queries": q.shape[2],
        "keys": keys,
        "head": head,
        "causal": int(causal),
        "window": window,
        "layout": 2,
        **_value_head(k, v),
    }


def _packed_attention(q, k, v, q_starts, k_starts, causal, window, scale) -> dict[str, int]:
    tokens, heads, head = k.shape
    return {
        "batch": len(q_starts) - 1,
        "heads": heads,
        "group": q.shape[1] // heads,
        "queries": q.shape[0],
        "keys": tokens,
        "head": head,
        "causal": int(causal),
        "window": window,
        "layout": 1,
        "packed": 1,
        **_value_head(k, v),
    }


def _decode(q, k, v, table, lengths, k_scale, v_scale, scale) -> dict[str, int]:
    _, page, heads, head = k.shape
    return {
        "sequences": q.shape[0],
        "heads": heads,
        "group": q.shape[2] // heads,
        "queries": q.shape[1],
        "longest": table.shape[1] * page,
        "page": page,
        "head": head,
    }


def _attention_backward(gradient, q, k, v, out, lse, q_starts, k_starts, causal, window, scale) -> dict[str, int]:
    if q_starts is None:
        return _attention(q, k, v, causal, window, scale)
    return _packed_attention(q, k, v, q_starts, k_starts, causal, window, scale)


_OURS = {
    "product": ("matmul", _ours),
    "attention": ("attention", _attention),
    "packed_attention": ("attention", _packed_attention),
    "attention_backward": ("attention_backward", _attention_backward),
    "decode": ("decode", _decode),
}
_aten = torch.ops.aten
_PROBLEMS: dict[Any, Callable[[tuple], tuple[str, dict[str, int]] | None]] = {
    _aten.mm.default: lambda given: ("matmul", _product(given[0], given[1], 1)),
    _aten.addmm.default: lambda given: ("matmul", _product(given[1], given[2], 3 if given[0].dim() == 1 else 2)),
    _aten._softmax.default: lambda given: ("softmax", _rows(given[0])) if given[1] in (-1, given[0].dim() - 1) else None,
    _aten.native_layer_norm.default: lambda given: ("layernorm", _rows(given[0])) if len(given[1]) == 1 else None,
}
if hasattr(_aten, "_fused_rms_norm"):
    _PROBLEMS[_aten._fused_rms_norm.default] = lambda given: ("rmsnorm", _rows(given[0])) if len(given[1]) == 1 else None


def _problem_of(function: Any, given: tuple) -> tuple[str, dict[str, int]] | None:
    if function in _PROBLEMS:
        return _PROBLEMS[function](given)
    if function.namespace == "hone":
        name = function._schema.name.removeprefix("hone::")
        named = _OURS.get(name)
        return (named[0], named[1](*given)) if named else (name, _rows(given[0]))
    return None


def _dtype_of(function: Any, tensors: list[torch.Tensor]) -> str | None:
    """As the problem's kernel calls it; None: Hone has none for it."""
    if function.namespace != "hone":
        return _DTYPES.get(tensors[-1].dtype)
    dtype = _DTYPES.get(tensors[0].dtype)
    if function._schema.name != "hone::decode" or dtype is None or tensors[1].dtype not in _CACHE_DTYPES:
        return dtype
    return f"T={dtype},KV={_CACHE_DTYPES[tensors[1].dtype]}"


class _Recorder(TorchDispatchMode):
    def __init__(self, workload: Workload):
        super().__init__()
        self.workload = workload

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        problem = _problem_of(function, args)
        tensors = [one for one in args if isinstance(one, torch.Tensor)]
        dtype = _dtype_of(function, tensors) if problem is not None else None
        if dtype is not None and all(one.numel() > 0 for one in tensors):
            self.workload.add(problem[0], dtype, **problem[1])
        return function(*args, **(kwargs or {}))


class trace:
    """Records the problems that Hone has kernels for: those of its own operators and of PyTorch's that they could replace.

        workload = hone.torch.trace(model, x)          # runs model(x) once
        with hone.torch.trace() as workload:           # or whatever runs inside
            ...
        workload.save("workload.jsonl")                # hone tune --workload workload.jsonl

    The model runs eagerly and without gradients in the first form. What a compiled model launches is not seen: trace it before
    torch.compile.
    """

    def __new__(cls, model: Callable | None = None, *inputs: Any, **keywords: Any):
        if model is None:
            return super().__new__(cls)
        with super().__new__(cls) as workload, torch.no_grad():
            model(*inputs, **keywords)
        return workload

    def __enter__(self) -> Workload:
        self._recorder = _Recorder(Workload())
        self._recorder.__enter__()
        return self._recorder.workload

    def __exit__(self, *error: Any) -> None:
        self._recorder.__exit__(*error)
