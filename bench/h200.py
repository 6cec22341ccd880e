#!/usr/bin/env python3
"""Holds Hone's winners against what exists: cuBLAS, PyTorch eager and torch.compile, in one run on one GPU.

    python3 bench/h200.py --hone build/bin/hone --budget 20s --limit 1500
    python3 bench/h200.py --hone build/bin/hone --only gemm --cell gemm:bf16:4096x4096x4096

For every cell (kernel, dtype, shape): `hone tune`, then `hone run`, the existing implementations, and `hone run` once more, so that both
sides see the same device in the same state. All times are medians of device events on random data with a cold L2. Results go to DIR as JSON
and as a Markdown table after every cell: a run that is cut short keeps what it has. A cell that fails is reported and does not stop the
others.
"""

import argparse
import dataclasses
import datetime
import json
import math
import os
import pathlib
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
AXES = {"copy": ["n"], "softmax": ["rows", "cols"], "row_sum": ["rows", "cols"], "transpose": ["rows", "cols"], "gemm": ["m", "n", "k"]}
FLUSH_BYTES = 256 << 20  # more than four times the L2 of an H200
COPY_BYTES = 4 << 30
COMPILE_LIMIT_S = 240.0  # of one torch.compile; max-autotune of a large product takes about a minute
HONE_GRACE_S = 180.0  # what a tuning session may take beyond its budget: the last compile, the final round

# Two shapes and two dtypes a kernel: one large and square, one that libraries find awkward.
DEFAULT_CELLS = {
    "copy": ["f32:268435456", "bf16:268435456", "f32:67108864", "bf16:67108864"],
    "softmax": ["f32:8192x8192", "bf16:8192x8192", "f32:128x131072", "bf16:128x131072"],
    "row_sum": ["f32:8192x8192", "bf16:8192x8192", "f32:128x131072", "bf16:128x131072"],
    "transpose": ["f32:8192x8192", "bf16:8192x8192", "f32:16384x1024", "bf16:16384x1024"],
    "gemm": ["f32:2048x2048x2048", "bf16:2048x2048x2048", "f32:4096x4096x4096", "bf16:4096x4096x4096"],
}


@dataclasses.dataclass(frozen=True)
class Cell:
    kernel: str
    dtype: str
    extents: tuple

    @staticmethod
    def parse(text):
        match = re.fullmatch(r"(\w+):(\w+):(\d+(?:x\d+)*)", text)
        if match is None or match[1] not in AXES or match[2] not in DTYPES:
            raise ValueError(f"cell '{text}': expected KERNEL:DTYPE:EXTENTS, e.g. softmax:f16:4096x1024, with one of {', '.join(AXES)} "
                             f"and one of {', '.join(DTYPES)}")
        cell = Cell(match[1], match[2], tuple(int(part) for part in match[3].split("x")))
        if len(cell.extents) != len(AXES[cell.kernel]):
            raise ValueError(f"cell '{text}': {cell.kernel} has the extents {', '.join(AXES[cell.kernel])}")
        return cell

    @property
    def shape(self):
        return ",".join(f"{axis}={extent}" for axis, extent in zip(AXES[self.kernel], self.extents))

    @property
    def element_bytes(self):
        return torch.empty((), dtype=DTYPES[self.dtype]).element_size()

    @property
    def bytes(self):
        """The fewest bytes that must cross device memory: each input read once, each output written once."""
        if self.kernel == "gemm":
            m, n, k = self.extents
            return (m * k + k * n + m * n) * self.element_bytes
        if self.kernel == "row_sum":
            return (self.extents[0] * self.extents[1] + self.extents[0]) * self.element_bytes
        return 2 * math.prod(self.extents) * self.element_bytes

    @property
    def flops(self):
        return 2.0 * math.prod(self.extents) if self.kernel == "gemm" else 0.0


class Deadline:
    def __init__(self, limit_s):
        self.end = time.monotonic() + limit_s

    def left(self):
        return self.end - time.monotonic()


