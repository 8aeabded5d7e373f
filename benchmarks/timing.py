"""Times side by side: two ways to the same answer, in turns, in one run.

Processor time of the whole process, threads included: what else the machine is
doing does not count, so the ratio of one run holds.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to the same answer, and how long each takes."""

    what: str
    ours: float
    """Seconds, the fastest of the turns."""
    floor: float
    """Seconds, the fastest of the turns."""
    spread: float
    """Slowest of our turns over the fastest."""

    @property
    def ratio(self) -> float:
        """How many times as long as the floor."""
        return self.ours / self.floor


async def side_by_side(
    what: str,
    ours: Callable[[], Awaitable[bytes]],
    floor: Callable[[], Awaitable[bytes]],
    turns: int,
) -> Pair:
    """Take turns, check that both say the same, keep the fastest of each."""
    ours_took, floor_took = [], []
    for _ in range(turns):
        seconds, said = await _timed(ours)
        floor_seconds, expected = await _timed(floor)
        if said != expected:
            raise SystemExit(f"{what}: the two answers differ; there is nothing to compare")
        ours_took.append(seconds)
        floor_took.append(floor_seconds)
    return Pair(what, min(ours_took), min(floor_took), max(ours_took) / min(ours_took))


async def _timed(answer: Callable[[], Awaitable[bytes]]) -> tuple[float, bytes]:
    gc.collect()
    start = time.process_time()
    said = await answer()
    return time.process_time() - start, said


def median(values: list[float]) -> float:
    """The middle one."""
    return statistics.median(values)
