"""Comparison of a store with the in-memory reference, on arbitrary records.

`graphs` draws records with values that a store may confuse. `assert_agreed` compares everything
that a backend returns for them, `assert_same_answers` the answers of a tool.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from bfsql.abc import GraphDbInterface
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_test_support import tool_calls

Strategy = st.SearchStrategy[Any]

TEXTS = st.text(string.printable, max_size=6)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
UNKNOWN = ("no such id", "\ud800", "\0a", "")
"""Ids that are requested whether or not a record has them."""


def values(texts: Strategy = TEXTS, *, numbers: Strategy = NUMBERS, null: bool = True) -> Strategy:
    """JSON values; without `null`, None occurs only in lists."""
    scalars = st.booleans() | numbers | texts
    return st.recursive(
        scalars | st.none() if null else scalars,
        lambda inner: (
            st.lists(inner | st.none(), max_size=3) | st.dictionaries(texts, inner, max_size=2)
        ),
        max_leaves=4,
    )


def graphs(
    ids: Strategy,
    predicates: Strategy,
    types: Strategy,
    *,
    texts: Strategy = TEXTS,
    any_value: Strategy,
    node: Mapping[str, Strategy] | None = None,
    edge: Mapping[str, Strategy] | None = None,
    item: Mapping[str, Strategy] | None = None,
) -> st.SearchStrategy[list[GraphRecord]]:
    """Nodes, edges and evidence; the ends of many edges are among the nodes.

    Args:
        ids: Ids of nodes, ends and documents.
        texts: Names and spans.
        any_value: Values of keys that may hold anything.
        node: Further keys of a node's metadata, or other values for the usual keys.
        edge: The same for an edge.
        item: The same for an evidence item.
    """
    items = _optional({"document_id": ids, "text_span": texts, "confidence": st.floats(0, 1)}, item)
    some_texts = st.lists(texts, max_size=2)
    of_nodes = {"name": texts, "synonyms": some_texts, "other_types": some_texts, "x": any_value}
    of_edges = {
        "confidence": any_value,
        "source_documents": st.lists(ids, max_size=2),
        "provenance": st.lists(items, max_size=3) | any_value,
    }
    return st.lists(
        st.builds(NodeRecord, ids, types, _optional(of_nodes, node))
        | st.builds(EdgeRecord, ids, predicates, ids, _optional(of_edges, edge))
        | st.builds(EvidenceRecord, ids, predicates, ids, items),
        max_size=25,
    )


def _optional(common: Mapping[str, Strategy], more: Mapping[str, Strategy] | None) -> Strategy:
    return st.fixed_dictionaries({}, optional={**common, **(more or {})})


def without_dangling(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records for a store in which both ends of every edge are nodes."""
    known = {r.id for r in records if isinstance(r, NodeRecord)}
    return [r for r in records if isinstance(r, NodeRecord) or {r.subject, r.object} <= known]


def with_sorted_keys(value: Any) -> Any:
    """The value with sorted keys, as core writes it in every answer."""
    if isinstance(value, dict):
        return {key: with_sorted_keys(value[key]) for key in sorted(value)}
    return [with_sorted_keys(item) for item in value] if isinstance(value, list) else value


async def everything(
    backend: GraphDbInterface,
    records: Sequence[GraphRecord],
    *,
    cleaned: Callable[[Any], Any] = with_sorted_keys,
    singly: int | None = None,
    evidence: bool = True,
) -> dict[str, Any]:
    """Everything that a backend returns for a graph, in a canonical order.

    Args:
        records: The records whose ids are requested.
        cleaned: Turns metadata into the form that is compared.
        singly: How many nodes are requested one by one; all by default.
        evidence: Whether evidence is requested.
    """
    ends = {i for r in records if not isinstance(r, NodeRecord) for i in (r.subject, r.object)}
    ids = sorted({r.id for r in records if isinstance(r, NodeRecord)} | ends | {*UNKNOWN})
    nodes = sorted(tuple(node) for node in await backend.get_nodes_batch(ids))
    ring = sorted(await _triples(backend, ids))
    known = [str(node[0]) for node in nodes]
    some = known[:singly]
    of_nodes = await backend.metadata_for_nodes_batch(ids)
    of_edges = await backend.metadata_for_edges_batch(ring)
    items = {i: await backend.provenance_for_node(i, 1000) for i in known if evidence}
    alone = ids if singly is None else some
    return {
        "types": await backend.entity_types(),
        "predicates": await backend.predicates(),
        "nodes": nodes,
        "ring": ring,
        "each ring": {i: sorted(await _triples(backend, [i])) for i in alone},
        "leaving": {i: sorted(map(tuple, await backend.edges_from(i))) for i in some},
        "entering": {i: sorted(map(tuple, await backend.edges_to(i))) for i in some},
        "node metadata": repr({i: cleaned(of_nodes[i]) for i in sorted(of_nodes)}),
        "edge metadata": repr({i: cleaned(of_edges[i]) for i in sorted(of_edges)}),
        "evidence": items,
        # Without evidence, no limit makes a difference.
        "two items": {
            i: await backend.provenance_for_node(i, 2) for i, of in items.items() if of["items"]
        },
    }


async def _triples(backend: GraphDbInterface, ids: list[str]) -> set[tuple[str, str, str]]:
    return {(s, p, o) for s, p, o in await backend.edges_batch(ids)}


async def assert_agreed(
    backend: GraphDbInterface, records: Sequence[GraphRecord], **options: Any
) -> None:
    """Compare a backend with the reference over the same records; options as for `everything`."""
    found = await everything(backend, records, **options)
    assert found == await everything(MemoryBackend(records), records, **options)


async def assert_same_answers(graphs: Sequence[Graph], tool: str, **arguments: Any) -> None:
    """Compare the answers of several graphs, cold and then from the cache."""
    first, *others = [await _answer(graph, tool, arguments) for graph in graphs]
    assert others == [first] * len(others)
    warm = [await _answer(graph, tool, arguments) for graph in graphs]
    assert warm == [first] * len(graphs), "warm"


async def _answer(graph: Graph, tool: str, arguments: dict[str, Any]) -> Any:
    """The answer's blocks, or the kind and message of the error."""
    try:
        answer = await tool_calls.asked(graph, tool, **arguments)
    except ToolError as refused:
        return refused.kind, str(refused)
    return answer.blocks
