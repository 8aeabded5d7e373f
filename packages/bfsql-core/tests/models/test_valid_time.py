"""Which properties look like the dates of facts."""

from itertools import product

import pytest

from bfsql.models.comparison import column_texts, key_texts
from bfsql.models.valid_time import TimeJudge, TimeKeys, proposed_time_keys

VALUES = [
    *(None, "", " ", "2012", " 2012-06-15", "2012-06-15T12:00+02", "2010-02-30", "soon", "0000"),
    *("2011..2012", "[2010,2012)", "[2010", "empty", ("2010", "2012"), ("2012",), 2012, True),
]


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["name", "valid_from", "valid_to"], "--valid-from valid_from --valid-until valid_to"),
        (["Start Date", "endDate"], "--valid-from 'Start Date' --valid-until endDate"),
        (["SINCE", "until", "x"], "--valid-from SINCE --valid-until until"),
        (["since"], "--valid-from since"),
        (["start", "x"], ""),
        (["end", "until"], ""),
        ([], ""),
        (["During", "x"], "--valid-from During --valid-until During"),
        ({"x": "[1,10)", "t": '["2012-01-01 10:00:00+00",)'}, "--valid-from t --valid-until t"),
        ({"x": "[a,b]", "y": "empty", "z": "(,)", "n": None}, ""),
    ],
)
def test_a_pair_that_is_spelt_like_dates_is_proposed(names, options):
    keys = proposed_time_keys(names if isinstance(names, dict) else dict.fromkeys(names))
    assert f"the dates of facts: with {options}, questions" in keys.proposal
    assert bool(keys) == bool(options)


@pytest.mark.parametrize("included", [False, True])
def test_two_properties_are_read_as_the_first_of_several(included):
    """The short way is that of the long one, which `tests/test_valid_time.py` compares."""
    for starts, ends in ((["since"], ["until"]), (["since"], []), ([], ["until"])):
        short = TimeJudge(TimeKeys(starts, ends, included), "2012-06")
        long = TimeJudge(TimeKeys([*starts, "x.y"], [*ends, "x.y"], included), "2012-06")
        for since, until in product(VALUES, VALUES):
            known = {"since": since, "until": until}
            reading = short.reading("p", known)
            assert reading == long.reading("p", known), known
            assert short.verdict(reading) == long.verdict(reading)


@pytest.mark.parametrize(
    "odd", ["2020", "", None, 5, ["2020", "2021"], "x" * 40, "x" * 41, "x" * 1_001, {}]
)
def test_texts_by_column_are_those_by_row(odd):
    rows = [{"from": "1999", "until": odd}, {"from": odd}, {}, {"until": "2001", "other": 1}]
    columns = {key: [row.get(key) for row in rows] for key in ("from", "until", "other")}
    keys = ("until", "from", "absent")
    assert [*column_texts(columns, keys, len(rows))] == [key_texts(row, keys) for row in rows]
    assert [*column_texts({"from": []}, keys, 0)] == []
