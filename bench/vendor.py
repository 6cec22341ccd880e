#!/usr/bin/env python3
"""Hone's winners beside what exists (PyTorch eager, torch.compile max-autotune, cuBLAS, cuBLASLt), in one process on one GPU.

    python3 bench/vendor.py --hone build/bin/hone --out docs/results --budget 10s --limit 1500
    python3 bench/vendor.py --hone build/bin/hone --out OUT --only softmax --case gemm:bf16:4096x4096x4096
    python3 bench/vendor.py --hone build/bin/hone --list
    python3 bench/vendor.py --hone build/bin/hone --check sm_90a        # no GPU: exports every case and checks its launch plan

Each case of the table (bench/vendor/cases.py) is tuned; then the winner, the default and the winners of the other shapes are exported
and launched from here (bench/vendor/launch.py) in the same rounds as the existing implementations: the same inputs, the same flush,
interleaved samples (bench/vendor/timing.py). All are checked against float64, Hone's winner at ragged neighbours too. Results are
written as STEM.json and STEM.md after every case. The same command again goes on with what is left, on this machine or, given
STEM.json, on another one; --limit ends a run cleanly.
"""

import argparse
import datetime
import os
import pathlib
import shlex
import sys
import tempfile
import traceback

from vendor import cases, command, launch, report

RESERVE_S = 25.0  # what a row takes once it is tuned: one that cannot end is not begun


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="hone", metavar="PATH", help="the hone command (default: from PATH)")
    parser.add_argument("--out", default="docs/results", metavar="DIR", type=pathlib.Path,
                        help="where the results go (default: docs/results)")
    parser.add_argument("--stem", metavar="NAME", help="of the files (default: vendor-GPU)")
    parser.add_argument("--store", metavar="FILE", help="the store to tune into (default: a fresh temporary one)")
    parser.add_argument("--device", default="cuda:0", metavar="ID", help="as hone names it; PyTorch uses its device 0")
    parser.add_argument("--budget", default="10s", help="of every tuning session (default: 10s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=100, help="samples of each contender (default: 100)")
    parser.add_argument("--seconds", type=float, default=3.0, help="that the rounds of a case may take (default: 3)")
    parser.add_argument("--compile-limit", type=float, default=120.0, metavar="SECONDS", help="of one torch.compile (default: 120)")
    parser.add_argument("--limit", type=float, default=3600.0, metavar="SECONDS", help="of the whole run (default: 3600)")
    parser.add_argument("--only", nargs="+", metavar="WORK", help=f"only these of {', '.join(cases.AXES)}")
    parser.add_argument("--dtype", nargs="+", metavar="TYPE", help="only these")
    parser.add_argument("--case", nargs="+", default=[], metavar="WORK:DTYPE:AxB", help="these cases instead of the table")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="so many cases of attention drawn by --seed, instead of the table")
    parser.add_argument("--no-losses", dest="losses", action="store_false", help="do not try the winners of other shapes")
    parser.add_argument("--list", action="store_true", help="print the cases and the kernels for them")
    parser.add_argument("--check", metavar="ARCH", help="export the default of each case for this architecture and check the plans")
    arguments = parser.parse_args()
    try:
        command.budget_seconds(arguments.budget)
        drawn = cases.drawn_attention(arguments.drawn, arguments.seed)
        table = [cases.parse_case(text) for text in arguments.case] + drawn or cases.all_cases()
    except ValueError as error:
        parser.error(str(error))
    unknown = set(arguments.only or []) - set(cases.AXES)
    if unknown:
        parser.error(f"--only: no work is called {', '.join(sorted(unknown))}; there are {', '.join(cases.AXES)}")
    works, dtypes = arguments.only or cases.AXES, arguments.dtype or cases.ELEMENT_BYTES
    arguments.cases = [case for case in table if case.work in works and case.dtype in dtypes]
    return arguments


def kernel_names(table):
    return sorted({kernel for case in table for kernel in cases.KERNELS.get(case.group, (case.work,))})


def list_cases(table, fields):
    for case in table:
        print(f"{case.name:<36} {', '.join(cases.kernels_for(case, fields)) or '- (no kernel)'}")


def check_plans(arguments, hone, fields, folder):
    """Exports without a GPU and holds each plan against the expression's inputs. Returns the exit code."""
    failures = 0
    for case in arguments.cases:
        for kernel in cases.kernels_for(case, fields):
            try:
                plan = launch.Plan(hone.export(kernel, case, "default", folder, arguments.check))
                plan.match_inputs(case.input_elements())
                print(f"{case.name:<36} {kernel}: {len(plan.passes)} launches, {plan.code.stat().st_size} bytes")
            except (RuntimeError, ValueError, OSError) as error:
                failures += 1
                print(f"{case.name:<36} {kernel}: FAILED: {error}")
    return 1 if failures else 0


def recorded_command():
    """The command without the paths of this machine."""
    words, kept = iter(sys.argv[1:]), []
    for word in words:
        if word in ("--hone", "--out", "--store"):
            next(words, None)
        elif not word.startswith(("--hone=", "--out=", "--store=")):
            kept.append(word)
    return shlex.join(["bench/vendor.py", *kept])


def describe_run(stopwatch, hone):
    import subprocess

    import torch
    import triton

    from vendor import timing

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "-i", "0"]
    driver = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "command": recorded_command(),
            "gpu": torch.cuda.get_device_name(0), "driver": driver, "torch": torch.__version__, "cuda": torch.version.cuda,
            "triton": triton.__version__, "hone": hone.version(), "copy_bytes_per_second": timing.copy_bandwidth(stopwatch),
            "copy_after_fill_bytes_per_second": timing.copy_bandwidth(stopwatch, stopwatch.fill)}


