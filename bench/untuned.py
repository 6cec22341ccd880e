#!/usr/bin/env python3
"""What serves problems that nobody tuned, beside what tuning finds there and the default: of any operation or kernel file, by hone alone.

    python3 bench/untuned.py --hone build/bin/hone --out OUT --seed $(git rev-parse HEAD) --shapes 8 \\
        --of "attention bf16 batch=1..8,heads=1..16,queries=16..4096,keys=16..4096" --of "matmul f16 m=1..4096,n=16..8192,k=16..8192,layout=2"

Of each --of, which is a kernel, dtypes and a range as `hone tune --shapes` takes it, shapes are drawn by the seed: log-uniform, about half of
the extents no multiples of 8 (as bench/portfolios.py does, which also measures beside PyTorch). Shapes that no kernel has an answer for are
drawn again. Each is tuned for --budget in a store of its own that knows nothing (--no-transfer). Then `hone run` checks and times what is
served without a store, what was found, and the default, in turns; the fastest of the rounds counts, since what else runs on the machine only
adds. untuned.json is written after every shape; --limit ends a run cleanly, and the same command goes on with what is left.
"""

import argparse
import json
import pathlib
import random
import sys
import tempfile

from portfolios import draw, mean, parse_range
from vendor import command

RESERVE_S = 15.0
DRAWS = 50  # of one shape, at most


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="hone", metavar="PATH", help="the hone command (default: from PATH)")
    parser.add_argument("--out", default=".", metavar="DIR", type=pathlib.Path, help="where untuned.json goes")
    parser.add_argument("--of", action="append", required=True, metavar="'KERNEL DTYPES RANGE'", help="problems to draw from (repeatable)")
    parser.add_argument("--device", default="cuda:0", metavar="ID")
    parser.add_argument("--budget", default="5s", help="of every tuning session (default: 5s)")
    parser.add_argument("--shapes", type=int, default=8, help="of each (default: 8)")
    parser.add_argument("--seed", required=True, help="of the shapes: the hash of the commit that holds the portfolios")
    parser.add_argument("--rounds", type=int, default=2, help="of timing (default: 2)")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="of the whole run")
    return parser.parse_args()


class Problems:
    """Those of one --of, in the order in which they are drawn."""

    def __init__(self, text, seed):
        self.text = text
        try:
            self.kernel, self.dtype, shapes = text.split()
            self._axes = parse_range(shapes)
        except ValueError:
            raise SystemExit(f"--of '{text}': give kernel, dtypes and range, as 'softmax f32 rows=1..64,cols=64'") from None
        if any(low > high for parts in self._axes.values() for low, high in parts):
            raise SystemExit(f"--of '{text}': a span is empty")
        self._generator = random.Random(f"{seed} {text}")

    def next(self):
        """The words that name it."""
        shape = draw(self._axes, self._generator, lambda _: True)
        return [self.kernel, "--dtype", self.dtype, "--shape", ",".join(f"{name}={extent}" for name, extent in shape.items())]


def run(hone, words, store, config=None):
    return hone.call(["run", *words, "--device", hone.device, "--store", str(store), *(["--config", config] if config else [])], 120.0)


def measure(words, arguments, hone):
    """Nothing for a shape that no kernel has an answer for."""
    with tempfile.TemporaryDirectory() as folder:
        found, nothing = pathlib.Path(folder) / "tuned.db", pathlib.Path(folder) / "none.db"
        try:
            serves = run(hone, words, nothing)
        except RuntimeError as error:
            if "no configuration is valid" in str(error):
                return None
            raise
        without = ["--without", "cublaslt"] if words[0] == "matmul" else []  # a library is no configuration
        tuned = hone.call(["tune", *words, "--device", hone.device, "--budget", arguments.budget, "--store", str(found), "--no-transfer", *without],
                          command.budget_seconds(arguments.budget) + 90.0)
        us, notes = {}, []
        everybody = {"served": (nothing, None), "tuned": (found, None), "default": (nothing, "default")}
        for _ in range(arguments.rounds):
            for name, (store, config) in list(everybody.items()):
                try:
                    us[name] = min(us.get(name, float("inf")), run(hone, words, store, config)["time_us"])
                except RuntimeError as error:
                    if name != "default":
                        raise
                    notes.append(str(error)[-200:])  # an operation of several kernels has none
                    del everybody[name]
    return {"us": us, "source": serves["source"], "kernel": serves["kernel"],
            "config": command.config_text(serves["config"]), "tuned_kernel": tuned.get("kernel"),
            "tuned_config": command.config_text(tuned["best"]["config"]), "trials": tuned["trials"], "notes": notes}


