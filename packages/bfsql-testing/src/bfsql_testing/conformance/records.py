"""Rules for nodes and edges: exact ids, metadata and evidence, the two lists of names."""

from __future__ import annotations

from collections.abc import Sequence

from bfsql.abc import GraphDbInterface, normalized
from bfsql.answers.clean import clean, clean_metadata
from bfsql.cache import CachedGraphDb
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.models import Edge, EdgeRecord, Metadata, NodeRecord
from bfsql.tools import Limits
from bfsql_testing.conformance.graphs import evidence, hostile, node_ids, parallel, values
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    WORDS,
    Broken,
    Trial,
    Untried,
    beside_reference,
    expect,
    expect_same,
    expect_unknown,
    filling_rule,
    no_error,
    reading_rule,
    returned,
    rule,
    sample,
    some_edges,
)

PAIRS = (
    *(("id:Case", "id:case"), ("id:e\u0301", "id:\u00e9"), ("id:x", "id:x "), ("id:1", "id:01")),
    *(("id:stra\u00dfe", "id:strasse"), ("id:%41", "id:A"), ("id:pattern", "id:patt%")),
    *(("id:pattern", "id:patter_"), ("007", "7"), ("4.20", "4.2"), ("id:\uff11", "id:1")),
)
"""Pairs of different ids, the first of which is in the store."""

PATTERNS = ("%", "pat:%", "pat:a_", "pat:*", "pat:a?", "pat:.*", "pat:[a]b", "*")
"""Ids that match `pat:ab` in some pattern language."""

SINGLE = ("get_node", "edges_from", "edges_to", "metadata_for_node")
"""The methods that take one id."""

IDENTITY = ("id", "entity_type")
"""Keys that a backend may or may not repeat in the metadata it returns."""


@reading_rule(
    "every method returns what the contract states, and there is a node to examine",
    source="the backend contract: the eight methods and their batches",
)
async def return_types(trial: Trial) -> None:
    """Of each method, for every sampled node; without a node, nothing was examined."""
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


@reading_rule(
    "a node's id leads to the node itself",
    source="protocol 24: answers carry the canonical id; core uses and echoes that one",
)
async def own_identity(trial: Trial) -> None:
    """The canonical id of a node is its own canonical id."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            node = await db.get_node(entity_id)
            expect(
                node.entity_type, f"get_node({entity_id!r}) has no type; protocol 8 requires one."
            )
            again = await db.get_node(node.id)
            expect(
                again.id == node.id,
                f"get_node({entity_id!r}) is {node.id!r}, whose own get_node is {again.id!r}.",
            )


@reading_rule(
    "unknown ids raise KeyError",
    source="chapter 12: edges_from, edges_to and get_node raise KeyError for an unknown entity",
)
async def unknown_ids(trial: Trial) -> None:
    """The three calls, for plain and for hostile ids."""
    async with trial.opened() as db:
        for entity_id in UNKNOWN:
            for method in ("get_node", "edges_from", "edges_to"):
                await _key_error(db, method, entity_id)


@reading_rule(
    "the metadata of something unknown raises KeyError",
    source="the backend contract: metadata_for_node and metadata_for_edge raise KeyError",
    level="convention",
)
async def unknown_metadata(trial: Trial) -> None:
    """Of nodes and edges, for plain and for hostile ids; core asks for what exists."""
    async with trial.sampled() as (db, [known, *_]):
        for entity_id in UNKNOWN:
            await _key_error(db, "metadata_for_node", entity_id)
        for edge in (
            Edge(known, "no such predicate", known),
            Edge(UNKNOWN[0], UNKNOWN[1], UNKNOWN[0]),
        ):
            await _key_error(db, "metadata_for_edge", edge)


async def _key_error(db: GraphDbInterface, method: str, key: object) -> None:
    with no_error(f"{method}({key!r})", ", not KeyError."):
        await expect_unknown(db, method, key, " and raised no KeyError.")


@filling_rule("ids are not folded", source="protocol 24: no case folding, no Unicode normalization")
async def exact_ids(trial: Trial) -> None:
    """One of two near ids is unknown where it is not there, and another node where it is."""
    present = [NodeRecord(one, "Thing", {"name": one}) for one, _ in PAIRS]
    known = {one for one, _ in PAIRS}
    async with trial.filled([*present]) as db:
        for other in [other for _, other in PAIRS if other not in known]:
            found = [node.id for node in await db.get_nodes_batch([other])]
            expect(not found, f"get_nodes_batch([{other!r}]) gave {found}; that id is unknown.")
            await expect_unknown(db, "get_node", other, "; that id is unknown.")
    every = list(dict.fromkeys(i for pair in PAIRS for i in pair))
    async with trial.filled([NodeRecord(i, "Thing", {"mark": i}) for i in every]) as db:
        for entity_id in every:
            mark = (await db.metadata_for_node(entity_id)).get("mark")
            expect(mark == entity_id, f"{entity_id!r} has the metadata of {mark!r}.")


@filling_rule(
    "an id is not a pattern", source="protocol 24: a near miss is an error with candidates"
)
async def ids_no_patterns(trial: Trial) -> None:
    """What matches a node's id in LIKE, a glob or a regular expression is unknown."""
    nodes = [NodeRecord("pat:ab", "Thing", {"name": "one"}), NodeRecord("pat:cd", "Thing", {})]
    async with trial.filled([*nodes, EdgeRecord("pat:ab", "near", "pat:cd")]) as db:
        for pattern in PATTERNS:
            for method in SINGLE:
                await expect_unknown(db, method, pattern, "; that id is unknown.")
        found = [node.id for node in await db.get_nodes_batch(PATTERNS)]
        expect(not found, f"get_nodes_batch of patterns gave {found}; those ids are unknown.")
        expect(not list(await db.edges_batch(PATTERNS)), "edges_batch of patterns gave edges.")


