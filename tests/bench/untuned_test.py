"""bench/untuned.py: which problems are drawn, and what is made of their times."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import untuned  # noqa: E402


def row(served, tuned, default=None, source="predicted"):
    us = {"served": served, "tuned": tuned} | ({} if default is None else {"default": default})
    return {"us": us, "source": source}


class Drawn(unittest.TestCase):
    def test_the_seed_and_the_text_decide(self):
        text = "attention f32 batch=1..8,keys=16..4096,causal=0"
        first, again, other = (untuned.Problems(text, seed) for seed in ("a", "a", "b"))
        words = [first.next() for _ in range(20)]
        self.assertEqual(words, [again.next() for _ in range(20)])
        self.assertNotEqual(words, [other.next() for _ in range(20)])

    def test_extents_lie_in_their_range_and_a_flag_may_be_0(self):
        problems = untuned.Problems("attention f32 batch=1..8,keys=16|64..128,causal=0", "seed")
        for _ in range(100):
            kernel, _, dtype, _, shape = problems.next()
            extents = dict(part.split("=") for part in shape.split(","))
            self.assertEqual((kernel, dtype, extents["causal"]), ("attention", "f32", "0"))
            self.assertTrue(1 <= int(extents["batch"]) <= 8)
            self.assertTrue(int(extents["keys"]) == 16 or 64 <= int(extents["keys"]) <= 128)


class Summary(unittest.TestCase):
    def test_ratios_are_of_the_tuned_time(self):
        summary = untuned.summary([row(10.0, 5.0, 20.0), row(10.0, 20.0, 20.0, source="default")])
        self.assertAlmostEqual(summary["to_tuned"], 1.0)
        self.assertAlmostEqual(summary["worst"], 0.5)
        self.assertAlmostEqual(summary["default_to_tuned"], 0.5)
        self.assertEqual((summary["shapes"], summary["predicted"], summary["below_85"]), (2, 1, 1))

    def test_where_no_default_was_timed_nothing_is_said_of_it(self):
        self.assertIsNone(untuned.summary([row(10.0, 5.0)])["default_to_tuned"])


if __name__ == "__main__":
    unittest.main()
