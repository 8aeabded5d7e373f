"""Single walks of a path's answer, one a row, in an order in which every page begins at once.

The rows are ordered by the nodes of one step; walks through the same node by the nodes of the
steps before it, the nearest first, then by those of the steps behind it. The numbers of walks over
each arc are known, so that an offset skips whole branches, and walks are made one by one from the
pruned arcs. Only nodes, and the arcs at a node that a row passes, are sorted (`protocol.md` 38).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import LongArray, distinct_numbers, places_of
from bfsql.engine.arcs import MANY, Arcs, capped_products
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.engine.pages import Pages, Result
from bfsql.engine.properties import property_columns
from bfsql.engine.table import AnswerTable
from bfsql.errors import ToolError
from bfsql.integers import IntArray
from bfsql.models import MOST_PATHS, Metadata, PathQuery, ShownNodes, Step, Subgraph, WalkRow
from bfsql.models.expression import Part, base_keys
from bfsql.models.json_values import exact_integer
from bfsql.query.properties import PATHS, computed_fields
from bfsql.workers import off_loop

Hop: TypeAlias = tuple[int, int]
"""The number of a layer and the place of one of its arcs."""
Walk: TypeAlias = tuple[Hop, ...]
"""The arcs of a walk, or of a part of it."""


class _Choices(NamedTuple):
    """The arcs by which walks may go on from a node, in order."""

    layers: IntArray
    places: LongArray
    """The place of each arc in its layer."""
    arcs: Arcs
    """The arcs, turned if walks are followed backwards."""
    counts: LongArray
    """The number of ways in which walks go on over each arc, at most `MANY`."""

    def hops(self, skip: int) -> Iterator[tuple[Hop, int]]:
        """The arcs over which walks remain behind the first `skip`, which count for the first."""
        first, skip = _first_group(self.counts, skip)
        for at in (first + np.flatnonzero(self.counts[first:])).tolist():
            yield (int(self.layers[at]), int(self.places[at])), skip
            skip = 0


class WalkList:
    """All walks of a path's answer in order, none of which is made before it is needed.

    Args:
        table: The answer; its listed nodes are those of one step, in the order of the rows.
        step: That step.
        by_id: Handles of all nodes on the walks, in the order of their ids.

    Attributes:
        counts: The number of walks through each listed node.
    """

    def __init__(self, table: AnswerTable, step: int, by_id: IntArray) -> None:
        assert table.walks is not None
        self._walks = walks = table.walks
        self._step, self._nodes = step, table.listed
        self.counts = np.asarray(table.numbers[PATHS])
        self._ranks = np.empty(len(by_id), np.int64)
        self._ranks[np.searchsorted(walks.nodes, by_id)] = np.arange(len(by_id))
        self._indexes: dict[tuple[int, bool, bool], _Index] = {}
        self._known: dict[tuple[tuple[int, ...], int, bool], _Choices] = {}

    @property
    def count(self) -> int:
        """The number of walks, at most `MANY`."""
        few = self.counts.sum(dtype=float) < 2 * MANY
        return min(MANY, int(self.counts.sum())) if few else MANY

    def after(self, skip: int) -> Iterator[Walk]:
        """The walks behind the first `skip`, of which there are `MOST_PATHS` at most."""
        first, skip = _first_group(self.counts, skip)
        for node in self._nodes[first:].tolist():
            yield from self._through(node, skip)
            skip = 0

    def nodes(self, walk: Walk) -> list[int]:
        """Handles of the nodes of a walk."""
        arcs, (number, place) = self._walks.arcs, walk[0]
        nodes = [arcs[number].origins[place], *(arcs[n].ends[at] for n, at in walk)]
        found: list[int] = self._walks.handles(np.array(nodes, np.int32)).tolist()
        return found

    def edges(self, walk: Walk, steps: Sequence[Step]) -> list[str]:
        """The predicates of a walk, with the direction of each edge where its step allows both.

        A predicate that begins like a direction always has one.
        """
        found = []
        for n, at in walk:
            arcs, step = self._walks.arcs[n], steps[self._walks.layers[n].step]
            predicate = self._walks.columns.predicate_names[arcs.predicates[at]]
            is_known = step.direction and not predicate.startswith(("<", ">"))
            found.append(f"{'' if is_known else '>' if arcs.along[at] else '<'}{predicate}")
        return found

    # --- the order ------------------------------------------------------------------

    def _through(self, node: int, skip: int) -> Iterator[Walk]:
        """The walks that pass a node at the step, behind some of them."""
        walks, step = self._walks, self._step
        layers = tuple(n for n, _, _ in walks.step_ends(step))
        choices = self._sorted(layers, node, backwards=step > 0, in_graph=True)
        if not step:
            yield from self._over(choices, skip)
            return
        on = _arc_values(walks.walks_on, choices.layers, choices.places)
        whole = choices._replace(counts=capped_products(choices.counts, on))
        for hop, skipped in whole.hops(skip):
            back, forth = divmod(skipped, int(walks.walks_on[hop[0]][hop[1]]))
            for before in self._rests(hop, back, backwards=True):
                for behind in self._rests(hop, forth, again=False):
                    yield (*reversed(before), hop, *behind)
                forth = 0

    def _over(self, choices: _Choices, skip: int, *, backwards: bool = False) -> Iterator[Walk]:
        """The parts of walks that begin with some arcs, behind some of them."""
        for hop, skipped in choices.hops(skip):
            for rest in self._rests(hop, skipped, backwards=backwards):
                yield (hop, *rest)

    def _rests(
        self, hop: Hop, skip: int, *, backwards: bool = False, again: bool = True
    ) -> Iterator[Walk]:
        """What follows an arc or, backwards, precedes it, without the first ones.

        With `again`, the step of the arc may be repeated behind it.
        """
        walks, (number, place) = self._walks, hop
        layer = walks.layers[number]
        if backwards:
            over, ends = layer.before, not layer.before
        else:
            later = (n for n, one in enumerate(walks.layers) if number in one.before)
            over = tuple(n for n in later if again or walks.layers[n].step > layer.step)
            ends = layer.step == walks.steps - 1 and bool(walks.walks_on[number][place])
        if ends and not skip:
            yield ()
        if not over:
            return
        arcs = self._index(number, backwards=backwards).arcs
        near, far = arcs.origins[place], arcs.ends[place]
        choices = self._choices(over, int(far), backwards=backwards)
        same = (choices.arcs.ends == near) & (choices.arcs.predicates == arcs.predicates[place])
        same &= (choices.arcs.along != arcs.along[place]) | (near == far)
        choices = choices._replace(counts=np.where(same, 0, choices.counts))
        yield from self._over(choices, max(0, skip - ends), backwards=backwards)

    def _choices(self, layers: tuple[int, ...], node: int, *, backwards: bool) -> _Choices:
        """The arcs of some layers that leave a node or, backwards, end there."""
        key = layers, node, backwards
        if key not in self._known:
            self._known[key] = self._sorted(layers, node, backwards=backwards)
        return self._known[key]

    def _sorted(
        self, layers: tuple[int, ...], node: int, *, backwards: bool, in_graph: bool = False
    ) -> _Choices:
        """The choices at a node; with `in_graph`, at all pairs that stand for it."""
        walks, names = self._walks, self._walks.columns.predicate_names
        indexes = [self._index(n, backwards=backwards, in_graph=in_graph) for n in layers]
        at_node = [one.at(node) for one in indexes]
        numbers = np.repeat(np.array(layers, np.int32), list(map(len, at_node)))
        places = np.concatenate(at_node)
        arcs = Arcs.joined([o.arcs.selected(at) for o, at in zip(indexes, at_node, strict=True)])
        if backwards:
            counts = _arc_values(walks.walks_to, numbers, places)
        else:
            on, again = (
                _arc_values(w, numbers, places) for w in (walks.walks_on, walks.walks_again)
            )
            counts = np.minimum(on + again, MANY)
        kinds, predicates = np.unique(arcs.predicates, return_inverse=True)
        by_name = np.argsort(np.argsort([names[number] for number in kinds.tolist()]))
        # Several pairs may stand for a node; the other node of the pair then decides.
        shared = arcs.ends if walks.pairs is None else walks.pairs[0][arcs.ends]
        last, first = (
            self._ranks[np.searchsorted(walks.nodes, nodes)]
            for nodes in (shared, walks.handles(arcs.ends))
        )
        order = np.lexsort((last, numbers, ~arcs.along, by_name[predicates], first))
        return _Choices(numbers[order], places[order], arcs.selected(order), counts[order])

    def _index(self, number: int, *, backwards: bool, in_graph: bool = False) -> _Index:
        key = number, backwards, in_graph
        if key not in self._indexes:
            arcs = self._walks.arcs[number]
            arcs = arcs.turned() if backwards else arcs
            origins = self._walks.handles(arcs.origins) if in_graph else arcs.origins
            self._indexes[key] = _Index.of(arcs, origins)
        return self._indexes[key]


class _Index(NamedTuple):
    """The arcs of a layer, and their places by the node that they leave."""

    arcs: Arcs
    order: npt.NDArray[np.intp]
    origins: IntArray
    """The nodes that the arcs leave in that order, ascending."""

    @classmethod
    def of(cls, arcs: Arcs, origins: IntArray) -> _Index:
        order = np.argsort(origins)
        return cls(arcs, order, origins[order])

    def at(self, node: int) -> npt.NDArray[np.intp]:
        """The places of the arcs that leave a node."""
        return self.order[slice(*np.searchsorted(self.origins, [node, node + 1]))]


def _arc_values(values: Sequence[LongArray], layers: IntArray, places: LongArray) -> LongArray:
    """The values of arcs, which are given by their layers and their places there."""
    found = np.zeros(len(layers), np.int64)
    for number in distinct_numbers(layers).tolist():
        here = layers == number
        found[here] = values[number][places[here]]
    return found


def _first_group(counts: LongArray, skip: int) -> tuple[int, int]:
    """The first group of walks of which some remain, and how many of it are skipped.

    Args:
        counts: The number of walks in each group, at most `MANY`.
        skip: The number of walks to skip, at most `MOST_PATHS`.
    """
    if not skip:
        return 0, 0
    enough = int(np.searchsorted(np.cumsum(counts, dtype=float), 2.0 * MANY)) + 1
    ends = np.cumsum(counts[:enough])  # exact: the sums of integers stay below 2 to the 56th
    first = int(np.searchsorted(ends, skip, side="right"))
    return first, skip - int(ends[first - 1]) if first else skip


# --- pages ------------------------------------------------------------------------


class RowPages(Pages):
    """The pages of walks that begin at the same walk, of any length.

    Args:
        query: The query, with existing seeds.
        table: The whole answer; its listed nodes are those by which the walks are ordered.
        walks: Its walks.
        db: The graph; properties are read of which `fields` computes something for each walk.
        most: The most nodes that the walks of a page may have.
    """

    def __init__(
        self, query: PathQuery, table: AnswerTable, walks: WalkList, db: GraphDbInterface, most: int
    ) -> None:
        self._walks, self._db, self._most = walks, db, most
        self._computed: list[Metadata | None] = []
        super().__init__(query, table)
        self.query: PathQuery = query
        self._following = walks.after(self._start)
        self._rows: list[Walk] = []

    async def of(self, count: int) -> Result:
        """The first `count` walks with their nodes as stubs; the facts count the walks cut off."""
        query, table = self.query, self.table
        rows = await self._first(count)
        handles = [self._walks.nodes(walk) for walk in rows]
        computed = await self._values(rows, handles)
        nodes = np.array(list(dict.fromkeys(n for row in handles for n in row)), np.int32)
        ids = await call.within(table.columns.ids(nodes))
        places = places_of(table.nodes, nodes, table.columns.size)
        names, types = table.columns.type_names, table.types[places].tolist()
        page = Subgraph(ids, {i: names[t] for i, t in zip(ids, types, strict=True)}, ())
        id_of = dict(zip(nodes.tolist(), ids, strict=True))
        steps = query.path.steps
        chosen = any(len(one.predicates or ()) != 1 or not one.direction for one in steps)
        edges = (self._walks.edges(walk, steps) if chosen else None for walk in rows)
        shown = ShownNodes(
            self._total,
            query.shown_step,
            many=self._walks.count > MOST_PATHS,
            dead_end=table.dead_end,
            rows=[
                WalkRow([id_of[n] for n in row], along, own)
                for row, along, own in zip(handles, edges, computed, strict=True)
            ],
        )
        return self._result(page, self._facts(count, page), shown)

    async def _values(
        self, rows: Sequence[Walk], handles: Sequence[Sequence[int]]
    ) -> Sequence[Metadata | None]:
        """What `fields` computes for each of some walks; for each walk once."""
        query, table, new = self.query, self.table, slice(len(self._computed), None)
        fields = {} if query.topology_only else computed_fields(query.fields, len(query.path.steps))
        if not fields or table.walks is None:
            return [None] * len(rows)
        nodes = distinct_numbers(np.array([n for row in handles[new] for n in row], np.int32))
        read = await property_columns(self._db, table.columns, nodes, base_keys(fields.values()))
        layers, walks = table.walks.layers, [*zip(rows[new], handles[new], strict=True)]

        def of_step(part: Part) -> PartValues:
            before = ([layers[n].step < (part.step or 0) for n, _ in walk] for walk, _ in walks)
            ends = [row[sum(hops)] for hops, (_, row) in zip(before, walks, strict=True)]
            return read[part.key].at(places_of(nodes, np.array(ends, np.int32), table.columns.size))

        of_rows, trees = Evaluation(len(walks), of_step), [one.tree for one in fields.values()]
        found = await off_loop(len(rows), lambda: list(map(of_rows.values, trees)))
        for own in zip(*found, strict=True):
            self._computed.append(dict(zip(fields, map(exact_integer, own), strict=True)))
        return self._computed[: len(rows)]

    async def least_bytes(self, count: int) -> int:
        """A lower bound on the bytes that the first `count` walks take."""
        least = sum(step.least for step in self.query.path.steps)
        return count * (4 * least + 2)  # as lines: ids of one character, " > " between them

    @property
    def _total(self) -> int:
        return min(self._walks.count, MOST_PATHS)

    def _tied(self, end: int) -> int:
        """The number of walks directly behind the first `end` with the sort key of the last."""
        order, ends = self.table.facts.order, np.cumsum(self._walks.counts, dtype=float)
        node = int(np.searchsorted(ends, end - 1, side="right"))
        has_value = order is not None and node < order.had
        return int(ends[node + super()._tied(node + 1)]) - end if has_value else 0

    async def _first(self, count: int) -> list[Walk]:
        """The first walks of the page, which are made only once."""
        rows, most = self._rows, self._most
        if count * (1 + self.query.path.longest) > most:
            raise ToolError(
                f"{count} walks have more nodes than this server's limit of {most:,} a page. Lower "
                "limit and go on with offset; limit=0 gives walk_count alone.",
                kind="too_large",
                argument="limit",
            )

        missing = max(0, count - len(rows))
        following = call.checked(islice(self._following, missing))
        await off_loop(missing, lambda: rows.extend(following))
        return rows[:count]