def tune(case, kernels, hone, arguments, notes):
    """Reports by kernel; a kernel that cannot be tuned is a note."""
    reports = {}
    for kernel in kernels:
        try:
            answer = hone.tune(kernel, case, arguments.budget, arguments.seed)
            if answer["best"] is None:
                raise RuntimeError("no configuration was right")
            outcomes = {name: count for name, count in answer["outcomes"].items() if count}
            reports[kernel] = {"config": answer["best"]["config"], "default_config": (answer["default"] or answer["best"])["config"],
                               "tuned_us": answer["best"]["time_us"], "valid": answer["space"]["valid"], "trials": sum(outcomes.values()),
                               "outcomes": outcomes, "seconds": answer["seconds"], "stages": answer["stages"]}
        except RuntimeError as error:
            notes.append(f"tune {kernel}: {error}")
            continue
        try:
            reports[kernel]["failed"] = hone.failed_trials(answer["session"])
        except RuntimeError as error:  # the winner stands
            notes.append(f"report {kernel}: {error}")
    return reports


class Bench:
    def __init__(self, arguments, hone, fields, document, stem, stopwatch):
        self.arguments, self.hone, self.fields = arguments, hone, fields
        self.document, self.stem, self.stopwatch = document, stem, stopwatch

    def say(self, text):
        print(f"[{self.hone.deadline.left():6.0f} s left] {text}", file=sys.stderr, flush=True)

    def save(self):
        done = set(self.document["rows"]) | set(self.document["failed"])
        possible = [case.name for case in self.arguments.cases if cases.kernels_for(case, self.fields)]
        self.document["left"] = [name for name in possible if name not in done]
        report.save(self.document, self.arguments.out, self.stem)

    def run(self):
        """Group by group: first the tuning, so that the winners of all shapes are there to be tried on each."""
        todo = [case for case in self.arguments.cases if case.name not in self.document["rows"] and cases.kernels_for(case, self.fields)]
        for group in dict.fromkeys(case.group for case in todo):
            members = [case for case in todo if case.group == group]
            for case in members:
                if case.name not in self.document["tuned"] and not self.tune(case):
                    return
            for case in members:
                if case.name in self.document["tuned"] and not self.measure(case):
                    return

    def tune(self, case):
        if self.hone.deadline.left() < command.budget_seconds(self.arguments.budget) + RESERVE_S:
            return False
        self.say(f"tune {case.name}")
        notes = []
        reports = tune(case, cases.kernels_for(case, self.fields), self.hone, self.arguments, notes)
        if reports:
            self.document["tuned"][case.name] = reports
            self.document.setdefault("tuning_notes", {})[case.name] = notes
            self.document["failed"].pop(case.name, None)
        else:
            self.document["failed"][case.name] = "; ".join(notes)
        self.save()
        return True

    def measure(self, case):
        import torch

        from vendor import measure

        if self.hone.deadline.left() < RESERVE_S:
            return False
        self.say(f"measure {case.name}")
        self.arguments.compile_limit = min(self.arguments.compile_limit, self.hone.deadline.left() - 10.0)
        try:
            row = measure.Row(case, self.document["tuned"], self.hone, self.stopwatch, self.arguments).run()
            row["run"] = len(self.document["runs"]) - 1
            row["notes"][:0] = self.document.get("tuning_notes", {}).get(case.name, [])
            self.document["rows"][case.name] = row
            self.document["failed"].pop(case.name, None)
            self.say(f"{case.name}: {row['kernel']} {row['hone_us']:.2f} us, {row['best_existing']} {row['best_existing_us']:.2f} us: "
                     f"{row['ratio']:.3f}")
        except TimeoutError:
            return False
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.document["failed"][case.name] = f"{type(error).__name__}: {error}"
        self.save()
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError as lost:  # a fault takes the context with it, and all that is in this process
            self.say(f"the device's context is lost, the same command goes on with the rest: {lost}")
            return False
        return True


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        arguments.scratch = pathlib.Path(folder)
        deadline = command.Deadline(arguments.limit)
        store = arguments.store or arguments.scratch / "store.db"
        sources = pathlib.Path(__file__).resolve().parent.parent / "kernels_src"
        hone = command.Hone(arguments.hone, store, arguments.device, sources, deadline)
        fields = hone.problem_fields(kernel_names(arguments.cases))
        if arguments.list:
            list_cases(arguments.cases, fields)
            return 0
        if arguments.check:
            return check_plans(arguments, hone, fields, arguments.scratch)
        os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # what max-autotune takes is measured
        import torch

        from vendor import timing

        if not torch.cuda.is_available():
            sys.exit("vendor.py: PyTorch sees no CUDA device (--check ARCH needs none)")
        torch.set_grad_enabled(False)
        torch.manual_seed(arguments.seed)
        torch.backends.cuda.matmul.allow_tf32 = False
        stopwatch = timing.Stopwatch(arguments.seed)
        stem = arguments.stem or "vendor-" + "-".join(torch.cuda.get_device_name(0).lower().split())
        document = report.load(arguments.out, stem)
        document["runs"].append(describe_run(stopwatch, hone))
        bench = Bench(arguments, hone, fields, document, stem, stopwatch)
        bench.run()
        bench.save()
        print(report.markdown(document))
        return 0


if __name__ == "__main__":
    sys.exit(main())
