"""Mistakes about the store as a whole: whether it has changed, answers, and is writable."""

from __future__ import annotations

import time
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql_test_support.gallery.bases import Store


class TakesTheTimeForAChange(MemoryBackend):
    """Returns the current time as the state of the store."""

    def changed(self) -> float:
        return time.monotonic()


class ChangesWhenItIsAsked(MemoryBackend):
    """Reports a change of the store after merely reading it."""

    _asked: int | None = None

    async def entity_types(self) -> list[str]:
        self._asked = 1
        return await super().entity_types()

    def changed(self) -> int | None:
        return self._asked


class ChangedIsACoroutine(MemoryBackend):
    """Implements `changed` as a coroutine function."""

    async def changed(self) -> None:  # type: ignore[override]
        return None


class CannotFindTheFile(MemoryBackend):
    """Raises an error when the state of the store cannot be determined."""

    def changed(self) -> None:
        raise FileNotFoundError("graph.db")


class AsksAnotherMachineForChanges(MemoryBackend):
    """Makes a round trip to find out whether the store has changed."""

    def changed(self) -> None:
        time.sleep(0.011)


class PingsAnIdThatItMisses(MemoryBackend):
    """Requests a node that does not exist, and does not handle the error."""

    async def ping(self) -> None:
        await self.get_node("no such node")


class PingsItself(Store):
    """Returns without a request to the store."""

    async def ping(self) -> None:
        return


class PingsWithTheDriver(Store):
    """Raises the error of its driver when the store is unreachable."""

    async def ping(self) -> None:
        if not self.there:
            raise RuntimeError("[Errno 111] connect failed")


class SaysTrue(MemoryBackend):
    """Returns a boolean instead of a sentence."""

    async def may_write(self) -> Any:
        return True


class MayNotAskForItsRights(MemoryBackend):
    """Raises an error when the account may not read its own privileges."""

    async def may_write(self) -> str | None:
        raise PermissionError("permission denied for pg_authid")


class WarnsOfEveryAccount(Store):
    """Reports that every account may write."""

    async def may_write(self) -> str | None:
        return "The account may write."
