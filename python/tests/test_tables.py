import pytest

import hone


@pytest.fixture
def session():
    return hone.tune("softmax", rows=8, cols=64, device="cpu", budget="4trials").session


def test_the_store_is_a_set_of_tables(session):
    assert [row["session"] for row in hone.sessions()] == [session]
    assert hone.records().column("kernel") == ["softmax"]
    trials = hone.trials(session)
    assert len(trials) == 4 and {"block", "outcome", "time_us", "registers", "compile"} <= set(trials.columns)
    assert "softmax" in repr(hone.sessions()) and "<table>" in hone.sessions()._repr_html_()
    with pytest.raises(KeyError):
        trials.column("blocks")


@pytest.mark.long
def test_tables_are_what_pandas_takes(session):
    pandas = pytest.importorskip("pandas")
    trials = hone.trials(session)
    frame = pandas.DataFrame(trials)
    assert list(frame.columns) == trials.columns == list(trials.to_pandas().columns)
    assert frame["time_us"].min() > 0


def test_what_there_is_can_be_listed():
    assert "softmax" in hone.kernels().column("name")
    assert "auto" in hone.strategies().column("name")
    assert "cpu" in hone.devices().column("id")


def test_a_missing_store_is_an_error(tmp_path):
    with pytest.raises(hone.Error, match="nowhere.db"):
        hone.sessions(tmp_path / "nowhere.db")


def test_every_verb_is_at_hand():
    assert hone.verb("space", "softmax", shape="rows=8,cols=64", device="cpu")["size"] > 0
    with pytest.raises(hone.NotFound, match="tune"):
        hone.verb("tun")
    with pytest.raises(hone.InvalidArgument, match="budget"):
        hone.verb("tune", "softmax", budgets="3s")
