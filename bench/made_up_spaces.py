#!/usr/bin/env python3
"""Writes made-up recorded spaces that a search may meet and that nobody tunes a strategy for: what it does when its model is wrong.

    python3 bench/made_up_spaces.py --out DIR [--each 3] [--seed 1] [--only corner,needle]

Each family is a way for a landscape to be: a corner of good values beside a wide plateau, noise alone, a slope that is faint against the
residual, one that leads away from the best, a needle, many failures, factors that multiply, pairs that interact, cliffs of occupancy, a value
that is special in itself, good luck in a bad region, several valleys, a space that a model cannot list whole. Parameters, constraints and
landscapes are drawn anew for each space, from the seed. The files are Kernel Tuner caches, for `hone compare --spaces DIR`.
"""
import argparse
import gzip
import itertools
import json
import math
import pathlib
import random

PARAMETERS = [
    ("block_x", [16, 32, 64, 96, 128, 192, 256, 512, 1024]), ("block_y", [1, 2, 4, 8, 16, 32]), ("tile_x", [1, 2, 3, 4, 6, 8]),
    ("tile_y", [1, 2, 4, 8]), ("unroll", [0, 1, 2, 4, 8, 16]), ("vector", [1, 2, 4, 8]), ("stages", [1, 2, 3, 4, 5]),
    ("chunk", [8, 16, 32, 64, 128]), ("method", ["scan", "tree", "atomic", "shuffle"]), ("use_shared", [0, 1]), ("use_padding", [0, 1]),
    ("read_only", [0, 1]),
]


class Layout:
    """Parameters and their legal configurations, as digits. `places`: a digit in [0, 1]."""

    def __init__(self, draw, least, most, dimensions):
        while True:
            chosen = sorted(draw.sample(range(len(PARAMETERS)), draw.randint(*dimensions)))
            self.names = [PARAMETERS[p][0] for p in chosen]
            self.values = [PARAMETERS[p][1] for p in chosen]
            self.sizes = [len(values) for values in self.values]
            if least <= math.prod(self.sizes) <= 4 * most:
                limit = draw.choice([0.55, 0.7, 0.85, 2.0])  # of the sum of places of two parameters: as a limit on a product is
                a, b = draw.sample(range(len(chosen)), 2)
                self.legal = [digits for digits in itertools.product(*map(range, self.sizes))
                              if self.place(a, digits) + self.place(b, digits) <= 2.0 * limit]
                if least <= len(self.legal) <= most:
                    return

    def place(self, parameter, digits):
        return digits[parameter] / (self.sizes[parameter] - 1)

    def places(self, digits):
        return [digit / (size - 1) for digit, size in zip(digits, self.sizes)]


def small(draw):
    return Layout(draw, 150, 1200, (3, 5))


def medium(draw):
    return Layout(draw, 800, 6000, (4, 7))


def table(draw, layout, spread):
    """A random effect of each value of each parameter, smooth in the ordered ones."""
    effects = []
    for size in layout.sizes:
        bend, tilt = draw.gauss(0, 1), draw.gauss(0, 1)
        weight = spread * math.exp(draw.gauss(0, 0.7))
        effects.append([weight * (tilt * (d / (size - 1)) + bend * (d / (size - 1) - draw.random()) ** 2) for d in range(size)])
    return lambda digits: sum(effect[digit] for effect, digit in zip(effects, digits))


def pairs(draw, layout, spread):
    effects = {pair: {} for pair in itertools.combinations(range(len(layout.sizes)), 2) if draw.random() < 0.5}

    def value(digits):
        return sum(known.setdefault((digits[a], digits[b]), draw.gauss(0, spread)) for (a, b), known in effects.items())
    return value


def corner(draw):
    """Nearly all of the space is as good as the rest of it; better are only those where two or three parameters are near one end."""
    layout = small(draw)
    chosen = draw.sample(range(len(layout.sizes)), draw.randint(2, min(3, len(layout.sizes))))
    goal = draw.choice(layout.legal)  # a legal corner: the ends that lie nearest to a legal configuration
    ends = {p: round(layout.place(p, goal)) for p in chosen}
    depth, reach, noise = draw.uniform(0.15, 0.4), draw.uniform(0.2, 0.35), draw.uniform(0.01, 0.05)
    slow = draw.randrange(len(layout.sizes))

    def time(digits):
        off = max(abs(layout.place(p, digits) - end) for p, end in ends.items())
        bad = 0.5 if layout.place(slow, digits) == 1.0 - ends.get(slow, 1) else 0.0
        return bad - depth * max(0.0, 1.0 - off / reach) ** 0.5 + draw.gauss(0, noise)
    return layout, time


def noise(draw):
    layout, spread = small(draw), draw.uniform(0.05, 0.4)
    return layout, lambda digits: draw.gauss(0, spread)


def faint(draw):
    """A slope of which a hundred trials see little."""
    layout = small(draw)
    slope, residual = table(draw, layout, 0.05), draw.uniform(0.15, 0.3)
    return layout, lambda digits: slope(digits) + draw.gauss(0, residual)


