"""Sorts more integer rows than memory should hold: writes sorted runs to disk and merges them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Columns: TypeAlias = tuple[npt.NDArray[Any], ...]
"""Columns of equal length, of eight-byte integers; rows are sorted by the first column."""

RUN = 1_000_000
"""Rows that are sorted at once, and the most in memory while runs are merged."""
BLOCK = 100_000
"""Most rows in a chunk, and of a run in memory."""

_BYTES = 8


class SpillError(Exception):
    """A run cannot be written to disk."""


class Sorter:
    """Sorts rows.

    Args:
        folder: The folder for the runs; the caller removes it.
        name: The prefix of their file names.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / name
        self._runs: list[_Run] = []
        self._waiting: list[Columns] = []
        self._count = 0

    def add(self, *columns: npt.NDArray[Any]) -> None:
        """Add some rows.

        Args:
            *columns: The same columns in every call.

        Raises:
            SpillError: The disk is full.
        """
        self._waiting.append(columns)
        self._count += len(columns[0])
        if self._count >= RUN:
            self._spill()

    def chunks(self) -> Iterator[Columns]:
        """All rows in order. Can be iterated once.

        Raises:
            SpillError: The disk is full.
        """
        if not self._runs:
            rows = _in_order(self._waiting) if self._count else ()
            for start in range(0, self._count, BLOCK):
                yield tuple(column[start : start + BLOCK] for column in rows)
            return
        if self._count:
            self._spill()
        block = max(1, min(BLOCK, RUN // len(self._runs)))
        runs = [run for run in self._runs if run.fill(block)]
        while runs:
            # Up to this key, all remaining rows of every run are in memory.
            bound = min(run.rows[0][-1] for run in runs)
            yield _in_order([run.take(bound) for run in runs])
            runs = [run for run in runs if run.fill(block)]

    def _spill(self) -> None:
        path = self._path.with_suffix(f".{len(self._runs)}")
        self._runs.append(_Run(path, _in_order(self._waiting)))
        self._waiting, self._count = [], 0


class _Run:
    """Sorted rows in a file, column by column.

    Args:
        path: The file.
        rows: All rows of the run.
    """

    def __init__(self, path: Path, rows: Columns) -> None:
        self.rows = tuple(np.empty(0, column.dtype) for column in rows)
        """The rows in memory; a slice of `rows` would keep all of them alive."""
        self._path = path
        self._length = len(rows[0])
        self._read = 0
        try:
            with path.open("wb") as file:
                for column in rows:
                    file.write(column.data)
        except OSError as error:
            raise SpillError(error.strerror or str(error)) from error

    def fill(self, block: int) -> bool:
        """Read at most `block` rows if none are in memory; return whether there are any."""
        count = 0 if len(self.rows[0]) else min(block, self._length - self._read)
        if count:
            starts = (i * self._length + self._read for i in range(len(self.rows)))
            self.rows = tuple(
                np.fromfile(self._path, column.dtype, count, offset=start * _BYTES)
                for column, start in zip(self.rows, starts, strict=True)
            )
            self._read += count
        return len(self.rows[0]) > 0

    def take(self, bound: Any) -> Columns:
        """Remove the rows in memory up to a key, and return them."""
        cut = int(np.searchsorted(self.rows[0], bound, side="right"))
        taken = tuple(column[:cut] for column in self.rows)
        self.rows = tuple(column[cut:] for column in self.rows)
        return taken


def _in_order(parts: list[Columns]) -> Columns:
    columns = tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    if len(columns) == 1:
        return (np.sort(columns[0]),)
    order = np.argsort(columns[0])
    return tuple(column[order] for column in columns)
