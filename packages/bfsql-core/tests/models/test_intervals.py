"""A condition becomes intervals; stores are tested with what they make of them."""

import pytest

from bfsql.models import PropertyCondition
from bfsql.models.intervals import Interval, Intervals

DAY = (2004, 5, 6)


@pytest.mark.parametrize(
    ("written", "intervals"),
    [
        ("= Ünal|b", Intervals(texts=(Interval("unal", "unal"), Interval("b", "b")))),
        ("!= 12", Intervals(numbers=(Interval(12, 12),))),
        ("< 12", Intervals(numbers=(Interval(None, 12, open=True),))),
        (">= 2004-05-06", Intervals(dates=(Interval(DAY),))),
        ("<= 2004", Intervals(numbers=(Interval(None, 2004),), years=(Interval(None, (2004,)),))),
        ("<= true", Intervals(texts=(Interval(None, "true"),), flags=("true",))),
        ("> true", Intervals(texts=(Interval("true", None, open=True),))),
        ("~ 12|Ü", Intervals(parts=("12", "u"))),
        ("unlike true", Intervals(texts=(Interval(),), flags=("true", "false"))),
        ("unlike 0|2000-01", Intervals(numbers=(Interval(),), dates=(Interval(),))),
        ("has", None),
        ("lacks", None),
    ],
)
def test_a_condition_looks_for_intervals(written: str, intervals: Intervals | None) -> None:
    operator, *values = written.split(" ")
    alternatives = tuple(values[0].split("|")) if values else ()
    assert PropertyCondition("x", operator, alternatives).intervals == intervals  # type: ignore[arg-type]
