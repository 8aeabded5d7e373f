"""Reads the records of a load in a thread, accepts or refuses each, and writes them in batches."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from bfsql import call
from bfsql.errors import LoadRefused, SourceError
from bfsql.masking import shorten
from bfsql.models.load import LoadOptions, LoadReport
from bfsql.models.matching import LONGEST
from bfsql.models.merge import merge_node_records
from bfsql.models.records import EdgeRecord, GraphRecord, NodeRecord, Refusal

BATCH = 5_000
"""Rows written to the file at a time."""
MAX_REFUSALS = 100
"""Most refusals that a report shows; all of them are counted."""
EXAMPLES = 5
"""Most ids, or other examples, of one kind that a report names."""
NOT_TEXT = "it contains half of a surrogate pair, which is not text; write the whole character"


T = TypeVar("T")


class Stopped(Exception):
    """The load was cancelled while records were read."""


def accepted(
    records: Iterable[GraphRecord],
    take: Callable[[GraphRecord], None],
    report: LoadReport,
    stopped: Callable[[], bool],
    *,
    strict: bool = False,
) -> Iterator[None]:
    """Pass each record to `take`, and yield after it, so that the caller can write a full batch.

    Args:
        records: Nodes, edges and evidence in any order.
        take: Raises a `ValueError` for a record that the store cannot hold, with the reason.
        report: Where refused records are counted.
        stopped: Whether the load is cancelled; called before every record.
        strict: Whether a refused record ends the load.

    Raises:
        Stopped: The load is cancelled.
        SourceError: A record was refused in strict mode.
    """
    for record in records:
        if stopped():
            raise Stopped
        try:
            take(record)
        except UnicodeEncodeError:
            _refuse(report, record, NOT_TEXT, strict=strict)
        except ValueError as error:
            _refuse(report, record, str(error), strict=strict)
        yield


def sample_step(count: int) -> int:
    """Every how many ids one is taken, so that a sample of `count` ids has at most a thousand."""
    return max(1, -(-count // 1_000))


def check_graph(report: LoadReport, options: LoadOptions, *, keeps_dangling: bool = False) -> None:
    """Make sure that a graph has content, before the store is changed.

    Args:
        report: Of the merged graph.
        options: `require_nodes` asks for the check.
        keeps_dangling: Whether `report.edges` includes dangling edges.

    Raises:
        LoadRefused: There are no nodes, or every edge dangles.
    """
    if not options.require_nodes:
        return
    dangling = report.dangling_edges
    if dangling and dangling == report.edges + (0 if keeps_dangling else dangling):
        raise LoadRefused(
            f"Nothing was loaded: all {dangling:,} edges dangle, because no record describes "
            f"their ends, for instance {', '.join(report.dangling_examples)}. Load the file of "
            "nodes as well, or leave out --no-create-nodes so that nodes are created for the "
            f"ends. {similar_ids(report)}".rstrip()
        )
    if not report.nodes:
        raise LoadRefused(
            "Nothing was loaded: the graph would have no nodes. --dry-run shows how the files "
            "are read."
        )


def similar_ids(report: LoadReport) -> str:
    """A sentence on ids that may be meant for each other; empty if there are none.

    Ids that differ in Unicode form look the same, so they are written with escapes.
    """
    pairs = []
    for pair in report.similar_examples:
        look_the_same = len({*map(nfc_normalize, pair)}) == 1
        written = (json.dumps(shorten(one, 40), ensure_ascii=look_the_same) for one in pair)
        pairs.append(" and ".join(written))
    if not pairs:
        return ""
    return (
        "Ids that differ only in case, blanks, Unicode form or a final .0 are different ids: "
        f"{report.similar_ids:,}, for instance {', '.join(pairs)}."
    )


def nfc_normalize(text: str) -> str:
    """A text in the composed form of Unicode, for SQLite, which lacks the function."""
    if text.isascii() or len(text) > LONGEST:  # it takes the square of a run of marks
        return text
    return unicodedata.normalize("NFC", text)


def graph_is_there(
    place: str, nodes: int | None, edges: int | None, *, elsewhere: str = ""
) -> LoadRefused:
    """The error of a load in mode NEW into a store that holds a graph.

    Args:
        place: The location of the graph, for the message.
        nodes: Its number of nodes; None if unknown.
        edges: Its number of edges; likewise.
        elsewhere: For a store that supports no mode APPEND: where to load if the graph is to
            remain, as `load into another schema with --schema`.
    """
    numbers = ((n, thing) for n, thing in ((nodes, "node"), (edges, "edge")) if n is not None)
    known = [f"{n:,} {thing}{'s' * (n != 1)}" for n, thing in numbers]
    size = f" of {' and '.join(known)}" if known else ""
    advice = "Use --replace to replace it, or --append to add to it."
    if elsewhere:  # --replace is named only together with the number of nodes that it deletes
        deletes = "--replace deletes it; to" if nodes is not None else "To"
        advice = f"{deletes} keep it, {elsewhere}."
    return LoadRefused(f"Nothing was loaded: {place} already contains a graph{size}. {advice}")


def _refuse(report: LoadReport, record: GraphRecord, reason: str, *, strict: bool) -> None:
    if strict:
        reason = f"{reason} (the load is strict, so nothing was loaded)"
        raise SourceError(name_of(record), reason)
    report.refused += 1
    if len(report.refusals) < MAX_REFUSALS:
        report.refusals.append(Refusal(name_of(record), None, reason))


def name_of(record: GraphRecord) -> str:
    """A record's description in a sentence."""
    if isinstance(record, NodeRecord):
        return f"node {_short(record.id)}"
    what = "edge" if isinstance(record, EdgeRecord) else "evidence for edge"
    triple = (record.subject, record.predicate, record.object)
    return f"{what} {' '.join(map(_short, triple))}"