def deceptive(draw):
    """Downhill leads to a good end; the best is at the other one."""
    layout = small(draw)
    ends = [draw.randint(0, 1) for _ in layout.sizes]
    steep, depth = draw.uniform(0.2, 0.5), draw.uniform(1.2, 1.6)

    def time(digits):
        off = sum(abs(place - end) for place, end in zip(layout.places(digits), ends)) / len(ends)
        return steep * off - (depth * steep if off > 0.75 else 0.0) + draw.gauss(0, 0.03)
    return layout, time


def needle(draw):
    layout = small(draw)
    found = set(draw.sample(range(len(layout.legal)), max(1, len(layout.legal) // 300)))
    chosen = {layout.legal[i] for i in found}
    return layout, lambda digits: draw.gauss(0, 0.05) - (0.5 if digits in chosen else 0.0)


def failures(draw):
    """Nine in ten fail beyond a limit, every seventh without a reason."""
    layout = medium(draw)
    cost, weights = table(draw, layout, 0.3), [draw.random() for _ in layout.sizes]
    used = lambda digits: sum(w * p for w, p in zip(weights, layout.places(digits)))
    limit = sorted(map(used, layout.legal))[len(layout.legal) // draw.choice([3, 5, 10])]
    return layout, lambda digits: None if used(digits) > limit or draw.random() < 0.15 else cost(digits) + draw.gauss(0, 0.02)


def multiplicative(draw):
    layout = medium(draw)
    cost = table(draw, layout, 0.4)
    return layout, lambda digits: cost(digits) + draw.gauss(0, 0.03)


def interacting(draw):
    """A random effect of every pair of values, without any order."""
    layout = medium(draw)
    cost, pair = table(draw, layout, 0.2), pairs(draw, layout, 0.15)
    return layout, lambda digits: cost(digits) + pair(digits) + draw.gauss(0, 0.02)


def cliffs(draw):
    """Waves and occupancy: steps in products of parameters."""
    layout = medium(draw)
    exponents = [draw.choice([0.0, 1.0, 1.0, 2.0]) for _ in layout.sizes]
    work, room, slope = draw.uniform(20, 80), draw.uniform(4, 32), table(draw, layout, 0.1)

    def time(digits):
        size = 2.0 ** sum(e * 2.0 * p for e, p in zip(exponents, layout.places(digits)))
        resident = max(1, int(room / size))
        return math.log(math.ceil(work / (size * resident)) * size * (1.0 + 2.0 / resident)) + slope(digits) + draw.gauss(0, 0.02)
    return layout, time


def special(draw):
    """In two parameters one value in the midst is unlike its neighbours."""
    layout = small(draw)
    cost = table(draw, layout, 0.1)
    good = {p: draw.randrange(layout.sizes[p]) for p in draw.sample(range(len(layout.sizes)), 2)}
    return layout, lambda digits: cost(digits) - 0.25 * sum(digits[p] == d for p, d in good.items()) + draw.gauss(0, 0.03)


def lucky(draw):
    """A plateau that is better than the rest in the mean, and a rest that is bad but for the few that are the best."""
    layout = small(draw)
    p = draw.randrange(len(layout.sizes))
    low = draw.randint(0, 1)

    def time(digits):
        if (layout.place(p, digits) < 0.5) == (low == 0):
            return draw.gauss(0, 0.02)
        return draw.gauss(0.5, 0.2) if draw.random() < 0.85 else draw.gauss(-0.2, 0.1)
    return layout, time


def valleys(draw):
    layout = medium(draw)
    centres = [(layout.places(draw.choice(layout.legal)), draw.uniform(0.2, 1.0)) for _ in range(6)]

    def time(digits):
        here = layout.places(digits)
        return -max(depth * math.exp(-6.0 * sum((a - b) ** 2 for a, b in zip(here, at))) for at, depth in centres) + draw.gauss(0, 0.03)
    return layout, time


def large(draw):
    """More configurations than a model lists."""
    layout = Layout(draw, 34000, 60000, (7, 9))
    cost, pair = table(draw, layout, 0.3), pairs(draw, layout, 0.08)
    return layout, lambda digits: cost(digits) + pair(digits) + draw.gauss(0, 0.02)


FAMILIES = [corner, noise, faint, deceptive, needle, failures, multiplicative, interacting, cliffs, special, lucky, valleys, large]


def recorded(name, layout, time):
    cache = {}
    for digits in layout.legal:
        values = [values[digit] for values, digit in zip(layout.values, digits)]
        logarithm = time(digits)
        entry = dict(zip(layout.names, values), time="RuntimeFailedConfig" if logarithm is None else math.exp(logarithm), compile_time=1000.0)
        cache[",".join(map(str, values))] = entry
    return {"device_name": "made up", "kernel_name": name, "objective": "time", "tune_params_keys": layout.names,
            "tune_params": dict(zip(layout.names, layout.values)), "cache": cache}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--each", type=int, default=3, help="spaces of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda text: text.split(","), help="families")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for family in FAMILIES:
        if arguments.only and family.__name__ not in arguments.only:
            continue
        for i in range(arguments.each):
            draw = random.Random(f"{arguments.seed}/{family.__name__}/{i}")
            space = recorded(f"{family.__name__}{i}", *family(draw))
            with gzip.open(arguments.out / f"{family.__name__}{i}.made_up.json.gz", "wt", compresslevel=3) as file:
                json.dump(space, file)


if __name__ == "__main__":
    main()
