"""Hone: an auto-tuning engine for CUDA kernels.

    result = hone.tune("softmax", dtype="bf16", rows=4096, cols=1024, budget="20s")
    k = hone.kernel("softmax", x)
    k(x, out=y)

docs/python.md describes the package, docs/pytorch.md hone.torch.
"""

from . import _core
from ._core import Kernel, Observation, Space, __version__
from ._engine import Engine, default_engine, kernel
from ._errors import BadKernel, CompileError, Error, InvalidArgument, NotFound, Unavailable
from ._strategy import Strategy

TYPE_CHECKING = False  # as typing has it, without importing that
if TYPE_CHECKING:
    from . import kernel_tuner, torch
    from ._kernel_file import KernelFile, kernel_file, kernel_source
    from ._tables import Table, configurations, devices, kernels, records, sessions, strategies, trials
    from ._tune import Comparison, TuneResult, compare, space, tune, tune_workload
    from ._verbs import verb

# What is asked for rarely is imported when it is.
_LATER = {
    "tune": "_tune",
    "tune_workload": "_tune",
    "compare": "_tune",
    "space": "_tune",
    "TuneResult": "_tune",
    "Comparison": "_tune",
    "Table": "_tables",
    "sessions": "_tables",
    "trials": "_tables",
    "records": "_tables",
    "kernels": "_tables",
    "strategies": "_tables",
    "devices": "_tables",
    "configurations": "_tables",
    "verb": "_verbs",
    "kernel_file": "_kernel_file",
    "kernel_source": "_kernel_file",
    "KernelFile": "_kernel_file",
}

__all__ = [
    "BadKernel",
    "CompileError",
    "Engine",
    "Error",
    "InvalidArgument",
    "Kernel",
    "NotFound",
    "Observation",
    "Space",
    "Strategy",
    "Unavailable",
    "__version__",
    "default_engine",
    "kernel",
    *_LATER,
]


def __getattr__(name: str):
    from importlib import import_module

    if name in _LATER:
        value = getattr(import_module("." + _LATER[name], __name__), name)
        globals()[name] = value
        return value
    if name in ("torch", "kernel_tuner"):
        return import_module("." + name, __name__)
    raise AttributeError(f"module 'hone' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
