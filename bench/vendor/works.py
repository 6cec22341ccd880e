"""What each work computes, as a PyTorch user writes it: inputs, the expression, and the answer in float64."""

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from vendor import cases

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
EPSILON = 1e-5


def layernorm(x, weight, bias):
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, EPSILON)


def rmsnorm(x, weight):
    return functional.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def residual_rmsnorm(x, residual, weight):
    total = x + residual
    return total, functional.rms_norm(total, (total.shape[-1],), weight, EPSILON)


SCALE, LATENT_SCALE, BACKWARD_SCALE = 0.25, 0.125, 0.0883883  # the defaults of Hone's kernels


def attention(q, k, v, causal=True, scale=SCALE):
    """[batch, tokens, heads, head]; heads of q share those of k and v."""
    views = [x.transpose(1, 2) for x in (q, k, v)]
    return functional.scaled_dot_product_attention(*views, is_causal=causal, scale=scale, enable_gqa=q.shape[2] != k.shape[2]).transpose(1, 2)


def decode(q, k, v, _table, _lengths):
    """One token of each sequence over all of its contiguous cache: the table is the identity, and lengths are equal."""
    return attention(q, k, v, False)


def packed_attention(q, k, v, starts, _):
    """[tokens, heads, head], sequences one after another; as PyTorch has it, by nested tensors."""
    nested = [torch.nested.nested_tensor_from_jagged(x, starts.long()).transpose(1, 2) for x in (q, k, v)]
    out = functional.scaled_dot_product_attention(*nested, is_causal=True, scale=SCALE, enable_gqa=q.shape[1] != k.shape[1])
    return out.transpose(1, 2).values()


def one_by_one(q, k, v, starts, _):
    """Packed attention, a sequence at a time; where they begin is known to the host."""
    bounds = starts.tolist()

    def call():
        parts = [attention(*(x[None, begin:end] for x in (q, k, v))) for begin, end in zip(bounds, bounds[1:]) if begin < end]
        return torch.cat(parts, 1)[0]

    return call


def varlen_attention(q, k, v, starts, _):
    """PyTorch's own function for packed sequences, since 2.10. Its heads of k and v are as many as those of q."""
    from torch.nn.attention.varlen import varlen_attn

    bounds, starts, group = starts.tolist(), starts.to(torch.int32), q.shape[1] // k.shape[1]
    longest = max(end - begin for begin, end in zip(bounds, bounds[1:]))
    k, v = (x.repeat_interleave(group, 1) if group > 1 else x for x in (k, v))
    return lambda: varlen_attn(q, k, v, starts, starts, longest, longest, scale=SCALE, window_size=(-1, 0))


def exact_packed(q, k, v, starts, _):
    bounds = [int(start) for start in starts.tolist()]
    parts = [exact_attention(*(x[None, begin:end] for x in (q, k, v)), True)[0] for begin, end in zip(bounds, bounds[1:])]
    return torch.cat(parts)


def widened(cache, scale, dtype):
    """A cache of 8-bit floats in another type."""
    return cache.to(dtype) * scale.to(dtype)[:, None]


def decode_fp8(q, k, v, table, lengths, k_scale, v_scale):
    return decode(q, widened(k, k_scale, q.dtype), widened(v, v_scale, q.dtype), table, lengths)


def decode_latent(q, cache, _table, _lengths):
    """One token of each sequence, all heads over one line of the cache for each of its tokens, as two batched products."""
    scores = torch.matmul(q[:, 0], cache.transpose(1, 2)) * LATENT_SCALE
    return torch.matmul(torch.softmax(scores, -1), cache[..., :cases.LATENT])[:, None]


def decode_latent_by_attention(q, cache, _table, _lengths):
    """The same by scaled_dot_product_attention; keys and values are views of the cache."""
    keys = cache[:, None]
    return functional.scaled_dot_product_attention(q.transpose(1, 2), keys, keys[..., :cases.LATENT], scale=LATENT_SCALE,
                                                   enable_gqa=True).transpose(1, 2)


def rotated(x, cosine, sine):
    low, high = x.chunk(2, -1)
    return torch.cat((low * cosine - high * sine, high * cosine + low * sine), -1).to(x.dtype)


def rope_append(q, k, v, angles, position, slot, k_cache, v_cache):
    """Rotates q and k, and writes k and v into slots of the cache."""
    cosine, sine = angles[position.long()][:, None].chunk(2, -1)
    k_cache[slot.long()] = rotated(k, cosine, sine)
    v_cache[slot.long()] = v
    return rotated(q, cosine, sine), k_cache, v_cache


