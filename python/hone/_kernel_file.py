"""Kernel files as functions."""

from __future__ import annotations

import hashlib
import inspect
import os
import pathlib
import re
import types
from typing import Any, Sequence

from . import _core
from ._engine import Engine
from ._tune import TuneResult, space, tune


class KernelFile:
    """A kernel file that can be called with arrays on any device, tuned, and looked into: see hone.kernel_file and hone.kernel_source."""

    def __init__(self, path: str | os.PathLike, flags: Sequence[str] = ()):
        self.path, self.flags = os.path.abspath(path), list(flags)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"no kernel file {self.path}")
        self._made: dict[str, _core.Kernel] = {}
        self._engines: dict[str, tuple[Engine, str]] = {}  # a kernel of the file's name may be another one in the engines of others
        self._process = os.getpid()
        self.__name__ = pathlib.Path(self.path).stem
        self.__doc__ = None

    def kernel(self, *arrays: Any, engine: Engine | None = None, device: str | None = None, **options: Any) -> _core.Kernel:
        """As hone.kernel, of this file; engine: None: one of its own for each device, with the usual store."""
        if engine is not None:
            return engine.kernel(engine._kernel_of_file(self.path, self.flags), *arrays, **options)
        engine, name = self._engine(device or (_core.device_of(arrays[0]) if arrays else None))
        return engine.kernel(name, *arrays, **options)

    def _engine(self, device: str | None) -> tuple[Engine, str]:
        if self._process != os.getpid():  # engines do not survive a fork
            self._forget()
        if (device or "") not in self._engines:
            engine = Engine(device=device)
            self._engines[device or ""] = engine, engine.add_kernel_file(self.path, self.flags)
        return self._engines[device or ""]

    def _forget(self) -> None:
        self._made.clear()
        self._engines.clear()
        self._process = os.getpid()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Launches on the current stream, as hone.Kernel does. With a function it is a decorator: the function's name, documentation and
        signature, whose parameters must be arguments of the kernel, become those of the kernel file."""
        if len(arguments) == 1 and not keywords and isinstance(arguments[0], types.FunctionType):
            return self._decorate(arguments[0])
        if not arguments:
            raise TypeError(f"{self.__name__}: pass the first array by position")
        device = _core.device_of(arguments[0])
        made = self._made.get(device) if self._process == os.getpid() else None
        if made is None:
            made = self.kernel(device=device)
            self._made[device] = made
        return made(*arguments, **keywords)

    def _decorate(self, function: types.FunctionType) -> "KernelFile":
        known = [one["name"] for one in self.kernel(device="cpu").arguments]
        if wrong := [name for name in inspect.signature(function).parameters if name not in [*known, "out", "stream"]]:
            raise TypeError(f"{function.__name__}: {self.path} has no argument {wrong[0]} (arguments: {', '.join(known)})")
        self.__name__, self.__doc__, self.__signature__ = function.__name__, function.__doc__, inspect.signature(function)
        return self

    def tune(self, **options: Any) -> TuneResult:
        """hone.tune of this file."""
        self._forget()
        return tune(self.path, flags=self.flags, **options)

    def space(self, **options: Any) -> _core.Space:
        """hone.space of this file."""
        return space(self.path, **options)

    def __repr__(self) -> str:
        return f"<hone.KernelFile {self.path}>"

    def __reduce__(self):
        return KernelFile, (self.path, self.flags)


def kernel_file(path: str | os.PathLike, flags: Sequence[str] = ()) -> KernelFile:
    """A kernel file as a function, or as the decorator of one:

        scaled_add = hone.kernel_file("scaled_add.cu")

        @hone.kernel_file("scaled_add.cu")
        def scaled_add(x, y, scale=2.0):
            "y = scale * x + y"

    The function's body is not run. Needs libclang. Raises FileNotFoundError, and where it is used hone.BadKernel with file:line:column.
    """
    return KernelFile(path, flags)


def kernel_source(text: str, name: str | None = None, flags: Sequence[str] = ()) -> KernelFile:
    """A kernel file from its text. name: of the kernel; None: of the first KERNEL in the text. The file is kept in the user's cache."""
    if name is None:
        found = re.search(r"\bKERNEL\b[^;{]*?\bvoid\s+(\w+)\s*\(", text)
        if found is None:
            raise ValueError("the text has no KERNEL; pass name=")
        name = found[1]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    path = cache / "hone" / "sources" / hashlib.sha256(text.encode()).hexdigest()[:16] / f"{name}.cu"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.part")
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    return KernelFile(path, flags)
