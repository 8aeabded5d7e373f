"""A table of cases hides no failure: every row is asked, and each that fails is named."""

import pytest

from bfsql_test_support.case_table import case_table


def names(group):
    return [note for error in group.value.exceptions for note in error.__notes__]


def test_all_rows_that_fail_are_raised_by_name(tmp_path):
    asked = []

    @case_table(("a", "b"), {"equal": (1, 1), "more": (2, 1), "of text": ("x", 1)})
    def compared(tmp_path, a, b):
        asked.append(tmp_path)
        assert a == b, pytest.fail("not equal") if a == 2 else ""

    with pytest.raises(BaseExceptionGroup) as group:
        compared(tmp_path=tmp_path)
    assert len({*asked}) == 3
    assert names(group) == ["in the row more", "in the row of text"]


async def test_rows_of_two_tables_are_asked_in_pairs():
    asked = []

    @case_table("a", [1, 2])
    @case_table("b", "xy")
    async def paired(a, b):
        asked.append((a, b))
        pytest.fail("always")

    with pytest.raises(BaseExceptionGroup) as group:
        await paired()
    assert asked == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert names(group) == ["in the row 1", "in the row 2"]
