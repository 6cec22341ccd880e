"""Whoever can do the work of a case: Hone's exported plans, PyTorch eager, torch.compile, cuBLAS. Each makes a call for a set of inputs."""

import signal
import time

import torch

from vendor import cases, launch, works

COMPILE_MODE = "max-autotune-no-cudagraphs"
TORCH_TYPES = {**works.DTYPES, "i32": torch.int32}


class Alarm:
    """Raises TimeoutError in the block after so many seconds: a compiler that does not end must not cost the other cases."""

    def __init__(self, seconds):
        self.seconds = max(seconds, 1.0)

    def __enter__(self):
        def ring(_signal, _frame):
            raise TimeoutError(f"stopped after {self.seconds:.0f} s")

        self.previous = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.previous)


def poisoned(argument):
    """Memory of 0xff bytes, NaN in every floating type: what is not written shows."""
    return torch.full((argument["bytes"],), 255, dtype=torch.uint8, device="cuda").view(TORCH_TYPES[argument["dtype"]])


class Exported:
    """A plan of Hone's."""

    def __init__(self, file):
        self.plan = launch.Plan(file)
        self.code = launch.Code(self.plan)

    def bind(self, inputs):
        """A call on its own outputs and workspaces, and these outputs. Inputs are matched in order."""
        buffers = {}
        for argument, index in self.plan.match_inputs([tensor.numel() for tensor in inputs]):
            if index is None:
                buffers[argument["name"]] = poisoned(argument)
            else:
                buffers[argument["name"]] = inputs[index].clone() if argument["role"] == "inout" else inputs[index]
        for argument in self.plan.of_role("out", "workspace"):
            buffers[argument["name"]] = poisoned(argument)
        outputs = tuple(buffers[argument["name"]] for argument in self.plan.of_role("out", "inout"))
        bound = launch.Launch(self.code, {name: tensor.data_ptr() for name, tensor in buffers.items()})

        def call():
            bound(torch.cuda.current_stream().cuda_stream)
            return outputs

        call.buffers = buffers  # as long as the call lives
        return call


class Expression:
    """A PyTorch expression; what it writes into is copied before."""

    def __init__(self, function, written=()):
        self.function, self.written = function, written

    def bind(self, inputs):
        own = tuple(tensor.clone() if place in self.written else tensor for place, tensor in enumerate(inputs))
        return lambda: self.function(*own)


class Flex:
    """FlexAttention; its mask is made once."""

    def __init__(self, causal):
        self.make = works.flex_attention(causal)

    def bind(self, inputs):
        return self.make(*inputs)


class Prepared:
    """What `make` returns for the inputs; what it does before that is not timed."""

    def __init__(self, make):
        self.bind = lambda inputs: make(*inputs)


def over_wide_cache(backend):
    """Decoding by one of PyTorch's implementations, over a cache that was widened before."""
    function = works.with_backend(backend, works.decode)

    def make(q, k, v, table, lengths, k_scale, v_scale):
        wide = works.widened(k, k_scale, q.dtype), works.widened(v, v_scale, q.dtype)
        return lambda: function(q, *wide, table, lengths)

    return Prepared(make)


def over_wide_inputs(backend, causal):
    """Attention by one of PyTorch's implementations, of inputs that were widened to bf16 before."""
    function = works.with_backend(backend, works.attention)

    def make(*inputs):
        wide = works.widened_attention(*inputs, torch.bfloat16)
        return lambda: function(*wide, causal)

    return Prepared(make)


def backward_by(attend, case):
    """Gradients by what PyTorch's autograd calls behind an implementation of attention."""
    return Prepared(works.backward_of(attend, case.shape["causal"] == 1))


class CopyInto:
    """copy_ into memory that is there already."""

    def bind(self, inputs):
        target = torch.empty_like(inputs[0])
        return lambda: target.copy_(inputs[0])


class WithLibrary:
    """The expression with one of the vendor's matrix libraries preferred."""

    def __init__(self, library, function):
        self.library, self.function = library, function

    def bind(self, inputs):
        def call():
            torch.backends.cuda.preferred_blas_library(self.library)
            return self.function(*inputs)

        return call


def compiled(function, inputs, limit_s, written=()):
    """The expression under torch.compile and the seconds it took to build."""
    torch._dynamo.reset()
    fast = Expression(torch.compile(function, mode=COMPILE_MODE, dynamic=False, fullgraph=True), written)
    call, started = fast.bind(inputs), time.monotonic()
    with Alarm(limit_s):
        call()
        torch.cuda.synchronize()
    return fast, time.monotonic() - started


def existing(case, inputs, limit_s, notes):
    """What a user could call today, by name, and the seconds that torch.compile took."""
    function, written = works.EXPRESSIONS[case.work], works.WRITTEN.get(case.work, ())
    if case.work == "gemm":
        found = {"cuBLAS": WithLibrary("cublas", function), "cuBLASLt": WithLibrary("cublaslt", function)}
    elif case.work == "attention_packed":
        found = {"nested tensors": Expression(function), "SDPA one by one": Prepared(works.one_by_one),
                 "varlen_attn": Prepared(works.varlen_attention)}
    elif case.work == "decode_fp8":
        found = {f"{name}, {case.dtype} cache": over_wide_cache(backend) for name, backend in works.BACKENDS.items()}
    elif case.work in cases.ATTENTION_FP8:
        found = {f"{name}, bf16": over_wide_inputs(backend, case.shape["causal"] == 1) for name, backend in works.BACKENDS.items()}
    elif case.work in cases.ATTENTION_BACKWARD:
        found = {name: backward_by(works.with_backend(backend, works.attention), case) for name, backend in works.BACKENDS.items()}
        found["FlexAttention"] = backward_by(works.flex_for_gradients, case)
    elif case.work in works.EXACT:
        found = {name: Expression(works.with_backend(backend, function)) for name, backend in works.BACKENDS.items()}
        found["FlexAttention"] = Flex(case.work == "attention")
    else:
        found = {"torch eager": Expression(function, written)}
    if case.work == "decode_latent":
        found["SDPA"] = Expression(works.decode_latent_by_attention)
    if case.work == "copy":
        found["torch copy_"] = CopyInto()
    seconds = None
    try:
        if case.work not in cases.ATTENTION_BACKWARD:  # autograd is not compiled: it calls what is there already
            found["torch.compile max-autotune"], seconds = compiled(function, inputs, limit_s, written)
    except Exception as error:  # whatever the compiler throws is a note, not the end
        notes.append(f"torch.compile: {describe(error)}")
    working = {}
    for name, contender in found.items():
        try:
            contender.bind(inputs)()
            torch.cuda.synchronize()
            working[name] = contender
        except Exception as error:
            notes.append(f"{name}: {describe(error)}")
    return working, seconds


def describe(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
