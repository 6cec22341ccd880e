import array
import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import hone


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((6, 40)).astype(np.float32)


def test_a_kernel_writes_the_output_that_it_is_given(x):
    y = np.empty_like(x)
    k = hone.kernel("softmax", x)
    assert k(x, out=y) is y
    np.testing.assert_allclose(y, softmax(x), atol=1e-6)
    assert k(x, y) is y


def test_outputs_that_are_not_passed_are_made_with_the_shape_of_the_input(x):
    folded = x.reshape(2, 3, 40)
    made = hone.kernel("softmax", folded)(folded)
    assert made.shape == (2, 3, 40) and made.dtype == np.float32
    np.testing.assert_allclose(made, softmax(folded), atol=1e-6)


def test_a_kernel_takes_other_shapes_and_dtypes_later(x):
    k = hone.kernel("softmax", x)
    other = np.random.default_rng(2).standard_normal((3, 24)).astype(np.float16)
    np.testing.assert_allclose(k(other).astype(float), softmax(other.astype(float)), atol=2e-3)


def test_scalars_have_their_default_and_can_be_passed_by_name(x):
    weight = np.ones(40, np.float32)
    k = hone.kernel("rmsnorm", x, weight)
    np.testing.assert_allclose(k(x, weight), x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5), rtol=1e-5)
    np.testing.assert_allclose(k(x, weight, epsilon=2.0), x / np.sqrt((x**2).mean(1, keepdims=True) + 2.0), rtol=1e-5)


def test_several_outputs_are_a_tuple(x):
    weight, residual = np.ones(40, np.float32), x[::-1].copy()
    k = hone.kernel("residual_rmsnorm", x, residual, weight)
    total, y = k(x, residual, weight)
    np.testing.assert_allclose(total, x + residual, rtol=1e-6)
    out = np.empty_like(x), np.empty_like(x)
    assert k(x, residual, weight, out=out) is out
    np.testing.assert_array_equal(out[1], y)


def test_a_product_takes_its_extents_from_both_operands():
    a, b = np.random.default_rng(3).standard_normal((2, 24, 24)).astype(np.float32)
    a, b = a[:5].copy(), b[:, :16].copy()
    np.testing.assert_allclose(hone.kernel("matmul", a, b)(a, b), a @ b, atol=1e-4)
    bias = np.arange(16, dtype=np.float32)
    biased = hone.kernel("matmul", a, b, bias=bias, terms=3)
    np.testing.assert_allclose(biased(a, b, bias=bias), a @ b + bias, atol=1e-4)


@pytest.mark.parametrize(
    "name, shapes, outs, text",
    [
        ("matmul", [(8, 24), (16, 24)], [], r"b has the shape \(16, 24\); the kernel takes \(24, n\)"),
        ("residual_rmsnorm", [(4, 6), (6, 4), (6,)], [], r"residual has the shape \(6, 4\); the kernel takes \(4, 6\)"),
        ("softmax", [(4, 6)], [(6, 4)], r"y has the shape \(6, 4\); the kernel takes \(4, 6\)"),
        ("softmax", [(2, 4, 6)], [(2, 6, 4)], r"y has the shape \(2, 6, 4\); the kernel takes \(8, 6\)"),
    ],
)
def test_a_matrix_of_another_shape_is_not_taken_for_one_of_as_many_elements(name, shapes, outs, text):
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    out = {"out": np.ones(outs[0], np.float32)} if outs else {}
    with pytest.raises(hone.InvalidArgument, match=text):
        hone.kernel(name, device="cpu")(*arrays, **out)


def test_operands_in_another_layout_have_their_extents_named():
    a, b = np.random.default_rng(4).standard_normal((2, 24, 24)).astype(np.float32)
    a, b = a[:, :5].copy(), b[:16].copy()
    expected = a.T @ b.T
    k = hone.kernel("matmul", device="cpu", layout=4)
    np.testing.assert_allclose(k(a, b, m=5, n=16, k=24), expected, atol=1e-4)
    fixed = hone.kernel("matmul", a, b, m=5, n=16, k=24, layout=4)
    np.testing.assert_allclose(fixed(a, b).reshape(5, 16), expected, atol=1e-4)


