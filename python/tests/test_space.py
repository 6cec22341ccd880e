import json

import pytest

import hone

PARAMETERS = {"block": [32, 64, 128], "tile": [1, 2, 3, 4], "layout": ["row", "column"], "fast": [True, False]}
CONSTRAINTS = ["block * tile <= 256", "layout == 'row' or tile % 2 == 0", "not fast or 32 <= block <= 64"]


def valid(one):
    return (
        one["block"] * one["tile"] <= 256
        and (one["layout"] == "row" or one["tile"] % 2 == 0)
        and (not one["fast"] or 32 <= one["block"] <= 64)
    )


def test_a_space_of_a_dictionary_is_what_filtering_gives():
    space = hone.space(PARAMETERS, CONSTRAINTS)
    import itertools

    every = [dict(zip(PARAMETERS, values)) for values in itertools.product(*PARAMETERS.values())]
    expected = [one for one in every if valid(one)]
    assert space.size == len(expected) == 27 and space.exact and space.cartesian == len(every)
    assert sorted(map(str, (space.at(i) for i in range(space.size)))) == sorted(map(str, expected))
    assert all(space.index(space.at(i)) == i for i in range(space.size))
    assert all((space.index(one) is not None) == valid(one) for one in every)
    assert space.parameters == PARAMETERS


def test_samples_neighbours_and_digits():
    space = hone.space(PARAMETERS, CONSTRAINTS)
    drawn = space.sample(10, seed=3)
    assert len(set(drawn)) == 10 and drawn == space.sample(10, seed=3)
    here = space.at(drawn[0])
    for neighbour in space.neighbours(drawn[0]):
        assert sum(here[name] != value for name, value in space.at(neighbour).items()) == 1
    assert set(space.neighbours(drawn[0], adjacent=True)) <= set(space.neighbours(drawn[0]))
    assert space.from_digits(space.digits(drawn[0])) == drawn[0]
    assert space.nearest([2, 3, 0, 0]) < space.size
    assert len(hone.configurations(space)) == 27 and len(hone.configurations(space, 5)) == 5


def test_positions_may_be_wider_than_64_bits():
    space = hone.space({f"p{i}": list(range(60000)) for i in range(5)})
    assert space.size == 60000**5 > 2**64
    last = space.size - 1
    assert space.index(space.at(last)) == last
    with pytest.raises(IndexError):
        space.at(space.size)


def test_a_kernel_has_a_space_for_each_problem():
    space = hone.space("softmax", rows=8, cols=64, device="cpu")
    assert 0 < space.likely_size <= space.size < space.cartesian
    likely = space.sample(1, likely=True)[0]
    assert space.is_likely(likely) and space.broken(likely) == ()
    unlikely = next(i for i in space.sample(200) if not space.is_likely(i))
    assert space.broken(unlikely)


def test_a_file_of_the_community_is_read(tmp_path):
    path = tmp_path / "t1.json"
    path.write_text(
        json.dumps(
            {
                "General": {"BenchmarkName": "tiles"},
                "ConfigurationSpace": {
                    "TuningParameters": [
                        {"Name": "block", "Type": "int", "Values": "[32, 64]"},
                        {"Name": "tile", "Type": "int", "Values": "[1, 2, 4]"},
                    ],
                    "Conditions": [{"Parameters": ["block", "tile"], "Expression": "block * tile <= 128"}],
                },
            }
        )
    )
    assert hone.space(path).size == 5


def test_mistakes_are_named():
    with pytest.raises(hone.Error) as empty:
        hone.space({"a": [1, 2]}, ["a > 3"])
    assert empty.value.code == "empty_space"
    with pytest.raises(hone.InvalidArgument, match="b"):
        hone.space({"a": [1, 2]}, ["b > 3"])
    space = hone.space({"a": [1, 2]})
    with pytest.raises(KeyError):
        space.index({"b": 1})
    assert space.index({"a": 3}) is None
    with pytest.raises(IndexError):
        space.at(2)
