"""Search strategies in Python."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from . import _core


class Strategy:
    """The base class of a strategy: which configurations to try next.

        class Mine(hone.Strategy):
            def ask(self, count):
                return self.space.sample(count, seed=self.random())
            def tell(self, observations):
                ...

        hone.tune("softmax", strategy=Mine, ...)
        hone.compare([Mine, "auto"], spaces="bench/spaces")

    Class attributes: `name` (what reports call it; of the class if not set), `summary`, `parameters` ({"sigma": 0.5}: numbers with their
    defaults, which tune(settings=...) overrides), `weighs_expectations` (sees all valid configurations from the beginning).

    An instance has: space (hone.Space), seed, first (position of the default configuration, which is tried before ask is called, or None),
    expected_trials (0: unknown), priors ([(device, dtype, shape, observations)] of the store), settings ({parameter: value}).
    Calls come one after the other. A call that raises costs the strategy its turn, not the session; result.faults says so. Proposals that
    are not valid are dropped; one that was made before is answered from memory.
    """

    name: str = ""
    summary: str = "a strategy in Python"
    parameters: dict[str, float] = {}
    weighs_expectations: bool = False

    space: _core.Space
    seed: int
    first: int | None
    expected_trials: int
    priors: list[tuple[str, str, str, list[_core.Observation]]]
    settings: dict[str, float]

    def __init_subclass__(cls, **rest: Any):
        super().__init_subclass__(**rest)
        if "name" not in cls.__dict__:
            cls.name = "".join("_" + letter.lower() if letter.isupper() and i else letter.lower() for i, letter in enumerate(cls.__name__))

    def start(self) -> None:
        """Called once, when space, seed and the other attributes are set."""

    def ask(self, count: int) -> Iterable[int | dict[str, Any]]:
        """Up to `count` proposals: positions, or configurations {parameter: value}. Fewer, or none, while it waits for outcomes."""
        raise NotImplementedError("a strategy defines ask")

    def tell(self, observations: Sequence[_core.Observation]) -> None:
        """Outcomes in the order of completion, including trials that it did not propose (the default, an earlier part of the session)."""

    def random(self) -> int:
        """The next of a sequence of 63-bit numbers that the seed determines."""
        self._drawn = getattr(self, "_drawn", 0) + 1
        mixed = (self.seed + self._drawn * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return (mixed ^ (mixed >> 31)) >> 1

    @classmethod
    def _create(cls, space, seed, first, expected_trials, priors, values) -> "Strategy":
        made = cls()
        made.space, made.seed, made.first, made.expected_trials, made.priors = space, seed, first, expected_trials, priors
        made.settings = dict(zip(cls.parameters, values))
        made.start()
        return made

    def _ask(self, count: int) -> list[int]:
        """The positions of what was proposed; a configuration that is not valid gets one beyond the space, which the session counts."""
        positions = []
        for proposal in self.ask(count):
            if isinstance(proposal, dict):
                position = self.space.index(proposal)
                positions.append(self.space.size if position is None else position)
            else:
                positions.append(int(proposal))
        return positions
