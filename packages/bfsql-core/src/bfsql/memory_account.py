"""The memory that calls take: counted before arrays are made, within a bound for each and for all.

    account = MemoryAccount(half, all calls)
    with call.scope(memory=account.of_call(quarter)):
        call.hold(32 * len(edges))

The sizes are estimates by the number of nodes and edges, measured as the peak of whole calls
(decision 0028); the account of a call is released when the call ends.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

from bfsql.errors import Busy, CallMemoryMet

_MOST_OF_A_CALL = 1_000_000_000
_UNKNOWN = 4_000_000_000
"""Bytes assumed where the system does not report its memory, as on Windows."""
_RETRY_SECONDS = 5.0
LARGE = 64_000_000
"""Bytes above which memory is given back to the system after a call."""


def available() -> int:
    """Bytes of memory that the process may have, by its control group or the machine."""
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN
    with suppress(OSError, ValueError):  # ValueError if its control group has no limit
        group = Path("/proc/self/cgroup").read_text("utf-8").rpartition("::")[2].strip()
        return min(machine, int(Path(f"/sys/fs/cgroup{group}/memory.max").read_text("ascii")))
    return machine


def default_of_a_call() -> int:
    """The default bound of a call: a quarter of what the process may have, at most 1 GB."""
    return min(available() // 4, _MOST_OF_A_CALL)


def default_of_all_calls() -> int:
    """The default bound of all calls together: half of what the process may have."""
    return available() // 2


class MemoryAccount:
    """Bytes that are held, within a bound.

    Args:
        most: The bound; None for none.

    Attributes:
        held: Bytes held now.
        peak: The most bytes that were held at the same time.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self.held = self.peak = 0
        self._lock = Lock()

    def of_call(self, most: int | None) -> CallMemory:
        """An account for one call, which is a part of this one; with a bound of its own."""
        return CallMemory(most, self)

    def add(self, size: int) -> bool:
        """Hold bytes, or release them if `size` is negative; False if there is no room for them."""
        with self._lock:
            if self._most is not None and size > 0 and self.held + size > self._most:
                return False
            self.held += size
            self.peak = max(self.peak, self.held)
            return True


class CallMemory:
    """The account of one call.

    Args:
        most: The bound of the call, in bytes; None for none.
        all_calls: The account of all calls.

    Attributes:
        account: What the call holds.
    """

    def __init__(self, most: int | None, all_calls: MemoryAccount) -> None:
        self._most, self._all = most, all_calls
        self.account = MemoryAccount(most)

    def hold(self, size: int) -> None:
        """Hold bytes until `release_to` or the end of the call.

        Raises:
            CallMemoryMet: The call would hold more than it may.
            Busy: All calls together would hold more than they may.
        """
        if not self.account.add(size):
            assert self._most is not None
            raise CallMemoryMet(self._most)
        if not self._all.add(size):
            self.account.add(-size)
            raise Busy("The calls in progress use all memory of this server.", _RETRY_SECONDS)

    def room(self) -> int | None:
        """Bytes that the call may still hold; None for any number."""
        return None if self._most is None else max(0, self._most - self.account.held)

    def release(self, size: int) -> None:
        """Release bytes, as far as they are still held."""
        self.release_to(max(0, self.account.held - size))

    def release_to(self, remaining: int) -> None:
        """Release what is held beyond a number of bytes."""
        more = self.account.held - remaining
        if more > 0:
            self.account.add(-more)
            self._all.add(-more)


def give_back() -> None:
    """Give unused memory back to the system, where the C library is glibc."""
    with suppress(OSError, AttributeError, TypeError):  # other libraries; TypeError on Windows
        ctypes.CDLL(None).malloc_trim(0)
