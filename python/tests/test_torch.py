import copy
import json

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import hone  # noqa: E402
import hone.torch  # noqa: E402
from hone.torch import ops  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch.manual_seed(0)
    ops.refresh()
    yield
    ops.refresh()


def tensors(*shapes):
    return [torch.randn(shape) for shape in shapes]


ACTIVATIONS = {"none": lambda y: y, "relu": F.relu, "gelu": F.gelu, "silu": F.silu}
CASES = {
    "softmax": (ops.softmax, lambda x: torch.softmax(x, -1), [(2, 3, 16)]),
    "layernorm": (ops.layernorm, lambda x, w, b: F.layer_norm(x, (16,), w, b), [(2, 3, 16), (16,), (16,)]),
    "rmsnorm": (ops.rmsnorm, lambda x, w: F.rms_norm(x, (16,), w, 1e-5), [(2, 3, 16), (16,)]),
    "residual_rmsnorm": (
        lambda x, r, w: torch.cat(ops.residual_rmsnorm(x, r, w)),
        lambda x, r, w: torch.cat((x + r, F.rms_norm(x + r, (16,), w, 1e-5))),
        [(3, 16), (3, 16), (16,)],
    ),
    "bias_gelu": (ops.bias_gelu, lambda x, b: F.gelu(x + b), [(3, 16), (16,)]),
    "matmul": (ops.matmul, torch.matmul, [(2, 3, 16), (16, 8)]),
    "matmul_of_a_view": (lambda a, b: ops.matmul(a, b.t()), lambda a, b: a @ b.t(), [(3, 16), (8, 16)]),
    "layout_3": (lambda a, b: torch.ops.hone.product(a, b, None, 3, 1), lambda a, b: a.t() @ b, [(16, 3), (16, 8)]),
    "layout_4": (lambda a, b: torch.ops.hone.product(a, b, None, 4, 1), lambda a, b: a.t() @ b.t(), [(16, 3), (8, 16)]),
    "linear_without_bias": (ops.linear, F.linear, [(2, 3, 16), (8, 16)]),
    **{
        f"linear_{name}": (
            lambda x, w, b, name=name: ops.linear(x, w, b, name),
            lambda x, w, b, act=act: act(F.linear(x, w, b)),
            [(2, 3, 16), (8, 16), (8,)],
        )
        for name, act in ACTIVATIONS.items()
    },
}


def packed_starts():
    return [torch.tensor([0, 5, 12], dtype=torch.int32)] * 2


@pytest.mark.parametrize("name", CASES)
def test_operators_and_their_gradients_are_those_of_pytorch(name):
    ours, theirs, shapes = CASES[name]
    inputs = [one.requires_grad_() for one in tensors(*shapes)]
    expected, made = theirs(*inputs), ours(*inputs)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-4)
    weights = torch.randn_like(expected)
    wanted = torch.autograd.grad((expected * weights).sum(), inputs)
    for gradient, one in zip(torch.autograd.grad((made * weights).sum(), inputs), wanted):
        torch.testing.assert_close(gradient, one, atol=1e-4, rtol=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    "operator, arguments",
    [
        ("product", lambda: (*[one.requires_grad_() for one in tensors((4, 16), (8, 16), (8,))], 2, 3)),
        ("softmax", lambda: (tensors((4, 16))[0].requires_grad_(),)),
        ("rmsnorm", lambda: (*[one.requires_grad_() for one in tensors((4, 16), (16,))], 1e-5)),
        ("layernorm", lambda: (*[one.requires_grad_() for one in tensors((4, 16), (16,), (16,))], 1e-5)),
        ("residual_rmsnorm", lambda: (*[one.requires_grad_() for one in tensors((4, 16), (4, 16), (16,))], 1e-5)),
        ("bias_gelu", lambda: tuple(one.requires_grad_() for one in tensors((4, 16), (16,)))),
        ("attention", lambda: (*[one.requires_grad_() for one in tensors((2, 4, 5, 32), (2, 2, 7, 32), (2, 2, 7, 32))], True, 3, 0.2)),
        ("packed_attention", lambda: (*[one.requires_grad_() for one in tensors((12, 4, 32), (12, 2, 32), (12, 2, 32))], *packed_starts(), True, 0, 0.2)),
    ],
)
def test_operators_are_registered_as_pytorch_wants_them(operator, arguments):
    torch.library.opcheck(getattr(torch.ops.hone, operator).default, arguments())


