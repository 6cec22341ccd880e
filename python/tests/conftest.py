"""What the tests share: a store of their own each, and no look at the user's."""

import os
import shutil
import sys

import pytest

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """The usual store of a test: an empty one."""
    path = tmp_path / "store.db"
    monkeypatch.setenv("HONE_STORE", str(path))
    import hone

    hone._engine.forget_default_engines()
    yield path
    hone._engine.forget_default_engines()


@pytest.fixture
def scaled_add(tmp_path):
    """The kernel file of docs/kernels.md."""
    text = open(os.path.join(REPOSITORY, "docs", "kernels.md"), encoding="utf-8").read()
    source = text.split("`scaled_add.cu`:\n\n```cpp\n")[1].split("```")[0]
    path = tmp_path / "scaled_add.cu"
    path.write_text(source)
    return path


def pytest_collection_modifyitems(items):
    """The cpu device needs a compiler; what takes seconds is asked for."""
    for item in items:
        if shutil.which("g++") is None and shutil.which("c++") is None:
            item.add_marker(pytest.mark.skip(reason="no C++ compiler for the cpu device"))
        if item.get_closest_marker("long") and os.environ.get("HONE_LONG_TESTS") != "1":
            item.add_marker(pytest.mark.skip(reason="takes long: set HONE_LONG_TESTS=1"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs with HONE_LONG_TESTS=1 alone")


def pytest_sessionfinish(session, exitstatus):
    """ctest counts a run in which nothing ran as skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus in (0, 5) and reporter is not None and not reporter.stats.get("passed"):
        session.exitstatus = 77


sys.path.insert(0, os.path.dirname(__file__))
