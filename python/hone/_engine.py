"""Engines, and kernels that are called with arrays."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any, Sequence

from . import _core
from ._errors import Error

_default: dict[str, "Engine"] = {}
_lock = threading.Lock()


class Engine(_core.Engine):
    """Looks kernels up in a store and launches them on one device.

    store: path of the store; None: $HONE_STORE, or hone/store.db of the user's data directory. A missing store is no error: every kernel
        then runs its default.
    device: "cuda:0", "cpu"; None: the best present.
    trust_store: launch the code in the store regardless of who made it, for a store that is shipped with an application.
    max_error: use winners tuned under this accuracy bound; 0: none.
    objective: use winners tuned for it: "time", "p99", "energy" or "edp".
    generation: look records up as they were in this generation of the store.
    approved_only: use only records that were approved or pinned.
    force_default: kernels and operations that run their default; ["all"] means every one.
    record_workload: a file that counts the launches of each problem, for tune(workload=...).
    check_one_in: check one in so many launches against the default configuration; 0: never.
    background_budget: "30s": tune problems without a record in the background, so long for each.
    background_device: "cuda:1": tune them there, on a device of the same product, and leave the engine's to the application.
    graph_workspaces: captured launches with workspaces that find memory, see reserve_graph_workspaces.

    Thread-safe. It cannot be used in a process that was forked from the one that opened it: there every call raises hone.Unavailable, and
    a new one can be opened for the cpu device (CUDA itself does not survive a fork). It can be pickled: the options travel, and the copy
    opens the store again.

    Raises hone.NotFound or hone.Unavailable for a device that is unknown or missing.
    """

    def __init__(self, store: str | os.PathLike | None = None, device: str | None = None, **options: Any):
        known = {
            "trust_store",
            "max_error",
            "objective",
            "generation",
            "approved_only",
            "force_default",
            "record_workload",
            "check_one_in",
            "background_budget",
            "background_device",
            "graph_workspaces",
        }
        if unknown := set(options) - known:
            raise TypeError(f"Engine has no option {', '.join(sorted(unknown))} (options: store, device, {', '.join(sorted(known))})")
        given = dict(options, store=None if store is None else os.fspath(store), device=device)
        if given.get("record_workload") is not None:
            given["record_workload"] = os.fspath(given["record_workload"])
        super().__init__(given)
        self._options = given
        self._files: dict[tuple[str, tuple[str, ...]], str] = {}  # (path, flags): name
        self._is_default = False
        if given.get("record_workload") is not None:
            _written_at_exit.add(self)

    def add_kernel_file(self, file: str | os.PathLike, flags: Sequence[str] = ()) -> str:
        """Makes a kernel file known by its name, which is returned. Needs libclang. `flags`: "-Iinclude", "-DNAME=1", "--use_fast_math"."""
        name = super().add_kernel_file(os.fspath(file), list(flags))
        self._files[os.path.abspath(file), tuple(flags)] = name
        return name

    def _kernel_of_file(self, file: str, flags: Sequence[str]) -> str:
        """The name of the kernel of a file, which is added where it is not known yet."""
        with _lock:
            return self._files.get((os.path.abspath(file), tuple(flags))) or self.add_kernel_file(file, flags)

    def kernel(self, name: str, *arrays: Any, dtype: str | None = None, **fields: Any) -> _core.Kernel:
        """A kernel or operation of this engine, see hone.kernel."""
        arguments = {key: fields.pop(key) for key in list(fields) if not isinstance(fields[key], (bool, int, str))}
        made = self.make_kernel(name, dtype or "", ",".join(f"{key}={_field(value)}" for key, value in fields.items()))
        if arrays or arguments:
            made.info = made.prepare(*arrays, **arguments)
        return made

    def __repr__(self) -> str:
        return f"<hone.Engine on {self.device['id']} ({self.device['product']})>"

    def __reduce__(self):
        if self._is_default:
            return default_engine, (self._options["device"],)
        return _reopen, (self._options, list(self._files))


def _field(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reopen(options: dict, files: list) -> Engine:
    engine = Engine(**options)
    for file, flags in files:
        engine.add_kernel_file(file, flags)
    return engine


def default_engine(device: str | None = None) -> Engine:
    """The engine that hone.kernel uses for a device ("cpu", "cuda:0"; None: the best present), with the usual store."""
    with _lock:
        engine = _default.get(device or "")
        if engine is None:
            engine = Engine(device=device)
            engine._is_default = True
            _default[device or ""] = _default[engine.device["id"]] = engine
        return engine


def forget_default_engines() -> None:
    """Lets the next hone.kernel open its engine anew: it then finds what was tuned meanwhile. Kernels keep the engine that they have."""
    with _lock:
        _default.clear()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _default.clear()


os.register_at_fork(after_in_child=_after_fork)

_written_at_exit: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _write_workloads() -> None:
    """Python may end without closing engines."""
    for engine in list(_written_at_exit):
        try:
            engine.write_workload()
        except Error:
            pass  # an engine of another process, or a file that cannot be written: as when an engine closes


def kernel(
    name: str, *arrays: Any, dtype: str | None = None, device: str | None = None, engine: Engine | None = None, **fields: Any
) -> _core.Kernel:
    """A kernel ("softmax") or operation ("matmul"), ready to be called: k = hone.kernel("softmax", x); k(x, out=y).

    arrays: what it will be called with, in the order of its arguments (hone.tables.kernels() lists them): inputs, outputs, scalars. Shapes,
        dtypes and the device come from them, and the kernel for them is looked up, compiled where needed and loaded. Without arrays this
        happens at the first call. Arrays of PyTorch, CuPy, JAX and NumPy, and all else that has DLPack, the buffer protocol or an array
        interface.
    dtype: "bf16", "In=e4m3,Out=bf16": where arrays do not tell it, such as uint16 of NumPy for bf16.
    device: "cuda:0", "cpu"; None: that of the first array, else the best present.
    engine: None: that of the device with the usual store.
    fields: of the kernel's problem that are fixed: flags and enumerators (layout="b_transposed"), and extents that shapes do not tell.

    The result can be called with arrays of other shapes and dtypes, too. Raises hone.NotFound for an unknown kernel or device,
    hone.InvalidArgument for what does not fit, hone.CompileError.
    """
    if engine is None:
        engine = default_engine(device or (_core.device_of(arrays[0]) if arrays else None))
    return engine.kernel(name, *arrays, dtype=dtype, **fields)


def kernel_text(made: _core.Kernel) -> str:
    """repr() of a kernel."""
    info = getattr(made, "info", None)
    if info is None:
        fixed = f" {made.fixed}" if made.fixed else ""
        return f"<hone.Kernel {made.name}{fixed} on {made.device}>"
    shape = ", ".join(f"{name}={extent}" for name, extent in info["shape"].items())
    chosen = info["kernel"] if info["kernel"] == made.name else f"{made.name} by {info['kernel']}"
    return f"<hone.Kernel {chosen} {info['dtype']} {shape} on {made.device}: {info['source']}, {info['configuration']}>"


def kernel_html(made: _core.Kernel) -> str:
    """A kernel in a notebook."""
    from ._html import definition_list

    return definition_list(f"{made.name} on {made.device}", getattr(made, "info", None) or {"dtype": made.dtype, "fixed": made.fixed})


def reduce_kernel(made: _core.Kernel):
    """How a kernel is pickled: its engine, and what it was made of."""
    return _restore_kernel, (made.engine, made.name, made.dtype, made.fixed)


def _restore_kernel(engine: Engine, name: str, dtype: str, fixed: str) -> _core.Kernel:
    return engine.make_kernel(name, dtype, fixed)
