#!/usr/bin/env python3
"""Matrix products by Hone with cuBLASLt among its kernels, by Hone without it, by cuBLASLt's own first choice and by torch.matmul (cuBLAS's
own choice), on a GPU, all four timed in the same rounds (bench/vendor/timing.py). Needs PyTorch and cuBLASLt.

    bench/libraries.py build-release/hone --budget 6s --out libraries.json [bf16:4096x4096x4096 f32:64x500x50000 ...]
"""

import argparse
import ctypes
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from vendor import launch, timing  # noqa: E402

CASES = ["bf16:4096x4096x4096", "bf16:1536x1536x1536", "bf16:1024x1024x1024", "bf16:3000x5000x2000", "bf16:1x4096x4096",
         "bf16:128x14336x4096", "bf16:8192x1024x8192", "bf16:333x1777x511", "f32:4096x4096x4096", "f32:1536x1536x1536", "f32:1024x1024x1024",
         "f32:64x500x50000", "f32:128x14336x4096"]
DTYPES = {"bf16": (torch.bfloat16, 14), "f16": (torch.float16, 2), "f32": (torch.float32, 0)}  # and cudaDataType_t
COMPUTE_F32 = 68
# Name in a configuration, cublasLtMatmulAlgoConfigAttributes_t, bytes.
TRAITS = [("tile", 1, 4), ("stages", 6, 4), ("cluster", 8, 2), ("inner", 7, 2), ("split", 2, 4), ("reduction", 3, 4), ("swizzle", 4, 4),
          ("option", 5, 4)]
WORKSPACE = 32 << 20
ROUNDS, SECONDS = 200, 2.0


def words(count):
    return (ctypes.c_uint64 * count)()


def check(status, doing):
    if status != 0:
        raise RuntimeError(f"cuBLASLt: {doing}: {status}")


class CublasLt:
    """out[m, n] = a[m, k] b[k, n], row by row: as the library sees it, the transposes, column by column."""

    def __init__(self):
        self.api = ctypes.CDLL(next(line.split()[-1] for line in open("/proc/self/maps") if "libcublasLt" in line))
        self.api.cublasLtGetVersion.restype = ctypes.c_size_t
        self.api.cublasLtMatmul.argtypes = [ctypes.c_void_p] * 14 + [ctypes.c_size_t, ctypes.c_void_p]
        self.handle = ctypes.c_void_p()
        check(self.api.cublasLtCreate(ctypes.byref(self.handle)), "create")
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)

    def version(self):
        return self.api.cublasLtGetVersion()

    def product(self, dtype, m, n, k):
        kind = DTYPES[dtype][1]
        operation = words(64)
        check(self.api.cublasLtMatmulDescInit_internal(operation, ctypes.c_size_t(512), COMPUTE_F32, 0), "operation")
        layouts = []
        for rows, columns in ((n, k), (k, m), (n, m)):
            layout = words(16)
            check(self.api.cublasLtMatrixLayoutInit_internal(layout, ctypes.c_size_t(128), kind, ctypes.c_uint64(rows),
                                                             ctypes.c_uint64(columns), ctypes.c_int64(rows)), "layout")
            layouts.append(layout)
        return kind, operation, layouts

    def first_choice(self, product):
        _, operation, (b, a, out) = product
        preference = words(16)
        check(self.api.cublasLtMatmulPreferenceInit_internal(preference, ctypes.c_size_t(128)), "preference")
        most = ctypes.c_uint64(WORKSPACE)
        check(self.api.cublasLtMatmulPreferenceSetAttribute(preference, 1, ctypes.byref(most), ctypes.c_size_t(8)), "workspace")
        result, count = words(12), ctypes.c_int()
        check(self.api.cublasLtMatmulAlgoGetHeuristic(self.handle, operation, b, a, out, out, preference, 1, result, ctypes.byref(count)),
              "heuristic")
        return (ctypes.c_uint64 * 8)(*result[:8])

    def algorithm(self, product, config):
        if config["id"] < 0:
            return self.first_choice(product)
        kind = product[0]
        algorithm = words(8)
        check(self.api.cublasLtMatmulAlgoInit(self.handle, COMPUTE_F32, 0, kind, kind, kind, kind, config["id"], algorithm), "algorithm")
        for name, attribute, size in TRAITS:
            value = ctypes.c_uint32(config[name])
            check(self.api.cublasLtMatmulAlgoConfigSetAttribute(algorithm, attribute, ctypes.byref(value), ctypes.c_size_t(size)), name)
        return algorithm

    def bound(self, product, algorithm, a, b, out):
        _, operation, (b_layout, a_layout, out_layout) = product
        address = ctypes.addressof

        def call(stream):
            check(self.api.cublasLtMatmul(self.handle, address(operation), address(self.one), b.data_ptr(), address(b_layout), a.data_ptr(),
                                          address(a_layout), address(self.zero), out.data_ptr(), address(out_layout), out.data_ptr(),
                                          address(out_layout), address(algorithm), self.workspace.data_ptr(), WORKSPACE, stream), "launch")

        return call


