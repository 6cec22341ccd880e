"""The table of work: which problems are measured, and which of Hone's kernels solve them. Needs no PyTorch."""

import dataclasses
import math
import random

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8}

# Extents by work; a kernel is given those of its problem's fields.
AXES = {
    "copy": ("n",), "full_sum": ("n",), "scan": ("n",),
    "softmax": ("rows", "cols"), "layernorm": ("rows", "cols"), "rmsnorm": ("rows", "cols"), "row_sum": ("rows", "cols"),
    "transpose": ("rows", "cols"), "bias_gelu": ("rows", "cols"), "residual_rmsnorm": ("rows", "cols"),
    "gemm": ("m", "n", "k"),
    "attention": ("batch", "heads", "group", "queries", "head"), "attention_full": ("batch", "heads", "group", "queries", "head"),
    "attention_packed": ("batch", "heads", "group", "queries", "head"),  # queries: tokens of all sequences
    "decode": ("sequences", "heads", "group", "longest", "head"), "decode_fp8": ("sequences", "heads", "group", "longest", "head"),
    "decode_latent": ("sequences", "heads", "longest"),
    "rope_append": ("tokens", "heads", "group", "head"),
    "attention_fp8": ("batch", "heads", "group", "queries", "head"), "attention_fp8_full": ("batch", "heads", "group", "queries", "head"),
    "attention_backward": ("batch", "heads", "group", "queries", "head"),
    "attention_backward_full": ("batch", "heads", "group", "queries", "head"),
}
# Whether it is causal.
ATTENTION = {"attention": 1, "attention_full": 0, "attention_packed": 1, "attention_fp8": 1, "attention_fp8_full": 0, "attention_backward": 1,
             "attention_backward_full": 0}
ATTENTION_FP8 = ("attention_fp8", "attention_fp8_full")
ATTENTION_BACKWARD = ("attention_backward", "attention_backward_full")
DECODE = ("decode", "decode_fp8")
LATENT, ROPE = 512, 64  # decode_latent's line of its cache
PAGE, POSITIONS = 64, 16384  # rope_append's: tokens of a page of its cache, and rows of its table of angles

# Kernels that can solve a work, best first; those that a build lacks are passed over. `gemm` is for where no other is there.
KERNELS = {
    ("gemm", "f32"): ("gemm", "gemv"),
    ("gemm", "f16"): ("gemm_wgmma", "gemm_mma", "gemv", "gemm"),
    ("gemm", "bf16"): ("gemm_wgmma", "gemm_mma", "gemv", "gemm"),
    ("attention", "bf16"): ("attention_wgmma", "attention_mma"), ("attention_full", "bf16"): ("attention_wgmma", "attention_mma"),
    ("attention_packed", "bf16"): ("attention_wgmma", "attention_mma"),
    ("attention_fp8", "bf16"): ("attention_fp8",), ("attention_fp8_full", "bf16"): ("attention_fp8",),
    ("attention_backward", "bf16"): ("attention_backward_wgmma", "attention_backward_mma"),
    ("attention_backward_full", "bf16"): ("attention_backward_wgmma", "attention_backward_mma"),
    ("decode", "bf16"): ("decode_mma",), ("decode_latent", "bf16"): ("decode_latent_wgmma", "decode_latent_mma"), ("decode_fp8", "bf16"): ("decode_mma",),
}
TENSOR_CORE_KERNELS = ("gemm_wgmma", "gemm_mma")

SQUARE_4096, SQUARE_8192, NARROW, LONG_ROWS = (4096, 4096), (8192, 8192), (16384, 1024), (128, 131072)
ROW_SHAPES = (SQUARE_8192, LONG_ROWS, SQUARE_4096, NARROW)
GIB_F32 = 1 << 28
PRODUCTS = ((4096, 4096, 4096), (16, 4096, 4096), (4097, 4097, 4097), (1024, 1024, 1024), (2048, 2048, 2048), (8192, 8192, 8192),
            (333, 1777, 511), (64, 7168, 2048), (128, 14336, 4096), (8192, 64, 8192), (1, 4096, 4096))

