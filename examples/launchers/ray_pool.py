"""A pool of Ray actors, one for each GPU, that tunes a file of problems; all keep their results in one store.

ray job submit --working-dir . -- python3 ray_pool.py 8 problems.txt postgres://tuner@db.example.org/hone --budget 10m
The password, if there is one, is in ~/.pgpass of the nodes. What follows the store goes to `hone tune`.
"""

import json
import subprocess
import sys

import ray
from ray.util import ActorPool


@ray.remote(num_gpus=1)
class Tuner:
    """Ray sets CUDA_VISIBLE_DEVICES, so that the actor's GPU is cuda:0."""

    def tune(self, problem, options):
        ended = subprocess.run(["hone", "tune", *problem.split(), "--device", "cuda:0", *options, "--json", "--quiet"],
                               stdout=subprocess.PIPE, text=True, check=False)
        return problem, ended.returncode, json.loads(ended.stdout)


def main():
    gpus, problems, store, *more = sys.argv[1:]
    ray.init()
    pool = ActorPool([Tuner.remote() for _ in range(int(gpus))])
    failed = 0
    with open(problems, encoding="utf-8") as lines:
        work = [line for line in lines if line.strip()]
    for problem, code, report in pool.map_unordered(lambda tuner, line: tuner.tune.remote(line, ["--store", store, *more]), work):
        best = report.get("best") or {}
        print(problem.strip(), f"{best['time_us']:.1f} us" if best else report.get("error", {}).get("message", "nothing was right"), flush=True)
        failed += code != 0
    return 1 if failed else 0


sys.exit(main())
