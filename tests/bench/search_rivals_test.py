"""bench/search_rivals.py where PyTorch is not installed, without Optuna and Kernel Tuner: stand-ins take their places."""

import argparse
import contextlib
import importlib
import importlib.util
import io
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))


def stand_ins():
    """As much of Optuna and numpy as loading with_optuna takes; no torch."""
    samplers = types.SimpleNamespace(TPESampler=object, GPSampler=object)
    trial = types.ModuleType("optuna.trial")
    trial.TrialState = object
    optuna = types.ModuleType("optuna")
    optuna.samplers, optuna.trial = samplers, trial
    return {"numpy": types.ModuleType("numpy"), "optuna": optuna, "optuna.trial": trial, "torch": None}


def load_script():
    spec = importlib.util.spec_from_file_location("search_rivals_script", BENCH / "search_rivals.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


class WithoutTorch(unittest.TestCase):
    def test_only_the_sampler_that_needs_it_is_left_out(self):
        with mock.patch.dict(sys.modules, stand_ins()):
            with_optuna = importlib.import_module("search_rivals.with_optuna")
            self.assertEqual(with_optuna.STRATEGIES, ["TPESampler, pruned", "TPESampler, repaired"])
            self.assertEqual(with_optuna.LEFT_OUT["GPSampler, listed"], "needs torch, which is not installed")

    def test_the_report_is_written(self):
        script = load_script()

        def version(package):
            if package == "torch":
                raise script.importlib.metadata.PackageNotFoundError(package)
            return "1.0"

        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, stand_ins()), \
                mock.patch.dict(sys.modules, {"search_rivals.table": types.ModuleType("search_rivals.table")}), \
                mock.patch.object(script.importlib.metadata, "version", version), contextlib.redirect_stdout(io.StringIO()) as printed:
            out = pathlib.Path(folder) / "rivals.json"
            script.report(argparse.Namespace(budgets=[25], hone=None, out=out), ["optuna"], [types.SimpleNamespace(name="space")],
                          pathlib.Path(folder))
            self.assertIn('"optuna": "1.0"', out.read_text())
            self.assertNotIn("torch\": ", out.read_text())
            self.assertIn("GPSampler, listed (needs torch", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