def test_strided_misaligned_and_empty_tensors():
    x = torch.randn(8, 33)
    torch.testing.assert_close(ops.softmax(x[:, 1:]), torch.softmax(x[:, 1:], -1))
    flat = torch.randn(65)
    torch.testing.assert_close(ops.softmax(flat[1:].view(4, 16)), torch.softmax(flat[1:].view(4, 16), -1))
    assert ops.softmax(torch.empty(0, 16)).shape == (0, 16)
    torch.testing.assert_close(ops.linear(torch.empty(3, 0), torch.empty(4, 0), torch.ones(4)), torch.ones(3, 4))
    assert ops.linear(torch.empty(0, 16), torch.empty(4, 16)).shape == (0, 4)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_product_over_nothing_is_the_activation_of_the_bias(name):
    x, weight, bias = torch.empty(3, 0), torch.empty(4, 0), torch.tensor([-1.0, 0.0, 1.0, 2.0])
    torch.testing.assert_close(ops.linear(x, weight, bias, name), ACTIVATIONS[name](F.linear(x, weight, bias)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats(dtype):
    x, weight = torch.randn(4, 16).to(dtype), torch.randn(8, 16).to(dtype)
    torch.testing.assert_close(ops.linear(x, weight).float(), x.float() @ weight.float().t(), atol=2e-2, rtol=2e-2)
    torch.testing.assert_close(ops.softmax(x).float(), torch.softmax(x.float(), -1), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("frozen", [(), (0,), (1, 2)])
def test_gradients_of_layernorm_in_short_floats(dtype, frozen):
    inputs = [one.to(dtype).requires_grad_(i not in frozen) for i, one in enumerate(tensors((4, 16), (16,), (16,)))]
    wanted = [one for one in inputs if one.requires_grad]
    expected = torch.autograd.grad(F.layer_norm(inputs[0], (16,), *inputs[1:]).sum(), wanted)
    for made, one in zip(torch.autograd.grad(ops.layernorm(*inputs).sum(), wanted), expected):
        assert made.dtype == dtype
        torch.testing.assert_close(made, one, atol=5e-2, rtol=5e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rmsnorm_without_eps_has_that_of_pytorch(dtype):
    model, x = nn.Sequential(nn.RMSNorm(16)).to(dtype), (torch.randn(4, 16) * 1e-3).to(dtype)
    expected = model(x)
    torch.testing.assert_close(hone.torch.replace(model)(x), expected, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("name", ["softmax", "layernorm", "rmsnorm", "residual_rmsnorm", "bias_gelu", "matmul", "linear_gelu"])
def test_compiled_operators_take_transposed_inputs(name):
    ours, theirs, shapes = CASES[name]
    inputs = [one.t().contiguous().t() if one.dim() == 2 else one for one in tensors((3, 16), *shapes[1:])]
    compiled = torch.compile(lambda *given: ours(*given).view(-1), fullgraph=True, backend="aot_eager")  # a view: of packed memory alone
    torch.testing.assert_close(compiled(*inputs), theirs(*inputs).reshape(-1), atol=1e-5, rtol=1e-4)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.RMSNorm(16)
        self.up, self.down, self.softmax = nn.Linear(16, 32), nn.Linear(32, 16, bias=False), nn.Softmax(-1)

    def forward(self, x):
        x = x + self.softmax(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


@pytest.mark.long
def test_a_model_runs_replaced_and_compiled_without_a_graph_break():
    model, x = Block(), torch.randn(4, 16)
    expected = model(x)
    ours = hone.torch.replace(copy.deepcopy(model))
    assert [type(one).__module__ for one in ours.children()] == ["hone.torch.modules"] * 5
    torch.testing.assert_close(ours(x), expected, atol=1e-5, rtol=1e-4)
    assert torch._dynamo.explain(ours)(x).graph_break_count == 0
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), expected, atol=1e-5, rtol=1e-4)
    compiled(x).square().sum().backward()
    model(x).square().sum().backward()
    for mine, theirs in zip(ours.parameters(), model.parameters()):
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-4, rtol=1e-3)
    double = copy.deepcopy(ours).double()  # no kernels for it: PyTorch's
    torch.testing.assert_close(double(x.double()).float(), expected, atol=1e-5, rtol=1e-4)
    assert ours.state_dict().keys() == model.state_dict().keys()


@pytest.mark.long
def test_a_trace_is_the_same_before_and_after_and_can_be_tuned(tmp_path, store):
    model, x = Block(), torch.randn(4, 16)
    before = hone.torch.trace(model, x)
    after = hone.torch.trace(hone.torch.replace(copy.deepcopy(model)), x)
    assert {"layernorm", "matmul", "softmax"} <= {one["kernel"] for one in before.problems}  # rms_norm is one operator on GPUs alone
    assert {one["kernel"] for one in after.problems} == {"layernorm", "matmul", "rmsnorm", "softmax"}
    with hone.torch.trace() as workload:
        for _ in range(3):
            ops.softmax(x)
    assert workload.problems == [{"kernel": "softmax", "dtype": "f32", "shape": {"rows": 4, "cols": 16}, "count": 3}]
    workload.save(tmp_path / "w.jsonl")
    assert json.loads((tmp_path / "w.jsonl").read_text().splitlines()[0]) == {"hone_workload": 1}
    report = workload.tune(budget="6s", device="cpu")
    assert report["items"][0]["state"] == "tuned"
    assert hone.kernel("softmax", x).info["source"] == "exact"


def test_mistakes_are_errors():
    with pytest.raises(hone.InvalidArgument, match="elements of"):
        ops.rmsnorm(torch.randn(4, 16), torch.randn(16).half())
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        ops.matmul(torch.randn(4, 16), torch.randn(15, 3))
    with pytest.raises(ValueError, match="matrix"):
        ops.matmul(torch.randn(4, 16), torch.randn(2, 16, 3))


@pytest.mark.parametrize("on", ["cpu", "meta"])  # fake tensors are refused as well
@pytest.mark.parametrize(
    "operator, shapes",
    [
        (ops.residual_rmsnorm, [(4, 6), (6, 4), (6,)]),
        (ops.residual_rmsnorm, [(4, 6), (4, 6), (1, 6)]),
        (ops.rmsnorm, [(4, 6), (1, 6)]),
        (ops.layernorm, [(4, 6), (6,), (3, 2)]),
        (ops.bias_gelu, [(4, 6), (1, 6)]),
        (ops.linear, [(4, 6), (8, 6), (8, 1)]),
        (ops.linear, [(4, 0), (8, 0), (1,)]),
    ],
)
def test_wrong_shapes_are_refused(operator, shapes, on):
    with pytest.raises(RuntimeError, match=r"hone: \w+ takes a (residual|weight|bias) of shape"):
        operator(*[one.to(on) for one in tensors(*shapes)])


def seen(queries, keys, causal, window):
    """The keys that a query sees; the last query is beside the last key."""
    ahead = torch.arange(keys) - (torch.arange(queries)[:, None] + keys - queries)
    mask = ahead <= 0 if causal else torch.ones(queries, keys, dtype=torch.bool)
    return mask & (ahead.abs() < window) if window else mask


@pytest.mark.parametrize("heads", [(2, 2), (4, 2)])
@pytest.mark.parametrize(("causal", "window"), [(False, 0), (True, 0), (True, 3), (False, 4)])
def test_attention_and_its_gradient_are_those_of_pytorch(heads, causal, window):
    q, k, v = tensors((2, heads[0], 5, 32), (2, heads[1], 7, 32), (2, heads[1], 7, 32))
    inputs = [one.requires_grad_() for one in (q, k, v)]
    group = heads[0] // heads[1]
    expected = F.scaled_dot_product_attention(
        q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), attn_mask=seen(5, 7, causal, window)
    )
    made = ops.attention(q, k, v, causal=causal, window=window)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-4)
    weights = torch.randn_like(expected)
    for ours, theirs in zip(torch.autograd.grad((made * weights).sum(), inputs), torch.autograd.grad((expected * weights).sum(), inputs), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_attention_is_a_part_of_a_workload():
    q, k = tensors((1, 4, 5, 32), (1, 2, 7, 32))
    with hone.torch.trace() as workload:
        ops.attention(q, k, k, causal=True)
    (problem,) = workload.problems
    assert problem["kernel"] == "attention"
    shape = {"batch": 1, "heads": 2, "group": 2, "queries": 5, "keys": 7, "head": 32, "causal": 1, "window": 0, "layout": 2}
    assert problem["shape"] == shape


@pytest.mark.parametrize(("causal", "window"), [(False, 0), (True, 0), (True, 3)])
def test_packed_attention_is_attention_of_each_sequence(causal, window):
    of_q, of_k = [0, 5, 5, 12], [0, 7, 9, 20]
    q, k, v = tensors((12, 4, 32), (20, 2, 32), (20, 2, 32))
    starts = [torch.tensor(one, dtype=torch.int32) for one in (of_q, of_k)]
    made = ops.packed_attention(q, k, v, *starts, causal=causal, window=window)
    for i in (0, 2):
        parts = [x[begins[i] : begins[i + 1]].transpose(0, 1)[None] for x, begins in ((q, of_q), (k, of_k), (v, of_k))]
        alone = ops.attention(*parts, causal=causal, window=window)[0].transpose(0, 1)
        torch.testing.assert_close(made[of_q[i] : of_q[i + 1]], alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("causal", "window"), [(False, 0), (True, 0), (True, 3)])
def test_gradients_of_packed_attention_are_those_of_each_sequence(causal, window):
    of_q, of_k = [0, 5, 5, 12], [0, 7, 9, 20]
    inputs = [one.requires_grad_() for one in tensors((12, 4, 32), (20, 2, 32), (20, 2, 32))]
    starts = [torch.tensor(one, dtype=torch.int32) for one in (of_q, of_k)]
    weights = torch.randn(12, 4, 32)
    made = torch.autograd.grad((ops.packed_attention(*inputs, *starts, causal=causal, window=window) * weights).sum(), inputs)
    total = 0
    for i in (0, 2):
        parts = [x[begins[i] : begins[i + 1]].transpose(0, 1)[None] for x, begins in zip(inputs, (of_q, of_k, of_k))]
        alone = ops.attention(*parts, causal=causal, window=window)[0].transpose(0, 1)
        total = total + (alone * weights[of_q[i] : of_q[i + 1]]).sum()
    for ours, theirs in zip(made, torch.autograd.grad(total, inputs)):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_values_may_have_another_size_than_keys():
    inputs = [one.requires_grad_() for one in tensors((2, 4, 5, 64), (2, 2, 7, 64), (2, 2, 7, 32))]
    wide = [inputs[0], *(one.repeat_interleave(2, 1) for one in inputs[1:])]
    expected = F.scaled_dot_product_attention(*wide, attn_mask=seen(5, 7, True, 0))
    with hone.torch.trace() as workload:
        made = ops.attention(*inputs, causal=True)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-4)
    assert workload.problems[0]["shape"]["value_head"] == 32
    weights = torch.randn_like(expected)
    for ours, theirs in zip(torch.autograd.grad((made * weights).sum(), inputs), torch.autograd.grad((expected * weights).sum(), inputs)):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    starts = torch.tensor([0, 7], dtype=torch.int32)
    flat = [one[0].transpose(0, 1) for one in (inputs[1], inputs[1], inputs[2])]
    packed = ops.packed_attention(*flat, starts, causal=True)
    torch.testing.assert_close(packed.transpose(0, 1), ops.attention(*(one[:1] for one in (inputs[1], inputs[1], inputs[2])), causal=True)[0])


def test_gradients_of_attention_without_queries_or_keys_are_zero():
    q, k = tensors((1, 2, 0, 32), (1, 2, 7, 32))
    k.requires_grad_()
    (made,) = torch.autograd.grad(ops.attention(q, k, k).sum(), [k])
    assert torch.equal(made, torch.zeros_like(k))
    q, k = tensors((5, 2, 32), (0, 2, 32))
    q.requires_grad_()
    starts = [torch.tensor(one, dtype=torch.int32) for one in ([0, 5], [0, 0])]
    (made,) = torch.autograd.grad(ops.packed_attention(q, k, k, *starts).sum(), [q])
    assert torch.equal(made, torch.zeros_like(q))


def test_attention_has_no_second_derivative_and_says_so():
    q, k = tensors((1, 2, 5, 32), (1, 2, 5, 32))
    q.requires_grad_()
    (once,) = torch.autograd.grad(ops.attention(q, k, k).square().sum(), [q], create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        once.sum().backward()


def test_a_gradient_of_attention_is_a_part_of_a_workload():
    q, k = tensors((1, 4, 5, 32), (1, 2, 7, 32))
    q.requires_grad_()
    with hone.torch.trace() as workload:
        ops.attention(q, k, k, causal=True).sum().backward()
    forward, backward = workload.problems
    assert (forward["kernel"], backward["kernel"]) == ("attention", "attention_backward")
    assert backward["shape"] == forward["shape"]


def decode_inputs(cache=torch.float32):
    """Two sequences of 3 and 7 tokens in pages of 4."""
    q, k, v = tensors((2, 1, 4, 32), (4, 4, 2, 32), (4, 4, 2, 32))
    return q, k.to(cache), v.to(cache), torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([3, 7], dtype=torch.int32)


def decoded(q, k, v, table, lengths):
    """By PyTorch, a sequence at a time."""
    out = torch.empty_like(q)
    for i, length in enumerate(lengths.tolist()):
        keys, values = (x.float()[table[i].long()].flatten(0, 1)[:length].transpose(0, 1).repeat_interleave(2, 0) for x in (k, v))
        out[i] = F.scaled_dot_product_attention(q[i].transpose(0, 1).float(), keys, values).transpose(0, 1)
    return out


def test_decode_reads_the_pages_of_each_sequence():
    inputs = decode_inputs()
    torch.testing.assert_close(ops.decode(*inputs), decoded(*inputs), atol=1e-5, rtol=1e-4)


def test_decode_takes_a_cache_with_more_pages_than_its_table():
    q, k, v, table, lengths = decode_inputs()
    k, v = (torch.cat((x, torch.randn(2, *x.shape[1:]))) for x in (k, v))
    table = table + 2
    torch.testing.assert_close(ops.decode(q, k, v, table, lengths), decoded(q, k, v, table, lengths), atol=1e-5, rtol=1e-4)
    with pytest.raises(RuntimeError, match="a cache of 4 pages or more"):
        ops.decode(q, k[:3], v[:3], table, lengths)


def test_decode_takes_a_cache_of_8_bit_floats_with_a_factor_for_each_head():
    q, k, v, table, lengths = decode_inputs(torch.float8_e4m3fn)
    k_scale, v_scale = torch.tensor([0.5, 2.0]), torch.tensor([3.0, 0.25])
    made = ops.decode(q, k, v, table, lengths, k_scale=k_scale, v_scale=v_scale)
    expected = decoded(q, k.float() * k_scale[:, None], v.float() * v_scale[:, None], table, lengths)
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-4)
    with pytest.raises(RuntimeError, match="k_scale and v_scale"):
        ops.decode(q, k, v, table, lengths)


def test_packed_attention_and_decode_are_parts_of_a_workload():
    q, k = tensors((12, 4, 32), (20, 2, 32))
    starts = torch.tensor([0, 12], dtype=torch.int32)
    with hone.torch.trace() as workload:
        ops.packed_attention(q, k, k, starts, torch.tensor([0, 20], dtype=torch.int32))
        ops.decode(*decode_inputs(torch.float16))
    packed, decoding = workload.problems
    assert (packed["kernel"], packed["dtype"], packed["shape"]["packed"], packed["shape"]["keys"]) == ("attention", "f32", 1, 20)
    assert (decoding["kernel"], decoding["dtype"]) == ("decode", "T=f32,KV=f16")
    assert decoding["shape"] == {"sequences": 2, "heads": 2, "group": 2, "queries": 1, "longest": 8, "page": 4, "head": 32}


def test_attention_refuses_what_does_not_fit():
    q, k = tensors((1, 3, 5, 32), (1, 2, 7, 32))
    with pytest.raises(RuntimeError, match="multiple of 2 heads"):
        ops.attention(q, k, k)
    with pytest.raises(RuntimeError, match="attention takes v of shape"):
        ops.attention(q, k, k[:, :, :5])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_cuda_graphs_capture_a_model_on_the_current_stream():
    model = hone.torch.replace(Block()).cuda().requires_grad_(False)
    x = torch.randn(4, 16, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        expected = model(x)
        model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    x.copy_(torch.randn(4, 16))
    graph.replay()
    torch.testing.assert_close(y, model(x))
    assert expected.shape == y.shape


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_another_stream_needs_an_output_that_is_passed():
    x = torch.randn(4, 16, device="cuda")
    kernel, stream = hone.kernel("softmax", x), torch.cuda.Stream()
    torch.testing.assert_close(kernel(x, stream=torch.cuda.current_stream().cuda_stream), torch.softmax(x, -1))
    with pytest.raises(hone.InvalidArgument, match="with stream=, pass out="):
        kernel(x, stream=stream.cuda_stream)
    y = torch.empty_like(x)
    stream.wait_stream(torch.cuda.current_stream())
    kernel(x, out=y, stream=stream.cuda_stream)
    stream.synchronize()
    torch.testing.assert_close(y, torch.softmax(x, -1))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_cuda_attention_of_each_form_is_pytorchs(dtype):
    bound = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}[dtype]
    q, k, v = (torch.randn(shape, device="cuda").to(dtype) for shape in ((2, 8, 130, 64), (2, 2, 130, 64), (2, 2, 130, 64)))
    wide = [x.float().repeat_interleave(8 // x.shape[1], 1) for x in (q, k, v)]
    made = ops.attention(q, k, v, causal=True)
    expected = F.scaled_dot_product_attention(*wide, is_causal=True)
    torch.testing.assert_close(made.float(), expected, atol=bound, rtol=bound)
    starts = torch.tensor([0, 130, 260], dtype=torch.int32, device="cuda")
    packed = ops.packed_attention(*(x.transpose(1, 2).flatten(0, 1).contiguous() for x in (q, k, v)), starts, starts, causal=True)
    torch.testing.assert_close(packed.float().unflatten(0, (2, 130)).transpose(1, 2), expected, atol=bound, rtol=bound)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_cuda_gradients_of_attention_are_pytorchs(dtype):
    bound = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 6e-2}[dtype]
    inputs = [torch.randn(shape, device="cuda").to(dtype).requires_grad_() for shape in ((2, 8, 130, 64), (2, 2, 130, 64), (2, 2, 130, 64))]
    weights = torch.randn(2, 8, 130, 64, device="cuda").to(dtype)
    wide = [x.float().repeat_interleave(8 // x.shape[1], 1) for x in inputs]
    expected = torch.autograd.grad((F.scaled_dot_product_attention(*wide, is_causal=True) * weights).sum(), inputs)
    made = torch.autograd.grad((ops.attention(*inputs, causal=True) * weights).sum(), inputs)
    starts = torch.tensor([0, 130, 260], dtype=torch.int32, device="cuda")
    flat = [x.transpose(1, 2).flatten(0, 1) for x in (*inputs, weights)]
    packed = torch.autograd.grad((ops.packed_attention(*flat[:3], starts, starts, causal=True) * flat[3]).sum(), inputs)
    for right, ours, of_packed in zip(expected, made, packed):
        torch.testing.assert_close(ours, right, atol=bound, rtol=bound)
        torch.testing.assert_close(of_packed, right, atol=bound, rtol=bound)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_cuda_decode_is_pytorchs(dtype):
    sequences, group, heads, page = 3, 4, 2, 16
    lengths = torch.tensor([5, 100, 64], dtype=torch.int32)
    q = torch.randn(sequences, 1, heads * group, 128).to(dtype)
    k, v = (torch.randn(24, page, heads, 128).to(dtype) for _ in range(2))
    table = torch.randperm(24)[:21].reshape(sequences, 7).int()
    made = ops.decode(*(x.cuda() for x in (q, k, v, table, lengths)))
    for i, length in enumerate(lengths.tolist()):
        keys, values = (x.float()[table[i].long()].flatten(0, 1)[:length].transpose(0, 1).repeat_interleave(group, 0) for x in (k, v))
        expected = F.scaled_dot_product_attention(q[i].transpose(0, 1).float(), keys, values).transpose(0, 1)
        torch.testing.assert_close(made[i].float().cpu(), expected, atol=2e-2, rtol=2e-2)
