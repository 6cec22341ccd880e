#!/usr/bin/env python3
"""A transformer block in PyTorch before and after hone.torch.replace: its results, and the time of a step.

    bench/torch_block.py [--device cuda:0] [--dtype bf16] [--tokens 4096] [--width 1024] [--tune 30s] [--store S.db] [--json FILE]

Times are medians of a step, measured in turns with PyTorch's: eager, under torch.compile, and as a CUDA graph (on a GPU). --tune spends a
budget on the block's own problems first (hone.torch.trace).
"""

import argparse
import copy
import json
import statistics
import time

import torch
from torch import nn

import hone
import hone.torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


class Block(nn.Module):
    """Attention written out, so that its softmax is a layer, and an MLP; each behind a norm."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.RMSNorm(width, eps=1e-5)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, 3, self.heads, width // self.heads).permute(1, 2, 0, 3)
        weights = self.softmax(q @ k.transpose(1, 2) * (width // self.heads) ** -0.5)
        x = x + self.out((weights @ v).transpose(0, 1).reshape(rows, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


def as_graph(step, x):
    """The step as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(x)
    torch.cuda.current_stream().wait_stream(stream)
    hone.default_engine(f"cuda:{x.device.index}").reserve_graph_workspaces(8)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step(x)

    def run(_):
        graph.replay()
        return out

    return run


def milliseconds(steps: dict, x: torch.Tensor, repeats: int) -> dict[str, float]:
    """Median of a step, all of them in turns."""
    on_gpu = x.is_cuda
    times = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            if on_gpu:
                torch.cuda.synchronize()
            begin = time.perf_counter()
            step(x)
            if on_gpu:
                torch.cuda.synchronize()
            times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16" if torch.cuda.is_available() else "f32")
    parser.add_argument("--tokens", type=int, default=4096 if torch.cuda.is_available() else 64)
    parser.add_argument("--width", type=int, default=1024 if torch.cuda.is_available() else 64)
    parser.add_argument("--heads", type=int, default=16 if torch.cuda.is_available() else 4)
    parser.add_argument("--tune", default=None, help="a budget for the block's problems")
    parser.add_argument("--store", default=None)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--json", default=None)
    given = parser.parse_args()
    if given.store:
        import os

        os.environ["HONE_STORE"] = given.store
    torch.manual_seed(0)
    before = Block(given.width, given.heads).to(given.device, DTYPES[given.dtype]).requires_grad_(False)
    after = hone.torch.replace(copy.deepcopy(before))
    x = torch.randn(given.tokens, given.width, device=given.device, dtype=DTYPES[given.dtype])
    workload = hone.torch.trace(after, x)
    print(workload)
    if given.tune:
        report = workload.tune(budget=given.tune, device=given.device)
        print(f"tuned: weighted {report['weighted_before_us']:.1f} us before, {report['weighted_after_us']:.1f} us after")

    exact = copy.deepcopy(before).double()(x.double())
    errors = {name: ((model(x).double() - exact).norm() / exact.norm()).item() for name, model in (("torch", before), ("hone", after))}
    steps = {"torch_eager": before, "hone_eager": after}
    if not given.no_compile:
        compiled = {"torch_compile": torch.compile(before), "hone_compile": torch.compile(after, fullgraph=True)}
        for name, step in compiled.items():
            errors[name] = ((step(x).double() - exact).norm() / exact.norm()).item()
        steps.update(compiled)
    if x.is_cuda:
        graphs = {"torch_graph": as_graph(before, x), "hone_graph": as_graph(after, x)}
        for name, step in graphs.items():
            errors[name] = ((step(x).double() - exact).norm() / exact.norm()).item()
        steps.update(graphs)
    times = milliseconds(steps, x, given.repeats)
    print(f"{given.dtype} {given.tokens} x {given.width}, {given.heads} heads on {given.device}, PyTorch {torch.__version__}")
    for name, value in times.items():
        print(f"  {name:14} {value:9.4f} ms   relative error {errors.get(name, errors[name.partition('_')[0]]):.2e}")
    worst = max(error for name, error in errors.items() if name.startswith("hone"))
    limit = 2 * errors["torch"] + 1e-6
    print("right" if worst <= limit else f"WRONG: {worst:.2e}, PyTorch's own is {errors['torch']:.2e}")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"times_ms": times, "relative_errors": errors, "torch": torch.__version__, **vars(given)}, file, indent=1)
    raise SystemExit(0 if worst <= limit else 1)


if __name__ == "__main__":
    main()
