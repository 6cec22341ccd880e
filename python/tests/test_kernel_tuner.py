import json

import numpy as np
import pytest

import hone
import hone.kernel_tuner as kernel_tuner

SOURCE = """
__global__ void vector_add(float *c, const float *a, const float *b, int n) {
    int i = (blockIdx.x * block_size_x) + threadIdx.x;
    if ( i < n ) {
        c[i] = a[i] + b[i];
    }
}
"""
TILED = """
#ifndef tile_size_x
#define tile_size_x 1
#endif
extern "C" __global__ void scale(float4 * __restrict__ y, float factor) { // one of several
    for (int t = 0; t < tile_size_x; ++t) {
        int i = (blockIdx.x * tile_size_x + t) * block_size_x + threadIdx.x;
        if (i < COUNT) y[i] = make_float4(y[i].x * factor, y[i].y * factor, y[i].z * factor, y[i].w * factor);
    }
}
"""


@pytest.fixture(autouse=True)
def needs_libclang(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = {one["part"]: one for one in hone.verb("doctor")["findings"]}
    if not any(part.startswith("libclang") and not one["cost"] for part, one in found.items()):
        pytest.skip("no libclang")


def arguments(size=5000):
    a, b = np.random.default_rng(0).standard_normal((2, size)).astype(np.float32)
    return [np.zeros_like(a), a, b, np.int32(size)]


def test_a_script_of_kernel_tuner_runs(capsys):
    size = 5000
    results, environment = kernel_tuner.tune_kernel(
        "vector_add",
        SOURCE,
        size,
        arguments(size),
        {"block_size_x": [64, 128, 192, 256]},
        restrictions=["block_size_x % 128 == 0"],
        metrics={"GB/s": lambda p: 12 * size / p["time"] / 1e6, "twice": "2 * time"},
        device="cpu",
    )
    assert sorted(one["block_size_x"] for one in results) == [128, 256]
    assert all(one["time"] > 0 and one["GB/s"] > 0 and one["twice"] == 2 * one["time"] for one in results)
    assert environment["best_config"]["block_size_x"] in (128, 256)
    assert "best performing configuration" in capsys.readouterr().out


@pytest.mark.long
def test_answers_are_checked():
    given = arguments()
    right = [given[1] + given[2], None, None, None]
    results, _ = kernel_tuner.tune_kernel("vector_add", SOURCE, 5000, given, {"block_size_x": [64]}, answer=right, device="cpu", quiet=True)
    assert results[0]["time"] > 0
    with pytest.raises(hone.Error, match="wrong_result"):
        kernel_tuner.tune_kernel(
            "vector_add", SOURCE, 5000, given, {"block_size_x": [64]}, answer=[right[0] + 1, None, None, None], device="cpu", quiet=True
        )


@pytest.mark.long
def test_tiles_vectors_files_and_caches(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(TILED)
    y = np.ones(4096, np.float32)
    results, _ = kernel_tuner.tune_kernel(
        "scale",
        str(file),
        1024,
        [y, np.float32(3)],
        {"block_size_x": [32, 64], "tile_size_x": [1, 2]},
        grid_div_x=["block_size_x", "tile_size_x"],
        defines={"COUNT": 1024},
        device="cpu",
        quiet=True,
        cache=str(tmp_path / "cache.json"),
        strategy="random_sample",
        strategy_options={"max_fevals": 4},
    )
    assert len(results) == 4 and all(isinstance(one["time"], float) for one in results)
    assert len(json.loads((tmp_path / "cache.json").read_text())["cache"]) == 4
    scored = hone.compare(["random"], spaces=tmp_path / "cache.json", budgets=[2], repeats=2)
    assert len(scored.table) == 1


@pytest.mark.parametrize(
    "options, text",
    [
        ({"lang": "OpenCL"}, "OpenCL"),
        ({"verify": print}, "verify"),
        ({"restrictions": [lambda p: True]}, "write it as a text"),
        ({"restrictions": ["block_size_x > other"]}, "other is no parameter"),
        ({"smem_args": {"size": 3}}, "shared memory"),
        ({"strategy": "magic"}, "magic"),
        ({"colour": "red"}, "colour"),
        ({"observers": [1]}, "observers"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_a_reason(options, text):
    with pytest.raises(ValueError, match=text):
        kernel_tuner.tune_kernel("vector_add", SOURCE, 5000, arguments(), {"block_size_x": [64]}, device="cpu", quiet=True, **options)


@pytest.mark.parametrize(
    "expression, value",
    [
        ("a * b <= 64 and not b == 3", True),
        ("a // b", 16),
        ("a / b > 5.3", True),
        ("16 <= a < 64", True),
        ("a in [16, 32]", True),
        ("a not in (16, 32)", False),
        ("max(a, b) if b > 1 else 7", 32),
        ("b ** 2 + (a >> 2)", 12),
        ("-b % 4 == -2 or a == 32", True),
    ],
)
def test_expressions_mean_in_cpp_what_they_mean_in_python(expression, value):
    from hone._c_expression import to_cpp

    assert eval(expression, {}, {"a": 32, "b": 2}) == value
    space = hone.space({"a": [32], "b": [2]}, [f"({expression}) == ({value})"])
    assert space.size == 1
    assert to_cpp(expression, {"a": "c.a", "b": "c.b"}).count("(") == to_cpp(expression, {"a": "c.a", "b": "c.b"}).count(")")