def widened_attention(q, k, v, q_scale, k_scale, v_scale, dtype):
    return widened(q, q_scale, dtype), widened(k, k_scale, dtype), widened(v, v_scale, dtype)


def attention_fp8(causal):
    """8-bit floats with a scale for each head; results are bf16."""
    return lambda *inputs: attention(*widened_attention(*inputs, torch.bfloat16), causal)


def exact_attention(q, k, v, causal):
    """In float64, a head at a time: scores of all heads would not fit."""
    out, group = torch.empty_like(q), q.shape[2] // k.shape[2]
    for sequence in range(q.shape[0]):
        for head in range(q.shape[2]):
            scores = SCALE * q[sequence, :, head] @ k[sequence, :, head // group].T
            if causal:
                scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu_(1), float("-inf"))
            out[sequence, :, head] = torch.softmax(scores, -1) @ v[sequence, :, head // group]
    return out


def backward_of(attend, causal):
    """The gradients of q, k and v by `attend`, which ran before; inputs are those of Hone's kernel, whose out and lse it does not need."""

    def make(q, k, v, _out, dout, _lse):
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
            result = attend(*leaves, causal, BACKWARD_SCALE)
        return lambda: torch.autograd.grad(result, leaves, dout, retain_graph=True)

    return make


def flex_for_gradients(q, k, v, causal, scale):
    return flex_attention(causal, scale)(q, k, v)()


def exact_gradients(q, k, v, out, dout, lse, causal):
    """In float64, a head at a time."""
    dq, dk, dv, group = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v), q.shape[2] // k.shape[2]
    for sequence in range(q.shape[0]):
        for head in range(q.shape[2]):
            queries, keys, values = q[sequence, :, head], k[sequence, :, head // group], v[sequence, :, head // group]
            gradient = dout[sequence, :, head]
            weights = torch.exp(BACKWARD_SCALE * queries @ keys.T - lse[sequence, head][:, None])
            if causal:
                weights.tril_()
            dv[sequence, :, head // group] += weights.T @ gradient
            change = gradient @ values.T - (gradient * out[sequence, :, head]).sum(-1, keepdim=True)
            change *= weights
            dq[sequence, :, head] = BACKWARD_SCALE * change @ keys
            dk[sequence, :, head // group] += BACKWARD_SCALE * change.T @ queries
    return dq, dk, dv


def flex_attention(causal, scale=SCALE):
    """FlexAttention, compiled for the inputs it is called with."""
    from torch.nn.attention import flex_attention as flex

    function = torch.compile(flex.flex_attention, dynamic=False)

    def call(q, k, v, *_):
        views = [x.transpose(1, 2) for x in (q, k, v)]
        mask = flex.create_block_mask(lambda _b, _h, row, column: row >= column, None, None, q.shape[1], k.shape[1]) if causal else None
        return lambda: function(*views, block_mask=mask, scale=scale, enable_gqa=q.shape[2] != k.shape[2]).transpose(1, 2)

    return call


# Implementations of attention in PyTorch, by name.
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention": SDPBackend.FLASH_ATTENTION}


def with_backend(backend, function):
    def call(*inputs):
        with sdpa_kernel(backend):
            return function(*inputs)

    return call


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
    "attention": attention,
    "attention_full": lambda q, k, v: attention(q, k, v, False),
    "decode": decode,
    "attention_packed": packed_attention,
    "decode_fp8": decode_fp8,
    "decode_latent": decode_latent,
    "rope_append": rope_append,
    "attention_fp8": attention_fp8(True),
    "attention_fp8_full": attention_fp8(False),
    "attention_backward": lambda *inputs: backward_of(attention, True)(*inputs)(),
    "attention_backward_full": lambda *inputs: backward_of(attention, False)(*inputs)(),
}
# What an expression writes into, by the place among its inputs: everyone has a copy of it.
WRITTEN = {"rope_append": (6, 7)}
EXACT = {
    "attention": lambda q, k, v: exact_attention(q, k, v, True),
    "attention_full": lambda q, k, v: exact_attention(q, k, v, False),
    "decode": lambda q, k, v, _table, _lengths: exact_attention(q, k, v, False),
    "attention_packed": exact_packed,
    "attention_fp8": lambda *inputs: exact_attention(*widened_attention(*inputs, torch.float64), True),
    "attention_fp8_full": lambda *inputs: exact_attention(*widened_attention(*inputs, torch.float64), False),
    "decode_fp8": lambda q, k, v, _table, _lengths, k_scale, v_scale: exact_attention(
        q, widened(k, k_scale, q.dtype), widened(v, v_scale, q.dtype), False),
    "attention_backward": lambda *inputs: exact_gradients(*inputs, True),
    "attention_backward_full": lambda *inputs: exact_gradients(*inputs, False),
}


def random_tensor(shape, dtype):
    """Uniform in [-1, 1): never zeros, on which a GPU draws less power and clocks higher."""
    return (torch.rand(shape, device="cuda", dtype=torch.float32) * 2 - 1).to(dtype)


def random_scales(shape):
    """Powers of two: exact in any type."""
    return torch.randint(-1, 2, shape, device="cuda").float().exp2()


def rope_inputs(case):
    """Tokens follow one another in their positions, and in pages of the cache that lie in random order."""
    shapes, dtype = case.input_shapes(), DTYPES[case.dtype]
    token = torch.arange(case.shape["tokens"], device="cuda")
    pages = torch.randperm(case.shape["slots"] // cases.PAGE, device="cuda")
    slot = pages[token // cases.PAGE] * cases.PAGE + token % cases.PAGE
    place = torch.arange(cases.POSITIONS, device="cuda", dtype=torch.float64)[:, None]
    half = torch.arange(shapes[3][1] // 2, device="cuda", dtype=torch.float64)
    angle = place * 10000.0 ** (-2.0 * half / shapes[3][1])
    angles = torch.cat((angle.cos(), angle.sin()), -1).float()
    integers = ((token % cases.POSITIONS).int(), slot.int())
    return (*(random_tensor(shape, dtype) for shape in shapes[:3]), angles, *integers, *(random_tensor(shape, dtype) for shape in shapes[6:]))


def backward_inputs(case):
    """Of attention, its answer and a gradient of that."""
    shapes, dtype, causal = case.input_shapes(), DTYPES[case.dtype], cases.ATTENTION[case.work] == 1
    q, k, v, dout = (random_tensor(shape, dtype) for shape in (*shapes[:3], shapes[4]))
    views = [x.transpose(1, 2) for x in (q, *(x.repeat_interleave(q.shape[2] // k.shape[2], 2) for x in (k, v)))]
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention(*views, is_causal=causal, scale=BACKWARD_SCALE)[:2]
    return q, k, v, out.transpose(1, 2).contiguous(), dout, lse.contiguous()


def make_inputs(case):
    """Fresh random inputs, in the order of the expression's parameters and of the kernels' arguments."""
    shapes = case.input_shapes()
    if case.work in cases.ATTENTION_BACKWARD:
        return backward_inputs(case)
    if case.work in cases.DECODE:
        table = torch.arange(shapes[3][0], device="cuda", dtype=torch.int32)
        lengths = torch.full(shapes[4], shapes[1][1], device="cuda", dtype=torch.int32)
        of_cache = torch.float8_e4m3fn if case.work == "decode_fp8" else DTYPES[case.dtype]
        scales = (random_scales(shape) for shape in shapes[5:])
        return (random_tensor(shapes[0], DTYPES[case.dtype]), *(random_tensor(shape, of_cache) for shape in shapes[1:3]), table, lengths, *scales)
    if case.work == "rope_append":
        return rope_inputs(case)
    if case.work == "decode_latent":
        integers = torch.arange(case.extents[0], device="cuda"), torch.full(shapes[3], shapes[1][1], device="cuda")
        return (*(random_tensor(shape, DTYPES[case.dtype]) for shape in shapes[:2]), *(numbers.int() for numbers in integers))
    if case.work in cases.ATTENTION_FP8:
        return (*(random_tensor(shape, torch.float8_e4m3fn) for shape in shapes[:3]), *(random_scales(shape) for shape in shapes[3:]))
    if case.work == "attention_packed":
        starts = torch.tensor(cases.packed_starts(case.extents[0], case.extents[3]), device="cuda", dtype=torch.int32)
        return (*(random_tensor(shape, DTYPES[case.dtype]) for shape in shapes[:3]), starts, starts.clone())
    return tuple(random_tensor(shape, DTYPES[case.dtype]) for shape in shapes)


def as_tuple(outputs):
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)


def reference(case, inputs):
    """The same expression on the same inputs in float64."""
    exact = EXACT.get(case.work, EXPRESSIONS[case.work])
    return as_tuple(exact(*(tensor.double() for tensor in inputs)))


def error(outputs, expected):
    """Largest over the outputs of ||out - expected|| / ||expected||; NaN if one is not finite everywhere. What a kernel has beyond the
    expression's outputs (attention's lse) is not looked at."""
    worst = 0.0
    for out, right in zip(as_tuple(outputs), expected, strict=False):
        difference = torch.linalg.vector_norm(out.reshape(right.shape).double() - right)
        relative = (difference / torch.linalg.vector_norm(right).clamp_min(1e-300)).item()
        worst = relative if relative != relative else max(worst, relative)
    return worst
