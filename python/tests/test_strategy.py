import os

import pytest

import hone
from conftest import REPOSITORY

SPACES = os.path.join(REPOSITORY, "bench", "spaces", "softmax.NVIDIA_H200.json.gz")


class Uniform(hone.Strategy):
    """Random positions."""

    told = 0

    def ask(self, count):
        return self.space.sample(count, seed=self.random())

    def tell(self, observations):
        Uniform.told += len(observations)


class Dictionaries(hone.Strategy):
    parameters = {"step": 3.0}
    name = "by_dictionary"

    def start(self):
        self.at = 0

    def ask(self, count):
        self.at += int(self.settings["step"])
        return [self.space.at(self.at % self.space.size)]

    def tell(self, observations):
        for one in observations:
            assert one.outcome in ("ok", "too_slow") and one.time_us > 0 and isinstance(one.position, int)


class Broken(hone.Strategy):
    def ask(self, count):
        raise ValueError("no idea")


def test_a_strategy_in_python_searches_a_recorded_space():
    Uniform.told = 0
    result = hone.tune(SPACES, strategy=Uniform, budget="40trials")
    assert result.report["strategy"] == "uniform"
    assert result.report["trials"] == 40
    assert Uniform.told >= 40  # a proposal that was made before is answered, too
    assert not any(value for name, value in result.faults.items() if name not in ("first", "repeated"))


def test_configurations_can_be_proposed_as_dictionaries_and_parameters_have_settings():
    result = hone.tune(SPACES, strategy=Dictionaries, settings={"step": 5}, budget="10trials")
    assert result.faults["invalid"] == 0
    assert result.report["trials"] == 10


def test_the_same_seed_gives_the_same_search():
    best = {hone.tune(SPACES, strategy=Uniform, budget="15trials", seed=7, fresh=True).best_us for _ in range(2)}
    assert len(best) == 1


def test_a_strategy_that_raises_loses_turns_and_the_report_says_why():
    result = hone.tune(SPACES, strategy=Broken, budget="10trials")
    assert result.report["trials"] == 10
    assert result.faults["failed"] > 0
    assert "no idea" in result.faults["first"]


def test_an_unknown_setting_is_refused():
    with pytest.raises(hone.InvalidArgument, match="step"):
        hone.tune(SPACES, strategy=Dictionaries, settings={"stop": 5}, budget="10trials")


def test_a_name_that_is_taken_is_refused():
    class Auto(hone.Strategy):
        def ask(self, count):
            return []

    with pytest.raises(ValueError, match="auto"):
        hone.tune(SPACES, strategy=Auto, budget="10trials")


def test_what_is_no_strategy_is_refused():
    with pytest.raises(TypeError, match="subclass"):
        hone.tune(SPACES, strategy=object, budget="10trials")


def test_strategies_are_scored_side_by_side():
    scored = hone.compare([Uniform, "random"], spaces=SPACES, budgets=[10, 20], repeats=4)
    assert sorted(row["name"] for row in scored.table) == ["random", "uniform"]
    assert "uniform" in repr(scored)
