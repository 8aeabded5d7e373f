"""Compares the times of two ways to the same answer, in turns, in one run."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Clock = Callable[[], float]

PROCESSOR: Clock = time.process_time
"""Processor time of the whole process, threads included, for a store within it: other load on the
machine does not count, so the ratio of one run is reliable."""

WALL: Clock = time.perf_counter
"""Wall time, for a store that is a server: most of the work is not in our process."""


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
        """Our time as a multiple of the floor's."""
        return self.ours / self.floor


async def side_by_side(
    what: str,
    ours: Callable[[], Awaitable[bytes]],
    floor: Callable[[], Awaitable[bytes]],
    turns: int,
    clock: Clock = PROCESSOR,
) -> Pair:
    """Run both in turns, check that their answers are equal, and keep the fastest time of each."""
    ours_took, floor_took = [], []
    for _ in range(turns):
        seconds, said = await timed(ours, clock)
        floor_seconds, expected = await timed(floor, clock)
        if said != expected:
            raise SystemExit(f"{what}: the two answers differ; there is nothing to compare")
        ours_took.append(seconds)
        floor_took.append(floor_seconds)
    return Pair(what, min(ours_took), min(floor_took), max(ours_took) / min(ours_took))


async def timed(answer: Callable[[], Awaitable[bytes]], clock: Clock) -> tuple[float, bytes]:
    """Seconds that an answer takes, and the answer."""
    gc.collect()
    start = clock()
    said = await answer()
    return clock() - start, said


def median(values: list[float]) -> float:
    """The median."""
    return statistics.median(values)
