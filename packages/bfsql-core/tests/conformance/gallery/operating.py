"""Wrong about the store as a whole: whether it changed, answers, and may be written to."""

from __future__ import annotations

import time
from typing import Any

from conformance.gallery.bases import Store, wrong

from bfsql.memory import MemoryBackend


@wrong("changed-steady")
class TakesTheTimeForAChange(MemoryBackend):
    """Gives the time at which it is asked."""

    def changed(self) -> float:
        return time.monotonic()


@wrong("changed-steady")
class ChangesWhenItIsAsked(MemoryBackend):
    """Takes its own reading of the store for a change of it."""

    _asked: int | None = None

    async def entity_types(self) -> list[str]:
        self._asked = 1
        return await super().entity_types()

    def changed(self) -> int | None:
        return self._asked


@wrong("changed-steady")
class ChangedIsACoroutine(MemoryBackend):
    """Has to be awaited to say whether the store changed."""

    async def changed(self) -> None:  # type: ignore[override]
        return None


@wrong("changed-steady")
class CannotFindTheFile(MemoryBackend):
    """Lets the error through where the state of the store cannot be found out."""

    def changed(self) -> None:
        raise FileNotFoundError("graph.db")


@wrong("changed-steady")
class AsksAnotherMachineForChanges(MemoryBackend):
    """Makes a round trip to find out whether the store changed."""

    def changed(self) -> None:
        time.sleep(0.011)


@wrong("ping-answered")
class PingsAnIdThatItMisses(MemoryBackend):
    """Asks for a node that there is not, and lets the error through."""

    async def ping(self) -> None:
        await self.get_node("no such node")


@wrong("ping-asks")
class PingsItself(Store):
    """Returns without a question to the store."""

    async def ping(self) -> None:
        return


@wrong("ping-asks")
class PingsWithTheDriver(Store):
    """Lets the error of its driver through when the store is away."""

    async def ping(self) -> None:
        if not self.there:
            raise RuntimeError("[Errno 111] connect failed")


@wrong("may-write-said")
class SaysTrue(MemoryBackend):
    """Gives a truth value where a sentence is due."""

    async def may_write(self) -> Any:
        return True


@wrong("may-write-said")
class MayNotAskForItsRights(MemoryBackend):
    """Lets the error through where the account may not ask for its own rights."""

    async def may_write(self) -> str | None:
        raise PermissionError("permission denied for pg_authid")


@wrong("may-write-not")
class WarnsOfEveryAccount(Store):
    """Takes every account for one that may write."""

    async def may_write(self) -> str | None:
        return "The account may write."
