"""What each work computes, as a PyTorch user writes it: inputs, the expression, and the answer in float64."""

import torch
from torch.nn import functional

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
EPSILON = 1e-5


def layernorm(x, weight, bias):
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, EPSILON)


def rmsnorm(x, weight):
    return functional.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def residual_rmsnorm(x, residual, weight):
    total = x + residual
    return total, functional.rms_norm(total, (total.shape[-1],), weight, EPSILON)


EXPRESSIONS = {
    "copy": lambda x: x.clone(),
    "softmax": lambda x: torch.softmax(x, -1),
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
    "row_sum": lambda x: x.sum(-1),
    "full_sum": lambda x: x.sum(),
    "scan": lambda x: x.cumsum(0),
    "transpose": lambda x: x.t().contiguous(),
    "bias_gelu": lambda x, bias: functional.gelu(x + bias),
    "residual_rmsnorm": residual_rmsnorm,
    "gemm": lambda a, b: torch.matmul(a, b),
}


def random_tensor(shape, dtype):
    """Uniform in [-1, 1): never zeros, on which a GPU draws less power and clocks higher."""
    return (torch.rand(shape, device="cuda", dtype=torch.float32) * 2 - 1).to(dtype)


def make_inputs(case):
    """Fresh random inputs, in the order of the expression's parameters and of the kernels' arguments."""
    return tuple(random_tensor(shape, DTYPES[case.dtype]) for shape in case.input_shapes())


def as_tuple(outputs):
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)


def reference(case, inputs):
    """The same expression on the same inputs in float64."""
    return as_tuple(EXPRESSIONS[case.work](*(tensor.double() for tensor in inputs)))


def error(outputs, expected):
    """Largest over the outputs of ||out - expected|| / ||expected||; NaN if one is not finite everywhere."""
    worst = 0.0
    for out, right in zip(as_tuple(outputs), expected, strict=True):
        difference = torch.linalg.vector_norm(out.reshape(right.shape).double() - right)
        relative = (difference / torch.linalg.vector_norm(right).clamp_min(1e-300)).item()
        worst = relative if relative != relative else max(worst, relative)
    return worst
