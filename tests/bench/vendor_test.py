"""bench/vendor without a GPU: the table of cases, launch plans as they are read, the report."""

import ctypes
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

from vendor import cases, command, launch, report  # noqa: E402

KERNELS = {"gemm": ("m", "n", "k"), "gemm_mma": ("m", "n", "k"), "gemv": ("n", "k"), "softmax": ("rows", "cols")}


def plan_json(**changes):
    buffers = [{"name": name, "role": role, "dtype": "f32", "elements": 4, "zeroed": False, "bytes": 16}
               for name, role in (("x", "in"), ("y", "out"), ("sums", "workspace"))]
    parameters = [{"kind": "buffer", "argument": "x"}, {"kind": "buffer", "argument": "y"}, {"kind": "problem"}]
    launches = [{"symbol": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "shared_bytes": 0, "cooperative": False,
                 "parameters": parameters}]
    return {"format": "hone launch plan", "version": 1, "code": {"file": "k.cubin"}, "problem": {"bytes": "0400000000000000"},
            "arguments": buffers, "passes": launches, **changes}


def row(case, us, losses):
    return {"case": case, "bytes": 8, "flops": 0.0, "notes": [], "run": 0, "max_autotune_seconds": 2.0, "method": "events", "right": True,
            "times": {"Hone softmax": {"us": us}, "torch eager": {"us": 20.0}}, "kernel": "softmax", "hone_us": us, "default_us": None, "untuned_us": 1.5 * us,
            "best_existing": "torch eager", "best_existing_us": 20.0, "ratio": 20.0 / us, "hone_error": 1e-3, "existing_error": 1e-3,
            "gbytes_per_second": 2000.0, "tflops": 0.0, "losses": losses, "ragged": [{"right": False}],
            "hone": {"softmax": {"valid": 10, "trials": 5, "seconds": 1.0}}}


def document(rows):
    run = {"date": "D", "gpu": "G", "driver": "1", "torch": "2", "cuda": "13", "triton": "3", "hone": "hone", "command": "C",
           "copy_bytes_per_second": 4e12, "copy_after_fill_bytes_per_second": 4e12}
    return {"runs": [run], "tuned": {}, "rows": {entry["case"]: entry for entry in rows}, "failed": {"copy:f32:1": "why"}, "left": ["scan:f32:1"]}


