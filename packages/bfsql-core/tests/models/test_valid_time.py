"""Which properties look like the dates of facts."""

import pytest

from bfsql.models.comparison import column_texts, key_texts
from bfsql.models.valid_time import proposed_time_keys


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


@pytest.mark.parametrize(
    "odd", ["2020", "", None, 5, ["2020", "2021"], "x" * 40, "x" * 41, "x" * 1_001, {}]
)
def test_texts_by_column_are_those_by_row(odd):
    rows = [{"from": "1999", "until": odd}, {"from": odd}, {}, {"until": "2001", "other": 1}]
    columns = {key: [row.get(key) for row in rows] for key in ("from", "until", "other")}
    keys = ("until", "from", "absent")
    assert [*column_texts(columns, keys, len(rows))] == [key_texts(row, keys) for row in rows]
    assert [*column_texts({"from": []}, keys, 0)] == []
