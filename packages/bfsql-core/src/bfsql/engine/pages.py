"""The pages of an answer: windows of its nodes and the edges among them, and their metadata.

`node_types` and `predicates` select detail, not presence: nodes and edges that they do not name
stay as stubs and cost the store nothing. `fields` selects the keys of each record
(`protocol.md` 4, 32).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import (
    NO_EDGES,
    NO_HANDLES,
    Handles,
    at,
    counted_numbers,
    distinct_numbers,
    marked,
    places_of,
    within,
)
from bfsql.engine.plan import Query
from bfsql.engine.properties import columnar, computed_values
from bfsql.engine.table import AnswerTable, sort_value
from bfsql.engine.thresholds import FEW_EDGES, PLACED
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.models import (
    MOST_PATHS,
    AnswerGaps,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    Metadata,
    PathQuery,
    ShownNodes,
    Subgraph,
    Triple,
)
from bfsql.models.expression import Computed, base_keys
from bfsql.models.parts import only, present
from bfsql.query.properties import DEGREE, DISTINCT, PATHS, computed_fields, measure_label
from bfsql.query.vocabulary import NOTHING_COMPUTED
from bfsql.workers import off_loop

if TYPE_CHECKING:
    from bfsql.engine.walks import Walks


Result: TypeAlias = BfsResult | IntersectionResult

NODE_BYTES, EDGE_BYTES = 26, 41
"""Bytes of a node and of an edge without their names."""


class Pages:
    """The pages of one answer that begin at the same listed node, of any length, as stubs.

    A budget tries many lengths. Only the content of the longest page tried is looked up and
    sorted, whatever the size of the whole answer.

    Args:
        query: The query, with existing seeds.
        table: The whole answer.
        walks: With a path: whether a page contains the walks of its nodes.

    Attributes:
        wanted: Number of nodes on the page that the query requests.
        least: The smallest number of nodes that makes a useful answer.
        facets: The facets of the whole answer, with as many values as a budget leaves.
    """

    def __init__(self, query: Query, table: AnswerTable, *, walks: bool = False) -> None:
        self.query, self.table, self.walks = query, table, walks
        self._listed = table.listed
        self.least, self._start, self.wanted = 0, 0, self._total
        if not isinstance(query, IntersectionQuery):
            after = max(0, self._total - query.offset)
            self.least, self._start = 1, min(query.offset, self._total)
            self.wanted = after if query.limit is None else min(query.limit, after)
        self.facets = table.facets
        self._places: PagePlaces | None = None
        self._prefix: Prefix | None = None
        for start, with_walks, places, prefix in table.last_page:
            if (start, with_walks) == (self._start, walks):
                self._places, self._prefix = places, prefix

    async def of(self, count: int) -> Result:
        """The result with the first `count` nodes; its facts count the nodes cut off."""
        prefix = await self._prefix_of(count)
        return await off_loop(prefix.size, lambda: self._of(prefix, count))

    def _of(self, prefix: Prefix, count: int) -> Result:
        page = prefix.page(count)
        if DEGREE in self.table.numbers:
            page = replace(page, degrees=self._numbers_of(DEGREE, prefix.ids[:count]))
        facts = self._facts(count, page, prefix.edges_to_earlier(count))
        if isinstance(self.query, PathQuery):
            return self._result(page, facts, shown=self._numbers(self.query, prefix.ids[:count]))
        return self._result(page, facts)

    def _result(self, page: Subgraph, facts: AnswerGaps, shown: ShownNodes | None = None) -> Result:
        """The result with a page."""
        query, table = self.query, self.table
        counts = len(table.nodes), len(table.edges.subjects)
        whole = query.seeds, *counts, table.summary, page
        if isinstance(query, IntersectionQuery):
            names, cut = table.columns.type_names, table.types[len(page.ids) :]
            of_types = {names[number]: many for number, many in counted_numbers(cut).items()}
            facts = replace(facts, cut_types=dict(sorted(of_types.items())))
            return IntersectionResult(*whole, facts, query.k, table.common, self.facets)
        return BfsResult(
            *whole,
            facts,
            query.path.longest if isinstance(query, PathQuery) else query.max_hops,
            query.offset,
            query.limit,
            shown,
            query.seed_count,
            [] if isinstance(query, PathQuery) else [path.text for path in query.along],
            self.facets,
        )

    def _numbers(self, query: PathQuery, ids: Sequence[str]) -> ShownNodes:
        """The numbers of the listed nodes on a page of a path."""
        paths = np.asarray(self.table.numbers[PATHS])[self._start : self._start + len(ids)]
        distinct, measures, labels = None, None, list[str]()
        if DISTINCT in self.table.numbers:
            distinct = self._numbers_of(DISTINCT, ids)
        if query.measure:
            labels = list(map(measure_label, query.measure))
            columns = [self._numbers_of(label, ids) for label in labels]
            several = len(columns) > 1
            measures = {i: [of[i] for of in columns] if several else columns[0][i] for i in ids}
        return ShownNodes(
            len(self._listed),
            query.shown_step,
            dict(zip(ids, np.minimum(paths, MOST_PATHS).tolist(), strict=True)),
            distinct,
            measures or {},
            bool((paths > MOST_PATHS).any()),
            "shown" if self.walks else "too large" if query.walks else "left out",
            self.table.dead_end,
            measure_texts=labels if measures else (),
        )

    def _numbers_of(self, name: str, ids: Sequence[str]) -> dict[str, Any]:
        """A number of the listed nodes on a page, by id."""
        part = self.table.numbers[name][self._start : self._start + len(ids)]
        return dict(zip(ids, part.tolist() if isinstance(part, np.ndarray) else part, strict=True))

    async def least_bytes(self, count: int) -> int:
        """A lower bound on the bytes of an answer with the first `count` nodes, if known."""
        if self.table.walks is None:
            return 0
        if not self.walks or not count:
            return count * NODE_BYTES
        places = await self._places_of(count)
        nodes, edges = ((part < count).sum() for part in (places.of_nodes, places.of_edges))
        return int(nodes * NODE_BYTES + edges * EDGE_BYTES)

    def wanted_in_full(self, page: Subgraph) -> tuple[Sequence[str], Sequence[Triple]]:
        """The nodes and the edges of a page that the filters want in full."""
        if self.query.topology_only:
            return (), ()
        types, full_types = page.types, frozenset(self.query.node_types)
        full_predicates = frozenset(self.query.predicates)
        return (
            [i for i in page.ids if not full_types or types[i] in full_types],
            [t for t in page.triples if not full_predicates or t[1] in full_predicates],
        )

    @property
    def _total(self) -> int:
        """The number of what pages count."""
        return len(self._listed)

    def _facts(self, count: int, page: Subgraph, edges_to_earlier: int = 0) -> AnswerGaps:
        """The facts of the answer and of a page with the first `count` nodes."""
        bare = self.wanted_in_full(page) if count < self.wanted else ((), ())
        return replace(
            self.table.facts,
            past_the_end=self._start >= self._total > 0,
            edges_to_earlier=edges_to_earlier,
            cut_nodes=self.wanted - count,
            tied=self._tied(self._start + count) if count else 0,
            bare_nodes=len(bare[0]),
            bare_edges=len(bare[1]),
        )

    def _tied(self, end: int) -> int:
        """The number of nodes directly behind the first `end` with the sort key of the last."""
        order, numbers = self.table.facts.order, self.table.numbers
        if order is None or not 0 < end <= order.had:
            return 0
        keys = map(sort_value, islice(numbers[order.key], end - 1, order.had))
        last = next(keys)
        return sum(1 for _ in takewhile(lambda one: one == last, keys))

    async def _prefix_of(self, count: int) -> Prefix:
        """A beginning of the page with at least `count` nodes, and at most twice as many."""
        length = min(self.wanted, 1 << max(count - 1, 0).bit_length())
        known = self._prefix
        if known is None or not count <= known.length <= 2 * length:
            places = await self._places_of(length)
            self._prefix = known = await self._read(places, length)
            last: LastPage = self._start, self.walks, places, known
            self.table.last_page[:] = [last]
        return known

    async def _read(self, places: PagePlaces, length: int) -> Prefix:
        """The beginning of the page in strings."""
        columns = self.table.columns
        listed = self._listed[self._start : self._start + length]
        if length < places.length:
            places = places.beginning(length)
        nodes = places.nodes
        ids, type_of, triples, order = await in_strings(columns, nodes, places.types, places.edges)
        others: list[tuple[str, int]] = []
        if self.walks:
            id_of = dict(zip(nodes.tolist(), ids, strict=True))
            others = sorted(zip(ids, places.of_nodes.tolist(), strict=True))
            ids = [id_of[handle] for handle in listed.tolist()]
        of_triples = places.of_edges[order].tolist()
        return Prefix(ids, type_of, others, triples, of_triples, places.crossing)

    async def _places_of(self, length: int) -> PagePlaces:
        """The content of a longer beginning, since finding it visits all edges."""
        if self._places is None or self._places.length < length:
            longer = min(self.wanted, max(PLACED, 4 * length))
            size = len(self.table.edges.subjects)
            self._places = await off_loop(size, lambda: self._find_places(longer))
        return self._places

    def _find_places(self, length: int) -> PagePlaces:
        """The content of a beginning with `length` nodes."""
        table, start, stop = self.table, self._start, self._start + length
        if table.walks is not None:
            return self._places_on_walks(table.walks, self._listed[start:stop], length)
        size, edges, until = table.columns.size, table.edges, table.nodes[:stop]
        if stop < len(table.nodes):
            edges = within(edges, Handles(size, until))
        one, other = places_of(until, edges.ends, size).reshape(2, -1)
        last, crossing = np.maximum(one, other), NO_HANDLES
        if start:
            first = np.minimum(one, other)
            crossing = np.sort(last[(first < start) & (last >= start)] - start)
            edges, last = marked(edges, first >= start), last.compress(first >= start) - start
        nodes, types = until[start:], table.types[start:stop]
        return PagePlaces(length, nodes, types, np.arange(length), edges, last, crossing)

    def _places_on_walks(self, walks: Walks, nodes: IntArray, length: int) -> PagePlaces:
        """The first of some listed nodes that the walks through each node and edge pass."""
        table, none = self.table, NO_HANDLES
        if self.walks:
            assert isinstance(self.query, PathQuery)
            firsts = walks.firsts(self.query.shown_step, nodes)
            whole = PagePlaces(length, table.nodes, table.types, *firsts, none)
            return whole.beginning(length)  # without nodes and edges that are on no such walk
        types = table.types[places_of(table.nodes, nodes, table.columns.size)]
        return PagePlaces(length, nodes, types, np.arange(length), NO_EDGES, none, none)


class PagePlaces(NamedTuple):
    """The content of pages of any length, by the page on which it first is.

    The place of a node or an edge is a number: pages with more nodes than it contain it.
    """

    length: int
    """Number of nodes on the longest of these pages; those that they add to it do not count."""
    nodes: IntArray
    """Handles of the nodes, each once."""
    types: IntArray
    """Numbers of their types."""
    of_nodes: npt.NDArray[np.integer]
    """The place of each node."""
    edges: Ring
    """The edges, each once, in no order."""
    of_edges: npt.NDArray[np.integer]
    """The place of each edge."""
    crossing: IntArray
    """Places of the ends of edges that lead to nodes before the page, ascending."""

    def beginning(self, length: int) -> PagePlaces:
        """The content of pages with at most `length` nodes."""
        nodes, edges = self.of_nodes < length, self.of_edges < length
        return PagePlaces(
            length,
            self.nodes[nodes],
            self.types[nodes],
            self.of_nodes[nodes],
            marked(self.edges, edges),
            self.of_edges[edges],
            self.crossing,
        )


class Prefix(NamedTuple):
    """The beginning of a page in strings, from which shorter pages are cut."""

    ids: Sequence[str]
    """The nodes that pages count, in order."""
    types: dict[str, str]
    others: Sequence[tuple[str, int]]
    """The ids of all nodes on the walks of a path, sorted, and their places."""
    triples: Sequence[Triple]
    """The edges, sorted."""
    of_triples: Sequence[int]
    """The place of each edge."""
    crossing: IntArray
    """As in `PagePlaces`."""

    @property
    def length(self) -> int:
        """The number of nodes that count."""
        return len(self.ids)

    @property
    def size(self) -> int:
        """The number of nodes and edges."""
        return len(self.types) + len(self.triples)

    def page(self, count: int) -> Subgraph:
        """The first `count` nodes, and what is on the page with them."""
        ids, triples = self.ids[:count], self.triples
        if count < self.length:
            places = zip(triples, self.of_triples, strict=True)
            triples = [triple for triple, place in places if place < count]
        if self.others:
            listed = frozenset(ids)
            more = [i for i, place in self.others if place < count and i not in listed]
            ids = [*ids, *more]
        return Subgraph(ids, self.types, triples)

    def edges_to_earlier(self, count: int) -> int:
        """The number of edges that lead from the first `count` nodes to earlier pages."""
        return bisect_left(self.crossing, count)


LastPage: TypeAlias = tuple[int, bool, PagePlaces, Prefix]
"""The last page that was looked up: the place of its first node in the answer, whether it has
walks, its content and its beginning."""


async def in_strings(
    columns: IntegerGraph, nodes: IntArray, types: IntArray, edges: Ring
) -> tuple[list[str], dict[str, str], list[Triple], npt.NDArray[np.intp]]:
    """The ids of nodes, their types by id, the edges among them in order, and that order."""
    ids = await call.within(columns.ids(nodes))
    order = None
    if len(edges.subjects) > FEW_EDGES:
        order = await order_of_edges(columns, nodes, edges)

    def result() -> tuple[list[str], dict[str, str], list[Triple], npt.NDArray[np.intp]]:
        names = columns.type_names
        type_of = {i: names[t] for i, t in zip(ids, types.tolist(), strict=True)}
        id_of = dict(zip(nodes.tolist(), ids, strict=True)).__getitem__
        subjects, predicates, objects = edges if order is None else at(edges, order)
        triples = list(
            zip(
                map(id_of, call.checked(subjects.tolist(), late=True)),
                map(columns.predicate_names.__getitem__, predicates.tolist()),
                map(id_of, objects.tolist()),
                strict=True,
            )
        )
        if order is not None:
            return ids, type_of, triples, order
        places = sorted(range(len(triples)), key=triples.__getitem__)
        return ids, type_of, [triples[place] for place in places], np.array(places, np.intp)

    return await off_loop(len(nodes) + len(edges.subjects), result)


async def order_of_edges(
    columns: IntegerGraph, nodes: IntArray, edges: Ring
) -> npt.NDArray[np.intp]:
    """The places of many edges in the order of their strings."""
    in_order = await columns.ordered(nodes)

    def order() -> npt.NDArray[np.intp]:
        subjects, objects = places_of(in_order, edges.ends, columns.size).reshape(2, -1)
        used = distinct_numbers(edges.predicates).tolist()
        numbers = sorted(used, key=columns.predicate_names.__getitem__)
        rank = np.empty(max(numbers, default=-1) + 1, np.int32)
        rank[numbers] = np.arange(len(numbers), dtype=np.int32)
        return np.lexsort((objects, rank[edges.predicates], subjects))

    return await off_loop(len(edges.subjects), order)


# --- metadata -------------------------------------------------------------------


async def with_node_metadata(db: GraphDbInterface, pages: Pages, result: Result) -> Result:
    """The result with node metadata.

    All nodes that the filters want in full have metadata, or none if the deadline passes first.
    """
    wanted, _ = pages.wanted_in_full(result.page)
    keys, computed = None, NOTHING_COMPUTED
    if pages.query.fields:
        computed = computed_fields(pages.query.fields)
        keys = frozenset(_keys(pages)) | base_keys(computed.values()) | computed.keys()
    try:
        found = await call.within(db.metadata_for_nodes_batch(wanted, keys)) if wanted else {}
    except TimeoutError:
        call.cut_by("deadline")
        return replace(result, facts=replace(result.facts, late=("nodes",)))
    brought = pages.table.columns.node_metadata
    came = only({i: brought[i] for i in wanted if i in brought}, keys)
    full: dict[str, Metadata] = {
        i: {**came[i], **found.get(i, {})} if i in came else found.get(i, {}) for i in wanted
    }
    if computed:
        full = await off_loop(len(full), partial(_with_computed, full, _keys(pages), computed))
    return replace(result, page=replace(result.page, node_metadata=full))


def _keys(pages: Pages) -> list[str]:
    """The keys of `fields`, without what is computed."""
    return [text for text in pages.query.fields if measure_label(text) == text]


def _with_computed(
    records: Mapping[str, Metadata], keys: Sequence[str], computed: Mapping[str, Computed]
) -> dict[str, Metadata]:
    """Records with the requested keys and expressions; an own key of that name gets a prefix."""
    base = columnar(list(records.values()), base_keys(computed.values()))
    columns = computed_values(base, computed.values(), len(records))
    shown = {*keys, *computed}
    found: dict[str, Metadata] = {}
    for place, (i, record) in enumerate(records.items()):
        own = {key: record[key] for key in record if key in shown}
        own = {f"metadata.{key}" if key in computed else key: own[key] for key in own}
        found[i] = own | {name: columns[tree][place] for name, tree in computed.items()}
    return found


async def with_edge_metadata(
    db: GraphDbInterface, pages: Pages, result: Result, stripped: Collection[str] = ()
) -> Result:
    """The result with edge metadata.

    All edges that the filters want in full have metadata, or none if the deadline passes first.

    Args:
        db: The graph.
        pages: The pages that the result belongs to.
        result: A result with or without node metadata.
        stripped: Keys that no edge shows, so `fields` does not match them.
    """
    _, wanted = pages.wanted_in_full(result.page)
    keys = frozenset(_keys(pages)).difference(stripped) if pages.query.fields else None
    if not wanted or (keys is not None and not keys):
        return result
    # One edge of each predicate shows which properties `fields` hides.
    samples = (
        () if keys is None else list({triple[1]: triple for triple in reversed(wanted)}.values())
    )
    reading = [db.metadata_for_edges_batch(wanted, keys)]
    reading += [db.metadata_for_edges_batch(samples, None)] if samples else []
    try:
        found, *whole = await call.within(asyncio.gather(*reading))
    except TimeoutError:
        call.cut_by("deadline")
        late = (*result.facts.late, "edges")
        return replace(result, facts=replace(result.facts, late=late))
    full = {triple: found.get(triple, {}) for triple in wanted}
    if keys is not None:
        full = {triple: known for triple, known in full.items() if present(known)}
        if not full:
            seen = {key for known in whole[0].values() for key in present(known)}
            hidden = tuple(sorted(seen.difference(stripped)))
            result = replace(result, facts=replace(result.facts, edge_properties=hidden))
    return replace(result, page=replace(result.page, edge_metadata=full))


async def with_metadata(
    db: GraphDbInterface, pages: Pages, result: Result, stripped: Collection[str] = ()
) -> Result:
    """The result with the metadata of nodes and edges, read concurrently."""
    reading = call.start_optional(with_edge_metadata(db, pages, result, stripped))
    try:
        nodes = await with_node_metadata(db, pages, result)
        edges = await reading
    finally:
        reading.cancel()
    return replace(
        nodes,
        page=replace(nodes.page, edge_metadata=edges.page.edge_metadata),
        facts=replace(edges.facts, late=nodes.facts.late + edges.facts.late),
    )


def without_edge_metadata(pages: Pages, result: Result) -> Result:
    """A result whose nodes leave no room for edge metadata; its facts count those edges."""
    _, wanted = pages.wanted_in_full(result.page)
    return replace(result, facts=replace(result.facts, bare_edges=len(wanted)))


def with_absent_fields(pages: Pages, result: Result, stripped: Collection[str] = ()) -> Result:
    """Name the requested fields that nothing on the page has in the facts of the result.

    Args:
        pages: The pages that the result belongs to.
        result: A result with its complete metadata.
        stripped: As in `with_edge_metadata`.
    """
    facts = result.facts
    if not pages.query.fields or facts.late or facts.bare_edges:
        return result
    records = [*result.page.node_metadata.values(), *result.page.edge_metadata.values()]
    shown = result.shown if isinstance(result, BfsResult) else None
    records += [row.values for row in (shown and shown.rows) or () if row.values]
    seen = {key for known in records for key in present(known)}
    absent = [key for key in map(measure_label, pages.query.fields) if key not in seen]
    hidden = tuple(key for key in absent if key in stripped)
    unknown = tuple(key for key in absent if key not in stripped)
    return replace(result, facts=replace(facts, absent_fields=unknown, stripped_fields=hidden))


def with_metadata_of(full: Result, part: Result) -> Result:
    """A shorter page of stubs with the metadata of a longer one, which has that of all records."""
    page, nodes, edges = part.page, full.page.node_metadata, full.page.edge_metadata
    return replace(
        part,
        page=replace(
            page,
            node_metadata={i: nodes[i] for i in page.ids if i in nodes},
            edge_metadata={t: edges[t] for t in page.triples if t in edges},
        ),
        facts=replace(
            part.facts,
            bare_nodes=0,
            bare_edges=0,
            late=full.facts.late,
            absent_fields=full.facts.absent_fields,
            stripped_fields=full.facts.stripped_fields,
            edge_properties=full.facts.edge_properties,
        ),
    )


def trimmed(result: Result, nodes: int, edges: int) -> Result:
    """Keep the metadata of the first `nodes` nodes and `edges` edges; the facts count the rest."""
    page, facts = result.page, result.facts
    return replace(
        result,
        page=replace(
            page,
            node_metadata=dict(islice(page.node_metadata.items(), nodes)),
            edge_metadata=dict(islice(page.edge_metadata.items(), edges)),
        ),
        facts=replace(
            facts,
            bare_nodes=len(page.node_metadata) - nodes,
            bare_edges=facts.bare_edges + len(page.edge_metadata) - edges,
        ),
    )
