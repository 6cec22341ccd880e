"""The verbs of the command in this process."""

from __future__ import annotations

import atexit
import json
import os
from typing import Any, Callable, Sequence

from . import _core

atexit.register(_core.stop_verbs)  # a daemon thread may be in one


def options(given: dict[str, Any]) -> list[str]:
    """{"budget": "5s", "fresh": True, "with": ["a.cu"]} as the words of a command line; None and False leave an option out."""
    words = []
    for name, value in given.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words.append(f"{option}={os.fspath(one) if isinstance(one, os.PathLike) else one}")
    return words


def run(name: str, *words: str, progress: Callable | None = None, strategies: Sequence[type] = (), **given: Any) -> tuple[dict, str, int]:
    """Runs a verb: what --json prints, what it prints for people, its exit code."""
    text, people, code = _core.run_verb([name, *words, *options(given)], progress, list(strategies))
    return json.loads(text) if text != "null" else {}, people, code


def verb(name: str, *words: str, **given: Any) -> dict:
    """What `hone NAME WORDS --option=value ... --json` prints: hone.verb("best", "softmax", shape="rows=8,cols=8"); docs/json.md.

    Raises hone.Error where the command fails.
    """
    return run(name, *words, **given)[0]
