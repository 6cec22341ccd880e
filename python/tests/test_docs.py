"""Every snippet of the documentation runs, in the order of its page."""

import os
import re
import shutil

import pytest

from conftest import REPOSITORY


def snippets(page):
    text = open(os.path.join(REPOSITORY, "docs", page), encoding="utf-8").read()
    return re.findall(r"```python\n(.*?)```", text, flags=re.S)


@pytest.mark.long
@pytest.mark.parametrize("page", ["python.md", "pytorch.md"])
def test_the_snippets_of_a_page_run(page, scaled_add, tmp_path, monkeypatch):
    if page == "pytorch.md":
        pytest.importorskip("torch")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    os.makedirs("bench/spaces")
    name = "bench/spaces/softmax.NVIDIA_H200.json.gz"
    shutil.copy(os.path.join(REPOSITORY, name), name)
    names = {"__name__": "__main__"}
    for snippet in snippets(page):
        short = snippet.replace('budget="20s"', 'budget="6s"' if "workload" in snippet else 'budget="3trials"')
        exec(compile(short, page, "exec"), names)


@pytest.mark.long
def test_the_notebook_runs(tmp_path, monkeypatch):
    import json

    monkeypatch.chdir(tmp_path)
    cells = json.load(open(os.path.join(REPOSITORY, "examples", "python", "tune_softmax.ipynb"), encoding="utf-8"))["cells"]
    names = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            exec(compile("".join(cell["source"]).replace('budget="20s"', 'budget="3trials"'), "tune_softmax.ipynb", "exec"), names)