class Cases(unittest.TestCase):
    def test_names_are_unique_and_read_back(self):
        table = cases.all_cases()
        self.assertEqual(len({case.name for case in table}), len(table))
        for case in table:
            self.assertEqual(cases.parse_case(case.name), case)
            self.assertEqual(len(case.input_elements()), len(case.input_shapes()))

    def test_what_is_no_case_is_refused(self):
        for text in ("softmax", "softmx:f32:1x1", "softmax:f33:1x1", "softmax:f32:1", "softmax:f32:1x0", "softmax:f32:1xa"):
            with self.assertRaises(ValueError):
                cases.parse_case(text)

    def test_kernels(self):
        def kernels(text):
            return cases.kernels_for(cases.parse_case(text), KERNELS)

        self.assertEqual(kernels("gemm:f32:512x512x512"), ["gemm"])
        self.assertEqual(kernels("gemm:bf16:512x512x512"), ["gemm_mma"])  # tensor cores where there are any
        self.assertEqual(kernels("gemm:f32:1x512x512"), ["gemm", "gemv"])
        self.assertEqual(kernels("gemm:f32:16x512x512"), ["gemm"])  # this gemv has one row
        self.assertEqual(kernels("copy:f32:7"), [])

    def test_bytes(self):
        self.assertEqual(cases.parse_case("softmax:bf16:3x5").bytes, 60)
        self.assertEqual(cases.parse_case("gemm:f32:2x3x5").bytes, 4 * (10 + 15 + 6))
        self.assertEqual(cases.parse_case("row_sum:f32:3x5").bytes, 72)
        self.assertEqual(cases.parse_case("decode:bf16:2x3x4x100x64").bytes, 2 * (2 * 2 * 12 * 64 + 2 * 2 * 100 * 3 * 64))

    def test_attention(self):
        causal, full = (cases.parse_case(f"{work}:bf16:2x3x4x10x64") for work in ("attention", "attention_full"))
        self.assertEqual((causal.shape["keys"], causal.shape["causal"], full.shape["causal"]), (10, 1, 0))
        self.assertEqual((causal.flops, full.flops), (4 * 2 * 12 * 64 * 55, 4 * 2 * 12 * 64 * 100))
        self.assertEqual([case.extents for case in full.neighbours()], [(2, 3, 4, 11, 64), (2, 3, 4, 7, 64)])
        self.assertEqual(cases.parse_case("decode:bf16:2x3x4x10x64").shape["page"], 10)  # contiguous

    def test_gradients_of_attention(self):
        case = cases.parse_case("attention_backward:bf16:2x3x4x10x64")
        self.assertEqual((case.shape["keys"], case.shape["causal"], case.flops), (10, 1, 10 * 2 * 12 * 64 * 55))
        self.assertEqual(case.input_elements(), [2 * 10 * 12 * 64, 2 * 10 * 3 * 64, 2 * 10 * 3 * 64, 2 * 10 * 12 * 64, 2 * 10 * 12 * 64, 240])
        self.assertEqual(case.bytes, 4 * 240 * 64 * 2 + 4 * 60 * 64 * 2 + 4 * 240)
        self.assertEqual(cases.parse_case("attention_backward_full:bf16:2x3x4x10x64").shape["causal"], 0)

    def test_packed_attention(self):
        case = cases.parse_case("attention_packed:bf16:3x2x4x100x64")
        self.assertEqual((case.shape["packed"], case.shape["queries"], case.shape["keys"]), (1, 100, 100))
        starts = cases.packed_starts(3, 100)
        self.assertEqual((len(starts), starts[0], starts[-1], starts), (4, 0, 100, sorted(starts)))
        pairs = sum(n * (n + 1) / 2 for n in (end - begin for begin, end in zip(starts, starts[1:])))
        self.assertAlmostEqual(case.flops, 4 * 8 * 64 * pairs)

    def test_decode_over_8_bit_floats(self):
        case = cases.parse_case("decode_fp8:bf16:2x3x4x100x64")
        self.assertEqual(case.hone_dtype, "T=bf16,KV=e4m3")
        self.assertEqual(case.bytes, 2 * 2 * 2 * 12 * 64 + 2 * 2 * 100 * 3 * 64)
        self.assertEqual(case.input_elements()[3:], [2, 2, 3, 3])

    def test_attention_of_8_bit_floats(self):
        case = cases.parse_case("attention_fp8:bf16:2x3x4x10x64")
        self.assertEqual(case.bytes, 2 * 10 * 12 * 64 * (1 + 2) + 2 * 2 * 10 * 3 * 64)
        self.assertEqual(case.input_elements()[3:], [12, 3, 3])
        self.assertEqual((case.hone_dtype, case.shape["causal"]), ("bf16", 1))

    def test_decode_over_a_latent_cache(self):
        case = cases.parse_case("decode_latent:bf16:2x3x100")
        self.assertEqual(case.shape, {"sequences": 2, "heads": 3, "longest": 100, "page": 100})
        self.assertEqual((case.bytes, case.flops), (2 * 2 * (100 * 576 + 3 * 1088), 2 * 2 * 3 * 100 * 1088))
        self.assertEqual(case.input_elements(), [2 * 3 * 576, 2 * 100 * 576, 2, 2])

    def test_rope_into_pages(self):
        case = cases.parse_case("rope_append:bf16:100x2x3x64")
        self.assertEqual((case.shape["slots"], case.shape["positions"]), (256, cases.POSITIONS))  # twice the pages that the tokens fill
        self.assertEqual(case.bytes, 2 * 2 * 100 * (6 + 2 + 2) * 64 + 100 * (4 * 64 + 8))
        self.assertEqual(case.input_elements(), [38400, 12800, 12800, cases.POSITIONS * 64, 100, 100, 32768, 32768])
        self.assertEqual([near.extents for near in case.neighbours()], [(101, 2, 3, 64), (97, 2, 3, 64)])

    def test_drawn_cases(self):
        drawn = cases.drawn_attention(8, 1)
        self.assertEqual(drawn, cases.drawn_attention(8, 1))
        self.assertNotEqual(drawn, cases.drawn_attention(8, 2))
        self.assertEqual(len(set(drawn)), 8)
        for case in drawn:
            self.assertEqual(cases.parse_case(case.name), case)


