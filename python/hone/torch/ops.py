"""Operators on tensors: matmul, linear, softmax, layernorm, rmsnorm, residual_rmsnorm, bias_gelu, attention, packed_attention, decode.

They are torch.ops.hone.*: with fake tensors (torch.compile has no graph break), autograd, and launches on the current stream, so that CUDA
graphs can capture them. Which configuration runs is what the store has for the shape, else what a portfolio predicts, else the default.

Tensors are f32, f16 or bf16, on the cpu or a cuda device. Sizes are those of the arguments; leading axes are rows. What is not contiguous,
or begins at an address that is no multiple of 16 bytes, is copied first. Raises hone.Error where Hone refuses.
"""

from __future__ import annotations

import os

import torch

from .. import _core
from .._engine import default_engine

ACTIVATIONS = {"none": 1, "relu": 2, "gelu": 3, "silu": 4}
"""What linear() can apply to its result; gelu is the exact one."""
_ACTIVATIONS = {1: lambda y: y, 2: torch.relu, 3: torch.nn.functional.gelu, 4: torch.nn.functional.silu}

_library = torch.library.Library("hone", "DEF")
_kernels: dict[tuple, _core.Kernel] = {}


def _forget() -> None:
    _kernels.clear()


os.register_at_fork(after_in_child=_forget)


def refresh() -> None:
    """Looks every kernel up anew at its next call: after tuning in this process."""
    from .._engine import forget_default_engines

    _forget()
    forget_default_engines()


def _kernel(name: str, device: torch.device, fixed: str = "") -> _core.Kernel:
    key = name, device.type, device.index, fixed
    made = _kernels.get(key)
    if made is None:
        engine = default_engine("cpu" if device.type == "cpu" else f"cuda:{device.index}")
        made = _kernels[key] = engine.make_kernel(name, "", fixed)
    return made


def _packed(x: torch.Tensor) -> torch.Tensor:
    """The tensor as kernels take it: contiguous, aligned to 16 bytes."""
    x = x.detach()
    if not x.is_contiguous():
        return x.contiguous()
    return x.clone() if x.data_ptr() & 15 else x