# Whatever is most telling comes first: a run that is cut short has seen it.
TABLE = (
    ("softmax", ("bf16", "f32"), ROW_SHAPES),
    ("gemm", ("f32", "bf16"), PRODUCTS),
    ("layernorm", ("bf16", "f32"), ROW_SHAPES),
    ("rmsnorm", ("bf16", "f32"), ROW_SHAPES),
    ("transpose", ("bf16", "f32"), (SQUARE_8192, NARROW, SQUARE_4096)),
    ("copy", ("bf16", "f32"), ((8192 * 8192,), (4096 * 4096,))),
    ("row_sum", ("bf16", "f32"), ROW_SHAPES),
    ("full_sum", ("f32", "bf16"), ((GIB_F32,),)),
    ("scan", ("f32", "bf16"), ((GIB_F32,),)),
    ("bias_gelu", ("bf16", "f32"), (SQUARE_8192,)),
    ("residual_rmsnorm", ("bf16", "f32"), (SQUARE_8192,)),
    ("attention", ("bf16",), ((4, 32, 1, 4096, 128), (4, 8, 4, 4096, 128), (1, 8, 4, 16384, 128), (8, 16, 1, 2048, 64), (2, 16, 1, 4096, 256))),
    ("attention_full", ("bf16",), ((4, 32, 1, 4096, 128),)),
    ("attention_backward", ("bf16",), ((4, 32, 1, 4096, 128), (4, 8, 4, 4096, 128), (1, 8, 4, 16384, 128), (8, 16, 1, 2048, 64))),
    ("attention_backward_full", ("bf16",), ((4, 32, 1, 4096, 128),)),
    ("decode", ("bf16",), ((32, 8, 4, 4096, 128), (128, 8, 4, 1024, 128), (1, 8, 4, 32768, 128))),
    ("attention_packed", ("bf16",), ((16, 32, 1, 16384, 128), (64, 8, 4, 65536, 128), (32, 16, 1, 32768, 64))),
    ("decode_fp8", ("bf16",), ((32, 8, 4, 4096, 128), (128, 8, 4, 1024, 128), (1, 8, 4, 32768, 128))),
    ("attention_fp8", ("bf16",), ((4, 32, 1, 4096, 128), (1, 8, 4, 16384, 128), (8, 16, 1, 2048, 64), (2, 16, 1, 4096, 256))),
    ("attention_fp8_full", ("bf16",), ((4, 32, 1, 4096, 128),)),
    ("decode_latent", ("bf16",), ((32, 16, 4096), (128, 16, 1024), (1, 16, 32768), (32, 128, 4096))),
    ("rope_append", ("bf16",), ((8192, 8, 4, 128), (256, 8, 4, 128), (8192, 8, 8, 64))),
)


def packed_starts(sequences, tokens):
    """Where packed sequences begin, and the end: lengths are drawn from all up to twice the mean, the same ones each time."""
    draw = random.Random(sequences)
    shifts = [0.0, *(draw.random() - 0.5 for _ in range(sequences - 1)), 0.0]
    return [int((i + shift) * tokens / sequences) for i, shift in enumerate(shifts)]


