"""The exceptions of Hone. Each carries the engine's message, which says what failed, where, and what to do."""

from __future__ import annotations


class Error(RuntimeError):
    """An expected failure. `code` says of what kind: 'not_found', 'compile', ... (hone/error.hpp)."""

    code = "error"

    def __init__(self, message: str, code: str | None = None):
        super().__init__(message)
        if code is not None:
            self.code = code

    def __reduce__(self):
        return type(self), (str(self), self.code)


class InvalidArgument(Error, ValueError):
    """Something impossible was asked for: a shape of zero, an unknown name, an array that does not fit."""

    code = "invalid_argument"


class NotFound(Error, LookupError):
    """A named thing does not exist: a kernel, a device, a file, a record."""

    code = "not_found"


class BadKernel(Error):
    """A kernel file cannot be read; the message has clang's file:line:column."""

    code = "bad_kernel"


class Unavailable(Error):
    """A part of the machine is missing: no GPU, no NVRTC, no libclang, or an engine of the process that this one was forked from."""

    code = "unavailable"


class CompileError(Error):
    """A configuration does not compile; the message has the compiler's log."""

    code = "compile"


_CLASSES = {one.code: one for one in (InvalidArgument, NotFound, BadKernel, Unavailable, CompileError)}


def make(code: str, message: str) -> Error:
    """The exception of an error of the engine."""
    return _CLASSES.get(code, Error)(message, code)
