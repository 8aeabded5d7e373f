"""Rules for nodes and edges: exact ids, metadata and evidence, the two lists of names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from bfsql.abc import GraphDbInterface, normalized
from bfsql.cache import CachedGraphDb
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.models import Edge, EdgeRecord, NodeRecord
from bfsql.tools import Limits
from bfsql_testing.conformance.calls import EVIDENCE, EXACT, KNOWN, TOTAL, compared
from bfsql_testing.conformance.graphs import (
    PAIRS,
    evidence,
    hostile,
    near_ids,
    pairs_of_ids,
    parallel,
    two_of_a_pattern,
    values,
)
from bfsql_testing.conformance.harness import (
    SINGLE,
    UNKNOWN,
    WORDS,
    Broken,
    Trial,
    Untried,
    answered,
    expect,
    expect_same,
    filling_rule,
    no_error,
    reading_rule,
    returned,
    rule,
    sample,
    some_edges,
)

PATTERNS = ["%", "pat:%", "pat:a_", "pat:*", "pat:a?", "pat:.*", "pat:[a]b", "*"]
"""Ids that match `pat:ab` in some pattern language."""


@reading_rule("the backend contract: the eight methods and their batches")
async def return_types(trial: Trial) -> None:
    """Every method returns what the contract states, and there is a node to examine."""
    async with trial.opened() as db:
        await returned(db, "entity_types")
        await returned(db, "predicates")
        try:
            ids = await sample(trial, db)
        except Untried as nothing:
            raise Broken(str(nothing)) from nothing
        for word in (trial.words or WORDS)[:3]:
            await returned(db, "search_entities", word)
        edges: list[Edge] = []
        for entity_id in ids:
            for method in SINGLE:
                answer = await returned(db, method, entity_id)
                edges += [Edge(*edge) for edge in list(answer)[:5] if method == "edges_from"]
        for edge in edges:
            await returned(db, "metadata_for_edge", edge)
        for method in ("get_nodes_batch", "edges_batch", "metadata_for_nodes_batch"):
            await returned(db, method, ids)
        await returned(db, "metadata_for_edges_batch", edges)


@reading_rule("protocol 24: answers carry the canonical id; core uses and echoes that one")
async def own_identity(trial: Trial) -> None:
    """A node's id leads to the node itself."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            node = await db.get_node(entity_id)
            what = f"get_node({entity_id!r})"
            expect(node.entity_type, f"{what} has no type; protocol 8 requires one.")
            again = await db.get_node(node.id)
            expect_same(f"{what} is {node.id!r}, whose own get_node", again.id, node.id)


@reading_rule("the backend contract: edges_from, edges_to, get_node raise KeyError for unknown ids")
async def unknown_ids(trial: Trial) -> None:
    """Unknown ids raise KeyError."""
    async with trial.opened() as db:
        for entity_id in UNKNOWN:
            for method in ("get_node", "edges_from", "edges_to"):
                await _key_error(db, method, entity_id)


@reading_rule(
    "the backend contract: metadata_for_node and metadata_for_edge raise KeyError",
    level="convention",
)
async def unknown_metadata(trial: Trial) -> None:
    """The metadata of something unknown raises KeyError."""
    # Core asks only for what exists.
    async with trial.sampled() as (db, [known, *_]):
        for entity_id in UNKNOWN:
            await _key_error(db, "metadata_for_node", entity_id)
        for triple in ((known, "no such predicate", known), (*UNKNOWN[:2], UNKNOWN[0])):
            await _key_error(db, "metadata_for_edge", Edge(*triple))


async def _key_error(db: GraphDbInterface, method: str, key: object) -> None:
    request = f"{method}({key!r})"
    with no_error(request, ", not KeyError."):
        answer = await answered(db, method, key)
    expect(answer is KeyError, f"{request} gave {answer!r} and raised no KeyError.")


compared(
    "exact-ids",
    "ids are not folded",
    source="protocol 24: no case folding, no Unicode normalization",
    over=(near_ids, pairs_of_ids),
    calls=lambda ids, _: {
        "get_nodes_batch": [[other] for _, other in PAIRS if other not in ids],
        "get_node": [other for _, other in PAIRS if other not in ids],
        "metadata_for_node": ids if len(ids) > len(PAIRS) else (),
    },
)
compared(
    "ids-no-patterns",
    "an id is not a pattern",
    source="protocol 24: a near miss is an error with candidates",
    over=(two_of_a_pattern,),
    calls=lambda *_: {" ".join(SINGLE): PATTERNS, "get_nodes_batch edges_batch": [PATTERNS]},
)
compared(
    "hostile-ids",
    "hostile ids are ids like any other",
    source="protocol 19: ids, predicates and types are never altered",
    over=(hostile,),
    calls=lambda ids, edges: {
        "get_node edges_from edges_to": ids,
        "metadata_for_edge": edges,
        "entity_types predicates": [()],
    },
    metadata_for_edge=KNOWN,
)
compared(
    "every-value",
    "metadata keeps every value as it is",
    source="the backend contract: metadata_for_node gives all that is known; protocol 17 and 18",
    over=(values, parallel),
    calls=lambda ids, edges: {"metadata_for_node": ids, "metadata_for_edge": edges},
    metadata_for_node=EXACT,
    metadata_for_edge=EXACT,
)
compared(
    "edge-evidence",
    "the passages behind an edge are in its metadata as provenance",
    source="protocol 16: backends put all else that is verbose under provenance",
    over=(evidence,),
    calls=lambda ids, edges: {
        "metadata_for_edge": edges,
        "provenance_for_node": product(ids[:2], (20, 1)),
    },
    metadata_for_edge=EVIDENCE,
)
compared(
    "evidence-counted",
    "the total of the evidence counts what the limit leaves out",
    source="protocol 16: provenance is total and items, 20 items",
    over=(evidence,),
    calls=lambda ids, _: {"provenance_for_node": product(ids[:2], (0, 1, 20))},
    provenance_for_node=TOTAL,
)


