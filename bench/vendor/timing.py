"""How times are taken, the same for every contender.

Events: before each sample the L2 is emptied by reading a buffer of more than four times its size. Reading leaves clean lines; after a
fill the kernel under test would pay for writing back what the fill left dirty, up to the whole L2, which hides a part of every
difference. Behind the flush a short spin lets the host queue the sample, so that nobody's launch overhead is timed. Samples are
interleaved, one of each contender in turn in an order that changes every round: clocks and temperature are shared by all.

Graph replay, for what runs in less than 20 us, where events and launches are a part of the time: a CUDA graph of one call for each of
many sets of inputs, outputs and workspaces that together exceed four times the L2. By the time a set comes round again the others have
displaced it, so every call is cold without a flush between the calls. Of problems so small that MOST_SETS do not exceed it, the L2 is
emptied before each replay, which makes each call but once. The time of a replay is divided by its calls; replays of the
contenders are interleaved as above. A graph's launch latency, about a microsecond a kernel, is in the figure of each contender alike, except
where a kernel may begin while the one before it ends (programmatic dependent launch): that is what it is for. Times by events are kept too.
"""

import random
import statistics
import time

import torch

L2_MULTIPLE = 4.2
SPIN_CYCLES = 250_000  # about 0.13 ms
FEWEST_CALLS = 16  # in a graph: the events around it are then nothing
SHORT_US = 20.0
MOST_SETS = 256
ROUNDS_AT_ONCE = 10


class Stopwatch:
    def __init__(self, seed):
        self.order = random.Random(seed)
        l2 = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
        self.footprint = max(256 << 20, int(l2 * L2_MULTIPLE))
        self.scratch = torch.rand(self.footprint // 4, device="cuda")
        self.sink = torch.empty((), device="cuda")

    def flush(self):
        torch.sum(self.scratch, 0, out=self.sink)

    def fill(self):
        """The flush that leaves dirty lines, to tell what it costs."""
        self.scratch.fill_(1.0)

    def _sample(self, run, flush):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if flush:
            flush()
        torch.cuda._sleep(SPIN_CYCLES)
        start.record()
        run()
        end.record()
        return start, end

    def _rounds(self, runs, rounds, budget_s, flush):
        """Microseconds by name; at least one batch of rounds, then until `rounds` or the budget is reached."""
        samples = {name: [] for name in runs}
        order, until = list(runs), time.monotonic() + budget_s
        while len(samples[order[0]]) < rounds and (not samples[order[0]] or time.monotonic() < until):
            taken = []
            for _ in range(ROUNDS_AT_ONCE):
                self.order.shuffle(order)
                taken += [(name, self._sample(runs[name], flush)) for name in order]
            torch.cuda.synchronize()
            for name, (start, end) in taken:
                samples[name].append(1e3 * start.elapsed_time(end))
        return samples

    def events(self, runs, rounds, budget_s, flush=None):
        for run in runs.values():
            for _ in range(2):
                run()
        return self._rounds(runs, rounds, budget_s, flush or self.flush)

    def replays(self, graphs, rounds, budget_s, bytes_of_one):
        """`graphs`: (graph, calls) by name; `bytes_of_one`: of a set."""
        for graph, _ in graphs.values():
            for _ in range(2):
                graph.replay()
        flush = self.flush if self.sets_for(bytes_of_one) * bytes_of_one < self.footprint else None
        samples = self._rounds({name: graph.replay for name, (graph, _) in graphs.items()}, rounds, budget_s, flush)
        return {name: [us / graphs[name][1] for us in taken] for name, taken in samples.items()}

    def sets_for(self, bytes_of_one):
        """As many as do not fit the caches together; of the smallest problems as many as can be made in a second."""
        return min(MOST_SETS, max(2, -(-self.footprint // bytes_of_one) + 1))


def capture(calls):
    """A graph of the calls, each of which has run before, and what they returned: kept alive, so that no two share an output."""
    repeats = max(1, -(-FEWEST_CALLS // len(calls)))
    outputs = []
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            outputs = [call() for call in calls]
    torch.cuda.synchronize()
    return (graph, repeats * len(calls)), outputs


def summary(samples):
    """Median and the interval that holds it with 95 % confidence (order statistics, normal approximation)."""
    ordered = sorted(samples)
    half = 0.98 * len(ordered) ** 0.5
    low, high = max(0, int(len(ordered) / 2 - half)), min(len(ordered) - 1, int(len(ordered) / 2 + half))
    return {"us": statistics.median(ordered), "ci95_us": [ordered[low], ordered[high]], "samples": len(ordered)}


def copy_bandwidth(stopwatch, flush=None, size=4 << 30):
    """Bytes read plus bytes written per second of a large device-to-device copy: the ceiling of memory-bound kernels."""
    source = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    taken = stopwatch.events({"copy": lambda: target.copy_(source)}, 30, 2.0, flush)["copy"]
    return 2 * size / statistics.median(taken) * 1e6