class Sources(unittest.TestCase):
    def test_modules_that_need_pytorch_are_valid(self):
        for file in pathlib.Path(cases.__file__).parent.glob("*.py"):
            compile(file.read_text(), str(file), "exec")


class Plans(unittest.TestCase):
    def read(self, content):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "plan.json"
            file.write_text(json.dumps(content))
            return launch.Plan(file)

    def test_a_plan(self):
        plan = self.read(plan_json())
        self.assertEqual(plan.problem, (4).to_bytes(8, "little"))
        self.assertEqual([argument["name"] for argument in plan.of_role("out", "workspace")], ["y", "sums"])

    def test_inputs_are_matched_in_order(self):
        plan = plan_json()
        plan["arguments"] = [{"name": name, "role": "in", "elements": elements} for name, elements in (("a", 4), ("starts", 0), ("b", 6), ("bias", 1))]
        plan["passes"] = []
        plan = self.read(plan)
        self.assertEqual([index for _, index in plan.match_inputs([4, 6])], [0, None, 1, None])  # this problem has neither starts nor a bias
        for sizes in ([4], [6, 4], [4, 6, 7]):
            self.assertRaises(ValueError, plan.match_inputs, sizes)

    def test_what_is_no_plan_is_refused(self):
        wrong_argument = plan_json()
        wrong_argument["passes"][0]["parameters"][0]["argument"] = "z"
        for content in (plan_json(version=2), plan_json(format="other"), wrong_argument):
            with self.assertRaises(ValueError):
                self.read(content)

    def test_structures_have_the_layout_of_the_driver(self):
        self.assertEqual(ctypes.sizeof(launch.Attribute), 72)
        self.assertEqual(ctypes.sizeof(launch.LaunchConfig), 56)
        self.assertEqual(launch.LaunchConfig.stream.offset, 32)


class Reports(unittest.TestCase):
    def test_tables(self):
        rows = [row("softmax:bf16:8192x8192", 10.0, {"128x131072": 1.5}), row("softmax:bf16:128x131072", 5.0, {"8192x8192": "not valid here"})]
        text = report.markdown(document(rows))
        self.assertIn("**2.000**", text)
        self.assertIn("50.0% of copy", text)
        self.assertIn("WRONG", text)  # at ragged neighbours
        self.assertIn("| - | 15.00 | 10.00 | - | 1.50 |", text)  # no default was timed
        self.assertIn("| 8192x8192 | 1.50 | 1 |", text)
        self.assertIn("| 128x131072 | 1 | - |", text)
        self.assertIn("mean of the ratios over 2 cases: 2.828", text)
        self.assertIn("copy:f32:1: why", text)
        self.assertIn("scan:f32:1", text)

    def test_a_saved_document_is_gone_on_with(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(report.load(folder, "stem")["rows"], {})
            kept = document([row("softmax:bf16:8192x8192", 10.0, {})])
            report.save(kept, folder, "stem")
            self.assertEqual(report.load(folder, "stem"), kept)


class Command(unittest.TestCase):
    def test_budgets_and_configurations(self):
        self.assertEqual(command.budget_seconds("2m,100trials"), 120.0)
        self.assertRaises(ValueError, command.budget_seconds, "soon")
        self.assertEqual(command.config_text({"block": 256, "async": True, "path": "tma"}), "block=256,async=true,path=tma")


if __name__ == "__main__":
    unittest.main()