async def names_sorted(trial: Trial, *, method: str) -> None:
    """By code point."""
    async with trial.opened() as db:
        names: Sequence[str] = list(await getattr(db, method)())
        expect_same(f"{method}, to be sorted, each once,", names, sorted({*names}))


for _id, _method in (("types-sorted", "entity_types"), ("predicates-sorted", "predicates")):
    rule(
        _id,
        f"{_method} is sorted, each once",
        source="the backend contract: entity_types() and predicates() are sorted",
        mode="reading",
        level="convention",
        method=_method,
    )(names_sorted)


async def _listed(trial: Trial, db: GraphDbInterface, method: str) -> set[str] | None:
    """The names of a list, or None: an open-world graph may list fewer."""
    listed = {*await getattr(db, method)()}
    if await normalized(db).comprehensive():
        return listed
    trial.odd("The backend says that the two lists are not comprehensive.")
    return None


@reading_rule("protocol 9: entity_types() lists the values that occur as entity_type")
async def types_match(trial: Trial) -> None:
    """entity_types lists the types that nodes have."""
    async with trial.opened() as db:
        if (listed := await _listed(trial, db, "entity_types")) is not None:
            for node in await db.get_nodes_batch(await sample(trial, db)):
                what = f"{node.id!r} has the type {node.entity_type!r}"
                expect(node.entity_type in listed, f"{what}, which entity_types lacks.")


@reading_rule("protocol 23: one spelling, the one that describe_schema lists")
async def predicates_match(trial: Trial) -> None:
    """Predicates lists the predicates that edges have."""
    async with trial.opened() as db:
        if (listed := await _listed(trial, db, "predicates")) is not None:
            for edge in await some_edges(trial, db):
                expect(edge[1] in listed, f"{edge} has a predicate that predicates does not list.")


@reading_rule("the backend contract: keys() has all keys of the metadata of nodes, or is None")
async def keys_match(trial: Trial) -> None:
    """Keys lists the keys that nodes have, if the backend knows all of them."""
    async with trial.opened() as db:
        keys = await normalized(db).keys()
        if keys is None:
            trial.odd("The backend does not list the keys of nodes.")
            return
        records = await normalized(db).metadata_for_nodes_batch(await sample(trial, db))
        for entity_id, metadata in records.items():
            lacking = sorted({*metadata}.difference(keys, ["name", "other_types"]))
            expect(not lacking, f"{entity_id!r} has the keys {lacking}, which keys lacks.")


# --- large values ---------------------------------------------------------------------

_TEXT = "a large text. " * 15_000
"""Two nodes with it fit a call that may take 6 MB; eight do not, nor do four in one value."""


@filling_rule("the backend contract: bytes of values are in the account of a call (decision 0031)")
async def bytes_of_values(trial: Trial) -> None:
    """Large values are shown whole, or a note or an error says that they are not."""
    ids = [f"large:{n}" for n in range(8)]
    nodes = [NodeRecord(i, "Large", {"name": i, "abstract": _TEXT}) for i in ids]
    huge = NodeRecord("huge", "Large", {"name": "huge", "abstract": 4 * _TEXT})
    ends = [EdgeRecord("huge", "mentions", i) for i in ids]
    async with trial.filled([*nodes, huge, *ends]) as db:
        limits = Limits(max_tokens=0, max_call_memory=6_000_000)
        graph = Graph(CachedGraphDb(db), "", limits, None)
        for count in (1, 2):
            for record in (await graph.describe_entities(ids[:count])).content["result"]:
                what = f"The text of {record['id']}, which a call can hold,"
                expect(record.get("abstract") == _TEXT, f"{what} is not shown as stored.")
        for large in (ids, ["huge"]):
            what = f"The texts of {large} take more memory than the call may"
            try:
                blocks = (await graph.describe_entities(large)).blocks
                told = "(max_call_memory)" in "".join(blocks)
                expect(told, f"{what}, and no note or error says so.")
            except ToolError as error:
                expect(error.kind == "too_large", f"{what}, which ends it with: {error}")
