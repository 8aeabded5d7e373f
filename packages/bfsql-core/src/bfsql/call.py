"""The current call: its limits, its caller, its deadline, and its omissions.

The scope is a context variable, so that a backend reads its deadline and reports
omissions without an argument through every method.

    with call.scope(seconds=30) as scope:
        await backend.edges_batch(ids)
    scope.omissions        # what the backend left out, in the order of its reports
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import aclosing, contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast

from bfsql.deadline import (
    Work,
    check,
    checked,
    current_work,
    remaining,
    seconds,
    seconds_left,
    time_limit,
    within,
)
from bfsql.memory_account import COPIES, CallMemory, MemoryAccount, size_of
from bfsql.models.records import Metadata, Omission, Triple

__all__ = [
    "Caller",
    "Limits",
    "Omission",
    "Scope",
    "Usage",
    "check",
    "checked",
    "current",
    "current_request_id",
    "current_usage",
    "cut_by",
    "entered",
    "has_read",
    "is_traced",
    "joined",
    "new_request_id",
    "omitted",
    "remaining",
    "scope",
    "seconds",
    "seconds_left",
    "shared_scope",
    "start_in_call",
    "time_limit",
    "withheld",
    "within",
]

T = TypeVar("T")
K = TypeVar("K")

MAX_NODES, MAX_EDGES = 200_000, 2_000_000
"""Most nodes and edges of a traversal over strings (`protocol.md` 10)."""
MAX_NODES_IN_COLUMNS, MAX_EDGES_IN_COLUMNS = 5_000_000, 50_000_000
"""Most nodes and edges of a traversal if the store has columns: 12 bytes an edge."""

Estimator: TypeAlias = Callable[[bytes], int]
"""Maps UTF-8 text to a number of tokens."""

AnswerFormat: TypeAlias = Literal["json", "lines"]

STRIPPED = (
    "provenance",
    "strongest_evidence_quote",
    "evidence_confidence_avg",
    "created_at",
    "text_span",
)
"""Edge metadata that traversals leave out; `describe_entity` includes it (`protocol.md` 16)."""

Record = tuple[str, str | Triple]
"""The subject of a redaction: `node`, `edge` or `evidence`, and the id or the triple."""


def third_of_bytes(text: bytes) -> int:
    """Tokens of a text, estimated: a third of its bytes, rounded up (`protocol.md` 14)."""
    return -(-len(text) // 3)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call."""

    max_tokens: int = 20_000
    """Budget of an answer if the call names none; 0 for no budget."""
    max_answer_bytes: int | None = None
    """Most bytes of an answer's text, whatever its budget of tokens; None for no limit."""
    ceilings: bool = False
    """Whether `max_tokens` also limits calls that request more tokens."""
    deadline: float | None = 60.0
    """Seconds a call may take, including its store calls; None for no limit."""
    max_nodes: int | None = None
    """Most nodes of a traversal; None for `MAX_NODES`, or `MAX_NODES_IN_COLUMNS`."""
    max_edges: int | None = None
    """Most edges of a traversal; None for `MAX_EDGES`, or `MAX_EDGES_IN_COLUMNS`."""
    stripped: tuple[str, ...] = STRIPPED
    """Edge metadata that traversals leave out."""
    estimator: Estimator = third_of_bytes
    """How the tokens of a text are counted."""
    max_call_memory: int | None = None
    """Bytes of memory that a call may take; None for a quarter of those that the process may have,
    at most 1 GB."""
    max_memory: int | None = None
    """Bytes of memory that all calls may take; None for half of those that the process may have."""
    answer_format: AnswerFormat = "json"
    """How answers are written: as JSON, or as the lines of `bfsql.answers.compact`."""
    account: MemoryAccount | None = None
    """The account of all graphs of the process, of which that of the graph is a part."""
    tools: tuple[str, ...] | None = None
    """The tools that may be called; None for all."""

    def at_most(self, ceilings: Mapping[str, Any]) -> Limits:
        """The limits where they are lower than some ceilings, and these."""
        lower = {key: min(one, getattr(self, key) or one) for key, one in ceilings.items()}
        return replace(self, **lower, ceilings=self.ceilings or "max_tokens" in ceilings)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as far as the transport knows it."""

    client: str | None = None
    """The client's name for itself, which is not verified."""
    subject: str | None = None
    """The subject to which the access token was issued, if one was verified."""
    session: str | None = None
    """The session that the call belongs to, in transports that have them."""
    address: str | None = None
    """The host that the connection comes from, without the port."""
    role: str | None = None
    """The name of its role, where there are roles and one was found."""

    @property
    def key(self) -> str:
        """The key by which calls are counted: subject, or else address, or else session."""
        return self.subject or self.address or self.session or ""