@dataclasses.dataclass(frozen=True)
class Case:
    work: str
    dtype: str
    extents: tuple

    @property
    def name(self):
        return f"{self.work}:{self.dtype}:{'x'.join(map(str, self.extents))}"

    @property
    def group(self):
        """Cases whose winners can be tried on each other's shapes."""
        return self.work, self.dtype

    @property
    def shape(self):
        shape = dict(zip(AXES[self.work], self.extents))
        if self.work in ATTENTION:
            shape |= {"keys": shape["queries"], "causal": ATTENTION[self.work]}
        if self.work == "attention_packed":
            shape |= {"packed": 1, "varied": 100}
        if self.work in (*DECODE, "decode_latent"):  # a contiguous cache: what the rivals can read
            shape["page"] = shape["longest"]
        if self.work == "rope_append":
            shape |= {"positions": POSITIONS, "slots": 2 * math.ceil(shape["tokens"] / PAGE) * PAGE}
        return shape

    @property
    def hone_dtype(self):
        """As hone is given it."""
        return f"T={self.dtype},KV=e4m3" if self.work == "decode_fp8" else self.dtype

    def with_extents(self, extents):
        return dataclasses.replace(self, extents=tuple(extents))

    def neighbours(self):
        """Ragged problems beside this one: nothing is a multiple of anything; of latent caches, of 16."""
        if self.work in ATTENTION or self.work in DECODE:  # heads and their size stay
            return [self.with_extents((*self.extents[:3], self.extents[3] + more, self.extents[4])) for more in (1, -3)]
        if self.work == "decode_latent":  # whole runs of 8 lines: copies by tensor maps must not reach beyond a sequence's part of the cache
            return [self.with_extents((*self.extents[:2], self.extents[2] + more)) for more in (8, -24)]
        if self.work == "rope_append":
            return [self.with_extents((self.extents[0] + more, *self.extents[1:])) for more in (1, -3)]
        grown = tuple(extent + 1 for extent in self.extents)
        shrunk = (*self.extents[:-1], max(1, self.extents[-1] - 3))
        if self.work == "gemm":  # few rows stay few rows: a skinny kernel need not do more
            grown = (self.extents[0], self.extents[1] + 1, self.extents[2] + 1)
        return [self.with_extents(grown), self.with_extents(shrunk)]

    def input_shapes(self):
        """In the order of the expression's parameters and of the kernels' arguments."""
        if self.work == "gemm":
            m, n, k = self.extents
            return [(m, k), (k, n)]
        if self.work in ATTENTION or self.work in DECODE:
            count, heads, group, tokens, head = self.extents
            if self.work == "attention_packed":
                return [(tokens, heads * group, head), (tokens, heads, head), (tokens, heads, head), (count + 1,), (count + 1,)]
            cache, rows = (count, tokens, heads, head), 1 if self.work in DECODE else tokens
            integers = [(count,), (count,)] if self.work in DECODE else []  # the table of pages, and lengths
            scales = [(heads,), (heads,)] if self.work == "decode_fp8" else []
            if self.work in ATTENTION_FP8:
                scales = [(heads * group,), (heads,), (heads,)]
            if self.work in ATTENTION_BACKWARD:  # out, its gradient, and the logarithm of the sum of exponentials
                of_out = (count, tokens, heads * group, head)
                return [of_out, cache, cache, of_out, of_out, (count, heads * group, tokens)]
            return [(count, rows, heads * group, head), cache, cache, *integers, *scales]
        if self.work == "decode_latent":
            count, heads, tokens = self.extents
            return [(count, 1, heads, LATENT + ROPE), (count, tokens, LATENT + ROPE), (count,), (count,)]
        if self.work == "rope_append":
            tokens, heads, group, head = self.extents
            new, cache = (tokens, heads, head), (self.shape["slots"], heads, head)
            return [(tokens, heads * group, head), new, new, (POSITIONS, head), (tokens,), (tokens,), cache, cache]
        whole, vector = self.extents, self.extents[-1:]
        more = {"layernorm": [vector, vector], "rmsnorm": [vector], "bias_gelu": [vector], "residual_rmsnorm": [whole, vector]}
        return [whole, *more.get(self.work, [])]

    def input_elements(self):
        return [math.prod(shape) for shape in self.input_shapes()]

    @property
    def bytes(self):
        """The fewest bytes that must cross device memory: each input read once, each output written once."""
        element, count = ELEMENT_BYTES[self.dtype], math.prod(self.extents)
        if self.work == "gemm":
            m, n, k = self.extents
            return (m * k + k * n + m * n) * element
        if self.work in ATTENTION or self.work in DECODE:
            queries, keys = (math.prod(shape) for shape in self.input_shapes()[:2])
            if self.work in ATTENTION_BACKWARD:
                return (4 * queries + 4 * keys) * element + 4 * queries // self.extents[4]
            of_queries = 1 if self.work in ATTENTION_FP8 else element
            return queries * (of_queries + element) + 2 * keys * (1 if self.work == "decode_fp8" else of_queries)
        if self.work == "decode_latent":
            sequences, heads, tokens = self.extents
            return sequences * (tokens * (LATENT + ROPE) + heads * (2 * LATENT + ROPE)) * element
        if self.work == "rope_append":  # of the cache and the angles only what belongs to the tokens
            tokens, heads, group, head = self.extents
            return tokens * (2 * heads * (group + 2) * head * element + 4 * head + 8)
        if self.work == "row_sum":
            return (count + self.extents[0]) * element
        if self.work == "full_sum":
            return (count + 1) * element
        if self.work in ("layernorm", "rmsnorm", "bias_gelu"):
            return (2 * count + {"layernorm": 2}.get(self.work, 1) * self.extents[1]) * element
        if self.work == "residual_rmsnorm":
            return (4 * count + self.extents[1]) * element
        return 2 * count * element

    @property
    def flops(self):
        if self.work in ATTENTION or self.work in DECODE:
            count, heads, group, tokens, head = self.extents
            if self.work == "attention_packed":
                starts = packed_starts(count, tokens)
                pairs = sum((end - begin) * (end - begin + 1) / 2 for begin, end in zip(starts, starts[1:])) / count
            else:
                pairs = tokens if self.work in DECODE else tokens * (tokens + 1) / 2 if ATTENTION[self.work] else tokens * tokens
            return (10.0 if self.work in ATTENTION_BACKWARD else 4.0) * count * heads * group * head * pairs
        if self.work == "decode_latent":
            return 2.0 * math.prod(self.extents) * (2 * LATENT + ROPE)
        return 2.0 * math.prod(self.extents) if self.work == "gemm" else 0.0


