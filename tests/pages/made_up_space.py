#!/usr/bin/env python3
"""Prints a made-up recorded space with times and energies: fast configurations draw more power, and some fail."""

import itertools
import json

PARAMETERS = {"block": [64, 128, 256, 512, 1024], "vec": [1, 2, 4, 8], "unroll": [1, 2, 4], "staged": [False, True]}


def entry(block: int, vec: int, unroll: int, staged: bool) -> dict:
    if vec * unroll == 32 and staged:
        return {"time": "CompilationFailedConfig"}
    if block == 1024 and vec == 8:
        return {"time": "RuntimeFailedConfig"}
    slower = abs(block - 256) / 512 + 0.4 / vec + 0.1 * (4 - unroll) / 4 + (0.15 if not staged else 0)
    milliseconds = 0.05 * (1 + slower)
    watts = 250 + 450 / (1 + slower) ** 4
    jitter = [1 + 0.003 * ((7 * i + block + vec) % 11 - 5) / 5 for i in range(20)]
    return {
        "time": milliseconds,
        "times": [milliseconds * one for one in jitter],
        "energy": watts * milliseconds / 1e3,
        "energy_ci95": [0.995 * watts * milliseconds / 1e3, 1.005 * watts * milliseconds / 1e3],
        "compile_time": 300.0 + 20 * unroll,
        "verification_time": 4.0,
        "benchmark_time": 20 * milliseconds,
        "framework_time": 1.0,
        "registers": 32 + 8 * vec,
        "occupancy": 0.5,
    }


cache = {}
for values in itertools.product(*PARAMETERS.values()):
    named = dict(zip(PARAMETERS, values))
    cache[",".join(str(value) for value in values)] = named | entry(**named)
print(
    json.dumps(
        {
            "device_name": "Made-up device",
            "kernel_name": "made_up",
            "objective": "time",
            "tune_params_keys": list(PARAMETERS),
            "tune_params": PARAMETERS,
            "defaults": {"block": 64, "vec": 1, "unroll": 1, "staged": False},
            "cache": cache,
        }
    )
)