def _define(schema: str, implementation, fake, setup=None, backward=None) -> None:
    name = schema.partition("(")[0]
    _library.define(schema)
    _library.impl(name, implementation, "CPU")
    _library.impl(name, implementation, "CUDA")
    torch.library.register_fake(f"hone::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(f"hone::{name}", backward, setup_context=setup, lib=_library)


def _expect(operator: str, name: str, tensor: torch.Tensor, shape: tuple) -> None:
    """A kernel would read a tensor of another shape as if it had this one."""
    if tuple(tensor.shape) != tuple(shape):
        raise RuntimeError(f"hone: {operator} takes {name} of shape {tuple(shape)}; {tuple(tensor.shape)} was passed")


# ---- products --------------------------------------------------------------------------------------------------------------------------


def _product(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, layout: int, activation: int) -> torch.Tensor:
    """layout as kernels_src/gemm has it: 1 a[m, k] b[k, n], 2 a[m, k] b[n, k], 3 a[k, m] b[k, n], 4 a[k, m] b[n, k]."""
    out = _product_shape(a, b, bias, layout, activation)
    n, k = out.shape[-1], a.shape[-1 if layout <= 2 else 0]
    if out.numel() == 0 or k == 0:
        return _ACTIVATIONS[activation](out.zero_() if bias is None else out.copy_(bias.expand_as(out)))
    m = out.numel() // n
    made = _kernel("matmul", a.device, f"layout={layout},terms={1 if bias is None else 3},activation={activation}")
    made(_packed(a), _packed(b), bias=None if bias is None else _packed(bias), out=out, m=m, n=n, k=k)
    return out


def _product_shape(a, b, bias, layout, activation):
    """An empty result, of operands that fit."""
    k, n = (b.shape[1], b.shape[0]) if layout % 2 == 0 else b.shape
    if a.shape[-1 if layout <= 2 else 0] != k:
        raise RuntimeError(f"hone: {tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied (layout {layout})")
    if bias is not None:
        _expect("linear", "a bias", bias, (n,))
    return a.new_empty((*a.shape[:-1], n) if layout <= 2 else (a.shape[1], n))


def _product_setup(ctx, inputs, output):
    a, b, bias, layout, activation = inputs
    ctx.save_for_backward(a, b, bias)
    ctx.layout, ctx.activation = layout, activation


def _activation_gradient(gradient, a, b, bias, layout, activation):
    """The gradient before the activation, whose input is computed again."""
    before = torch.ops.hone.product(a, b, bias, layout, 1)
    if activation == 2:
        return gradient * (before > 0)
    return (torch.ops.aten.gelu_backward if activation == 3 else torch.ops.aten.silu_backward)(gradient, before)


def _product_backward(context, gradient):
    a, b, bias = context.saved_tensors
    layout = context.layout
    if context.activation != 1:
        gradient = _activation_gradient(gradient, a, b, bias, layout, context.activation)
    product = torch.ops.hone.product
    rows = gradient.reshape(-1, gradient.shape[-1])
    flat = a.reshape(-1, a.shape[-1])
    grad_a = grad_b = grad_bias = None
    if context.needs_input_grad[0]:
        if layout <= 2:  # d a = g b^T
            grad_a = product(rows, b, None, 2 if layout == 1 else 1, 1).reshape(a.shape)
        else:  # a is transposed: d a = b g^T
            grad_a = product(b, rows, None, 2 if layout == 3 else 4, 1)
    if context.needs_input_grad[1]:
        if layout == 1:
            grad_b = product(flat, rows, None, 3, 1)
        elif layout == 2:
            grad_b = product(rows, flat, None, 3, 1)
        elif layout == 3:
            grad_b = product(a, rows, None, 1, 1)
        else:
            grad_b = product(rows, a, None, 4, 1)
    if bias is not None and context.needs_input_grad[2]:
        grad_bias = rows.sum(0)
    return grad_a, grad_b, grad_bias, None, None


_define(
    "product(Tensor a, Tensor b, Tensor? bias, int layout, int activation) -> Tensor",
    _product,
    _product_shape,
    _product_setup,
    _product_backward,
)


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b for a of shape (..., m, k) and b of (k, n), which may be the transposed view of a contiguous (n, k)."""
    if b.dim() != 2:
        raise ValueError("hone.torch.ops.matmul takes a matrix as b; batches of matrices are left to torch.matmul")
    if not b.is_contiguous() and b.t().is_contiguous():
        return torch.ops.hone.product(a, b.t(), None, 2, 1)
    return torch.ops.hone.product(a, b, None, 1, 1)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, activation: str = "none") -> torch.Tensor:
    """activation(x @ weight.T + bias), for x of shape (..., k), weight of (n, k) and bias of (n,); one kernel."""
    return torch.ops.hone.product(x, weight, bias, 2, ACTIVATIONS[activation])


# ---- rows ------------------------------------------------------------------------------------------------------------------------------


def _packed_like(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _softmax(x: torch.Tensor) -> torch.Tensor:
    out = _packed_like(x)
    if out.numel() > 0:
        _kernel("softmax", x.device)(_packed(x), out=out)
    return out


def _softmax_backward(context, gradient):
    (y,) = context.saved_tensors
    return torch.ops.aten._softmax_backward_data(gradient, y, -1, y.dtype)


_define(
    "softmax(Tensor x) -> Tensor",
    _softmax,
    _packed_like,
    lambda ctx, inputs, output: ctx.save_for_backward(output),
    _softmax_backward,
)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """torch.softmax(x, -1), for x of at least two axes."""
    return torch.ops.hone.softmax(x)


def _norm_shape(name: str, x: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
    """An empty result, of parameters that fit."""
    for parameter, text in zip(parameters, ("a weight", "a bias")):
        _expect(name, text, parameter, (x.shape[-1],))
    return _packed_like(x)


def _norm(name: str, x: torch.Tensor, *parameters: torch.Tensor, epsilon: float) -> torch.Tensor:
    out = _norm_shape(name, x, *parameters)
    if out.numel() > 0:
        _kernel(name, x.device)(*map(_packed, (x, *parameters)), out=out, epsilon=epsilon)
    return out


def _normalized_gradient(gradient, weight, normalized, scale):
    """The gradient through x * scale of rows that are divided by their root mean square; in f32."""
    weighted = gradient * weight
    return (weighted - normalized * (weighted * normalized).mean(-1, keepdim=True)) * scale


def _rmsnorm_parts(x, epsilon):
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return wide * scale, scale


def _rmsnorm_setup(ctx, inputs, output):
    x, weight, ctx.epsilon = inputs
    ctx.save_for_backward(x, weight)


def _rmsnorm_backward(context, gradient):
    x, weight = context.saved_tensors
    normalized, scale = _rmsnorm_parts(x, context.epsilon)
    wide = gradient.float()
    grad_x = _normalized_gradient(wide, weight.float(), normalized, scale).to(x.dtype)
    return grad_x, (wide * normalized).flatten(0, -2).sum(0).to(weight.dtype), None


_define(
    "rmsnorm(Tensor x, Tensor weight, float epsilon) -> Tensor",
    lambda x, weight, epsilon: _norm("rmsnorm", x, weight, epsilon=epsilon),
    lambda x, weight, epsilon: _norm_shape("rmsnorm", x, weight),
    _rmsnorm_setup,
    _rmsnorm_backward,
)


def rmsnorm(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    """x / sqrt(mean of x^2 + epsilon) * weight over the last axis."""
    return torch.ops.hone.rmsnorm(x, weight, epsilon)


def _layernorm_setup(ctx, inputs, output):
    x, weight, bias, ctx.epsilon = inputs
    ctx.save_for_backward(x, weight, bias)


def _layernorm_backward(context, gradient):
    x, weight, bias = context.saved_tensors
    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    scale = torch.rsqrt(wide.var(-1, unbiased=False, keepdim=True) + context.epsilon)
    tensors = gradient.contiguous(), x.contiguous(), weight, bias
    if x.device.type == "cpu":  # where PyTorch refuses statistics in f32 beside shorter types
        tensors = [one.float() for one in tensors]
    gradient, rows, weight, bias = tensors
    made = torch.ops.aten.native_layer_norm_backward(
        gradient, rows, [x.shape[-1]], mean, scale, weight, bias, context.needs_input_grad[:3]
    )
    return *(one if one is None else one.to(x.dtype) for one in made), None


_define(
    "layernorm(Tensor x, Tensor weight, Tensor bias, float epsilon) -> Tensor",
    lambda x, weight, bias, epsilon: _norm("layernorm", x, weight, bias, epsilon=epsilon),
    lambda x, weight, bias, epsilon: _norm_shape("layernorm", x, weight, bias),
    _layernorm_setup,
    _layernorm_backward,
)


def layernorm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    """torch.nn.functional.layer_norm over the last axis."""
    return torch.ops.hone.layernorm(x, weight, bias, epsilon)


def _residual_rmsnorm(x, residual, weight, epsilon):
    total, out = _residual_rmsnorm_shape(x, residual, weight, epsilon)
    if out.numel() > 0:
        _kernel("residual_rmsnorm", x.device)(_packed(x), _packed(residual), _packed(weight), out=(total, out), epsilon=epsilon)
    return total, out


def _residual_rmsnorm_shape(x, residual, weight, epsilon):
    _expect("residual_rmsnorm", "a residual", residual, x.shape)
    return _packed_like(x), _norm_shape("residual_rmsnorm", x, weight)


def _residual_rmsnorm_setup(ctx, inputs, output):
    _, _, weight, ctx.epsilon = inputs
    ctx.save_for_backward(output[0], weight)


def _residual_rmsnorm_backward(context, of_sum, gradient):
    total, weight = context.saved_tensors
    normalized, scale = _rmsnorm_parts(total, context.epsilon)
    wide = gradient.float()
    grad = (_normalized_gradient(wide, weight.float(), normalized, scale) + of_sum.float()).to(total.dtype)
    return grad, grad, (wide * normalized).flatten(0, -2).sum(0).to(weight.dtype), None


_define(
    "residual_rmsnorm(Tensor x, Tensor residual, Tensor weight, float epsilon) -> (Tensor, Tensor)",
    _residual_rmsnorm,
    _residual_rmsnorm_shape,
    _residual_rmsnorm_setup,
    _residual_rmsnorm_backward,
)


def residual_rmsnorm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor]:
    """(x + residual, rmsnorm(x + residual)) in one kernel."""
    return torch.ops.hone.residual_rmsnorm(x, residual, weight, epsilon)


def _bias_gelu_shape(x, bias):
    _expect("bias_gelu", "a bias", bias, (x.shape[-1],))
    return _packed_like(x)


def _bias_gelu(x, bias):
    out = _bias_gelu_shape(x, bias)
    if out.numel() > 0:
        _kernel("bias_gelu", x.device)(_packed(x), _packed(bias), out=out)
    return out


def _bias_gelu_backward(context, gradient):
    x, bias = context.saved_tensors
    grad = torch.ops.aten.gelu_backward(gradient, x + bias)
    return grad, grad.flatten(0, -2).sum(0)


_define(
    "bias_gelu(Tensor x, Tensor bias) -> Tensor",
    _bias_gelu,
    _bias_gelu_shape,
    lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    _bias_gelu_backward,
)


def bias_gelu(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """gelu(x + bias), the exact gelu."""
    return torch.ops.hone.bias_gelu(x, bias)


# ---- attention -------------------------------------------------------------------------------------------------------------------------

_HEADS_FIRST = 2  # the kernels' layout [batch, heads, tokens, head]


def _attention_shape(q, k, v, causal, window, scale):
    """Of out, and of the logarithms of the sums of exponentials."""
    batch, heads, _, head = k.shape
    _expect("attention", "v", v, (*k.shape[:3], v.shape[-1]))
    _expect("attention", "q", q, (batch, q.shape[1], q.shape[2], head))
    if q.shape[1] % max(heads, 1) != 0:
        raise RuntimeError(f"hone: attention takes a multiple of {heads} heads of q, as k has them; {q.shape[1]} were passed")
    return q.new_empty((*q.shape[:3], v.shape[-1])), q.new_empty(q.shape[:3], dtype=torch.float32)


def _attention_kernel(name, q, v, causal, starts):
    head, values = q.shape[-1], v.shape[-1]
    fixed = f"head={head},value_head={values if values != head else 0},causal={int(causal)}"
    fixed += f",layout={_HEADS_FIRST if starts is None else 1},packed={int(starts is not None)},varied=0"
    return _kernel(name, q.device, fixed)


def _attention_extents(q, k, starts):
    """Of (batch, heads, tokens, head), or of packed sequences, (tokens, heads, head)."""
    if starts is None:
        batch, heads, keys, _ = k.shape
        return {"batch": batch, "heads": heads, "group": q.shape[1] // heads, "queries": q.shape[2], "keys": keys}
    return {"batch": len(starts[0]) - 1, "heads": k.shape[1], "group": q.shape[1] // k.shape[1], "queries": q.shape[0], "keys": k.shape[0]}


def _named(starts):
    return {"q_starts": None, "k_starts": None} if starts is None else dict(zip(("q_starts", "k_starts"), map(_packed, starts)))


def _attend(q, k, v, starts, causal, window, scale, out, lse):
    made = _attention_kernel("attention", q, v, causal, starts)
    extents = _attention_extents(q, k, starts)
    made(_packed(q), _packed(k), _packed(v), **_named(starts), out=(out, lse), scale=scale, window=window, **extents)
    return out, lse


def _attention(q, k, v, causal, window, scale):
    out, lse = _attention_shape(q, k, v, causal, window, scale)
    return _attend(q, k, v, None, causal, window, scale, out, lse) if out.numel() > 0 else (out, lse)


def _attention_backward(gradient, q, k, v, out, lse, q_starts, k_starts, causal, window, scale):
    made = _attention_backward_shape(gradient, q, k, v)
    if q.numel() == 0 or k.numel() == 0:
        return tuple(one.zero_() for one in made)
    starts = None if q_starts is None else (q_starts, k_starts)
    kernel = _attention_kernel("attention_backward", q, v, causal, starts)
    extents = _attention_extents(q, k, starts)
    inputs = map(_packed, (q, k, v, out, gradient, lse))
    kernel(*inputs, **_named(starts), out=made, scale=scale, window=window, **extents)
    return made


def _attention_backward_shape(gradient, q, k, v, *_):
    return tuple(map(_packed_like, (q, k, v)))


def _no_second_gradient(ctx, *_):
    raise RuntimeError("hone: attention has no second derivative")


def _attention_setup(ctx, inputs, output):
    q, k, v, *starts, ctx.causal, ctx.window, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, *output, *starts)
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _attention_gradients(ctx, gradient, _):
    q, k, v, out, lse, *starts = ctx.saved_tensors
    if gradient is None:
        return (None,) * (6 + len(starts))
    given = starts or (None, None)
    made = torch.ops.hone.attention_backward(gradient, q, k, v, out, lse, *given, ctx.causal, ctx.window, ctx.scale)
    return (*made, *(None for _ in starts), None, None, None)


_define("attention(Tensor q, Tensor k, Tensor v, bool causal, int window, float scale) -> (Tensor, Tensor)", _attention, _attention_shape,
        _attention_setup, _attention_gradients)
_define("attention_backward(Tensor gradient, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor? q_starts, Tensor? k_starts, "
        "bool causal, int window, float scale) -> (Tensor, Tensor, Tensor)", _attention_backward, _attention_backward_shape,
        lambda ctx, inputs, output: None, _no_second_gradient)


def attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, window: int = 0, scale: float | None = None
) -> torch.Tensor:
    """softmax(scale * q k^T) v over the keys that a query sees, for q of shape (batch, query heads, queries, head) and k and v of
    (batch, heads, keys, head); each head of k and v serves as many heads of q as there are more of those. head is a multiple of 32; that of
    v, and of the result, may be another one.

    causal: no keys behind a query; the last query is beside the last key (PyTorch's is_causal puts the first beside the first). window: the
    keys that a query sees up to its own, itself included, and without causal as many after it; 0: all. scale: head ** -0.5 if not given.
    """
    return torch.ops.hone.attention(q, k, v, causal, window, q.shape[-1] ** -0.5 if scale is None else scale)[0]


def _packed_attention_shape(q, k, v, q_starts, k_starts, causal, window, scale):
    _, heads, head = k.shape
    _expect("packed_attention", "v", v, (*k.shape[:2], v.shape[-1]))
    _expect("packed_attention", "q", q, (q.shape[0], q.shape[1], head))
    _expect("packed_attention", "k_starts", k_starts, q_starts.shape)
    if q.shape[1] % max(heads, 1) != 0:
        raise RuntimeError(f"hone: packed_attention takes a multiple of {heads} heads of q, as k has them; {q.shape[1]} were passed")
    return q.new_empty((*q.shape[:2], v.shape[-1])), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)


def _packed_attention(q, k, v, q_starts, k_starts, causal, window, scale):
    out, lse = _packed_attention_shape(q, k, v, q_starts, k_starts, causal, window, scale)
    if out.numel() == 0:
        return out, lse
    if k.shape[0] == 0:
        return out.zero_(), lse.fill_(-float("inf"))
    return _attend(q, k, v, (q_starts, k_starts), causal, window, scale, out, lse)


_define(
    "packed_attention(Tensor q, Tensor k, Tensor v, Tensor q_starts, Tensor k_starts, bool causal, int window, float scale) -> (Tensor, Tensor)",
    _packed_attention,
    _packed_attention_shape,
    _attention_setup,
    _attention_gradients,
)


def packed_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    q_starts: torch.Tensor,
    k_starts: torch.Tensor | None = None,
    causal: bool = False,
    window: int = 0,
    scale: float | None = None,
) -> torch.Tensor:
    """attention() of sequences of different lengths that lie one after another: q of shape (tokens, query heads, head), k and v of
    (tokens, heads, head). Sequence s has the tokens from q_starts[s] to before q_starts[s + 1] of q, and those of k_starts (q_starts if not
    given) of k and v; both are int32, begin with 0 and end with the number of tokens. They stay on the device and are not checked. A query
    that sees no key gives zeros.
    """
    k_starts = q_starts if k_starts is None else k_starts
    return torch.ops.hone.packed_attention(q, k, v, q_starts, k_starts, causal, window, q.shape[-1] ** -0.5 if scale is None else scale)[0]


def _decode_shape(q, k, v, table, lengths, k_scale, v_scale, scale):
    _, _, heads, head = k.shape
    sequences = q.shape[0]
    _expect("decode", "v", v, k.shape)
    _expect("decode", "q", q, (*q.shape[:3], head))
    _expect("decode", "lengths", lengths, (sequences,))
    _expect("decode", "a table", table, (sequences, table.shape[1]))
    if q.shape[2] % max(heads, 1) != 0:
        raise RuntimeError(f"hone: decode takes a multiple of {heads} heads of q, as k has them; {q.shape[2]} were passed")
    if k.element_size() == 1 and (k_scale is None or v_scale is None):
        raise RuntimeError("hone: decode takes k_scale and v_scale with a cache of 8-bit floats")
    if k.element_size() > 1 and (k_scale is not None or v_scale is not None):
        raise RuntimeError(f"hone: decode takes k_scale and v_scale with a cache of 8-bit floats alone; this one is of {k.dtype}")
    return _packed_like(q)


def _decode(q, k, v, table, lengths, k_scale, v_scale, scale):
    out = _decode_shape(q, k, v, table, lengths, k_scale, v_scale, scale)
    if out.numel() == 0:
        return out
    sequences, queries = q.shape[:2]
    page, heads, head = k.shape[1:]
    pages = table.numel()
    if k.shape[0] < pages:
        raise RuntimeError(f"hone: decode takes a cache of {pages} pages or more, as many as the table has; {k.shape[0]} were passed")
    made = _kernel("decode", q.device, f"head={head},varied=0")
    lse = q.new_empty(q.shape[:3], dtype=torch.float32)
    scales = [q.new_empty(0, dtype=torch.float32) if one is None or k.element_size() > 1 else _packed(one) for one in (k_scale, v_scale)]
    extents = {"sequences": sequences, "heads": heads, "group": q.shape[2] // heads, "queries": queries}
    extents |= {"longest": table.shape[1] * page, "page": page}
    inputs = {"table": _packed(table), "lengths": _packed(lengths), "k_scale": scales[0], "v_scale": scales[1]}
    # Of a larger cache the kernel is told the first pages; where the others are follows from the table.
    made(_packed(q), _packed(k)[:pages], _packed(v)[:pages], **inputs, out=(out, lse), scale=scale, **extents)
    return out


_define(
    "decode(Tensor q, Tensor k, Tensor v, Tensor table, Tensor lengths, Tensor? k_scale, Tensor? v_scale, float scale) -> Tensor",
    _decode,
    _decode_shape,
)


def decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    table: torch.Tensor,
    lengths: torch.Tensor,
    scale: float | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of the last tokens of each sequence, q of shape (sequences, tokens, query heads, head), to all its tokens, the last ones
    included. Keys and values lie in pages, (pages, tokens of a page, heads, head): table[s, i] is the page of sequence s that has its i-th
    run of tokens, lengths[s] its number of tokens (int32; neither is checked). The cache has as many pages as the table, or more. k and v
    may have another type than q, also float8_e4m3fn with a factor in f32 for each head, k_scale and v_scale. There is no gradient.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return torch.ops.hone.decode(q, k, v, table, lengths, k_scale, v_scale, scale)