def kernels_for(case, known):
    """The kernels of this build that are tuned for the case. `known` has the fields of each kernel's problem, by name."""
    candidates = [kernel for kernel in KERNELS.get(case.group, (case.work,)) if kernel in known]
    if "gemv" in candidates and case.extents[0] != 1:
        candidates.remove("gemv")
    if any(kernel in TENSOR_CORE_KERNELS for kernel in candidates) and "gemm" in candidates:
        candidates.remove("gemm")
    return candidates


def all_cases():
    return [Case(work, dtype, extents) for work, dtypes, shapes in TABLE for dtype in dtypes for extents in shapes]


def drawn_attention(count, seed):
    """So many cases of attention that nobody chose, each of 0.2 to 4 TFLOP: what a kernel does beside the shapes it was made for."""
    draw, drawn = random.Random(seed), []
    while len(drawn) < count:
        head, heads, group = draw.choice((64, 128, 256)), draw.choice((2, 4, 8, 16, 32)), draw.choice((1, 1, 4, 8))
        extents = (draw.choice((1, 2, 3, 4, 6, 8, 16)), heads, group, int(2 ** draw.uniform(9, 14)), head)
        case = Case(draw.choice(("attention", "attention_full")), "bf16", extents)
        if 2e11 <= case.flops <= 4e12 and case not in drawn:
            drawn.append(case)
    return drawn


def parse_case(text):
    """"softmax:bf16:8192x8192"."""
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in AXES or parts[1] not in ELEMENT_BYTES or not all(part.isdigit() for part in parts[2].split("x")):
        raise ValueError(f"case '{text}': expected WORK:DTYPE:EXTENTS, e.g. softmax:bf16:8192x8192, with one of {', '.join(AXES)}")
    case = Case(parts[0], parts[1], tuple(int(part) for part in parts[2].split("x")))
    if len(case.extents) != len(AXES[case.work]) or min(case.extents) < 1:
        raise ValueError(f"case '{text}': {case.work} has the extents {', '.join(AXES[case.work])}")
    return case