class Alarm:
    """Raises TimeoutError in the block after so many seconds: a compiler that does not end must not cost the other cells."""

    def __init__(self, seconds):
        self.seconds = max(seconds, 1.0)

    def __enter__(self):
        def ring(_signal, _frame):
            raise TimeoutError(f"stopped after {self.seconds:.0f} s")

        self.previous = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.previous)


class Stopwatch:
    """Times functions on the device, each sample from a cold L2 and behind a short spin that hides the host's launch latency."""

    def __init__(self, samples, minimum=50):
        self.samples = max(samples, minimum)
        self.minimum = minimum
        self.scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def sample(self, run, count):
        pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, end in pairs:
            self.scratch.zero_()
            torch.cuda._sleep(200_000)  # about 0.1 ms: the launches below are queued before it ends
            start.record()
            run()
            end.record()
        torch.cuda.synchronize()
        return [1e3 * start.elapsed_time(end) for start, end in pairs]

    def median_us(self, run, budget_s=10.0):
        first = statistics.median(self.sample(run, 5))
        affordable = int(budget_s * 1e6 / (first + 250.0))
        return statistics.median(self.sample(run, max(self.minimum, min(self.samples, affordable))))

    def interleaved_us(self, runs):
        """Medians by name, a few samples of each in turn in changing order: drift hits all alike."""
        samples = {name: [] for name in runs}
        order = list(runs)
        chunk = 10
        for name in order:
            self.sample(runs[name], 3)
        for _ in range(math.ceil(self.samples / chunk)):
            random.shuffle(order)
            for name in order:
                samples[name] += self.sample(runs[name], chunk)
        return {name: statistics.median(taken) for name, taken in samples.items()}


def random_tensor(shape, dtype):
    """Uniform in [-1, 1): never zeros, on which a GPU draws less power and clocks higher."""
    return (torch.rand(shape, device="cuda", dtype=torch.float32) * 2 - 1).to(dtype)


def operation(cell, layout):
    """The cell's operation as PyTorch spells it, and its inputs."""
    dtype = DTYPES[cell.dtype]
    if cell.kernel == "gemm":
        m, n, k = cell.extents
        a, b = random_tensor((m, k), dtype), random_tensor((k, n) if layout == "nn" else (n, k), dtype)
        if layout == "nt":
            return (lambda a, b: torch.matmul(a, b.t())), (a, b)
        return (lambda a, b: torch.matmul(a, b)), (a, b)
    x = random_tensor(cell.extents, dtype)
    return {
        "copy": lambda x: x.clone(),
        "softmax": lambda x: torch.softmax(x, -1),
        "row_sum": lambda x: x.sum(-1),
        "transpose": lambda x: x.t().contiguous(),
    }[cell.kernel], (x,)


