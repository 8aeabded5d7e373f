"""Records of metadata, each of which is a text in JSON, within the account of a call.

A statement returns the size of a record in place of one that is too long, so that its text never
reaches Python. A long one is decoded alone, in a thread, for those of its values that fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection

from bfsql import call
from bfsql.memory_account import size_of_json
from bfsql.models import NO_METADATA, Metadata, Omission
from bfsql.models.json_values import decode


class Records:
    """Reads records of any size in a thread, for the current call.

    Attributes:
        small: Most characters of a record that may be read on the event loop, with many others.
        most: Most characters of a record that statements return, and most bytes of one that is
            decoded, as `size_of_json` counts them.
    """

    small = 64 * 1024

    def __init__(self) -> None:
        own = call.memory()
        self.most = sys.maxsize if own is None or own.largest_record is None else own.largest_record
        self._small = 0

    def whole(self, text: str | int, label: Callable[[], str]) -> Metadata:
        """A whole record, held until the end of `bfsql.call.borrowed`; without one, an omission.

        Args:
            text: The record, or its size.
            label: Returns the node or edge, for the omission.

        Raises:
            CallMemoryMet: The call has no room for it.
        """
        size = size_of_json(text) if isinstance(text, str) else text
        if isinstance(text, str) and size <= self.most:
            call.hold(4 * size)  # in SQLite, in Python, and decoded
            return decode(text)
        call.omitted(Omission(label(), "values", size))
        return NO_METADATA

    def decoded(
        self, label: Callable[[], str], text: str | int, keys: Collection[str] | None = None
    ) -> Metadata:
        """Metadata, or only some keys of it, without values that are too large; raises as `whole`.

        Letting SQLite extract the keys is no faster than decoding the text.
        """
        if isinstance(text, str) and len(text) <= self.small:
            self._small += len(text)
            if self._small > self.small:
                call.hold_values(self._small)
                self._small = 0
            return part(decode(text), keys)
        with call.borrowed():
            known = part(self.whole(text, label), keys)
        return call.receive({"": known}, lambda _: label())[""]


def part(whole: Metadata, keys: Collection[str] | None) -> Metadata:
    """Metadata, or only some keys of it."""
    return whole if keys is None else {key: whole[key] for key in keys if key in whole}