@filling_rule(
    "hostile ids are ids like any other",
    source="protocol 19: ids, predicates and types are never altered",
)
async def hostile_ids(trial: Trial) -> None:
    """Each is known, has its own edges and metadata; so with predicates and types."""
    async with beside_reference(trial, hostile) as (db, wanted, records):
        for entity_id in node_ids(records):
            shown = repr(entity_id)[:80]
            node = await db.get_node(entity_id)
            want = await wanted.get_node(entity_id)
            expect(
                (node.id, node.entity_type) == (want.id, want.entity_type),
                f"get_node({shown}) gave {node}",
            )
            for method in ("edges_from", "edges_to"):
                have = {tuple(e) for e in await getattr(db, method)(entity_id)}
                right = {tuple(e) for e in await getattr(wanted, method)(entity_id)}
                expect_same(f"{method}({shown}) and the edges", have, right)
        for record in records:
            if isinstance(record, EdgeRecord):
                await db.metadata_for_edge(Edge(record.subject, record.predicate, record.object))
        for method in ("entity_types", "predicates"):
            have_words = list(await getattr(db, method)())
            right_words = await getattr(wanted, method)()
            expect(
                have_words == right_words,
                f"{method} differs in {sorted(set(have_words) ^ set(right_words))}, or in order.",
            )


@filling_rule(
    "metadata keeps every value as it is",
    source="chapter 8: metadata_for_node gives everything the store knows; protocol 17 and 18",
)
async def every_value(trial: Trial) -> None:
    """Value by value, as answers show them, with numbers and booleans told apart."""
    for graph in (values, parallel):
        async with beside_reference(trial, graph) as (db, wanted, records):
            for record in records:
                if isinstance(record, NodeRecord):
                    have = await db.metadata_for_node(record.id)
                    _same(f"node {record.id!r}", have, await wanted.metadata_for_node(record.id))
                elif isinstance(record, EdgeRecord):
                    edge = Edge(record.subject, record.predicate, record.object)
                    have = await db.metadata_for_edge(edge)
                    _same(f"edge {tuple(edge)}", have, await wanted.metadata_for_edge(edge))


def _same(what: str, have: Metadata, want: Metadata) -> None:
    shown, right = clean_metadata(have), clean_metadata(want)
    for key in sorted({*shown, *right}):
        expect(
            key in right or key in IDENTITY,
            f"The metadata of {what} has {key!r}, which no record contains.",
        )
        expect(key in shown or key not in right, f"The metadata of {what} has lost {key!r}.")
        one, other = shown.get(key), right.get(key)
        if isinstance(have.get(key), str) and isinstance(want.get(key), str):
            one, other = have[key], want[key]  # also what answers do not show: line breaks, say
        expect(
            key not in right or repr(one) == repr(other),
            f"{key!r} of {what} is {one!r}"[:300] + f"; {other!r} is right."[:300],
        )


@filling_rule(
    "the passages behind an edge are in its metadata as provenance",
    source="protocol 16: backends put all else that is verbose under provenance",
)
async def edge_evidence(trial: Trial) -> None:
    """And `provenance_for_node` gives those that touch a node."""
    async with beside_reference(trial, evidence) as (db, wanted, _):
        for edge in (Edge("e:1", "treats", "e:2"), Edge("e:2", "causes", "e:2")):
            have = clean((await db.metadata_for_edge(edge)).get("provenance"), "provenance")
            want = clean((await wanted.metadata_for_edge(edge)).get("provenance"), "provenance")
            expect(have == want, f"The provenance of {tuple(edge)} is {have}; right is {want}.")
        for entity_id in ("e:1", "e:2"):
            found = (await db.provenance_for_node(entity_id, 20))["items"]
            whole = await wanted.provenance_for_node(entity_id, 20)
            right = whole["items"]
            expect(found == right, f"provenance_for_node({entity_id!r}) gave {found}, not {right}.")
            first = await db.provenance_for_node(entity_id, 1)
            expect(
                len(first["items"]) <= 1 and first["total"] in (None, whole["total"]),
                f"provenance_for_node({entity_id!r}, 1) gave {len(first['items'])} items of "
                f"{first['total']}; right is 1 of {whole['total']}.",
            )


