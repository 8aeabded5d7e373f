"""The results of a soak: its figures, and the requirements it missed."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import psutil

from bfsql_test_support.soak.probe import Probed

BUSY_SECONDS = 0.002
"""If a process waited longer than this for a processor, a call says nothing about the server."""
SLOWER, ENOUGH = 10, 200
"""The slowest small call may take this many times the median of the quiet server; this is checked
only if at least so many small calls were measured."""
MORE_MEMORY, SPARE_MEGABYTES = 1.05, 10
"""Limit on the memory of the process in the last third of a soak: a factor on that in the second
third, and additional megabytes. Memory that grows steadily exceeds it."""


@dataclass(frozen=True)
class Resources:
    """The resources of a process."""

    megabytes: float
    files: int
    threads: int
    processor_seconds: float

    @classmethod
    def of(cls, pid: int) -> Self:
        process = psutil.Process(pid)
        with process.oneshot():
            size = process.memory_info().rss / 1e6
            spent = process.cpu_times()
            seconds = round(spent.user + spent.system, 1)
            return cls(round(size, 1), process.num_fds(), process.num_threads(), seconds)


@dataclass
class Report:
    """The results of a soak."""

    seconds: float = 0.0
    answers: int = 0
    hub_answers: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    vanished: int = 0
    idle: int = 0
    outages: Counter[str] = field(default_factory=Counter)
    quiet: Sequence[Probed] = ()
    """Small calls on the quiet server."""
    probed: Sequence[Probed] = ()
    """Small calls during the soak."""
    calm: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of the periods without an outage, recovery excluded."""
    before: Resources | None = None
    memory: list[tuple[float, float]] = field(default_factory=list)
    """Samples: seconds since the soak began, and megabytes of the process."""
    after: Resources | None = None
    statements: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def quiet_median(self) -> float:
        """Median seconds of a small call on the quiet server."""
        return statistics.median(call.seconds for call in self.quiet)

    def calm_calls(self) -> list[Probed]:
        """The small calls in calm periods during which no process waited long for a processor."""
        return [
            call
            for call in self.probed
            if call.waited <= BUSY_SECONDS
            and any(begin <= call.start <= end - call.seconds for begin, end in self.calm)
        ]

    def slowest(self) -> float:
        """The time of the slowest of these, as a multiple of the quiet server's median."""
        return max((call.seconds for call in self.calm_calls()), default=0) / self.quiet_median

    def largest(self, third: int) -> float:
        """Most megabytes in a third of the soak, counted from 0."""
        begin, end = (self.seconds * part / 3 for part in (third, third + 1))
        return max((size for at, size in self.memory if begin <= at < end), default=0.0)

    def memory_over_time(self) -> list[str]:
        """A line per minute with the process's most memory in it."""
        minutes: dict[int, float] = {}
        for at, size in self.memory:
            minutes[int(at // 60)] = max(size, minutes.get(int(at // 60), 0.0))
        return [f"memory, minute {minute + 1:3} {size:9.1f} MB" for minute, size in minutes.items()]

    def table(self) -> str:
        """The figures, one per line."""
        calm = sorted(call.seconds for call in self.calm_calls()) or [0.0]
        late = calm[len(calm) * 99 // 100]
        busy = sum(call.waited > BUSY_SECONDS for call in self.probed)
        rows = {
            "seconds": f"{self.seconds:.0f}",
            "answers, all as before": f"{self.answers}, {self.hub_answers} about the hub",
            "answers cut by an outage, with a note": self.cut,
            "errors that outages allow": sum(self.errors.values()),
            "other errors": dict(self.unexpected) or 0,
            "wrong answers": len(self.wrong),
            "outages": dict(self.outages),
            "clients that vanished": self.vanished,
            "idle connections at the end": self.idle,
            "small call on the quiet server, median": f"{self.quiet_median * 1000:.1f} ms",
            "small calls outside outages": f"{len(self.calm_calls())}, median "
            f"{statistics.median(calm) * 1000:.1f} ms, 99 % {late * 1000:.1f} ms, slowest "
            f"{calm[-1] * 1000:.1f} ms ({self.slowest():.1f} x)",
            "left out, since the machine was busy": f"{busy} of {len(self.probed)}",
            "process before": self.before,
            "most memory in each third, MB": [self.largest(third) for third in range(3)],
            "process after": self.after,
            "statements left": self.statements,
            "lines logged": len(self.log),
            "tracebacks logged": sum("Traceback (most" in line for line in self.log),
        }
        figures = [f"{name:40} {value}" for name, value in rows.items()]
        return "\n".join([*figures, *self.memory_over_time()])

    def faults(self) -> list[str]:
        """The requirements that the soak missed."""
        assert self.before is not None
        assert self.after is not None
        found = [f"wrong: {one}" for one in self.wrong[:5]]
        found += [f"unexpected error: {text} ({n})" for text, n in self.unexpected.items()]
        if self.after.files > self.before.files + 20:
            found.append(f"files: {self.before.files} before, {self.after.files} after")
        if self.after.threads > self.before.threads + 10:
            found.append(f"threads: {self.before.threads} before, {self.after.threads} after")
        second, last = self.largest(1), self.largest(2)
        if last > second * MORE_MEMORY + SPARE_MEGABYTES:
            found.append(f"memory: {second} MB in the second third, {last} in the last")
        if len(self.calm_calls()) >= ENOUGH and self.slowest() > SLOWER:
            found.append(f"the slowest small call took {self.slowest():.1f} times the median")
        if self.statements:
            found.append(f"{self.statements} statements are left at the store")
        return found