def summary(rows):
    to_tuned = [row["us"]["tuned"] / row["us"]["served"] for row in rows]
    of_default = [row["us"]["tuned"] / row["us"]["default"] for row in rows if "default" in row["us"]]
    return {"shapes": len(rows), "predicted": sum(row["source"] == "predicted" for row in rows), "to_tuned": mean(to_tuned),
            "worst": min(to_tuned), "below_85": sum(one < 0.85 for one in to_tuned), "default_to_tuned": mean(of_default) if of_default else None}


def main():
    arguments = parse_arguments()
    command.budget_seconds(arguments.budget)  # says what is wrong with it
    hone = command.Hone(arguments.hone, "", arguments.device, ".", command.Deadline(arguments.limit))
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "untuned.json"
    document = json.loads(file.read_text()) if file.exists() else {"rows": {}, "failed": {}}
    products = {one["id"]: one["product"] for one in hone.call(["devices"], 30.0)["devices"]}
    if arguments.device not in products:
        raise SystemExit(f"no device '{arguments.device}' (known: {', '.join(products)})")
    identity = {"seed": arguments.seed, "product": products[arguments.device], "hone": hone.version(), "budget": arguments.budget, "rounds": arguments.rounds}
    if document["rows"] and any(document.get(key) != value for key, value in identity.items()):
        others = [f"{key} {document.get(key)}" for key, value in identity.items() if document.get(key) != value]
        raise SystemExit(f"{file} is of another run, of {', '.join(others)}: give another --out")
    document |= identity
    groups = [Problems(text, arguments.seed) for text in arguments.of]
    for _ in range(arguments.shapes):  # one of each in turn: a run that is cut short has seen all of them
        for group in groups:
            if hone.deadline.left() < RESERVE_S:
                continue
            rows = document["rows"].setdefault(group.text, {})
            try:
                for words in (group.next() for _ in range(DRAWS)):
                    row = rows.get(words[-1]) or measure(words, arguments, hone)
                    if row is not None:
                        break
                if row is None:
                    raise RuntimeError(f"none of {DRAWS} shapes has an answer")
                rows[words[-1]] = row
                document["failed"].pop(" ".join(words), None)
                print(f"[{hone.deadline.left():4.0f} s] {' '.join(words)}: {row['us']['tuned'] / row['us']['served']:.3f} of tuned ({row['trials']} trials)", file=sys.stderr, flush=True)
            except TimeoutError:
                break
            except RuntimeError as error:  # a shape that fails is a note, and not the end
                document["failed"][" ".join(words)] = str(error)[:400]
                print(f"{' '.join(words)}: {error}", file=sys.stderr, flush=True)
            document["summary"] = {text: summary(list(own.values())) for text, own in document["rows"].items() if own}
            file.write_text(json.dumps(document, indent=1))
    for text, one in document.get("summary", {}).items():
        default = f", default {one['default_to_tuned']:.3f}" if one["default_to_tuned"] else ""
        print(f"{text}: {one['shapes']} shapes, {one['predicted']} predicted: {one['to_tuned']:.3f} of tuned (worst {one['worst']:.2f}, "
              f"{one['below_85']} below .85){default}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, OSError) as error:
        sys.exit(str(error))