@dataclass(slots=True)
class Usage:
    """What a call has used so far. Calls that have used more wait longer for what they share."""

    client: str = ""
    """The key of the caller by which calls are counted; empty if the transport does not know it."""
    worked: float = 0.0
    """Seconds of processor time that its heavy work has taken so far."""


@dataclass(slots=True)
class Scope(Work):
    """One tool call, or one call of the cache to a backend that is shared by several tool calls."""

    caller: Caller | None = None
    """The caller; None if the transport does not know it."""
    request_id: str = ""
    """Identifies the call in the logs of the server, the client and the store."""
    withheld: set[Record] = field(default_factory=set)
    """Records whose metadata must not be returned, because its redaction failed."""
    nodes: int = 0
    """Number of nodes whose types have been read so far, from the store or from the cache."""
    edges: int = 0
    """Number of edges that have been read so far, from the store or from the cache."""
    memory: CallMemory | None = None
    """The account of its memory; None if it is not bounded."""
    usage: Usage = field(default_factory=Usage)
    """What it has used; a call to a backend that it shares counts towards it."""
    is_shared: bool = False
    """Whether it is a call of the cache, which counts the bytes of its values."""
    bounds_met: set[str] = field(default_factory=set)
    """Limits that made its answer incomplete: `tokens`, `bytes`, `nodes`, `edges`, `deadline`."""
    _omissions: dict[Omission, None] = field(default_factory=dict)
    _started: list[asyncio.Task[Any]] = field(default_factory=list)

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """The omissions so far, each once, in the order of the reports."""
        return tuple(self._omissions)

    @property
    def cuts(self) -> tuple[str, ...]:
        """Why the answer is incomplete: the limits that were reached, and `store`; sorted."""
        return tuple(sorted({*self.bounds_met, *(["store"] if self._omissions else [])}))

    def add(self, omissions: Iterable[Omission]) -> None:
        """Record an omission."""
        self._omissions.update(dict.fromkeys(omissions))

    @contextmanager
    def own_omissions(self, *, kept: bool = True) -> Iterator[Collection[Omission]]:
        """The omissions inside the block, also those before it; the call has them if `kept`."""
        before, self._omissions = self._omissions, {}
        try:
            yield self._omissions
        finally:
            self._omissions = before | self._omissions if kept else before

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task that runs alongside the call, until the call ends at the latest."""
        task = start_optional(work)
        self._started.append(task)
        return task

    def end(self) -> None:
        """Cancel the tasks that nothing is waiting for, and end the work in threads."""
        self.ended = True
        if self.memory is not None:
            self.memory.end()
        for task in self._started:
            task.cancel()
        self._started.clear()  # a task holds its context, which holds this scope


CLIENT: ContextVar[str | None] = ContextVar("bfsql_client", default=None)
"""The client's name for itself, also on stdio, where calls have no `Caller`."""

GRAPH: ContextVar[str] = ContextVar("bfsql_graph", default="")
"""The name of the graph that is asked or opened, if it is one of several."""

_loan: ContextVar[tuple[CallMemory, list[int]] | None] = ContextVar("bfsql_loan", default=None)
"""The bytes that are taken inside of `borrowed`, and the account that holds them."""
_current = cast("ContextVar[Scope | None]", current_work)
_OUTSIDE = Scope()  # what there is to read outside of a call; nothing is written to it


