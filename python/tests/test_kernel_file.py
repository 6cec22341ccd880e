import pickle

import numpy as np
import pytest

import hone


@pytest.fixture(autouse=True)
def needs_libclang(scaled_add):
    try:
        hone.kernel_file(scaled_add).kernel(device="cpu")
    except hone.Unavailable as missing:
        pytest.skip(str(missing))


def test_a_kernel_file_is_a_function(scaled_add):
    function = hone.kernel_file(scaled_add)
    x, y = np.ones(1000, np.float32), np.arange(1000, dtype=np.float32)
    function(x, y, scale=3.0)
    np.testing.assert_array_equal(y, np.arange(1000) + 3)
    assert "scaled_add.cu" in repr(function)


def test_a_decorated_function_gives_name_and_documentation(scaled_add):
    @hone.kernel_file(scaled_add)
    def add(x, y, scale=2.0):
        "y = scale * x + y"

    assert add.__name__ == "add" and add.__doc__ == "y = scale * x + y"
    y = np.zeros(8, np.float32)
    add(np.ones(8, np.float32), y)
    np.testing.assert_array_equal(y, 2)
    with pytest.raises(TypeError, match="no argument z"):

        @hone.kernel_file(scaled_add)
        def wrong(x, z):
            "..."


def test_a_kernel_file_can_be_asked_for_again_in_the_same_engine(scaled_add):
    engine = hone.Engine(device="cpu")
    for function in (hone.kernel_file(scaled_add), hone.kernel_file(scaled_add)):
        for _ in range(2):
            y = np.zeros(8, np.float32)
            function.kernel(engine=engine)(np.ones(8, np.float32), y)
            np.testing.assert_array_equal(y, 2)


@pytest.mark.long
def test_a_kernel_file_is_tuned_and_then_found(scaled_add):
    function = hone.kernel_file(scaled_add)
    result = function.tune(n=4096, device="cpu", budget="4trials")
    assert result.kernel == "scaled_add"
    x, y = np.ones(4096, np.float32), np.zeros(4096, np.float32)
    assert function.kernel(x, y).info["source"] == "exact"
    assert function.space(n=4096, device="cpu").size > 4


def test_source_may_be_text(scaled_add, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    function = hone.kernel_source(scaled_add.read_text())
    assert function.__name__ == "scaled_add"
    again = pickle.loads(pickle.dumps(function))
    y = np.zeros(8, np.float16)
    again(np.ones(8, np.float16), y)
    np.testing.assert_array_equal(y, 2)
    with pytest.raises(ValueError, match="no KERNEL"):
        hone.kernel_source("int x;")


def test_errors_have_a_place(tmp_path):
    with pytest.raises(FileNotFoundError):
        hone.kernel_file(tmp_path / "nowhere.cu")
    broken = tmp_path / "broken.cu"
    broken.write_text("#include <hone/kernel.h>\nstruct Problem { long n = 1 };\n")
    with pytest.raises(hone.BadKernel, match="broken.cu:2"):
        hone.kernel_file(broken).kernel(device="cpu")