def hone(command, *arguments):
    ended = subprocess.run([command, *arguments, "--json"], capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"hone {' '.join(arguments)}: {ended.stderr[-400:]}{ended.stdout[-400:]}")
    return json.loads(ended.stdout)


def bind_plan(code, a, b, out, workspaces):
    """Buffers by the names of the operation's arguments; what this problem does not use is `out`."""
    places = {"a": a, "b": b, "out": out, **workspaces}
    return launch.Launch(code, {argument["name"]: places.get(argument["name"], out).data_ptr() for argument in code.plan.arguments
                                if argument["role"] != "scalar"})


def workspaces_of(plan):
    return {argument["name"]: torch.empty(argument["bytes"], dtype=torch.uint8, device="cuda") for argument in plan.of_role("workspace")}


class Case:
    def __init__(self, text, options, lt, folder):
        self.dtype, shape = text.split(":")
        self.m, self.n, self.k = map(int, shape.split("x"))
        self.options, self.lt, self.folder = options, lt, folder
        self.problem = ["--device", "cuda:0", "--dtype", self.dtype, "--shape", f"m={self.m},n={self.n},k={self.k}"]

    def tune(self, store, *more):
        return hone(self.options.hone, "tune", "matmul", *self.problem, "--budget", self.options.budget, "--seed", "1", "--store", store, *more)

    def exported(self, store):
        return launch.Code(launch.Plan(hone(self.options.hone, "export", "matmul", *self.problem, "--store", store, "--out", store + ".plans")["file"]))

    def makers(self, tuned, alone, stores):
        """What makes a call of each contender on a set of buffers."""
        product = self.lt.product(self.dtype, self.m, self.n, self.k)
        first = self.lt.first_choice(product)
        makers = {"torch": lambda a, b, out: lambda stream: torch.matmul(a, b, out=out),
                  "cublaslt": lambda a, b, out: self.lt.bound(product, first, a, b, out)}
        if tuned["kernel"] == "cublaslt":
            chosen = self.lt.algorithm(product, tuned["best"]["config"])
            makers["hone"] = lambda a, b, out: self.lt.bound(product, chosen, a, b, out)
        else:
            makers["hone"] = self.of_plan(stores[0])
        makers["alone"] = self.of_plan(stores[1])
        return makers

    def of_plan(self, store):
        code = self.exported(store)
        buffers = workspaces_of(code.plan)
        return lambda a, b, out: bind_plan(code, a, b, out, buffers)

    def run(self):
        stores = [str(self.folder / f"{name}-{self.dtype}-{self.m}x{self.n}x{self.k}.db") for name in ("with", "without")]
        tuned = self.tune(stores[0])
        alone = self.tune(stores[1], "--without", "cublaslt")
        makers = self.makers(tuned, alone, stores)
        samples, wrong = self.measure(makers)
        us = {name: timing.summary(taken)["us"] for name, taken in samples.items()}
        return {"dtype": self.dtype, "m": self.m, "n": self.n, "k": self.k, "winner": tuned["kernel"], "config": tuned["best"]["config"],
                "without": alone["kernel"], "us": us, "wrong": wrong, "ratio": min(us["torch"], us["cublaslt"]) / us["hone"],
                "ratio_alone": min(us["torch"], us["cublaslt"]) / us["alone"], "tune_seconds": [tuned["seconds"], alone["seconds"]],
                "own_us": {kernel["kernel"]: kernel.get("best_us") for kernel in tuned["implementations"]}}

    def buffers(self, count):
        kind = DTYPES[self.dtype][0]
        shapes = ((self.m, self.k), (self.k, self.n), (self.m, self.n))
        return [[torch.randn(shape, device="cuda").to(kind) for shape in shapes] for _ in range(count)]

    def measure(self, makers):
        watch = timing.Stopwatch(1)
        first = self.buffers(1)[0]
        stream = torch.cuda.current_stream().cuda_stream
        calls = {name: make(*first) for name, make in makers.items()}
        wrong = []
        expected = torch.matmul(first[0].double(), first[1].double())
        for name, call in calls.items():
            first[2].zero_()
            call(stream)
            error = ((first[2].double() - expected).abs().max() / expected.abs().max()).item()
            wrong += [] if error < 0.01 else [name]
        taken = watch.events({name: lambda call=call: call(stream) for name, call in calls.items()}, ROUNDS, SECONDS)
        if min(timing.summary(samples)["us"] for samples in taken.values()) >= timing.SHORT_US:
            return taken, wrong
        size = sum(tensor.numel() * tensor.element_size() for tensor in first)
        sets = self.buffers(watch.sets_for(size))
        graphs = {}
        for name, make in makers.items():
            bound = [make(*one) for one in sets]
            graphs[name], _ = timing.capture([lambda call=call: call(torch.cuda.current_stream().cuda_stream) for call in bound])
        return watch.replays(graphs, ROUNDS, SECONDS, size), wrong


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hone")
    parser.add_argument("cases", nargs="*", default=CASES, metavar="DTYPE:MxNxK")
    parser.add_argument("--budget", default="6s")
    parser.add_argument("--out", default="libraries.json")
    options = parser.parse_intermixed_args()  # cases may follow options
    torch.matmul(*torch.randn(2, 64, 64, device="cuda").bfloat16())  # loads cuBLAS
    lt, results = CublasLt(), []
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuBLASLt", lt.version(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for text in options.cases:
            try:
                result = Case(text, options, lt, pathlib.Path(folder)).run()
            except (RuntimeError, KeyError, torch.OutOfMemoryError) as why:
                print(f"{text}: {why!r}", flush=True)
                continue
            results.append(result)
            us = result["us"]
            print(f"{text:24} torch {us['torch']:9.2f} cublaslt {us['cublaslt']:9.2f} hone {us['hone']:9.2f} ({result['winner']}) "
                  f"alone {us['alone']:9.2f} ({result['without']}) ratio {result['ratio']:.3f} alone {result['ratio_alone']:.3f} "
                  f"{'WRONG ' + ' '.join(result['wrong']) if result['wrong'] else ''}", flush=True)
            pathlib.Path(options.out).write_text(json.dumps({"device": torch.cuda.get_device_name(), "cublaslt": lt.version(), "cases": results}, indent=1))
    print(f"{len(results)} of {len(options.cases)} cases; mean {geometric_mean([r['ratio'] for r in results]):.3f}, "
          f"least {min((r['ratio'] for r in results), default=0):.3f}; without the library {geometric_mean([r['ratio_alone'] for r in results]):.3f}")
    return 0 if len(results) == len(options.cases) else 1


if __name__ == "__main__":
    sys.exit(main())
