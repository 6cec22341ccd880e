#!/usr/bin/env python3
"""A workload of two public language models: its weighted time untuned, after one budget split evenly, and after the same split by gain.

    python3 bench/workload.py --hone build/bin/hone --out OUT --budget 10m
    python3 bench/workload.py --hone build/bin/hone --out OUT --budget 60trials --device cpu --scale 32 --dtype f32 --most 10
    python3 bench/workload.py --write calls.jsonl

The 40 problems are the matrix products, normalizations and softmax rows of Llama 3 8B and Qwen2.5 7B, from the dimensions in their
published configurations, for one trace: 32 prompts of 2048 tokens, each answered with 256 tokens in a batch of 32, and one answer more in a
batch of one. A problem's count is how often the trace launches it. The two searches begin with empty stores and the same seed. Then the
configuration that each store serves (the third one is empty) is timed by `hone run`, a problem at a time and the stores in turns, once for
stores that serve the same; the fastest of the rounds counts, since what else runs on the machine only adds. workload.json has everything, also
what the searches themselves measured. It and the stores are kept from step to step: the same command goes on with what is left.
"""

import argparse
import datetime
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

from vendor import command

# Of the models' config.json: Meta-Llama-3-8B and Qwen2.5-7B.
MODELS = {
    "Llama 3 8B": {"hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "head": 128, "layers": 32, "vocabulary": 128256},
    "Qwen2.5 7B": {"hidden": 3584, "ffn": 18944, "heads": 28, "kv_heads": 4, "head": 128, "layers": 28, "vocabulary": 152064},
}
PROMPTS, PROMPT_TOKENS, ANSWER_TOKENS = 32, 2048, 256
# Tokens in a pass, keys that attention looks at, passes.
PHASES = [(PROMPT_TOKENS, PROMPT_TOKENS, PROMPTS), (PROMPTS, PROMPT_TOKENS + ANSWER_TOKENS, ANSWER_TOKENS),
          (1, PROMPT_TOKENS + ANSWER_TOKENS, ANSWER_TOKENS)]
LAYOUT = 2  # weights as models store them: b[n, k]
MULTIPLE, LEAST = 8, 16


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="hone", metavar="PATH", help="the hone command (default: from PATH)")
    parser.add_argument("--out", default=".", metavar="DIR", type=pathlib.Path, help="where workload.json and the stores go")
    parser.add_argument("--device", default="cuda:0", metavar="ID")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--budget", default="10m", help="of each of the two searches (default: 10m)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=int, default=1, metavar="N", help="divide all extents, to try this without a GPU (default: 1)")
    parser.add_argument("--most", type=int, metavar="N", help="so many problems at most, spread over all")
    parser.add_argument("--rounds", type=int, default=3, help="of timing what the stores serve (default: 3)")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="of the whole run: no step begins after it")
    parser.add_argument("--write", metavar="FILE", type=pathlib.Path, help="write the workload and end")
    return parser.parse_args()


def calls_of(model, tokens, keys, passes):
    """(kernel, shape, launches) of one phase."""
    hidden, layers, head = model["hidden"], model["layers"], model["head"]
    qkv = (model["heads"] + 2 * model["kv_heads"]) * head

    def product(n, k, count):
        return "matmul", {"m": tokens, "n": n, "k": k, "layout": LAYOUT}, count * passes

    yield product(qkv, hidden, layers)
    yield product(hidden, model["heads"] * head, layers)
    yield product(2 * model["ffn"], hidden, layers)
    yield product(hidden, model["ffn"], layers)
    yield "residual_rmsnorm", {"rows": tokens, "cols": hidden}, 2 * layers * passes
    yield "softmax", {"rows": model["heads"] * tokens, "cols": keys}, layers * passes
    last = PROMPTS if tokens == PROMPTS else 1  # only the last token of a prompt has an answer
    yield "matmul", {"m": last, "n": model["vocabulary"], "k": hidden, "layout": LAYOUT}, passes


