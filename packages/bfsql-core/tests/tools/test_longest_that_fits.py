"""The search for what a budget leaves room for: right, and no size is tried twice."""

from hypothesis import given
from hypothesis import strategies as st

from bfsql.tools.budget import largest


@given(st.integers(-1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(-1, n))))
def test_the_largest_number_is_found_and_none_is_tried_twice(case):
    count, most = case
    tried = []

    def fits(number):
        tried.append(number)
        return number <= most

    assert largest(count, fits) == most
    assert len(tried) == len(set(tried))
    assert all(0 <= number <= count for number in tried)
