"""Walks in which the nodes of two steps are the same, or different ones (`protocol.md` 35).

A comparison with a step needs its node all along the walk. Walks are therefore taken in a graph
of pairs: each arc together with the node at which the compared step of its walk stands. In that
graph, a comparison concerns single arcs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bfsql import call
from bfsql.arrays import LongArray, distinct_numbers, places_of
from bfsql.engine.arcs import Arcs, Junction
from bfsql.engine.path.prune import Walks
from bfsql.engine.path.read import Layer
from bfsql.engine.thresholds import PAIR_BYTES
from bfsql.errors import TooManyPairs
from bfsql.integers import BoolArray, IntArray
from bfsql.models import StepComparison


def compared(walks: Walks, comparisons: Sequence[StepComparison], most: int) -> Walks:
    """The walks that meet all comparisons.

    Args:
        walks: The walks.
        comparisons: The comparisons, at least one; they have one step in common.
        most: The largest number of pairs of an arc and a node of that step.

    Raises:
        TooManyPairs: There are more pairs.
        TimeoutError: The deadline of the call passed.
    """
    step = min(set.intersection(*({one.step, one.other} for one in comparisons)))
    others = {one.other if one.step == step else one.step: one.equal for one in comparisons}
    nodes = walks.nodes_of(step)
    pairs = _Pairs(walks, step, nodes, most).by_layer()
    ends = {
        n: tuple(
            nodes[of.sources].astype(np.int64) * walks.size + part[of.arcs]
            for part in (walks.arcs[n].origins, walks.arcs[n].ends)
        )
        for n, of in pairs.items()
    }
    codes = distinct_numbers(np.concatenate([end for two in ends.values() for end in two]))
    first, second = (part.astype(np.int32) for part in np.divmod(codes, max(1, walks.size)))
    layers: list[Layer] = []
    arcs: list[Arcs] = []
    for layer, n in _divided(walks.layers, others):
        origins, reached = (np.searchsorted(codes, end).astype(np.int32) for end in ends[n])
        own = walks.arcs[n].selected(pairs[n].arcs)
        made = Arcs(origins, own.predicates, reached, own.along)
        layers.append(layer)
        arcs.append(made.selected(_meeting(layer, made, first, second, others)))
    every = np.arange(len(codes), dtype=np.int32)
    targets = None
    if walks.targets is not None or step == walks.steps:
        allowed = first == second if step == walks.steps else np.ones(len(codes), bool)
        if walks.targets is not None:
            allowed &= np.isin(second, walks.targets)
        targets = every[allowed]
    return Walks(walks.columns, layers, arcs, every, targets, pairs=(first, second))


class _ArcPairs(NamedTuple):
    """Arcs of a layer, each with a node at which the compared step may stand; each pair once."""

    sources: LongArray
    """Numbers of nodes of the compared step."""
    arcs: LongArray

    @classmethod
    def joined(cls, parts: Iterable[tuple[LongArray, LongArray]], count: int) -> _ArcPairs:
        """The pairs of all parts, whose arcs are numbered below `count`."""
        keys = [np.empty(0, np.int64), *(source * count + arc for source, arc in parts)]
        return cls(*np.divmod(distinct_numbers(np.concatenate(keys)), max(1, count)))


class _Pairs:
    """The pairs of arcs and nodes of one step that occur on the same walk, and perhaps others."""

    def __init__(self, walks: Walks, step: int, nodes: IntArray, most: int) -> None:
        self._walks, self._step, self._nodes = walks, step, nodes
        self._most = self._room = call.room(PAIR_BYTES, most)
        self._setting = "max_edges" if self._most == most else "max_call_memory"
        self._found: dict[int, _ArcPairs] = {}

    def by_layer(self) -> dict[int, _ArcPairs]:
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

    def _at(self, n: int, ends: IntArray) -> tuple[LongArray, LongArray] | None:
        """The arcs of a layer that begin or end at the step itself, with the node there."""
        layer, step = self._walks.layers[n], self._step
        begins = layer.step == step and layer.time == 1
        if not begins and not (layer.step == step - 1 and layer.onwards):
            return None
        places = places_of(self._nodes, ends, self._walks.columns.size)
        arcs = np.flatnonzero(places >= 0)
        return places[arcs].astype(np.int64), arcs

    def _add(self, n: int, own: tuple[LongArray, LongArray] | None, others: Iterable[int]) -> None:
        """Add the pairs of a layer: its own, and those that continue pairs of other layers."""
        parts = [] if own is None else [own]
        arcs = self._walks.arcs
        for m in others:
            one, other = (arcs[m], arcs[n]) if m < n else (arcs[m].turned(), arcs[n].turned())
            met = Junction(one, other, self._walks.columns.size).pairs(*self._found[m], self._room)
            if met is None:
                raise self._too_many()
            parts.append(met)
        self._found[n] = _ArcPairs.joined(parts, len(arcs[n]))
        self._room -= len(self._found[n].arcs)
        if self._room < 0:
            raise self._too_many()

    def _too_many(self) -> TooManyPairs:
        return TooManyPairs(self._step, self._most, self._setting)


def _divided(layers: Sequence[Layer], others: Mapping[int, bool]) -> Iterable[tuple[Layer, int]]:
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
    layer: Layer, arcs: Arcs, first: IntArray, second: IntArray, others: Mapping[int, bool]
) -> BoolArray:
    """Which arcs of a layer meet the comparisons; their ends are pairs of two nodes."""
    met = np.ones(len(arcs), bool)
    if layer.onwards and layer.step + 1 in others:
        met &= (first[arcs.ends] == second[arcs.ends]) == others[layer.step + 1]
    if not layer.before and 0 in others:
        met &= (first[arcs.origins] == second[arcs.origins]) == others[0]
    return met
