import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hone

PROBLEM = {"rows": 8, "cols": 64}


def test_a_session_returns_a_result_that_shows_itself():
    result = hone.tune("softmax", **PROBLEM, device="cpu", budget="6trials")
    assert result.kernel == "softmax" and result.device == "cpu" and result.report["shape"] == PROBLEM
    assert result.best_us > 0 and result.default_us > 0 and result.speedup == pytest.approx(result.default_us / result.best_us, rel=1e-3)
    assert set(result.best) == set(result.report["default"]["config"])
    assert "softmax f32 rows=8,cols=64" in repr(result)
    assert "<svg" in result._repr_html_() or len(result.curve) < 2
    assert "configuration" in result._repr_html_()
    assert [best for _, best in result.curve[:-1]] == sorted((best for _, best in result.curve[:-1]), reverse=True)
    assert result.curve[-1][1] == result.best_us
    assert len(result.trials) == 6 and result.trials.columns[0] == "block"
    assert not result.interrupted


@pytest.mark.long
def test_an_operation_is_tuned_by_its_name():
    result = hone.tune("matmul", m=8, n=16, k=8, device="cpu", budget="10trials")
    assert result.kernel == "gemm" and result.best_us > 0 and result.session
    assert len(result.trials) == result._session_report()["trials"]


@pytest.mark.long
def test_the_search_can_be_kept_to_values():
    result = hone.tune("softmax", **PROBLEM, device="cpu", budget="3trials", fix={"block": [64, 128], "online": True})
    assert {row["block"] for row in result.trials} <= {64, 128} and all(row["online"] for row in result.trials)


@pytest.mark.long
def test_arrays_take_the_place_of_drawn_inputs():
    x = np.zeros((4, 16), np.float32)
    result = hone.tune("softmax", device="cpu", budget="2trials", inputs={"x": x}, expect={"y": np.full((4, 16), 1 / 16, np.float32)})
    assert result.report["shape"] == {"rows": 4, "cols": 16} and result.report["given"]["inputs"]


def test_a_session_in_a_daemon_thread_ends_with_the_interpreter():
    script = """
import threading, time, hone
class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.5)  # the interpreter takes its time: threads that ask for the GIL now are ended
late = Late()
begun = threading.Event()
class Slow(hone.Strategy):
    def ask(self, count):
        begun.set()
        return self.space.sample(1, seed=self.random())
    def tell(self, observations):
        pass
session = lambda: hone.tune("softmax", rows=8, cols=64, device="cpu", budget="600s", strategy=Slow)
threading.Thread(target=session, daemon=True).start()
assert begun.wait(60)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "options, error",
    [
        ({"rows": 0}, hone.InvalidArgument),
        ({"row": 1}, hone.InvalidArgument),
        ({"budget": "soon"}, hone.InvalidArgument),
        ({"device": "quantum"}, hone.NotFound),
        ({"strategy": "magic"}, hone.NotFound),
        ({"dtype": "f31"}, hone.InvalidArgument),
    ],
)
def test_what_cannot_be_is_refused(options, error):
    with pytest.raises(hone.Error) as raised:
        hone.tune("softmax", **{"device": "cpu", "budget": "1trials", **options})
    assert isinstance(raised.value, (error, hone.InvalidArgument)) and str(raised.value)


@pytest.mark.long
def test_progress_is_shown_on_demand(capsys):
    hone.tune("softmax", **PROBLEM, device="cpu", budget="3trials", progress=True)
    assert "[########" in capsys.readouterr().err
    hone.tune("softmax", rows=9, cols=64, device="cpu", budget="3trials")
    assert capsys.readouterr() == ("", "")


def test_a_notebook_gets_a_bar(monkeypatch):
    pytest.importorskip("IPython")
    import IPython.display

    class Handle:
        shown = []

        def update(self, content):
            self.shown.append(content._repr_html_())

    class Shell:
        kernel = object()

    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", Shell)
    monkeypatch.setattr(IPython.display, "display", lambda content, display_id: Handle())
    hone.tune("softmax", **PROBLEM, device="cpu", budget="3trials")
    assert Handle.shown and "<progress value='1.000'" in Handle.shown[-1]


@pytest.mark.long
def test_other_threads_run_while_it_tunes():
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    hone.tune("softmax", **PROBLEM, device="cpu", budget="3trials")
    done.set()
    thread.join()
    assert counted > 20


@pytest.mark.long
def test_sessions_run_at_once_in_threads(tmp_path):
    results = {}

    def tune(i):
        results[i] = hone.tune("softmax", rows=4 + i, cols=32, device="cpu", budget="3trials", store=tmp_path / f"{i}.db")

    threads = [threading.Thread(target=tune, args=(i,)) for i in range(3)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert {i: result.report["shape"]["rows"] for i, result in results.items()} == {0: 4, 1: 5, 2: 6}


INTERRUPTED = """
import hone
try:
    hone.tune("softmax", rows=8, cols=64, device="cpu", budget="600s", progress=True)
except KeyboardInterrupt:
    print("stopped", [row["state"] for row in hone.sessions()], len(hone.records()))
"""


def test_ctrl_c_keeps_the_best_so_far():
    tuning = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    said = ""
    while "best" not in said:
        said += tuning.stderr.read(1)
        assert tuning.poll() is None, said
    tuning.send_signal(signal.SIGINT)
    out, _ = tuning.communicate(timeout=60)
    assert out.strip() == "stopped ['interrupted'] 1"


@pytest.mark.long
def test_a_progress_function_that_raises_ends_the_session(monkeypatch):
    def fail(self, event):
        raise ZeroDivisionError

    monkeypatch.setattr(hone._progress.Progress, "__call__", fail)
    with pytest.raises(ZeroDivisionError):
        hone.tune("softmax", **PROBLEM, device="cpu", budget="600s")


def test_energies_are_not_shown_as_times(tmp_path):
    file = tmp_path / "space.json"
    configurations = {str(a): {"a": a, "time": time, "energy": energy} for a, time, energy in ((1, 3.0, 2.0), (2, 1.0, 1.5), (3, 2.0, 1.0))}
    space = {"device_name": "D", "kernel_name": "k", "objective": "time", "tune_params_keys": ["a"], "tune_params": {"a": [1, 2, 3]}}
    file.write_text(json.dumps(space | {"defaults": {"a": 1}, "cache": configurations}))
    by_energy = hone.tune(str(file), objective="energy", budget="3trials", fresh=True)
    assert by_energy.best["a"] == 3 and by_energy.best_us == pytest.approx(2000.0)
    assert all(us == pytest.approx(2000.0) for _, us in by_energy.curve)
    assert len(hone.tune(str(file), budget="3trials", fresh=True).curve) > 1
