"""Complete walks: the arcs on them, their number, and the nodes that they join.

Each computation visits the layers once, forwards or backwards, and joins them at junctions:
numbers of walks, the first of some nodes that a walk passes, and pairs of nodes of two steps.
Walks are never listed (`protocol.md` 30).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from bfsql import call
from bfsql.arrays import (
    NO_HANDLES,
    Handles,
    LongArray,
    at,
    concatenated,
    distinct,
    distinct_numbers,
    places_of,
    runs,
)
from bfsql.engine.arcs import MANY, Arcs, Junction, Pairs, capped_products, capped_sums, each_once
from bfsql.engine.thresholds import PAIR_BYTES
from bfsql.errors import TooManyPairs, bad_value
from bfsql.integers import BoolArray, IntArray, IntegerGraph, Ring
from bfsql.models import Step, StepComparison


@dataclass(frozen=True, slots=True)
class Layer:
    """One repetition of a step."""

    step: int
    """Number of the step, from 0."""
    time: int
    """The number of times that the step has been taken, including this one."""
    before: tuple[int, ...]
    """The layers that a walk may come from; empty if a walk begins at this layer."""
    again: bool
    """Whether the step may be taken once more."""
    onwards: bool
    """Whether the next step, or the end of the walk, may follow."""


def layers_of(steps: Sequence[Step]) -> tuple[Layer, ...]:
    """The layers of some steps; each layer comes after those that a walk may come from."""
    layers: list[Layer] = []
    done: tuple[int, ...] = ()
    for number, step in enumerate(steps):
        before, done = done, ()
        for time in range(1, step.most + 1):
            onwards = time >= step.least
            layers.append(Layer(number, time, before, time < step.most, onwards))
            before = (len(layers) - 1,)
            done += before if onwards else ()
    return tuple(layers)


class Walks:
    """The complete walks through some layers.

    Args:
        columns: The graph.
        layers: The layers.
        arcs: The arcs of each layer; those that are on no complete walk are left out.
        starts: Handles of the nodes at which walks start.
        targets: Handles of the nodes at which walks end; None for any node.
        pairs: If walks are taken in a graph of pairs, the handles in the graph of both nodes of
            each pair: of the one that it has in common with all pairs of a walk, and of the one
            where the walk is. Only `arcs` and `junctions` then have other handles.
        turning: Whether two consecutive edges may be the same.

    Attributes:
        size: Upper bound (exclusive) of all handles.
        arcs: The arcs of each layer that lie on complete walks.
        walks_to: By layer and arc: the number of walks that lead to the arc, at most `MANY`.
        walks_on: By layer and arc: the number of ways in which walks continue after the arc with
            the next step, or end there, at most `MANY`.
        walks_again: By layer and arc: the same, for walks that repeat the step.
    """

    def __init__(
        self,
        columns: IntegerGraph,
        layers: Sequence[Layer],
        arcs: Sequence[Arcs],
        starts: IntArray,
        targets: IntArray | None,
        *,
        pairs: tuple[IntArray, IntArray] | None = None,
        turning: bool = False,
    ) -> None:
        self.columns, self.layers = columns, layers
        self.pairs, self._turning = pairs, turning
        self.size = max(columns.size, 0 if pairs is None else len(pairs[1]))
        self.steps = layers[-1].step + 1
        self._starts, self.targets = starts, targets
        self.arcs = list(arcs)
        forwards, (leaving, again) = self._forwards(), self._backwards()
        kept = [(forwards[n] > 0) & ((leaving[n] > 0) | (again[n] > 0)) for n in range(len(layers))]
        if not all(mask.all() for mask in kept):
            self.arcs = [one.selected(mask) for one, mask in zip(arcs, kept, strict=True)]
            vars(self).pop("junctions", None)
        self.walks_to = [w[mask] for w, mask in zip(forwards, kept, strict=True)]
        self.walks_on = [w[mask] for w, mask in zip(leaving, kept, strict=True)]
        self.walks_again = [w[mask] for w, mask in zip(again, kept, strict=True)]

    @cached_property
    def junctions(self) -> dict[tuple[int, int], Junction]:
        """How the arcs of a layer meet those of a layer that may follow."""
        arcs, turning = self.arcs, self._turning
        return {
            (before, n): Junction(arcs[before], arcs[n], self.size, turning=turning)
            for n, layer in enumerate(self.layers)
            for before in layer.before
        }

    def without(self, nodes: Handles, *, ends: bool) -> Walks:
        """The walks that pass none of some nodes or, with `ends`, do not end there either."""
        arcs = []
        for one in self.arcs:
            passed = nodes.has(self.handles(one.origins))
            if ends:
                passed |= nodes.has(self.handles(one.ends))
            arcs.append(one.selected(~passed))
        ends_of_walks = self._starts, self.targets
        return Walks(self.columns, self.layers, arcs, *ends_of_walks, pairs=self.pairs)

    def selected(self, step: int, tests: Sequence[StepTest]) -> Walks:
        """The walks whose nodes at a step, with the edges that reached them, meet all tests."""
        arcs = list(self.arcs)
        for n, layer in enumerate(self.layers):
            one = self.arcs[n]
            if layer.step == step - 1:
                stops = self.stops(one.ends, one)
            elif step == 0 and not layer.before:
                stops = self.stops(one.origins, None)
            else:
                continue
            arcs[n] = one.selected(all_met(tests, stops))
        ends_of_walks = self._starts, self.targets
        return Walks(self.columns, self.layers, arcs, *ends_of_walks, pairs=self.pairs)

    def handles(self, nodes: IntArray) -> IntArray:
        """The handles in the graph of nodes at the ends of `arcs`."""
        return nodes if self.pairs is None else self.pairs[1][nodes]

    def stops(self, nodes: IntArray, arcs: Arcs | None) -> Stops:
        """The pairs that nodes are in a graph of pairs, and the edges by which arcs reach them."""
        first, second = (nodes, nodes) if self.pairs is None else (of[nodes] for of in self.pairs)
        return Stops(first, second, None if arcs is None else self.ring(arcs))

    def ring(self, arcs: Arcs) -> Ring:
        """The edges of some of the arcs."""
        subjects, predicates, objects = arcs.ring
        return Ring(self.handles(subjects), predicates, self.handles(objects))

    # --- nodes and edges ------------------------------------------------------------

    @cached_property
    def nodes(self) -> IntArray:
        """Handles of the nodes on the walks, ascending."""
        ends = [end for one in self.arcs for end in (one.origins, one.ends)]
        return distinct_numbers(self.handles(np.concatenate(ends)))

    @cached_property
    def edges(self) -> Ring:
        """The edges on the walks, each once."""
        return distinct(concatenated(list(map(self.ring, self.arcs))), self.size)

    def ending(self, nodes: Handles) -> Ring:
        """The last edges of the walks that end at one of some nodes, each once."""
        last = [self.arcs[n].selected(mask) for n, _, mask in self.step_ends(self.steps)]
        rings = [self.ring(one.selected(nodes.has(self.handles(one.ends)))) for one in last]
        return distinct(concatenated(rings), self.size)

    def nodes_of(self, step: int) -> IntArray:
        """Handles of the nodes that a step reaches, ascending; walks start at step 0."""
        parts = [nodes for _, nodes, _ in self.step_ends(step)]
        return distinct_numbers(np.concatenate([NO_HANDLES, *parts]))

    def nodes_at(self, step: int) -> IntArray:
        """Handles of the nodes of a step, those of all its repetitions, ascending."""
        if step == 0:
            return self.nodes_of(0)
        ends = [self.handles(self.arcs[n].ends) for n in self.layers_of(step)]
        return distinct_numbers(np.concatenate([NO_HANDLES, *ends]))

    def edges_of(self, step: int) -> Ring:
        """The edges that a step takes in any of its repetitions, each once; none at step 0."""
        rings = [self.ring(self.arcs[n]) for n in self.layers_of(step)]
        return distinct(concatenated(rings), self.size)

    def layers_of(self, step: int) -> list[int]:
        """The layers of a step: one for each repetition; none for step 0."""
        return [n for n, layer in enumerate(self.layers) if layer.step == step - 1]

    def paths(self, step: int, nodes: IntArray) -> LongArray:
        """The number of walks that pass each of some nodes at a step, at most `MANY`."""
        size, count = self.size, len(nodes)
        every = np.arange(count, dtype=np.int32)
        total = np.zeros(count, np.int64)
        for number, reached, mask in self.step_ends(step):
            if step:
                to, on = self.walks_to[number][mask], self.walks_on[number][mask]
            else:
                on = self.walks_on[number] + self.walks_again[number]
                to, on = np.ones(len(on), np.int64), np.minimum(on, MANY)
            walks = capped_products(to, on)
            places = places_of(nodes, reached, size)
            total += capped_sums(walks, places, every, np.full(count, -1), count)
            total = np.minimum(total, MANY)
        return total

    def firsts(self, step: int, nodes: IntArray) -> tuple[LongArray, Ring, LongArray]:
        """The first of some nodes that the walks through each node and edge pass.

        Args:
            step: The step that reaches the nodes.
            nodes: Handles, each once, in order.

        Returns:
            For each node on the walks, the place of its first node in `nodes`, or `len(nodes)` if
            there is none; the edges, each once; and the same places for each edge.
        """
        size, none = self.size, len(nodes)
        values = self._first_places(step, nodes)
        least = np.full(len(self.nodes), none, np.int64)
        for one, value in zip(self.arcs, values, strict=True):
            for ends in (one.origins, one.ends):
                np.minimum.at(least, places_of(self.nodes, self.handles(ends), size), value)
        rings = concatenated(list(map(self.ring, self.arcs)))
        order, new = runs(rings, size)
        value = np.concatenate(values)[order]
        first = np.minimum.reduceat(value, np.flatnonzero(new)) if len(value) else value
        return least, at(rings, order[new]), first

    def _first_places(self, step: int, nodes: IntArray) -> list[LongArray]:
        """By layer and arc: the place of the first of some nodes on the walks over the arc."""
        none, size = len(nodes), self.size
        values = [np.full(len(one), none, np.int64) for one in self.arcs]
        for number, reached, mask in self.step_ends(step):
            place = places_of(nodes, reached, size).astype(np.int64)
            values[number][mask] = np.where(place < 0, none, place)
        own = [value.copy() for value in values]
        for n, layer in enumerate(self.layers):
            for before in layer.before if layer.step >= step else ():
                passed = own if self.layers[before].step == step - 1 else values
                met = self.junctions[before, n].least(passed[before], none)
                values[n] = np.minimum(values[n], met)
        for n in reversed(range(len(self.layers))):
            for before in self.layers[n].before if self.layers[n].step < step else ():
                met = self.junctions[before, n].least(values[n], none, backwards=True)
                values[before] = np.minimum(values[before], met)
        return values

    # --- arcs -----------------------------------------------------------------------

    def step_ends(self, step: int) -> Iterator[tuple[int, IntArray, BoolArray]]:
        """The layers whose arcs end a step: the number, the nodes, and a mask of these arcs.

        Step 0 is where walks start.
        """
        for n, layer in enumerate(self.layers):
            if step == 0 and not layer.before:
                one = self.arcs[n]
                yield n, self.handles(one.origins), np.ones(len(one), bool)
            elif layer.step == step - 1 and layer.onwards:
                mask = self.walks_on[n] > 0
                yield n, self.handles(self.arcs[n].ends[mask]), mask

    def _forwards(self) -> list[LongArray]:
        """By layer and arc: the number of walks that lead to the arc."""
        walks: list[LongArray] = []
        starts = Handles(self.size, self._starts)
        for n, (layer, one) in enumerate(zip(self.layers, self.arcs, strict=True)):
            count = np.zeros(len(one), np.int64)
            if not layer.before:
                count[starts.has(one.origins)] = 1
            for before in layer.before:
                count += self.junctions[before, n].sums(walks[before])
                count = np.minimum(count, MANY)
            walks.append(count)
        return walks

    def _backwards(self) -> tuple[list[LongArray], list[LongArray]]:
        """By layer and arc: the number of walks that continue with the next and the same step."""
        leaving = [np.zeros(len(one), np.int64) for one in self.arcs]
        again = [np.zeros(len(one), np.int64) for one in self.arcs]
        for n in reversed(range(len(self.layers))):
            layer, one = self.layers[n], self.arcs[n]
            if layer.onwards and layer.step == self.steps - 1:
                targets = self.targets
                leaving[n] += 1 if targets is None else Handles(self.size, targets).has(one.ends)
            total = np.minimum(leaving[n] + again[n], MANY)
            for before in layer.before:
                part = again if self.layers[before].step == layer.step else leaving
                part[before] += self.junctions[before, n].sums(total, backwards=True)
                part[before] = np.minimum(part[before], MANY)
        return leaving, again


# --- comparisons of steps -------------------------------------------------------


class Stops(NamedTuple):
    """Pairs of nodes that walks pass, with the edges that reached the second one."""

    first: IntArray
    """Handles of the nodes of the step that all pairs have in common."""
    second: IntArray
    """Handles of the nodes of the other step."""
    edges: Ring | None
    """The edges by which walks reached the other step; None where walks start."""


StepTest: TypeAlias = Callable[[Stops], BoolArray]
"""Which pairs meet a condition."""


def common_step(comparisons: Sequence[StepComparison]) -> int | None:
    """The step whose nodes are one side of all comparisons; None if there is none."""
    return min(frozenset.intersection(*(one.steps for one in comparisons)), default=None)


def paired(walks: Walks, step: int, tests: Mapping[int, Sequence[StepTest]], most: int) -> Walks:
    """The walks in a graph of pairs: of the node where they are, and that of a step.

    Args:
        walks: The walks.
        step: The step that all pairs have in common.
        tests: By step: what the pairs of both steps have to meet.
        most: The largest number of pairs of an arc and a node of the common step.

    Raises:
        ToolError: The walks are in a graph of pairs already.
        TooManyPairs: There are more pairs.
        TimeoutError: The deadline of the call passed.
    """
    if walks.pairs is not None:
        raise bad_value("measure: where names two steps, too. Name one in measure.", "measure")
    nodes = walks.nodes_of(step)
    pairs = _Pairs(walks, step, nodes, most).by_layer()
    ends = {
        n: tuple(
            nodes[sources].astype(np.int64) * walks.size + part[own]
            for part in (walks.arcs[n].origins, walks.arcs[n].ends)
        )
        for n, (sources, own) in pairs.items()
    }
    codes = distinct_numbers(np.concatenate([end for two in ends.values() for end in two]))
    first, second = (part.astype(np.int32) for part in np.divmod(codes, max(1, walks.size)))
    layers: list[Layer] = []
    arcs: list[Arcs] = []
    for layer, n in _divided(walks.layers, tests):
        origins, reached = (np.searchsorted(codes, end).astype(np.int32) for end in ends[n])
        alone = walks.arcs[n].selected(pairs[n][1])
        made = Arcs(origins, alone.predicates, reached, alone.along)
        layers.append(layer)
        arcs.append(made.selected(_meeting(layer, made, first, second, tests)))
    every = np.arange(len(codes), dtype=np.int32)
    targets = None
    if walks.targets is not None or step == walks.steps:
        allowed = first == second if step == walks.steps else np.ones(len(codes), bool)
        if walks.targets is not None:
            allowed &= np.isin(second, walks.targets)
        targets = every[allowed]
    return Walks(walks.columns, layers, arcs, every, targets, pairs=(first, second))


class _Pairs:
    """The pairs of nodes of one step and arcs that occur on the same walk, and perhaps others."""

    def __init__(self, walks: Walks, step: int, nodes: IntArray, most: int) -> None:
        self._walks, self._step, self._nodes = walks, step, nodes
        self._most = self._room = call.room(PAIR_BYTES, most)
        self._setting = "max_edges" if self._most == most else "max_call_memory"
        self._found: dict[int, Pairs] = {}

    def by_layer(self) -> dict[int, Pairs]:
        """The pairs of each layer, read onwards and backwards from the step."""
        layers = self._walks.layers
        after = [n for n, layer in enumerate(layers) if layer.step >= self._step]
        before = [n for n, layer in enumerate(layers) if layer.step < self._step]
        for n in after:
            self._add(
                n, self._at(n, self._walks.arcs[n].origins), set(layers[n].before) & set(after)
            )
        for n in reversed(before):
            onwards = [m for m in before if n in layers[m].before]
            self._add(n, self._at(n, self._walks.arcs[n].ends), onwards)
        return dict(sorted(self._found.items()))

    def _at(self, n: int, ends: IntArray) -> Pairs | None:
        """The arcs of a layer that begin or end at the step itself, with the node there."""
        layer, step = self._walks.layers[n], self._step
        begins = layer.step == step and layer.time == 1
        if not begins and not (layer.step == step - 1 and layer.onwards):
            return None
        places = places_of(self._nodes, ends, self._walks.columns.size)
        arcs = np.flatnonzero(places >= 0)
        return places[arcs].astype(np.int64), arcs

    def _add(self, n: int, own: Pairs | None, others: Iterable[int]) -> None:
        """Add the pairs of a layer: its own, and those that continue pairs of other layers."""
        parts = [] if own is None else [own]
        arcs = self._walks.arcs
        for m in others:
            one, other = (arcs[m], arcs[n]) if m < n else (arcs[m].turned(), arcs[n].turned())
            met = Junction(one, other, self._walks.columns.size).pairs(*self._found[m], self._room)
            if met is None:
                raise self._too_many()
            parts.append(met)
        self._found[n] = each_once(parts, len(arcs[n]))
        self._room -= len(self._found[n][1])
        if self._room < 0:
            raise self._too_many()

    def _too_many(self) -> TooManyPairs:
        return TooManyPairs(self._step, self._most, self._setting)


def _divided(layers: Sequence[Layer], others: Collection[int]) -> Iterable[tuple[Layer, int]]:
    """The layers, with those divided after which a compared step may end or be repeated.

    Yields:
        A layer, and the number of the one that it was.
    """
    # By number: the layers from which the step is repeated, and from which the next one follows.
    repeated: dict[int, int] = {}
    ended: dict[int, int] = {}
    count = 0
    for n, layer in enumerate(layers):
        before = tuple(
            repeated[b] if layers[b].step == layer.step else ended[b] for b in layer.before
        )
        repeated[n] = ended[n] = count
        if layer.again and layer.onwards and layer.step + 1 in others:
            yield replace(layer, before=before, onwards=False), n
            ended[n] = count = count + 1
            yield replace(layer, before=before, again=False), n
        else:
            yield replace(layer, before=before), n
        count += 1


def _meeting(
    layer: Layer,
    arcs: Arcs,
    first: IntArray,
    second: IntArray,
    tests: Mapping[int, Sequence[StepTest]],
) -> BoolArray:
    """Which arcs of a layer meet the tests; their ends are pairs of two nodes."""
    met = np.ones(len(arcs), bool)
    if layer.onwards and layer.step + 1 in tests:
        met &= all_met(tests[layer.step + 1], stops_of(arcs, arcs.ends, first, second))
    if not layer.before and 0 in tests:
        stops = Stops(first[arcs.origins], second[arcs.origins], None)
        met &= all_met(tests[0], stops)
    return met


def stops_of(arcs: Arcs, reached: IntArray, first: IntArray, second: IntArray) -> Stops:
    """The pairs that arcs reach, given both nodes of each pair."""
    subjects, predicates, objects = arcs.ring
    ring = Ring(second[subjects], predicates, second[objects])
    return Stops(first[reached], second[reached], ring)


def all_met(tests: Sequence[StepTest], stops: Stops) -> BoolArray:
    """Which pairs meet all tests."""
    met = np.ones(len(stops.second), bool)
    for test in tests:
        met &= test(stops)
    return met
