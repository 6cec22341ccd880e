"""bench/portfolios.py without a GPU: which shapes get a longer tuning session, and at which torch.compile looks for its best."""

import argparse
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import portfolios  # noqa: E402


def efforts(count, max_autotune=0, longer=None):
    return portfolios.efforts(count, argparse.Namespace(budget="5s", longer=longer, max_autotune=max_autotune))


def autotuned(count, max_autotune):
    return [i for i, effort in enumerate(efforts(count, max_autotune)) if effort.max_autotune]


class Efforts(unittest.TestCase):
    def test_all_are_alike_by_default(self):
        self.assertEqual(efforts(24), [portfolios.Effort("5s", False)] * 24)
        self.assertEqual(efforts(0, max_autotune=3, longer="60s"), [])

    def test_every_tenth_session_is_longer(self):
        budgets = [effort.budget for effort in efforts(25, longer="60s")]
        self.assertEqual([i for i, budget in enumerate(budgets) if budget == "60s"], [9, 19])
        self.assertEqual(set(budgets), {"5s", "60s"})

    def test_autotuned_shapes_are_spread_over_all(self):
        self.assertEqual(autotuned(12, 3), [2, 6, 10])
        self.assertEqual(autotuned(100, 1), [50])
        for count, asked in ((24, 7), (7, 7), (1000, 13)):
            self.assertEqual(len(autotuned(count, asked)), asked)

    def test_of_few_shapes_all_are_autotuned(self):
        self.assertEqual(autotuned(3, 10), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
