#!/usr/bin/env python3
"""One answer everywhere: what 16 processes choose for 1,000 problems, from one store, while it is written to.

    cmake --build build --target choices && python3 bench/ranks.py --hone build/bin/hone --choices build/bin/choices
    python3 bench/ranks.py --hone build/bin/hone --choices build/bin/choices --devices cuda:0,cuda:1 --range rows=1..65536,cols=1..131072

Makes a store with a portfolio and a record, and looks every problem up in every process: as it is; while other sessions write to the store,
held to its generation; with the record withdrawn; rolled back; pinned while others write. Exit code 1 if processes differ, if what is held
to a generation or pinned changes, or if a roll-back does not bring the first answers back.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default="build/bin/hone")
    parser.add_argument("--choices", default="build/bin/choices")
    parser.add_argument("--devices", default="cpu")
    parser.add_argument("--kernel", default="softmax:f32")
    parser.add_argument("--range", default="rows=1..512,cols=1..512")
    parser.add_argument("--tuned", default="rows=64,cols=256", help="a shape in the range that gets a record of its own")
    parser.add_argument("--budget", default="20s", help="of the portfolio")
    parser.add_argument("--processes", default="16")
    parser.add_argument("--problems", default="1000")
    options = parser.parse_args()
    name, dtype = options.kernel.split(":")
    failed = []

    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder) / "store.db")
        common = ["--dtype", dtype, "--device", options.devices.split(",")[0], "--store", store]

        def hone(*arguments):
            ended = subprocess.run([options.hone, *arguments, "--json"], capture_output=True, text=True)
            if ended.returncode != 0:
                sys.exit(f"hone {' '.join(arguments)}: {ended.stderr[-400:]}{ended.stdout[-400:]}")
            return json.loads(ended.stdout)

        def ask(what, generation=None):
            ended = subprocess.run([options.choices, "--store", store, "--devices", options.devices, "--kernel", options.kernel, "--range",
                                    options.range, "--processes", options.processes, "--problems", options.problems, "--also", options.tuned,
                                    *([] if generation is None else ["--generation", str(generation)])], capture_output=True, text=True)
            answer = json.loads(ended.stdout)
            print(f"{what:46} {answer['different_answers']} different answers, {answer['answer'][:16]}, {answer['sources']}", flush=True)
            if ended.returncode != 0:
                failed.append(what)
            return answer["answer"]

        def tune(seed, *more):
            return [options.hone, "tune", name, *common, "--shape", options.tuned, "--budget", "12trials", "--seed", str(seed), "--json", *more]

        hone("tune", name, *common, "--shapes", options.range, "--budget", options.budget)
        subprocess.run(tune(1), check=True, capture_output=True)
        generation = hone("records", name, "--store", store)["generation"]
        first = ask("as it is")
        writing = [subprocess.Popen(tune(seed, "--no-transfer"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for seed in (2, 3)]
        held = ask("held to its generation, while others write", generation)
        for one in writing:
            one.wait()
        if held != first or ask("held to it, after they wrote", generation) != first:
            failed.append("what is held to a generation has changed")
        ask("not held, after they wrote")
        record = hone("records", name, "--store", store)["records"][0]["record"]
        hone("records", str(record), "--set", "withdrawn", "--reason", "bench/ranks.py", "--store", store)
        if ask("without the record") == first:
            failed.append("a withdrawn record is served")
        hone("records", "--roll-back", str(generation), "--reason", "bench/ranks.py", "--store", store)
        if ask("rolled back") != first:
            failed.append("a roll-back brings back something else")
        record = hone("records", name, "--store", store)["records"][0]["record"]
        hone("records", str(record), "--set", "pinned", "--store", store)
        subprocess.run(tune(4, "--no-transfer"), check=True, capture_output=True)
        if ask("pinned, and tuned again") != first:
            failed.append("what is pinned has changed")
    print("failed: " + "; ".join(failed) if failed else "the same in every process, every time")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
