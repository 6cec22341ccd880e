"""The attention kernels for tensor cores, on the cpu device with emulated instructions: `hone run` validates a configuration there.

    emulation_test.py HONE

Half a minute of an idle core or two; with HONE_LONG_TESTS=1 all, in minutes.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from emulated import KERNELS, emulated, substitute

HONE = sys.argv.pop(1)
SKIPPED = 77
takes_long = unittest.skipUnless(os.environ.get("HONE_LONG_TESTS"), "takes minutes: HONE_LONG_TESTS=1")


class Emulated(unittest.TestCase):
    def answer(self, verb, kernel, dtype, shape, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = emulated(kernel, pathlib.Path(folder) / "kernels")
            problem = ["--device", "cpu", "--dtype", dtype, "--shape", shape, "--store", f"{folder}/S.db"]
            ended = subprocess.run([HONE, verb, str(file), *problem, *options, "--json"], capture_output=True, text=True, check=False)
            return json.loads(ended.stdout.splitlines()[-1])

    def check(self, kernel, dtype, shape, config):
        answer = self.answer("run", kernel, dtype, shape, "--config", config, "--timing-seconds", "0.01")
        self.assertEqual(answer.get("outcome"), "ok", answer)
        self.assertLess(0.0, answer["max_error"])

    def test_attention_by_warps(self):
        self.check("attention_mma", "bf16", "batch=2,heads=1,group=1,queries=21,keys=40,head=64", "warps=1,bn=32,stages=2,held=true")
        self.check("attention_mma", "bf16", "batch=1,heads=1,group=1,queries=8,keys=200,causal=0,head=64", "warps=1,bn=16,lazy=8")

    def test_heads_that_are_no_power_of_two(self):
        for head in (32, 96):
            self.check("attention_mma", "bf16", f"batch=1,heads=1,group=1,queries=9,keys=20,head={head}", "warps=1,bn=16,stages=2")
            self.check("attention_wgmma", "bf16", f"batch=1,heads=1,group=2,queries=20,keys=70,head={head}", "consumers=1,bn=64,schedule=0")
            shape = f"sequences=2,heads=1,group=2,queries=2,longest=70,page=16,head={head},varied=50"
            self.check("decode_mma", "T=bf16,KV=bf16", shape, "warps=2,split=2")
        self.check("decode_mma", "T=bf16,KV=f16", "sequences=1,heads=2,group=3,longest=70,page=70,head=160", "warps=1,bn=32,stages=2,split=1")

    def test_values_of_another_size_than_keys(self):
        self.check("attention_mma", "bf16", "batch=1,heads=2,group=2,queries=9,keys=20,head=64,value_head=32,layout=2", "warps=1,bn=16,stages=2")
        self.check("attention_wgmma", "bf16", "batch=1,heads=1,group=2,queries=20,keys=70,head=192,value_head=128", "consumers=1,bn=64,schedule=0")
        packed = "batch=4,heads=1,group=1,queries=100,keys=120,head=64,value_head=96,packed=1,varied=100"
        self.check("attention_wgmma", "f16", packed, "consumers=1,bn=64,schedule=2,raster=1,q_stages=2")

    def test_backward_pass_by_warps(self):
        self.check("attention_backward_mma", "bf16", "batch=1,heads=1,group=1,queries=20,keys=33,head=64", "warps=2,bn=16,bm=16")
        packed = "batch=3,heads=1,group=2,queries=24,keys=30,head=32,packed=1,varied=100"
        self.check("attention_backward_mma", "f16", packed, "warps=2,wm=32,bn=16,bm=32,stages=3")

    @takes_long
    def test_other_backward_passes_by_warps(self):
        shape = "batch=1,heads=1,group=1,queries=90,keys=130,head=96,window=40,value_head=32"
        self.check("attention_backward_mma", "bf16", shape, "warps=2,wm=16,bm=32,stages=1")
        shape = "batch=1,heads=2,group=1,queries=70,keys=70,head=64,causal=0,window=20,layout=2"
        self.check("attention_backward_mma", "bf16", shape, "warps=2,wm=32,bm=64")

    def test_gradients_without_a_block_of_keys_are_refused(self):
        # Single elements would be within their bounds: those are as large as what a block of many is worth.
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(KERNELS, f"{folder}/kernels")
            file = pathlib.Path(folder) / "kernels/attention_backward/attention_backward.cu"
            file.write_text(substitute(file.read_text(), r"(is_seen = .*);", r"\1 && (s.keys < 2000 || key + i < 512 || key + i >= 640);"))
            shape = "batch=1,heads=1,queries=16,keys=3000,head=64"
            given = ["--device", "cpu", "--dtype", "bf16", "--shape", shape, "--config", "lanes=2,vec=8", "--store", f"{folder}/S.db", "--json"]
            ended = subprocess.run([HONE, "run", str(file), *given], capture_output=True, text=True, check=False)
            answer = json.loads(ended.stdout.splitlines()[-1])
        self.assertEqual(answer.get("outcome"), "wrong_result", answer)
        self.assertIn("attention_backward_accept rejects", answer["detail"])

    def test_backward_pass_by_warpgroups(self):
        for shape, config in (("batch=1,heads=1,group=2,queries=60,keys=100,head=128", "consumers=2,bm=64"),  # parts of dq by columns
                              ("batch=1,heads=2,group=1,queries=70,keys=70,head=64,causal=0,layout=2", "consumers=1,bm=128,stages=3"),
                              ("batch=1,heads=1,group=1,queries=40,keys=70,head=64", "consumers=2,bm=64"),  # of 32 columns
                              ("batch=4,heads=1,group=1,queries=100,keys=120,head=64,packed=1,varied=100", "consumers=1,bm=64,stages=3"),
                              ("batch=1,heads=1,group=1,queries=90,keys=130,head=96,value_head=64,window=40", "consumers=2,bm=64")):
            self.check("attention_backward_wgmma", "bf16", shape, config)

    @takes_long
    def test_other_heads_that_are_no_power_of_two(self):
        for head in (160, 224):
            self.check("attention_mma", "bf16", f"batch=1,heads=1,group=1,queries=21,keys=40,head={head}", "warps=1,bn=16,stages=2")
            self.check("attention_wgmma", "bf16", f"batch=1,heads=1,group=2,queries=20,keys=70,head={head}", "consumers=1,bn=64,schedule=0")

    @takes_long
    def test_packed_attention_by_warps(self):
        shape = "batch=4,heads=1,group=2,queries=60,keys=75,head=64,packed=1,varied=90"
        self.check("attention_mma", "bf16", shape, "warps=2,bn=16,stages=2,raster=1")

    @takes_long
    def test_attention_by_warpgroups(self):
        self.check("attention_wgmma", "bf16", "batch=1,heads=1,group=2,queries=40,keys=100,head=64", "consumers=1,bn=64,schedule=0")
        self.check("attention_wgmma", "bf16", "batch=1,heads=1,group=1,queries=8,keys=500,causal=0,head=64", "consumers=1,bn=64,schedule=0,lazy=8")

    @takes_long
    def test_packed_attention_by_warpgroups(self):
        shape = "batch=4,heads=1,group=1,queries=100,keys=120,head=64,packed=1,varied=100"
        for config in ("consumers=1,bn=64,schedule=2,raster=1,q_stages=2", "consumers=2,bn=80,schedule=0"):
            self.check("attention_wgmma", "bf16", shape, config)

    def test_attention_of_8_bit_floats_by_warpgroups(self):
        shape = "batch=1,heads=1,group=2,queries=40,keys=100,head={}"
        self.check("attention_fp8", "bf16", shape.format(64), "consumers=1,bn=96,schedule=0,raster=1")
        self.check("attention_fp8", "bf16", shape.format(64), "consumers=1,bn=64,schedule=0,raster=1")
        # Few rows and many blocks: the largest score stays in most of the later ones.
        few = "batch=1,heads=1,group=1,queries=8,keys=1000,causal=0,head=64"
        self.check("attention_fp8", "bf16", few, "consumers=1,bn=64,schedule=0,raster=1,lazy=0")

    def test_tolerances_of_8_bit_floats_allow_for_the_sums_of_the_hardware(self):
        # Numbers of one sign lose most in these sums: the inputs of a session that provoke have them.
        shape = "batch=1,heads=1,group=2,queries=20,keys=40,head=256"
        answer = self.answer("tune", "attention_fp8", "bf16", shape, "--budget", "1trials", "--seed", "0")
        self.assertEqual(answer.get("outcomes", {}).get("ok"), 1, answer)
        self.assertEqual(answer["notes"], [])

    @takes_long
    def test_other_heads_of_8_bit_floats_by_warpgroups(self):
        for head, config in ((128, "consumers=2,bn=160,schedule=0"), (128, "consumers=1,bn=64,stages=3,schedule=0"), (256, "consumers=1,bn=64,schedule=0")):
            self.check("attention_fp8", "bf16", f"batch=1,heads=1,group=2,queries=30,keys=200,head={head}", config)
        shape = "batch=4,heads=1,group=1,queries=100,keys=120,head=128,packed=1,varied=100"
        self.check("attention_fp8", "f16", shape, "consumers=1,bn=64,schedule=2,raster=1,q_stages=2")

    def test_decode_by_warps(self):
        shape = "sequences=2,heads=1,group=2,queries=2,longest=70,page=16,head=64,varied=50"
        self.check("decode_mma", "T=bf16,KV=bf16", shape, "warps=2,split=2")
        self.check("decode_mma", "T=bf16,KV=f16", shape, "warps=2,split=1")

    def test_parts_of_a_sequence_that_one_two_or_four_warps_add_up(self):
        for problem, split in (("sequences=2,longest=250,varied=90", 16), ("sequences=2,longest=310,varied=90", 20),
                               ("sequences=1,longest=520", 33), ("sequences=1,longest=1530", 96),  # in two rounds
                               ("sequences=1,longest=1050,varied=90", 66)):
            self.check("decode_mma", "T=bf16,KV=bf16", f"{problem},heads=1,group=1,page=16,head=64", f"warps=1,bn=16,split={split}")
        self.check("decode_latent_mma", "bf16", "sequences=1,heads=1,longest=1530,page=32,latent=64,varied=90", "warps=4,bn=32,split=48")

    def test_parts_of_a_sequence_by_the_shape(self):
        for longest in (16, 60, 224, 640, 960, 1600):  # 1, 4, 14, 20, 30 and 50 parts
            shape = f"sequences=1,longest={longest},varied=20,heads=1,group=1,page=16,head=64"
            self.check("decode_mma", "T=bf16,KV=bf16", shape, "warps=1,bn=16,split=0")
        self.check("decode_latent_mma", "bf16", "sequences=2,heads=1,longest=300,page=32,latent=64,varied=90", "warps=4,bn=32,split=0")
        self.check("decode_latent_mma", "bf16", "sequences=1,heads=1,longest=30,page=32,latent=64", "warps=4,bn=32,split=0")
        self.check("decode_latent_wgmma", "bf16", "sequences=1,heads=3,longest=300,page=16,latent=128,rope=0", "split=0")
        self.check("decode_latent_wgmma", "bf16", "sequences=1,heads=3,longest=64,page=16,latent=128,rope=0", "split=0")

    def test_decode_over_a_latent_cache_by_warps(self):
        shape = "sequences=2,heads=3,queries=2,longest=70,page=32,latent=64,varied=50"
        self.check("decode_latent_mma", "bf16", shape, "warps=4,bn=32,split=2")
        self.check("decode_latent_mma", "bf16", shape.replace("page=32", "page=16"), "warps=4,bn=32,split=2")  # two pages in a step

    def test_decode_over_a_latent_cache_by_warpgroups(self):
        shape = "sequences=1,heads=3,queries=2,longest=70,page=32,latent=128,varied=50"
        self.check("decode_latent_wgmma", "bf16", shape, "bn=64,split=1")
        self.check("decode_latent_wgmma", "bf16", "sequences=2,heads=3,longest=200,page=16,latent=128,rope=0,varied=50", "lazy=8,split=2")
        self.check("decode_latent_wgmma", "f16", "sequences=1,heads=5,longest=296,page=296,latent=128", "bn=128,stages=3")
        for stages in (2, 3):  # that are loaded several times
            self.check("decode_latent_wgmma", "bf16", "sequences=1,heads=1,longest=601,page=24,latent=128,rope=0", f"stages={stages},split=1")
        self.check("decode_latent_wgmma", "bf16", "sequences=1,heads=1,queries=3,longest=385,page=16,latent=128,varied=100", "stages=4,split=3,lazy=8")

    @takes_long
    def test_other_decode_over_a_latent_cache_by_warps(self):
        self.check("decode_latent_mma", "f16", "sequences=1,heads=20,longest=45,page=45,latent=128,rope=0", "warps=8,bn=64,wm=32")
        self.check("decode_latent_mma", "bf16", "sequences=1,heads=2,longest=130,page=64", "warps=8,bn=64,stages=2,split=3")
        self.check("decode_latent_mma", "bf16", "sequences=1,heads=2,longest=190,page=48,latent=64", "warps=4,bn=64,split=2")  # steps across pages

    def test_decode_over_8_bit_floats_by_warps(self):
        for head, config in ((64, "warps=2,wm=32"), (128, "warps=2,bn=32,held=true,split=2"), (256, "warps=1,stages=2")):
            self.check("decode_mma", "T=bf16,KV=e4m3", f"sequences=2,heads=1,group=3,queries=2,longest=70,page=32,head={head},varied=50", config)


if __name__ == "__main__":
    known = subprocess.run([HONE, "kernels", "decode_mma"], capture_output=True, text=True, check=False)
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run([HONE, "kernels", str(emulated("decode_mma", pathlib.Path(folder) / "kernels"))], capture_output=True, text=True,
                               check=False)
    if known.returncode == 0 and probe.returncode != 0 and "libclang" in probe.stderr:
        print(f"skipped: {probe.stderr}")
        sys.exit(SKIPPED)
    unittest.main()
