"""The table of work: which problems are measured, and which of Hone's kernels solve them. Needs no PyTorch."""

import dataclasses
import math

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8}

# Extents by work; a kernel is given those of its problem's fields.
AXES = {
    "copy": ("n",), "full_sum": ("n",), "scan": ("n",),
    "softmax": ("rows", "cols"), "layernorm": ("rows", "cols"), "rmsnorm": ("rows", "cols"), "row_sum": ("rows", "cols"),
    "transpose": ("rows", "cols"), "bias_gelu": ("rows", "cols"), "residual_rmsnorm": ("rows", "cols"),
    "gemm": ("m", "n", "k"),
}

# Kernels that can solve a work, best first; those that a build lacks are passed over. `gemm` is for where no other is there.
KERNELS = {
    ("gemm", "f32"): ("gemm", "gemv"),
    ("gemm", "f16"): ("gemm_wgmma", "gemm_mma", "gemv", "gemm"),
    ("gemm", "bf16"): ("gemm_wgmma", "gemm_mma", "gemv", "gemm"),
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
)


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
        return dict(zip(AXES[self.work], self.extents))

    def with_extents(self, extents):
        return dataclasses.replace(self, extents=tuple(extents))

    def neighbours(self):
        """Ragged problems beside this one: nothing is a multiple of anything."""
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


def parse_case(text):
    """"softmax:bf16:8192x8192"."""
    parts = text.split(":")
    if len(parts) != 3 or parts[0] not in AXES or parts[1] not in ELEMENT_BYTES or not all(part.isdigit() for part in parts[2].split("x")):
        raise ValueError(f"case '{text}': expected WORK:DTYPE:EXTENTS, e.g. softmax:bf16:8192x8192, with one of {', '.join(AXES)}")
    case = Case(parts[0], parts[1], tuple(int(part) for part in parts[2].split("x")))
    if len(case.extents) != len(AXES[case.work]) or min(case.extents) < 1:
        raise ValueError(f"case '{text}': {case.work} has the extents {', '.join(AXES[case.work])}")
    return case
