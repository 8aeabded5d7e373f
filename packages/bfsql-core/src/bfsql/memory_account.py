"""The memory that calls take: counted before arrays are made, within a bound for each and for all.

    account = MemoryAccount(half, all calls)
    with call.scope(memory=account.of_call(quarter)):
        call.hold(32 * len(edges))

The sizes are estimates by the number of nodes and edges, measured as the peak of whole calls
(decision 0028), and by the bytes of values (decision 0031); the account of a call is released when
the call ends.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from sys import getsizeof
from threading import Lock
from typing import Any

from bfsql.errors import Busy, CallMemoryMet

_MOST_OF_A_CALL = 1_000_000_000
_UNKNOWN = 4_000_000_000
"""Bytes assumed where the system does not report its memory, as on Windows."""
_RETRY_SECONDS = 5.0
LARGE = 64_000_000
"""Bytes above which memory is given back to the system after a call."""
COPIES = 8
"""Bytes that a call takes for each byte of a value: as its driver has it, decoded, in the cache,
cleaned, in JSON, and in the message."""
_EMPTY = getsizeof("")
_PLAIN = frozenset((str, int, float, bool))


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


def size_of(value: Any, most: int | None = None) -> int:
    """Bytes of a value of a store, such as the metadata of a node: of its texts, and 8 an item.

    Args:
        value: The value.
        most: Number of bytes after which they are not counted further.
    """
    total, rest = 0, [value]
    while rest and (most is None or total <= most):
        one = rest.pop()
        total += 8
        if type(one) in _PLAIN:  # as most are; the other checks take four times as long
            total += max(0, getsizeof(one) - _EMPTY - 8)
        elif isinstance(one, Mapping):
            rest += one
            rest += one.values()
        elif isinstance(one, list | tuple | AbstractSet):
            rest += one
        else:
            own = one.nbytes if isinstance(one, memoryview) else getsizeof(one, 0) - _EMPTY
            total += max(0, own - 8)
    return total


def size_of_json(text: str) -> int:
    """Bytes of a text in JSON that take as much as the text and the objects that it becomes."""
    return len(text) + (text.count(",") + text.count("{") + text.count("[")) * COPIES


class MemoryAccount:
    """Bytes that are held, within a bound.

    Args:
        most: The bound; None for none.
        whole: The account that this one is a part of.

    Attributes:
        held: Bytes held now.
        peak: The most bytes that were held at the same time.
    """

    def __init__(self, most: int | None, whole: MemoryAccount | None = None) -> None:
        self._most, self._whole = most, whole
        self.held = self.peak = 0
        self._lock = Lock()

    def of_call(self, most: int | None, share: int = 2 * COPIES) -> CallMemory:
        """An account for one call, which is a part of this one; with a bound of its own."""
        return CallMemory(most, self, share)

    def add(self, size: int) -> bool:
        """Hold bytes, or release them if `size` is negative; False if there is no room for them."""
        with self._lock:
            if self._most is not None and size > 0 and self.held + size > self._most:
                return False
            if self._whole is not None and not self._whole.add(size):
                return False
            self.held += size
            self.peak = max(self.peak, self.held)
            return True


class CallMemory:
    """The account of one call.

    Args:
        most: The bound of the call, in bytes; None for none.
        all_calls: The account of all calls.
        share: Into how many parts `most` is divided, of which one is the most that a value has.

    Attributes:
        account: What the call holds.
        largest_value: Most bytes of a value that is read, by default so many that all its copies
            are half of what the call may take. None for any number.
        largest_record: Most bytes of a record that a store reads only as a whole, for those of its
            values that fit. None for any number.
    """

    def __init__(self, most: int | None, all_calls: MemoryAccount, share: int = 2 * COPIES) -> None:
        self._most, self._all, self._share = most, all_calls, share
        self.account = MemoryAccount(most)
        self._ended = False
        self.largest_value = None if most is None else most // share
        self.largest_record = None if most is None else most // 4

    def of_part(self) -> CallMemory:
        """An account of its own for a part of the call that may outlive it, with its bounds."""
        return CallMemory(self._most, self._all, self._share)

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
        if self._ended:  # work in a thread, which ends at its next check
            self.release_to(0)

    def room(self) -> int | None:
        """Bytes that the call may still hold; None for any number."""
        return None if self._most is None else max(0, self._most - self.account.held)

    def release_to(self, remaining: int) -> None:
        """Release what is held beyond a number of bytes."""
        self.release(self.account.held - remaining)

    def end(self) -> None:
        """Release everything, also what is held later."""
        self._ended = True
        if self.account.held:
            self.release_to(0)

    def release(self, more: int) -> None:
        """Release a number of bytes, or what is held if that is less."""
        more = min(more, self.account.held)
        if more > 0:
            self.account.add(-more)
            self._all.add(-more)


def give_back() -> None:
    """Give unused memory back to the system, where the C library is glibc."""
    with suppress(OSError, AttributeError, TypeError):  # other libraries; TypeError on Windows
        ctypes.CDLL(None).malloc_trim(0)
