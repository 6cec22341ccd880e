"""One session over a pool of Ray actors with a GPU each: a worker of Hone in each, and here the command that coordinates them.

ray job submit --working-dir . -- python3 ray_pool.py 8 postgres://tuner@db.example.org/hone softmax --shape rows=4096,cols=4096 --budget 10m
The password, if there is one, is in ~/.pgpass of all nodes. What follows the store goes to `hone tune`; WORKER has further options of the workers.
"""

import os
import shlex
import subprocess
import sys

import ray


@ray.remote(num_gpus=1, max_concurrency=2)
class Worker:
    """Ray sets CUDA_VISIBLE_DEVICES, so that the actor's GPU is cuda:0."""

    def start(self, store, options):
        self.process = subprocess.Popen(["hone", "serve-trials", "--device", "cuda:0", "--store", store, "--quiet", *options])

    def stop(self):
        self.process.terminate()  # it gives back what it is at
        return self.process.wait()


def main():
    gpus, store, *tune = sys.argv[1:]
    ray.init()
    pool = [Worker.remote() for _ in range(int(gpus))]
    started = [worker.start.remote(store, shlex.split(os.environ.get("WORKER", ""))) for worker in pool]
    try:
        ray.wait(started, num_returns=1)  # others join when the cluster has a place for them
        return subprocess.run(["hone", "tune", *tune, "--workers", "--store", store], check=False).returncode
    finally:
        ray.get([worker.stop.remote() for worker, begun in zip(pool, started) if ray.wait([begun], timeout=0)[0]])


sys.exit(main())