@filling_rule(
    "the total of the evidence counts what the limit leaves out",
    source="protocol 16: provenance is total and items, 20 items",
)
async def evidence_counted(trial: Trial) -> None:
    """Asked for one item, for twenty and for none."""
    async with beside_reference(trial, evidence) as (db, wanted, _):
        for entity_id in ("e:1", "e:2"):
            right = (await wanted.provenance_for_node(entity_id, 20))["total"]
            for limit in (0, 1, 20):
                found = await db.provenance_for_node(entity_id, limit)
                expect(
                    found["total"] in (right, None) and len(found["items"]) <= limit,
                    f"provenance_for_node({entity_id!r}, {limit}) gave {len(found['items'])} items "
                    f"and the total {found['total']}; there are {right}.",
                )


async def names_sorted(trial: Trial, *, method: str) -> None:
    """By code point."""
    async with trial.opened() as db:
        names: Sequence[str] = list(await getattr(db, method)())
        expect(
            sorted(set(names)) == names,
            f"{method} gave {names}; they have to be sorted, each once.",
        )


for _id, _method in (("types-sorted", "entity_types"), ("predicates-sorted", "predicates")):
    rule(
        _id,
        f"{_method} is sorted, each once",
        source="chapter 12: a consistent order, alphabetical is conventional",
        mode="reading",
        level="convention",
        method=_method,
    )(names_sorted)


async def _comprehensive(trial: Trial, db: GraphDbInterface) -> bool:
    """Whether the two lists have to be complete; an open-world graph may list fewer names."""
    if await normalized(db).comprehensive():
        return True
    trial.odd("The backend says that the two lists are not comprehensive.")
    return False


@reading_rule(
    "entity_types lists the types that nodes have",
    source="protocol 9: entity_types() lists the values that occur as entity_type",
)
async def types_match(trial: Trial) -> None:
    """In the same spelling; an open-world graph may list fewer."""
    async with trial.opened() as db:
        listed = set(await db.entity_types())
        if await _comprehensive(trial, db):
            for node in await db.get_nodes_batch(await sample(trial, db)):
                expect(
                    node.entity_type in listed,
                    f"{node.id!r} has the type {node.entity_type!r}, which entity_types lacks.",
                )


@reading_rule(
    "predicates lists the predicates that edges have",
    source="protocol 23: one spelling, the one that describe_schema lists",
)
async def predicates_match(trial: Trial) -> None:
    """In the same spelling; an open-world graph may list fewer."""
    async with trial.opened() as db:
        listed = set(await db.predicates())
        if await _comprehensive(trial, db):
            for edge in await some_edges(trial, db):
                expect(edge[1] in listed, f"{edge} has a predicate that predicates does not list.")


# --- large values ---------------------------------------------------------------------

_TEXT = "a large text. " * 15_000
"""Two nodes with it fit a call that may take 6 MB; eight do not, nor do four in one value."""


@filling_rule(
    "large values are shown whole, or a note or an error says that they are not",
    source="the backend contract: bytes of values are in the account of a call (decision 0031)",
)
async def bytes_of_values(trial: Trial) -> None:
    """Eight nodes with a text of 210 kB and one of 840 kB, in calls that may take 6 MB."""
    ids = [f"large:{n}" for n in range(8)]
    nodes = [NodeRecord(i, "Large", {"name": i, "abstract": _TEXT}) for i in ids]
    huge = NodeRecord("huge", "Large", {"name": "huge", "abstract": 4 * _TEXT})
    ends = [EdgeRecord("huge", "mentions", i) for i in ids]
    async with trial.filled([*nodes, huge, *ends]) as db:
        limits = Limits(max_tokens=0, max_call_memory=6_000_000)
        graph = Graph(CachedGraphDb(db), "", limits, None)
        for count in (1, 2):
            for record in (await graph.describe_entities(ids[:count])).content["result"]:
                expect(
                    record.get("abstract") == _TEXT,
                    f"The text of {record['id']}, which a call can hold, is not shown as stored.",
                )
        for what in (ids, ["huge"]):
            try:
                answer = await graph.describe_entities(what)
            except ToolError as error:
                expect(error.kind == "too_large", f"Large values end a call with: {error}")
            else:
                expect(
                    "(max_call_memory)" in "".join(answer.blocks),
                    f"The texts of {what} take more memory than the call may, and no note or error "
                    "says so.",
                )
