"""Which properties look like the dates of facts."""

import pytest

from bfsql.models.valid_time import TimeKeys, proposed_time_keys


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
    ],
)
def test_a_pair_that_is_spelt_like_dates_is_proposed(names, options):
    keys = proposed_time_keys(names)
    assert keys.options == options
    assert bool(keys) == bool(options)


@pytest.mark.parametrize(
    ("during", "texts", "ends"),
    [
        ("[2010-01-01,2012-01-01)", ["[2010-01-01..2012-01-01)"], True),
        ('("2010-01-01 00:00:00+00",)', ["(2010-01-01 00:00:00+00:00..)"], False),
        ("[-infinity,2012-01-01]", ["[..2012-01-01]"], True),
        (
            "{[2010-01-01,2011-01-01),[2012-01-01,)}",
            ["[2010-01-01..2011-01-01)", "[2012-01-01..)"],
            False,
        ),
        ("empty", ["empty.."], True),
        ("{}", ["empty.."], True),
        ("[1,2) or so", ["[1,2) or so..[1,2) or so"], False),
    ],
)
def test_a_property_that_is_both_dates_may_be_a_range(during, texts, ends):
    keys, known = TimeKeys(["during"], ["during"]), {"during": during}
    assert keys.texts("p", known) == texts
    assert keys.has_end("p", known) is ends