def test_extents_that_shapes_do_not_tell_are_named(x):
    flat = x.ravel()
    k = hone.kernel("softmax")
    with pytest.raises(hone.InvalidArgument, match="rows=..."):
        k(flat)
    np.testing.assert_allclose(k(flat, np.empty_like(flat), rows=6, cols=40), softmax(x).ravel(), atol=1e-6)
    np.testing.assert_allclose(hone.kernel("softmax", cols=40)(flat, np.empty_like(flat)), softmax(x).ravel(), atol=1e-6)


def test_bf16_in_numpy_comes_as_16_bits(x):
    bits = (x.view(np.uint32) >> 16).astype(np.uint16)
    made = hone.kernel("softmax", bits, dtype="bf16")(bits)
    assert made.dtype == np.uint16
    wide = (made.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(wide, softmax((bits.astype(np.uint32) << 16).view(np.float32)), atol=4e-3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda k, x: k(x[:, ::2]), hone.InvalidArgument, "not contiguous"),
        (lambda k, x: k(x, out=np.empty((3, 3), np.float32)), hone.InvalidArgument, "shape"),
        (lambda k, x: k(x, out=np.empty_like(x, dtype=np.float64)), hone.InvalidArgument, "elements of f64"),
        (lambda k, x: k(x.astype(np.complex64)), hone.InvalidArgument, "x has elements"),
        (lambda k, x: k(), TypeError, "x is missing"),
        (lambda k, x: k(3), TypeError, "no array"),
        (lambda k, x: k(x, wide=3), TypeError, "no argument or extent 'wide'"),
        (lambda k, x: k(x, x, x), TypeError, "at most 2"),
        (lambda k, x: k(x, out=(x, x)), TypeError, "out takes an array"),
        (lambda k, x: k(x, out=np.broadcast_to(np.float32(0), x.shape)), hone.InvalidArgument, "contiguous|read-only"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(x, call, error, text):
    with pytest.raises(error, match=text):
        call(hone.kernel("softmax", x), x)


def test_a_read_only_output_is_refused(x):
    y = np.empty_like(x)
    y.flags.writeable = False
    with pytest.raises(hone.InvalidArgument, match="read-only"):
        hone.kernel("softmax", x)(x, out=y)


def test_unknown_names_come_with_near_ones(x):
    with pytest.raises(hone.NotFound, match="softmax"):
        hone.kernel("sofmax", x)
    with pytest.raises(hone.InvalidArgument, match="rows"):
        hone.kernel("softmax", x, row=3)
    with pytest.raises(hone.NotFound):
        hone.kernel("softmax", device="quantum")


class Exported:
    """An array of a framework that has nothing but one of the interfaces."""

    def __init__(self, source, *names):
        for name in names:
            setattr(self, name, getattr(source, name))


class WithDlpack:
    def __init__(self, source):
        self.source = source

    def __dlpack__(self, **options):
        return self.source.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.source.__dlpack_device__()


def test_arrays_come_by_dlpack_by_an_interface_and_by_the_buffer_protocol(x):
    expected = softmax(x)
    for wrap in (WithDlpack, lambda one: Exported(one, "__array_interface__"), memoryview):
        y = np.empty_like(x)
        hone.kernel("softmax", x)(wrap(x), out=wrap(y))
        np.testing.assert_allclose(y, expected, atol=1e-6)
    row = array.array("f", range(40))
    made = np.empty(40, np.float32)
    np.testing.assert_allclose(hone.kernel("softmax", row, rows=1)(row, made), softmax(np.arange(40.0)), atol=1e-6)


def test_arrays_of_jax_are_read_and_made(x):
    jax = pytest.importorskip("jax")
    given = jax.numpy.asarray(x)
    k = hone.kernel("softmax", given)
    made = k(given)
    assert isinstance(made, jax.Array)
    np.testing.assert_allclose(made, softmax(x), atol=1e-6)
    out = jax.numpy.zeros_like(given)
    assert k(given, out=out) is out
    np.testing.assert_allclose(out, softmax(x), atol=1e-6)
    short = k(given.astype(jax.numpy.bfloat16))
    assert short.dtype == jax.numpy.bfloat16


def test_arrays_are_released_after_a_call(x):
    k = hone.kernel("softmax", x)
    before = sys.getrefcount(x)
    for _ in range(50):
        k(x, out=np.empty_like(x))
    with pytest.raises(TypeError):
        k(x, unknown=1)
    with pytest.raises(hone.InvalidArgument):
        k(x, out=np.empty(3, np.float32))
    gc.collect()
    assert sys.getrefcount(x) == before
    resizable = np.arange(40, dtype=np.float32)
    k(resizable, rows=1)
    resizable.resize(41, refcheck=False)  # a buffer that is held would prevent it


def test_a_kernel_says_what_it_is(x):
    k = hone.kernel("softmax", x)
    assert k.info["source"] == "default" and k.info["shape"] == {"rows": 6, "cols": 40}
    assert "softmax f32 rows=6, cols=40 on cpu: default" in repr(k)
    assert "<table>" in k._repr_html_()
    assert [one["name"] for one in k.arguments] == ["x", "y"]
    assert repr(hone.kernel("softmax", device="cpu")) == "<hone.Kernel softmax on cpu>"


def test_an_engine_finds_what_was_tuned_and_kernels_can_be_pickled(x, store):
    hone.tune("softmax", rows=6, cols=40, device="cpu", budget="4trials")
    k = hone.kernel("softmax", x)
    assert k.info["source"] == "exact"
    again = pickle.loads(pickle.dumps(k))
    np.testing.assert_array_equal(again(x), k(x))
    own = hone.Engine(store=store, device="cpu", force_default=["softmax"])
    assert own.kernel("softmax", x).info["source"] == "default"
    copied = pickle.loads(pickle.dumps(own.kernel("softmax", cols=40)))
    assert copied.prepare(x)["source"] == "default" and copied.fixed == "cols=40"
    assert "cpu" in repr(own) and own.warnings() == []
    with pytest.raises(TypeError, match="no option"):
        hone.Engine(stor="x")


def test_threads_share_a_kernel(x):
    k = hone.kernel("softmax", x)
    expected, failures = softmax(x), []

    def work(seed):
        try:
            rows = x[: 1 + seed % 6].copy()
            for _ in range(20):
                np.testing.assert_allclose(k(rows), expected[: len(rows)], atol=1e-6)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert not failures


FORKED = """
import os, sys
import numpy as np
import hone
x = np.random.default_rng(0).standard_normal((4, 32)).astype(np.float32)
k = hone.kernel("softmax", x)
expected = k(x)
children = []
for i in range(4):
    child = os.fork()
    if child == 0:
        try:
            k(x)
            os._exit(1)
        except hone.Unavailable as error:
            if "fork" not in str(error):
                os._exit(2)
        os._exit(0 if np.array_equal(hone.kernel("softmax", x)(x), expected) else 3)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_in_a_forked_process_old_kernels_are_refused_and_new_ones_work():
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300)
    assert ended.stdout.strip() == "[0, 0, 0, 0]", ended.stderr


def test_importing_it_imports_no_framework():
    code = (
        "import sys, hone; hone.Kernel; "
        "print([name for name in ('numpy', 'torch', 'pandas', 'IPython', 'json', 'inspect') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONNOUSERSITE": "1"}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert ended.stdout.strip() == "[]", ended.stdout + ended.stderr