@contextmanager
def scope(
    *,
    seconds: float | None = None,
    caller: Caller | None = None,
    request_id: str | None = None,
    part: bool = False,
    memory: CallMemory | None = None,
) -> Iterator[Scope]:
    """Begin a call: everything inside shares its deadline and its omissions.

    Args:
        seconds: How long the call may take, from now; None for no limit.
        caller: The caller, if known.
        request_id: The id that the client sent; None for that of the enclosing call, or else a new
            one.
        part: Whether it is a part of the enclosing call, if there is one, and ends no later than
            that.
        memory: The account of its memory.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    outer = _current.get() if part else None
    if outer is not None and outer.deadline is not None:
        deadline = outer.deadline if deadline is None else min(deadline, outer.deadline)
    named = request_id or current_request_id() or new_request_id()
    usage = Usage("" if caller is None else caller.key)
    opened = Scope(deadline, seconds, caller, named, memory=memory, usage=usage)
    with entered(opened):
        try:
            yield opened
        finally:
            opened.end()


def shared_scope() -> tuple[Scope, Context]:
    """The scope of a call to a backend that the current call begins and others may join.

    It has the deadline, id and usage of the current call; its omissions and its account of
    memory, with the same bounds, are its own. The context that it runs in has the name of the
    graph and the current span, and no other variable of the current call.
    """
    context = Context()
    context.run(GRAPH.set, GRAPH.get())
    if is_traced():
        from opentelemetry import context as spans
        from opentelemetry import trace

        alone = trace.set_span_in_context(trace.get_current_span(), spans.Context())
        context.run(spans.attach, alone)
    first = _current.get()
    if first is None:
        return Scope(), context
    memory = None if first.memory is None else first.memory.of_part()
    shared = Scope(
        first.deadline,
        request_id=first.request_id,
        usage=first.usage,
        memory=memory,
        is_shared=True,
    )
    return shared, context


def is_traced() -> bool:
    """Whether the process records spans: `opentelemetry-instrument` has loaded the SDK."""
    return "opentelemetry.sdk.trace" in sys.modules


def current_request_id() -> str:
    """The id of the current call; empty outside of a call."""
    return (_current.get() or _OUTSIDE).request_id


def current_usage() -> Usage:
    """What the current call has used; outside of a call, a new one."""
    return (_current.get() or Scope()).usage


def new_request_id() -> str:
    """A new id for a call: 16 hexadecimal digits."""
    return f"{random.getrandbits(64):016x}"


@contextmanager
def entered(opened: Scope) -> Iterator[Scope]:
    """Continue inside an existing scope."""
    token = _current.set(opened)
    try:
        yield opened
    finally:
        _current.reset(token)


@contextmanager
def joined() -> Iterator[Scope]:
    """Continue inside the current call, or begin one without a deadline."""
    under_way = _current.get()
    if under_way is not None:
        yield under_way
    else:
        with scope() as opened:
            yield opened


def outside(graph: str | None = None) -> Context:
    """The context of work that is no part of the current call: it has the graph's name alone.

    Args:
        graph: The name; None for that of the current graph.
    """
    context = Context()
    context.run(GRAPH.set, GRAPH.get() if graph is None else graph)
    return context


def current() -> Scope | None:
    """The scope of the current call, or None outside of a call."""
    return _current.get()


def hold(size: int) -> None:
    """Count bytes that the current call is about to take, until it ends or returns them.

    Raises:
        CallMemoryMet: The call would take more than it may.
        Busy: All calls together would take more than they may.
    """
    own = memory()
    if own is not None:
        own.hold(size)
        _lend(own, size)


def memory() -> CallMemory | None:
    """The account of memory of the current call; None if it is not bounded."""
    return (_current.get() or _OUTSIDE).memory


def hold_values(size: int) -> None:
    """Count the bytes of values, with all copies that an answer makes of them; raises as `hold`."""
    if size > 8 * 1024:  # fewer are not worth the time of counting, however often a call reads
        hold(COPIES * size)


def largest_value() -> int | None:
    """Most bytes of a value that is read for the current call; None for any number.

    A store leaves out a larger one, and reports that as an omission of `values`.
    """
    own = memory()
    return None if own is None else own.largest_value


def receive(
    records: dict[K, Metadata], label: Callable[[K], str] = str, copies: int = COPIES
) -> dict[K, Metadata]:
    """Metadata as a call holds it: without values larger than it may read, and in its account.

    Args:
        records: The metadata of nodes or edges.
        label: Returns the name of one of them, for the omission of a value.
        copies: Bytes that the call takes for each byte.

    Raises:
        CallMemoryMet: The metadata would take more memory than the call may.
        Busy: All calls together would take more than they may.
    """
    own = memory()
    if own is None or own.largest_value is None or not records:
        return records
    most = own.largest_value
    size = size_of([*records.values()], most)
    if size > most:  # otherwise no single value is larger
        records = {key: _fitting(label(key), one, most) for key, one in records.items()}
        size = size_of([*records.values()])
    hold(copies * size)
    return records


def _fitting(label: str, metadata: Metadata, most: int) -> Metadata:
    if size_of(metadata, most) <= most:
        return metadata
    sizes = {key: size_of(value, most) for key, value in metadata.items()}
    large = {key: size for key, size in sizes.items() if size > most}
    omitted(*(Omission(label, "values", size, key) for key, size in large.items()))
    return {key: value for key, value in metadata.items() if key not in large}


async def transient(stream: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """The items of a stream; what the call took for one is released when the next is requested."""
    own = memory()
    async with aclosing(stream) as items:
        held = 0 if own is None else own.account.held
        async for item in items:
            taken = 0 if own is None else own.account.held - held
            yield item
            if own is not None:
                own.release(taken)
                _lend(own, -taken)
                held = own.account.held


def held_values() -> int:
    """The most records of 256 bytes that the current call holds values of, for `off_loop`."""
    return held_items() // 32


def held_items() -> int:
    """The most items of lists that the current call holds, each compared alone, for `off_loop`."""
    own = memory()
    return 0 if own is None else own.account.held // (COPIES * 8)


@contextmanager
def holding(size: int) -> Iterator[None]:
    """A context in which the current call holds a number of bytes; raises as `hold`."""
    own = memory()
    if own is not None:
        own.hold(size)
    try:
        yield
    finally:
        if own is not None:
            own.release(size)


@contextmanager
def borrowed() -> Iterator[None]:
    """A context whose end releases what the current call took inside of it."""
    own = memory()
    if own is None:
        yield
        return
    loan: list[int] = []
    token = _loan.set((own, loan))  # another task, which reads at the same time, has its own
    try:
        yield
    finally:
        _loan.reset(token)
        own.release(sum(loan))


def _lend(own: CallMemory, size: int) -> None:
    loan = _loan.get()
    if loan is not None and loan[0] is own:  # and not that of a shared read that began inside
        loan[1].append(size)


def room(size: int, most: int) -> int:
    """How many things of a size in bytes the current call may still take, at most `most`."""
    own = memory()
    left = None if own is None else own.room()
    return most if left is None else min(most, left // size)


def start_optional(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task whose result may never be used, and whose exception is then not logged."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def start_in_call(work: Coroutine[Any, Any, T]) -> asyncio.Task[T] | None:
    """Start a task whose result the current call needs soon; outside of a call, return None."""
    under_way = _current.get()
    if under_way is None:
        work.close()
        return None
    return under_way.begin(work)


def omissions() -> tuple[Omission, ...]:
    """What is missing from the data that was returned to the current call so far."""
    return (_current.get() or Scope()).omissions


def omitted(*omissions: Omission) -> None:
    """Report that something is missing from the returned data; ignored outside of a call."""
    (_current.get() or Scope()).add(omissions)


def has_read(*, nodes: int = 0, edges: int = 0) -> None:
    """Count records that were read for the current call; ignored outside of a call."""
    own = _current.get() or Scope()
    own.nodes += nodes
    own.edges += edges


def cut_by(bound: str) -> None:
    """Report that a limit made the answer incomplete; ignored outside of a call."""
    (_current.get() or Scope()).bounds_met.add(bound)


def withheld(record: Record) -> bool:
    """Report that a record's metadata must not be returned; True for the call's first."""
    own = _current.get() or Scope()
    first = not own.withheld
    own.withheld.add(record)
    return first