def scaled(shape, scale):
    def smaller(name, extent):
        if scale == 1 or name == "layout" or extent <= LEAST:
            return extent
        return max(LEAST, extent // scale // MULTIPLE * MULTIPLE)

    return {name: smaller(name, extent) for name, extent in shape.items()}


def workload_of(arguments):
    """Each problem once, with all its launches; the most launched first."""
    counts = {}
    for model in MODELS.values():
        for phase in PHASES:
            for kernel, shape, count in calls_of(model, *phase):
                key = kernel, tuple(scaled(shape, arguments.scale).items())
                counts[key] = counts.get(key, 0) + count
    problems = [{"kernel": kernel, "dtype": arguments.dtype, "shape": dict(shape), "count": count} for (kernel, shape), count in counts.items()]
    if arguments.most:
        step = max(1, len(problems) // arguments.most)
        problems = problems[::step][:arguments.most]
    return sorted(problems, key=lambda problem: -problem["count"])


def write_workload(file, problems):
    lines = [{"hone_workload": 1}, *problems]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def call(hone, *words):
    ended = subprocess.run([hone, *map(str, words), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    answer = json.loads(lines[-1]) if lines else {}
    if ended.returncode != 0 or "error" in answer:
        reason = answer.get("error", {}).get("message") or answer.get("detail") or ended.stderr.strip()[-500:]
        raise RuntimeError(f"hone {' '.join(map(str, words[:2]))}: {reason}")
    return answer


def tune(arguments, file, split, store):
    return call(arguments.hone, "tune", "--workload", file, "--device", arguments.device, "--budget", arguments.budget, "--split", split,
                "--seed", arguments.seed, "--store", store)


def served(arguments, problem, shape, store):
    """What names the kernel and configuration that a store serves; the store itself, where that is not known."""
    try:
        best = call(arguments.hone, "best", problem["kernel"], "--dtype", problem["dtype"], "--shape", shape, "--device", arguments.device,
                    "--store", store)
        return best["kernel"], json.dumps(best["config"])
    except RuntimeError:
        return str(store)


def times_of(arguments, problem, stores):
    """Microseconds of what each store serves, the stores in turns; nothing where one of them fails."""
    shape = ",".join(f"{name}={extent}" for name, extent in problem["shape"].items())
    serves = {name: served(arguments, problem, shape, store) for name, store in stores.items()}
    samples = {what: [] for what in serves.values()}
    for _ in range(arguments.rounds):
        for what in samples:
            name = next(name for name in stores if serves[name] == what)
            try:
                ran = call(arguments.hone, "run", problem["kernel"], "--dtype", problem["dtype"], "--shape", shape, "--device",
                           arguments.device, "--store", stores[name])
            except RuntimeError as error:
                print(f"{problem['kernel']} {shape} of {name}: {error}", file=sys.stderr)
                return None
            samples[what].append(ran["time_us"])
    return {name: min(samples[serves[name]]) for name in stores}


def identity(arguments, problems):
    """What a run that goes on must have in common with the one that began."""
    hone = pathlib.Path(shutil.which(arguments.hone) or sys.exit(f"no command '{arguments.hone}'"))
    devices = [one for one in call(arguments.hone, "devices")["devices"] if one["id"] == arguments.device]
    return {"hone": hashlib.sha256(hone.read_bytes()).hexdigest(), "device": [[one["product"], one["uuid"]] for one in devices],
            "budget": arguments.budget, "seed": arguments.seed, "rounds": arguments.rounds, "workload": problems}


def begun(file, same):
    """The result so far, or a new one. Ends where the folder holds another run."""
    if not file.exists():
        return {"date": datetime.date.today().isoformat(), "identity": same, "sessions": {}, "problems": [dict(one) for one in same["workload"]]}
    earlier = json.loads(file.read_text())
    differ = [name for name, value in same.items() if earlier.get("identity", {}).get(name) != value]
    if differ:
        sys.exit(f"{file} is of another run ({', '.join(differ)} differ): choose another --out, or remove that file and stores/ beside it")
    return earlier


def add_up(result):
    """Weighs the problems that were measured."""
    measured = [problem for problem in result["problems"] if problem.get("times_us")]
    result["measured"] = len(measured)
    result["weighted_us"] = {name: sum(problem["count"] * problem["times_us"][name] for problem in measured) for name in measured[0]["times_us"]}


def report(result):
    weighted = result["weighted_us"]
    print(f"{len(result['problems'])} problems, {result['measured']} of them measured, on {result['product']}; budget {result['identity']['budget']} each")
    for name, total in weighted.items():
        print(f"{name:<8} {total / 1e6:10.3f} s of kernel time  {weighted['untuned'] / total:6.3f}x")
    print(f"by gain against evenly: {weighted['even'] / weighted['gain']:.3f}x")
    for split, tuned in result["sessions"].items():
        print(f"{split:<8} {tuned['weighted_after_us'] / 1e6:10.3f} s by its own final rounds, {tuned['seconds']:.1f} s of search")


def main():
    arguments = parse_arguments()
    problems = workload_of(arguments)
    if arguments.write:
        write_workload(arguments.write, problems)
        return
    folder, deadline = arguments.out / "stores", command.Deadline(arguments.limit)
    written, calls = arguments.out / "workload.json", folder / "workload.jsonl"
    result = begun(written, identity(arguments, problems))
    folder.mkdir(parents=True, exist_ok=True)
    write_workload(calls, problems)
    stores = {"untuned": folder / "none.db", "even": folder / "even.db", "gain": folder / "gain.db"}

    def keep(step):
        part = written.with_suffix(".part")
        part.write_text(json.dumps(result, indent=1) + "\n")
        part.replace(written)
        print(f"[{deadline.left():5.0f} s left] {step}", file=sys.stderr)

    for split in ("even", "gain"):
        if split not in result["sessions"]:
            if deadline.left() < 0:
                sys.exit(f"--limit: split {split} was not tuned; the same command goes on")
            for suffix in ("", "-wal", "-shm"):  # of a run that was stopped in the middle: its search would count as begun
                pathlib.Path(f"{stores[split]}{suffix}").unlink(missing_ok=True)
            result["sessions"][split] = tune(arguments, calls, split, stores[split])
            keep(f"tuned, split {split}")
    result["product"] = result["sessions"]["gain"]["product"]
    left = [problem for problem in result["problems"] if not problem.get("times_us")]
    while left and deadline.left() > 0:
        problem = left.pop(0)
        problem["times_us"] = times_of(arguments, problem, stores)
        keep(f"timed {problem['kernel']} {problem['shape']}")
    if not any(problem.get("times_us") for problem in result["problems"]):
        sys.exit("no problem could be measured")
    add_up(result)
    keep("--limit: the same command times the others" if left else "ended")
    report(result)


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
