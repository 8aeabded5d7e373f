"""Facts are judged the same one by one, by codes and by columns of numbers."""

from itertools import product

import numpy as np
import pytest

from bfsql.integers import CodedGraph, NumberedColumn, Numbering
from bfsql.models.valid_time import PERIODS, TimeKeys
from bfsql.tools.time_judge import TimeJudge

VALUES = [
    *(None, "", " ", "2012", " 2012-06-15", "2012-06-15T12:00+02", "2010-02-30", "soon", "0000"),
    *("2011..2012", "[2010,2012)", "[2010", "empty", ("2010", "2012"), ("2012",), 2012, True),
    *("2012-06-15T12:00:00.000000001", "9999-12-31", "2012-06-15T10:00:00Z"),
]
SEVERAL = ("1990..2000", "2012-06..2012-07")


@pytest.mark.parametrize("included", [False, True])
@pytest.mark.parametrize("names", [("since", "until"), ("since", ""), ("", "until")])
def test_facts_are_judged_the_same_in_each_way(names, included):
    """Several properties are read in the long way, which `tests/test_valid_time.py` compares."""
    starts, ends = ([one] if one else [] for one in names)
    short = TimeKeys(starts, ends, included)
    long = TimeKeys([*starts, "x.y"], [*ends, "x.y"], included)
    rows = [{"since": a, "until": b, PERIODS: None} for a, b in product(VALUES, VALUES)]
    rows += [{"since": "2012", "until": None, PERIODS: SEVERAL}, None]
    codes = np.arange(len(rows), dtype=np.int32)
    by_row = CodedGraph(None, None, lambda code: rows[code] and ("p", rows[code]), {})
    by_column = by_row._replace(memo={}, columns=lambda some: _columns(rows, some))
    for at in ("2012-06", "2012-06-15T10:00:00Z", "1995..1996", "today"):
        judge, other = TimeJudge(short, at), TimeJudge(long, at)
        readings = [row and judge.reading("p", row) for row in rows]
        assert readings == [row and other.reading("p", row) for row in rows]
        expected = [one and judge.verdict(one) for one in readings]
        for graph in (by_row, by_column):
            for some in (codes[::3], codes[::-1]):  # of which a part is known
                places, verdicts = judge.verdicts(some, graph)
                assert [verdicts[n] for n in places] == [expected[code] for code in some]
    assert (True, "undated") in expected


def _columns(rows, codes):
    columns = {}
    for key in ("since", "until", PERIODS):
        texts = Numbering()
        of = lambda row, key=key: False if row is None else row[key]
        every = texts.of([False, None, *map(of, rows)], len(rows) + 2)[2:]
        columns[key] = NumberedColumn(every.take(codes), texts.names)
    return columns