def _short(text: str) -> str:
    return ascii(shorten(text, 60))


class Merging(Generic[T]):
    """Records of one item, of which the first ones are merged as soon as they are many.

    Args:
        merge: Makes one record of several; None if all are to stay.

    Attributes:
        records: Those to merge, which are as many as a batch, or as the values of the result.
        number: How many were added.
    """

    def __init__(self, merge: Callable[[list[T]], T] | None) -> None:
        self.records: list[T] = []
        self.number = 0
        self._merge = merge
        self._room = BATCH

    def add(self, record: T) -> None:
        """Add a record."""
        self.number += 1
        self.records.append(record)
        if self._merge is not None and len(self.records) >= self._room:
            self.records = [one] = [self._merge(self.records)]
            metadata: Any = one.metadata if isinstance(one, NodeRecord) else one
            lists = [value for value in metadata.values() if isinstance(value, list)]
            self._room = BATCH + sum(map(len, lists))  # else each would be sorted often


def node_merging(default_type: str) -> Merging[NodeRecord]:
    """The records of one node, still without any."""
    return Merging(lambda some: NodeRecord(some[0].id, *merge_node_records(some, default_type)))


def merged_node(
    records: Iterable[NodeRecord], default_type: str, report: LoadReport
) -> tuple[str, dict[str, Any]]:
    """Type and metadata of the node that some records describe, which are counted."""
    merging, typed = node_merging(default_type), dict[str, NodeRecord]()
    for record in records:
        merging.add(record)
        if record.metadata != {"name": record.id}:
            typed.setdefault(record.entity_type, record)
    report.duplicate_nodes += merging.number - 1
    report.note_types([*typed.values()], default_type)
    return merge_node_records(merging.records, default_type)


class Worker:
    """Runs the blocking steps of a load in threads; cancelling the load stops the current step.

    A thread cannot be cancelled: a step has to call `stopped` regularly, and to return or raise
    when it is true. What it calls ends at its next `bfsql.deadline.check`.
    """

    def __init__(self) -> None:
        self._work = call.Scope()

    def stopped(self) -> bool:
        """Whether the load is cancelled."""
        return self._work.ended

    async def run(self, work: Callable[[], T]) -> T:
        """Run one step. When the call is cancelled, stop the step and wait until it has ended."""
        with call.entered(self._work):
            running = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            self._work.ended = True
            await asyncio.wait([running])
            if not running.cancelled():
                running.exception()
            raise

    async def feed(self, items: Iterator[T], write: Callable[[T], Awaitable[object]]) -> None:
        """Write every item, while the next one is made in a thread.

        When this returns or raises, no thread is running.
        """
        end = object()

        def begin() -> asyncio.Future[Any]:
            return asyncio.ensure_future(self.run(lambda: next(items, end)))

        coming = begin()
        try:
            while (item := await coming) is not end:
                coming = begin()
                await write(item)
        finally:
            coming.cancel()
            await asyncio.wait([coming])
            if not coming.cancelled():
                coming.exception()


def batches(
    items: Iterable[T], size: Callable[[T], tuple[int, int]], rows: Callable[[], int], volume: int
) -> Iterator[list[T]]:
    """Items in batches for a store; each list has at least one item.

    Args:
        items: The items to write.
        size: Maps an item to its number of rows and its characters or bytes.
        rows: Returns the most rows of a list; called for every item.
        volume: The most characters or bytes of a list.
    """
    batch: list[T] = []
    have_rows = have_volume = 0
    for item in items:
        more_rows, more = size(item)
        if batch and (have_rows + more_rows > rows() or have_volume + more > volume):
            yield batch
            batch, have_rows, have_volume = [], 0, 0
        batch.append(item)
        have_rows += more_rows
        have_volume += more
    if batch:
        yield batch