def compiled(function, inputs, mode, limit_s, notes):
    """The function under torch.compile, run until it is built and its graph recorded; nothing if that fails."""
    try:
        fast = torch.compile(function, mode=mode, dynamic=False, fullgraph=True)
        with Alarm(limit_s):
            for _ in range(4):
                fast(*inputs)
            torch.cuda.synchronize()
        return lambda: fast(*inputs)
    except Exception as error:  # whatever the compiler throws is a note, not the end
        notes.append(f"torch.compile({mode}): {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
        return None


def with_library(library, function, inputs):
    def run():
        torch.backends.cuda.preferred_blas_library(library)
        return function(*inputs)

    return run


def existing(cell, layout, limit_s, notes):
    """What a user could call today, by name."""
    torch._dynamo.reset()
    function, inputs = operation(cell, layout)
    candidates = {}
    if cell.kernel == "gemm":
        candidates["cuBLAS"] = with_library("cublas", function, inputs)
        candidates["cuBLASLt"] = with_library("cublaslt", function, inputs)
        modes = ["max-autotune-no-cudagraphs"]
    else:
        candidates["torch eager"] = lambda: function(*inputs)
        modes = ["max-autotune", "max-autotune-no-cudagraphs"]
    if cell.kernel == "copy":
        target = torch.empty_like(inputs[0])
        candidates["torch copy_"] = lambda: target.copy_(inputs[0])
    for mode in modes:
        run = compiled(function, inputs, mode, limit_s, notes)
        if run is not None:
            candidates[f"torch.compile {mode}"] = run
    working = {}
    for name, run in candidates.items():
        try:
            run()
            torch.cuda.synchronize()
            working[name] = run
        except Exception as error:
            notes.append(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}")
    return working


class Hone:
    """The command under test."""

    def __init__(self, path, store, device, budget, seed, deadline):
        self.path, self.store, self.device, self.budget, self.seed, self.deadline = path, store, device, budget, seed, deadline

    def call(self, verb, cell, *more, timeout_s):
        command = [self.path, verb, cell.kernel, "--device", self.device, "--dtype", cell.dtype, "--shape", cell.shape,
                   "--store", self.store, "--seed", str(self.seed), "--json", *more]
        timeout_s = min(timeout_s, self.deadline.left())
        if timeout_s <= 1.0:
            raise RuntimeError("no time left for " + shlex.join(command))
        # A session of its own, so that the workers of a command that hangs can be stopped with it.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise RuntimeError(f"{shlex.join(command)}: no answer within {timeout_s:.0f} s") from None
        lines = [line for line in out.splitlines() if line.startswith("{")]
        answer = json.loads(lines[-1]) if lines else {}
        if process.returncode != 0 or not answer or "error" in answer:
            reason = answer.get("error", {}).get("message") or answer.get("detail") or err.strip()[-500:] or "no output"
            raise RuntimeError(f"{shlex.join(command)}: exit status {process.returncode}: {reason}")
        return answer

    def tune(self, cell):
        return self.call("tune", cell, "--budget", self.budget, timeout_s=budget_seconds(self.budget) + HONE_GRACE_S)

    def run(self, cell):
        return self.call("run", cell, timeout_s=120.0)


def budget_seconds(text):
    total = 0.0
    for part in text.split(","):
        match = re.fullmatch(r"([0-9.]+)(s|m|h|trials)", part)
        if match is None:
            raise ValueError(f"budget '{text}': expected e.g. 20s, 5m or 200trials")
        scale = {"s": 1.0, "m": 60.0, "h": 3600.0, "trials": 0.5}[match[2]]
        total = max(total, float(match[1]) * scale)
    return total


def measure(cell, hone, stopwatch, layout):
    """One cell. The parts are independent: what fails is noted, what works is kept."""
    notes = []
    result = {"kernel": cell.kernel, "dtype": cell.dtype, "shape": cell.shape, "bytes": cell.bytes, "flops": cell.flops, "notes": notes}

    def attempt(what, action):
        try:
            return action()
        except Exception as error:
            notes.append(f"{what}: {error}")
            traceback.print_exc(file=sys.stderr)
            return None

    torch.cuda.empty_cache()  # the tuner wants the memory
    started = time.monotonic()
    result["tune"] = attempt("tune", lambda: hone.tune(cell))
    result["tune_wall_seconds"] = time.monotonic() - started
    runs = attempt("existing", lambda: existing(cell, layout, min(COMPILE_LIMIT_S, hone.deadline.left()), notes)) or {}
    tuned = bool(result["tune"] and result["tune"].get("best"))
    result["run_before"] = attempt("run before", lambda: hone.run(cell)) if tuned else None
    result["existing_us"] = attempt("time existing", lambda: stopwatch.interleaved_us(runs)) if runs else None
    result["run_after"] = attempt("run after", lambda: hone.run(cell)) if tuned else None
    return summarized(cell, result)


def summarized(cell, result):
    around = [run["time_us"] for run in (result["run_before"], result["run_after"]) if run and run.get("time_us")]
    tune = result["tune"] or {}
    result["default_us"] = (tune.get("default") or {}).get("time_us")
    result["tuned_us"] = (tune.get("best") or {}).get("time_us")
    result["hone_us"] = statistics.mean(around) if around else None
    if result["existing_us"]:
        result["best_existing"] = min(result["existing_us"], key=result["existing_us"].get)
        result["best_existing_us"] = result["existing_us"][result["best_existing"]]
    ours, theirs = result["hone_us"], result.get("best_existing_us")
    result["existing_over_hone"] = theirs / ours if ours and theirs else None
    result["gbytes_per_second"] = cell.bytes / ours * 1e-3 if ours else None
    result["tflops"] = cell.flops / ours * 1e-6 if ours and cell.flops else None
    return result


def copy_bandwidth(stopwatch):
    """Bytes read plus bytes written per second of a large device-to-device copy: the ceiling of memory-bound kernels."""
    source = torch.randint(0, 255, (COPY_BYTES,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    us = stopwatch.median_us(lambda: target.copy_(source))
    del source, target
    torch.cuda.empty_cache()
    return 2 * COPY_BYTES / us * 1e6


def describe_machine(arguments):
    def output(command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return ""

    properties = torch.cuda.get_device_properties(0)
    query = "driver_version,power.limit,clocks.max.sm,clocks.max.mem"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "gpu": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": getattr(properties, "L2_cache_size", 0),
        "memory_bytes": properties.total_memory,
        "nvidia_smi": dict(zip(query.split(","), output(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader", "-i", "0"]).split(", "))),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hone": output([arguments.hone, "--version"]),
        "budget": arguments.budget,
        "seed": arguments.seed,
        "gemm_layout": arguments.gemm_layout,
        "f32_matmul": "tf32 off",
    }


def number(value, form):
    return format(value, form) if value is not None else "-"


def table_row(cell, copy_rate):
    tune = cell["tune"] or {}
    outcomes = " ".join(f"{count} {outcome}" for outcome, count in (tune.get("trials") or {}).items() if count)
    share = cell["gbytes_per_second"] * 1e9 / copy_rate if cell["gbytes_per_second"] and copy_rate and not cell["flops"] else None
    existing_name = cell.get("best_existing")
    return [
        cell["kernel"], cell["shape"], cell["dtype"], number(cell["default_us"], ".1f"), number(cell["hone_us"], ".1f"), outcomes or "-",
        number(tune.get("seconds"), ".1f"), f"{cell['best_existing_us']:.1f} ({existing_name})" if existing_name else "-",
        number(cell["existing_over_hone"], ".2f"), number(share, ".1%"), number(cell["tflops"], ".1f"),
    ]


def markdown(document):
    machine = document["machine"]
    rates = [rate for rate in document["copy_bytes_per_second"].values() if rate]
    copy_rate = max(rates, default=None)
    header = ["kernel", "shape", "dtype", "default us", "Hone us", "trials", "tuned in s", "best existing us", "existing / Hone", "of copy bandwidth", "TFLOP/s"]
    lines = [
        f"# Hone against existing libraries on {machine['gpu']}",
        "",
        f"{machine['date']}, driver {machine['nvidia_smi'].get('driver_version', '?')}, PyTorch {machine['torch']} (CUDA {machine['cuda']}), "
        f"{machine['hone'] or 'hone'}, budget {machine['budget']} a problem, seed {machine['seed']}.",
        "",
        f"Made by `{machine['command']}`. Device events, random data, L2 flushed before every sample, medians "
        f"(of the existing side: over {document['samples']} samples in interleaved rounds; of Hone: of `hone run` right before and right after them); "
        f"f32 products without TF32. A ratio above 1 means that Hone is faster. Copy bandwidth (4 GiB, device to device): "
        + (", ".join(f"{rate / 1e12:.2f} TB/s {when}" for when, rate in document["copy_bytes_per_second"].items() if rate) or "not measured") + ".",
        "",
        "| " + " | ".join(header) + " |",
        "|" + " --- |" * len(header),
    ]
    lines += ["| " + " | ".join(table_row(cell, copy_rate)) + " |" for cell in document["cells"]]
    ratios = [cell["existing_over_hone"] for cell in document["cells"] if cell["existing_over_hone"]]
    if ratios:
        lines += ["", f"Geometric mean of existing / Hone over {len(ratios)} cells: {statistics.geometric_mean(ratios):.3f}."]
    noted = [f"- {cell['kernel']} {cell['dtype']} {cell['shape']}: {' '.join(note.split())}" for cell in document["cells"] for note in cell["notes"]]
    lines += (["", "Notes:", ""] + noted) if noted else []
    lines += ["", f"Not reached within the time limit: {', '.join(document['skipped'])}."] if document["skipped"] else []
    return "\n".join(lines) + "\n"


def save(document, directory, stem):
    directory.mkdir(parents=True, exist_ok=True)
    for suffix, text in ((".json", json.dumps(document, indent=1) + "\n"), (".md", markdown(document))):
        with tempfile.NamedTemporaryFile("w", dir=directory, delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, directory / (stem + suffix))


def choose_cells(arguments):
    if arguments.cell:
        cells = [Cell.parse(text) for text in arguments.cell]
        return [cell for cell in cells if not arguments.only or cell.kernel in arguments.only]
    columns = [[Cell.parse(f"{kernel}:{text}") for text in texts] for kernel, texts in DEFAULT_CELLS.items()
               if not arguments.only or kernel in arguments.only]
    # One of each kernel in turn: a run that is cut short has seen them all.
    return [column[i] for i in range(max(map(len, columns), default=0)) for column in columns if i < len(column)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="hone", metavar="PATH", help="the hone command (default: from PATH)")
    parser.add_argument("--out", default="docs/results", metavar="DIR", type=pathlib.Path, help="where the results go (default: docs/results)")
    parser.add_argument("--store", metavar="FILE", help="the store to tune into (default: a fresh temporary one)")
    parser.add_argument("--device", default="cuda:0", metavar="ID", help="as hone names it; PyTorch uses its device 0")
    parser.add_argument("--budget", default="20s", help="of every tuning session (default: 20s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=100, help="of every existing implementation, at least 50 (default: 100)")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="of the whole run; cells left over are listed (default: 3600)")
    parser.add_argument("--only", action="append", choices=sorted(AXES), metavar="KERNEL", help="only this kernel (repeatable)")
    parser.add_argument("--cell", action="append", metavar="KERNEL:DTYPE:AxB", help="this cell instead of the default ones (repeatable)")
    parser.add_argument("--gemm-layout", choices=["nn", "nt"], default="nn", help="B as k x n (nn) or n x k (nt), row-major (default: nn)")
    arguments = parser.parse_args()
    try:
        budget_seconds(arguments.budget)
        arguments.cells = choose_cells(arguments)
    except ValueError as error:
        parser.error(str(error))
    return arguments


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        sys.exit("h200.py: PyTorch sees no CUDA device")
    deadline = Deadline(arguments.limit)
    torch.set_grad_enabled(False)
    torch.manual_seed(arguments.seed)
    random.seed(arguments.seed)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    stopwatch = Stopwatch(arguments.samples)
    scratch = tempfile.TemporaryDirectory()
    store = arguments.store or os.path.join(scratch.name, "store.db")
    hone = Hone(arguments.hone, store, arguments.device, arguments.budget, arguments.seed, deadline)
    machine = describe_machine(arguments)
    stem = re.sub(r"[^a-z0-9]+", "-", machine["gpu"].lower()).strip("-") + "-" + machine["date"][:10]
    document = {"machine": machine, "samples": stopwatch.samples, "copy_bytes_per_second": {}, "cells": [], "skipped": []}
    document["copy_bytes_per_second"]["at the start"] = copy_bandwidth(stopwatch)
    # A cell takes its budget and about as long again for the existing side; one that cannot end is not begun.
    reserve_s = budget_seconds(arguments.budget) + 30.0
    for cell in arguments.cells:
        if deadline.left() < reserve_s:
            document["skipped"].append(f"{cell.kernel} {cell.dtype} {cell.shape}")
            continue
        print(f"{cell.kernel} {cell.dtype} {cell.shape} ({deadline.left():.0f} s left)", file=sys.stderr, flush=True)
        document["cells"].append(measure(cell, hone, stopwatch, arguments.gemm_layout))
        save(document, arguments.out, stem)
    document["copy_bytes_per_second"]["at the end"] = copy_bandwidth(stopwatch)
    save(document, arguments.out, stem)
    print(markdown(document))


if __name__ == "__main__":
    main()
