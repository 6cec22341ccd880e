#!/usr/bin/env python3
"""What calling a kernel from Python costs the host, beside the same launch from C++, and what a strategy in Python costs.

    bench/python_calls.py [--device cuda:0] [--json FILE]

Needs the package and PyTorch; on the cpu device libclang. On a GPU, launches go out in batches that are shorter than the driver's queue, so
the host never waits for the device. On the cpu device the launch itself runs the kernel: there the arrays are empty, and nothing runs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import hone

NOOP = """// y = x.
#include <hone/kernel.h>
struct Problem { RANGE(0) long n = 1024; };
struct Config { TUNE(64, 128) int block = 64; };
constexpr Launch launch(Problem p, Config c) { return {.grid = {ceil_div(p.n, (long)c.block)}, .block = {c.block}}; }
template <class T> REFERENCE(p.n) void noop_reference(long i, const T* x, double* y, Problem p) { y[i] = (double)(float)x[i]; }
template <class T, Config c> KERNEL void noop(IN(p.n) const T* x, OUT(p.n) T* y, Problem p) {
  const long i = blockIdx.x * (long)c.block + threadIdx.x;
  if (i < p.n) y[i] = x[i];
}
"""
BATCH, BATCHES = 200, 200


def microseconds(call, synchronize) -> float:
    """Median over batches of the host's time for a call."""
    times = []
    for _ in range(BATCHES):
        synchronize()
        begin = time.perf_counter()
        for _ in range(BATCH):
            call()
        times.append((time.perf_counter() - begin) / BATCH * 1e6)
    synchronize()
    return statistics.median(times)


def cpp_microseconds(kernel, synchronize, *arguments, **keywords) -> float:
    times = []
    for _ in range(BATCHES):
        synchronize()
        times.append(kernel.time_launches(BATCH, *arguments, **keywords) * 1e6)
    synchronize()
    return statistics.median(times)


class PlainDlpack:
    """An array that has __dlpack__ and not the exchange table. Its methods are what a framework in C costs: Tensor.__dlpack__ of PyTorch is
    Python, and takes 3 us by itself."""

    def __init__(self, tensor):
        from torch.utils.dlpack import to_dlpack

        place = tensor.__dlpack_device__()
        self.__class__ = type(
            "Array", (), {"__dlpack__": lambda self, stream=None: to_dlpack(tensor), "__dlpack_device__": lambda self: place}
        )


def calls(device: str) -> dict:
    import torch

    on_gpu = device.startswith("cuda")
    synchronize = torch.cuda.synchronize if on_gpu else lambda: None
    x = torch.zeros(64 if on_gpu else 0, device=device)
    y = torch.empty_like(x)
    kernel = hone.kernel("copy", x) if on_gpu else hone.kernel_source(NOOP).kernel(x)
    plain_x, plain_y = PlainDlpack(x), PlainDlpack(y)
    for call in (lambda: kernel(x, out=y), lambda: kernel(plain_x, out=plain_y)):
        call()
    found = {
        "cpp_launch_us": cpp_microseconds(kernel, synchronize, x, out=y),
        "exchange_us": microseconds(lambda: kernel(x, out=y), synchronize),
        "dlpack_us": microseconds(lambda: kernel(plain_x, out=plain_y), synchronize),
    }
    found["exchange_above_cpp_us"] = found["exchange_us"] - found["cpp_launch_us"]
    found["dlpack_above_cpp_us"] = found["dlpack_us"] - found["cpp_launch_us"]
    if on_gpu:
        from hone.torch import ops

        rows = torch.randn(4, 256, device=device)
        out = torch.empty_like(rows)
        softmax = hone.kernel("softmax", rows)
        compare = {
            "softmax_out_us": lambda: softmax(rows, out=out),
            "softmax_op_us": lambda: ops.softmax(rows),
            "torch_softmax_us": lambda: torch.softmax(rows, -1),
        }
        for name, call in compare.items():
            call()
            found[name] = microseconds(call, synchronize)
    return found


class Uniform(hone.Strategy):
    def ask(self, count):
        return self.space.sample(count, seed=self.random())


def asks() -> dict:
    """Microseconds of a turn (ask and tell) on a recorded space, in Python and built in."""
    space = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spaces", "softmax.NVIDIA_H200.json.gz")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, strategy in (("ask_python_us", Uniform), ("ask_built_in_us", "random")):
            report = hone.tune(space, strategy=strategy, budget="400trials", store=os.path.join(folder, name), progress=False).report
            found[name] = report["strategy_seconds"] / report["trials"] * 1e6
    return found


def import_ms() -> float:
    code = "import time; begin = time.perf_counter(); import hone; print((time.perf_counter() - begin) * 1e3)"
    return statistics.median(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(7)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="cuda:0 or cpu; default: the best present")
    parser.add_argument("--json", default=None, help="also write the figures to this file")
    given = parser.parse_args()
    device = given.device or hone.default_engine().device["id"]
    found = {"device": device, "import_ms": import_ms(), **asks(), **calls(device)}
    for name, value in found.items():
        print(f"{name:24} {value if isinstance(value, str) else format(value, '.3f')}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
