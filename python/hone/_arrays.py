"""New arrays of the framework that a caller uses, which is imported already where its arrays are."""

from __future__ import annotations

import sys

_NAMES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f64": "float64",
    "i32": "int32",
    "i8": "int8",
    "u8": "uint8",
    "i16": "int16",
    "u16": "uint16",
    "u32": "uint32",
    "i64": "int64",
    "u64": "uint64",
    "bool": "bool",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "i4x2": "uint8",
    "u4x2": "uint8",
}


def allocate(like, shape: tuple[int, ...], dtype: str):
    """An array of `shape` and `dtype` (as Hone names it) on the device of `like`. Raises TypeError where its framework is not known."""
    framework = type(like).__module__.partition(".")[0]
    name = _NAMES[dtype]
    if framework == "torch":
        return like.new_empty(shape, dtype=getattr(sys.modules["torch"], name))
    if framework == "numpy":
        numpy = sys.modules["numpy"]
        # NumPy has no such type: the kernel's elements come in what the input has them in.
        return numpy.empty(shape, like.dtype if not hasattr(numpy, name) else name)
    if framework == "cupy":
        with like.device:
            return sys.modules["cupy"].empty(shape, name)
    if framework in ("jax", "jaxlib"):
        made = sys.modules["jax"].numpy.empty(shape, name, device=like.device)
        return made.block_until_ready()  # nobody else knows it yet
    raise TypeError(f"pass out=: Hone does not know how to make an array of {framework}")
