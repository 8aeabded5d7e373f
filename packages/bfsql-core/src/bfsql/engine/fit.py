"""What a budget leaves room for, found on real answers (`protocol.md` 14).

Metadata goes record by record, from the least loss on: edges from the last to
the first, then nodes from the last to the first, then nodes off the page's end.
So what stays is a prefix each time, and the longest one that fits is found by
doubling, then halving. Every probe is the answer that would be sent, notes included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

R = TypeVar("R")

Fits: TypeAlias = Callable[[R], bool]
"""Whether an answer keeps within the budget."""


def most(count: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `count` for which `fits` holds; -1 when not even 0 does.

    Args:
        count: Upper end.
        fits: Holds for every number below one for which it holds.
    """
    # By doubling first: however large the whole is, what is tried is near what fits.
    least, step = -1, 1
    while least + step <= count and fits(least + step):
        least, step = least + step, 2 * step
    top = min(count, least + step - 1)
    while least < top:
        middle = (least + top + 1) // 2
        if fits(middle):
            least = middle
        else:
            top = middle - 1
    return least
