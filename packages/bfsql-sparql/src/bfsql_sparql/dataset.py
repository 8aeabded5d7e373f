"""What a store answers to queries, in the SPARQL 1.1 Query Results JSON Format."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic_core import from_json

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models.rdf import Literal

T = TypeVar("T")
PING = "ASK { }"
"""A query that every SPARQL endpoint answers immediately, whatever its content."""
_BLANK = b"bnode"
_OTHER_JSON = "it is JSON, but not SPARQL results"


class Blank(NamedTuple):
    """A blank node; it cannot be queried, because its label is valid within one answer only."""

    label: str


Term: TypeAlias = str | Literal | Blank
"""An IRI (plain text), a literal, or a blank node."""

Row: TypeAlias = tuple[Term | None, ...]
"""One solution, in the order of the projection; unbound variables are None."""


class Reply(NamedTuple):
    """The answer to one query."""

    body: bytes
    """A whole document in the results format."""
    cut: str | None = None
    """The store's own sign that rows are missing, in words; None if it gave none."""
    limit: int | None = None
    """The number of rows that no answer of this store exceeds, if it states one."""


class Rows(NamedTuple):
    """The solutions of a SELECT."""

    rows: list[Row]
    cut: bool
    """Whether the store reports that more rows are missing."""


class Refused(StoreError):
    """The store rejected the query.

    A smaller one may succeed: stores reject queries that are too long, too expensive or contain
    too many values in the same way as invalid ones. `status` is that of HTTP.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TooSlow(StoreUnavailable):
    """The store's time limit for one query was exceeded; a smaller query may be answered."""


class Dataset(ABC):
    """A store of RDF that answers queries, read only."""

    name: str
    """Its name in sentences: an address."""

    large = 256 * 1024
    """Bytes of an answer from which it is decoded in a thread.

    Decoded here, 16 MB would hold up all other calls for 0.2 s. A change of threads for each small
    answer made a call of one hop take 1 ms more.
    """

    @abstractmethod
    async def reply(self, query: str, seconds: float | None = None) -> Reply:
        """Send one SELECT or ASK query.

        Cancelling the call ends the query: its connection is closed, its thread stops.

        Args:
            query: The whole text.
            seconds: Time limit; the setting `query_timeout` if None. The deadline of
                the current call applies in any case.

        Raises:
            Refused: This query is not answered.
            TooSlow: The time limit passed, but not the call's deadline.
            TimeoutError: The call's deadline passed.
            StoreUnavailable: The store is unavailable, or broke off.
            StoreError: It is not a SPARQL store, or requires a login.
        """

    async def ping(self) -> None:
        """Return when the store answers.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        return

    async def updatable(self) -> str | None:
        """The address that accepts updates of the served data; None if none is known."""
        return None

    async def ask(self, query: str, seconds: float) -> bool | None:
        """The answer to an ASK; None if the store refuses it or is too slow.

        Args:
            query: The whole text.
            seconds: Time limit; with 0 or less the query is not sent and the answer is None.

        Raises:
            TimeoutError: The call's deadline has passed.
            StoreError: The store is unavailable, or cannot be used.
        """
        return await self.read(query, seconds, lambda reply: truth(reply.body))

    async def select(self, query: str, seconds: float) -> Rows | None:
        """The solutions of a SELECT; arguments and errors are those of `ask`."""
        return await self.read(
            query, seconds, lambda reply: Rows(rows(reply.body), reply.cut is not None)
        )

    async def read(self, query: str, seconds: float, parse: Callable[[Reply], T]) -> T | None:
        """What `parse` makes of the answer; None also if that is a `ValueError`; else as `ask`."""
        if seconds <= 0:
            return None
        try:
            reply = await self.reply(query, seconds)
            is_small = len(reply.body) < self.large
            return parse(reply) if is_small else await asyncio.to_thread(parse, reply)
        except (Refused, TooSlow, ValueError):  # including NoResults
            return None

    async def description(self, seconds: float) -> bytes | None:
        """The description that the store publishes beside its data, as Turtle, if there is one."""
        return None

    @abstractmethod
    async def close(self) -> None:
        """Release connections; running queries end."""


class TimeBudget:
    """A time budget that several queries share.

    Args:
        seconds: The whole budget.
        share: The largest share of the current call's remaining time that the budget may take.
    """

    def __init__(self, seconds: float, share: float = 1.0) -> None:
        self._end = time.monotonic() + call.seconds_left(seconds, share)

    def seconds_left(self) -> float:
        """Remaining seconds, at least 0."""
        return max(0.0, self._end - time.monotonic())


async def gather_or_cancel(*awaitables: Awaitable[T]) -> list[T]:
    """All results; if one fails, the others are cancelled and its error is raised.

    With only `asyncio.gather`, the others would continue to query the store.
    """
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    try:
        return await asyncio.gather(*tasks)  # a TaskGroup would hide the store's own error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# --- the results format -----------------------------------------------------


class NoResults(ValueError):
    """The document is not in the format; the message names the fault."""


def rows(body: bytes) -> list[Row]:
    """All solutions of a SELECT.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    names, bindings = _solutions(body)
    try:
        columns = [[_term(one.get(name)) for one in bindings] for name in names]
    except (AttributeError, KeyError, TypeError) as error:
        raise NoResults(f"a row is not valid ({error})") from None
    return list(zip(*columns, strict=True)) if names else [()] * len(bindings)


def links(body: bytes) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Solutions without literals, all variables bound: of IRIs only, and with blank nodes.

    This is for edges, which come in tens of thousands: no term objects are created.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    names, bindings = _solutions(body)
    try:
        values = list(
            zip(*([one[name]["value"] for one in bindings] for name in names), strict=True)
        )
        if _BLANK not in body:
            return values, []
        blank = [any(one[name]["type"] == "bnode" for name in names) for one in bindings]
    except (KeyError, TypeError) as error:
        raise NoResults(f"a row lacks {error}") from None
    iris = [row for row, is_blank in zip(values, blank, strict=True) if not is_blank]
    return iris, [row for row, is_blank in zip(values, blank, strict=True) if is_blank]


def truth(body: bytes) -> bool:
    """The answer to an ASK; one server returns the row of a SELECT instead.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    document = _document(body)
    answer = document.get("boolean")
    if isinstance(answer, bool):
        return answer
    first = next((value for row in rows(body) for value in row), None)
    return isinstance(first, Literal) and first.text in ("1", "true")


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = from_json(body)
    except ValueError as error:
        raise NoResults(f"it is incomplete, or not JSON ({error})") from None
    if not isinstance(document, dict):
        raise NoResults(_OTHER_JSON)
    return document


def _solutions(body: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    document = _document(body)
    try:
        names, bindings = document["head"]["vars"], document["results"]["bindings"]
    except (KeyError, TypeError):
        raise NoResults(_OTHER_JSON) from None
    if not isinstance(names, list) or not isinstance(bindings, list):
        raise NoResults(_OTHER_JSON)
    return names, bindings


def _term(found: Mapping[str, Any] | None) -> Term | None:
    if found is None:
        return None
    kind, value = found["type"], found["value"]
    if kind == "uri":
        return value  # type: ignore[no-any-return]
    if kind == "bnode":
        return Blank(value)
    if kind == "triple":  # no id represents it, either
        return Blank("triple")
    return Literal(value, found.get("xml:lang"), found.get("datatype"))
