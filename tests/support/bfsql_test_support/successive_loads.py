"""Graphs drawn as several successive loads, and as the one load with the same result."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import MADE_TYPE, LoadMode, LoadOptions
from bfsql.models.merge import created_node
from bfsql_test_support.graph_strategies import graphs


@dataclass(frozen=True)
class Load:
    """One of several successive loads."""

    removed: tuple[NodeRecord | EdgeRecord, ...]
    """What is removed before this load."""
    records: tuple[GraphRecord, ...]


@dataclass(frozen=True)
class SeveralLoads:
    """A graph that is written in several loads."""

    loads: tuple[Load, ...]
    """The first one fills an empty store."""
    create_nodes: bool
    """Whether all loads create nodes for the ends of edges."""

    def options(self, load: Load | None = None) -> LoadOptions:
        """The options for appending one of the loads, or for one load of everything."""
        return LoadOptions(
            LoadMode.REPLACE if load is None else LoadMode.APPEND,
            remove=() if load is None else load.removed,
            create_nodes=self.create_nodes,
            default_type=MADE_TYPE,
            backup=False,
        )

    @property
    def everything(self) -> list[GraphRecord]:
        """The records for one load of everything, without those that were removed.

        A node that was created for the end of an edge stays when the edge is removed.
        """
        have: list[GraphRecord] = []
        for load in self.loads:
            ids = {r.id for r in load.removed if isinstance(r, NodeRecord)}
            triples = {_triple(r) for r in load.removed if isinstance(r, EdgeRecord)}
            kept = [r for r in have if not _is_gone(r, ids, triples)]
            if self.create_nodes:
                kept += [
                    created_node(end, MADE_TYPE)
                    for record in have
                    if isinstance(record, EdgeRecord)
                    for end in (record.subject, record.object)
                    if end not in ids
                ]
            have = [*kept, *load.records]
        return have


@st.composite
def several_loads(draw: st.DrawFn, most: int = 25) -> SeveralLoads:
    """A graph in up to four loads, between which something may be removed.

    Evidence comes with its edge or later.
    """
    drawn = draw(graphs(most=most))
    number = draw(st.integers(1, 4), label="loads")
    any_load = st.integers(0, number - 1)
    records = [_less_said(record, draw(st.integers(0, 5))) for record in drawn.records]
    places = [draw(any_load) for _ in records]
    first: dict[tuple[str, str, str], int] = {}
    for record, place in zip(records, places, strict=True):
        if isinstance(record, EdgeRecord):
            first[_triple(record)] = min(place, first.get(_triple(record), place))
    split: list[list[GraphRecord]] = [[] for _ in range(number)]
    for record, place in zip(records, places, strict=True):
        known = first[_triple(record)] if isinstance(record, EvidenceRecord) else 0
        split[max(place, known)].append(record)
    gone = st.lists(st.sampled_from(records), max_size=3) if records else st.just([])
    loads = []
    for place, part in enumerate(split):
        named = draw(gone) if place else []
        removed = tuple(r for r in named if not isinstance(r, EvidenceRecord))
        loads.append(Load(removed, tuple(part)))
    loads = list(_with_their_edges(loads))
    return SeveralLoads(tuple(loads), draw(st.booleans(), label="create nodes"))


def _less_said(record: GraphRecord, chance: int) -> GraphRecord:
    """Remove or replace the type of some node records; reduce others to a created node."""
    if isinstance(record, NodeRecord):
        if chance == 0:
            return replace(record, entity_type="")
        if chance == 1:
            return replace(record, entity_type=MADE_TYPE)
        if chance == 2:
            return created_node(record.id, MADE_TYPE)
    return record


def _with_their_edges(loads: list[Load]) -> Iterator[Load]:
    """The loads without evidence for edges that were removed and not added again."""
    have: set[tuple[str, str, str]] = set()
    for load in loads:
        ids = {r.id for r in load.removed if isinstance(r, NodeRecord)}
        triples = {_triple(r) for r in load.removed if isinstance(r, EdgeRecord)}
        have = {t for t in have if t not in triples and not ids & {t[0], t[2]}}
        have |= {_triple(r) for r in load.records if isinstance(r, EdgeRecord)}
        usable = (
            r for r in load.records if not isinstance(r, EvidenceRecord) or _triple(r) in have
        )
        yield replace(load, records=tuple(usable))


def _triple(record: EdgeRecord | EvidenceRecord) -> tuple[str, str, str]:
    return record.subject, record.predicate, record.object


def _is_gone(record: GraphRecord, ids: set[str], triples: set[tuple[str, str, str]]) -> bool:
    if isinstance(record, NodeRecord):
        return record.id in ids
    return _triple(record) in triples or record.subject in ids or record.object in ids
