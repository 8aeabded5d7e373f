"""Nodes and edges: none missing, none added, in both directions, alone and in batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from bfsql.abc import GraphDbInterface, normalized
from bfsql.answers.clean import clean_metadata
from bfsql.models import Edge, Node, Triple
from bfsql.models.parts import only
from bfsql_testing.conformance.calls import compared
from bfsql_testing.conformance.graphs import (
    GRAPHS,
    dangling,
    hub,
    joined,
    parallel,
    several_types,
    shapes,
)
from bfsql_testing.conformance.harness import (
    EDGES,
    UNKNOWN,
    Edges,
    Trial,
    Untried,
    answered,
    edges_of,
    expect,
    expect_parts,
    expect_same,
    reading_rule,
    rule,
    sample,
    some_edges,
)

BATCH = "the backend contract: a batch is a better way to answer the same question"

NO_KEY = "no key of any metadata"


def _identities(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    return [(node.id, node.entity_type) for node in nodes]


compared(
    "every-node",
    "every node exists, with its own id and its own type",
    source="the backend contract: get_node is identity; protocol 9: a node has one entity_type",
    over=GRAPHS.values(),
    calls=lambda ids, _: {"get_nodes_batch": [ids], "get_node": ids[:20]},
)
compared(
    "every-edge",
    "every edge exists in both directions, parallel ones once, and no other",
    source="protocol 7: an edge's identity is its triple; a self-loop is an edge",
    over=(shapes, parallel, several_types, dangling),
    calls=lambda ids, _: {"edges_from edges_to": ids, "edges_batch": [[i] for i in ids]},
)
compared(
    "whole-hub",
    "a hub gives all of its edges",
    source="protocol 11: nothing is cut silently",
    over=(hub,),
    calls=lambda ids, _: {
        "edges_from edges_to": ["hub"],
        "edges_batch": [["hub"]],
        "get_nodes_batch": [ids],
    },
)
compared(
    "alone-is-known",
    "a node without edges is known",
    source="the backend contract: one without edges gives nothing; KeyError is for unknown ones",
    over=(shapes,),
    calls=lambda *_: {"edges_from edges_to metadata_for_node": ["s:4"], "edges_batch": [["s:4"]]},
)


def _strangers(ids: list[str], edges: list[Edge]) -> list[str]:
    return sorted({end for s, _, o in edges for end in (s, o)}.difference(ids))


compared(
    "dangling-ends",
    "an end without a node is not a node",
    source="protocol 8: it is not a node; edges_batch gives nothing for an id that is not a node",
    over=(dangling,),
    calls=lambda ids, edges: {
        "get_nodes_batch edges_batch": [_strangers(ids, edges)],
        "get_node": _strangers(ids, edges),
        "edges_from": ["d:1"],
    },
)
compared(
    "triples-apart",
    "triples that join to the same text are different edges",
    source="protocol 7: an edge's identity is (subject, predicate, object)",
    over=(joined,),
    calls=lambda _, edges: {"metadata_for_edge": edges, "metadata_for_edges_batch": [edges]},
)


@reading_rule(BATCH)
async def nodes_batch(trial: Trial) -> None:
    """get_nodes_batch equals get_node."""
    async with trial.sampled() as (db, ids):
        batch = _identities(await db.get_nodes_batch(ids))
        single = _identities([await db.get_node(i) for i in ids])
        expect_same("get_nodes_batch, beside get_node,", sorted(batch), sorted({*single}))


@reading_rule(BATCH)
async def edges_batch(trial: Trial) -> None:
    """edges_batch equals edges_from and edges_to."""
    async with trial.sampled() as (db, ids):
        every = Edges()
        for entity_id in ids:
            ends = await edges_of(db.edges_from, entity_id) | await edges_of(db.edges_to, entity_id)
            every |= ends
            ring = await edges_of(db.edges_batch, [entity_id])
            ring.expect(ends, f"edges_batch([{entity_id!r}]), beside the two single calls,")
        together = await edges_of(db.edges_batch, ids)
        together.expect(every, f"edges_batch of {len(ids)} ids, beside the single calls,")


@reading_rule("the backend contract: edges_batch(ids, predicates, direction)")
async def edges_part(trial: Trial) -> None:
    """edges_batch gives the requested part of a ring."""
    async with trial.sampled() as (db, ids):
        for asked in (ids[:1], ids):
            whole = await edges_of(db.edges_batch, asked)
            what = f"edges_batch of {len(asked)} ids"
            await expect_parts(what, normalized(db).edges_batch, asked, whole)


Asked = Callable[[Trial, GraphDbInterface], Awaitable[Sequence[str] | Sequence[Triple]]]


async def metadata_batch(trial: Trial, *, of: str, some: Asked) -> None:
    """Every value of every node, or of every edge."""
    async with trial.opened() as db:
        asked, ask_one = await some(trial, db), getattr(db, f"metadata_for_{of}")
        answer = await getattr(db, f"metadata_for_{of}s_batch")(asked)
        batch = {key if isinstance(key, str) else tuple(key): m for key, m in answer.items()}
        for key in asked:
            alone = clean_metadata(await ask_one(key if isinstance(key, str) else Edge(*key)))
            expect(key in batch, f"metadata_for_{of}s_batch left {key!r} out.")
            what = f"metadata_for_{of}s_batch, beside the single call, of {key!r}"
            expect_same(what, clean_metadata(batch[key]), alone)


async def metadata_keys(trial: Trial, *, of: str, some: Asked) -> None:
    """Some keys, all but one, and one that nothing has."""
    async with trial.opened() as db:
        asked = await some(trial, db)
        ask = getattr(normalized(db), f"metadata_for_{of}s_batch")
        whole = await ask(asked)
        names = sorted({key for metadata in whole.values() for key in metadata})
        if not names:
            raise Untried("Nothing of the sample has metadata.")
        for keys in (names[:2], names[1:], [names[-1], NO_KEY]):
            part = await ask(asked, keys=keys)
            for one, metadata in only(whole, keys).items():
                given, right = clean_metadata(part.get(one, {})), clean_metadata(metadata)
                expect_same(f"The keys {keys} of {one!r}", given, right)


_METADATA: tuple[tuple[str, str, Asked], ...] = (
    ("node", "ids", sample),
    ("edge", "edges", some_edges),
)
_rule = partial(rule, mode="reading")
for _of, _, _some in _METADATA:
    _behaviour = f"metadata_for_{_of}s_batch equals metadata_for_{_of}"
    _register = _rule(f"{_of}-metadata-batch", _behaviour, source=BATCH, of=_of, some=_some)
    _register(metadata_batch)
for _of, _keys, _some in _METADATA:
    _behaviour = f"metadata_for_{_of}s_batch gives the values of the requested keys"
    _source = f"the backend contract: metadata_for_{_of}s_batch({_keys}, keys)"
    _register = _rule(f"{_of}-metadata-keys", _behaviour, source=_source, of=_of, some=_some)
    _register(metadata_keys)


@reading_rule("the backend contract: get_nodes_batch gives the nodes that exist")
async def unknown_in_batches(trial: Trial) -> None:
    """Batches leave unknown ids out."""
    async with trial.sampled() as (db, ids):
        mixed = [*UNKNOWN[:2], *ids, *UNKNOWN[2:]]
        known, found = [_identities(await db.get_nodes_batch(asked)) for asked in (ids, mixed)]
        expect_same("get_nodes_batch with unknown ids too", {*found}, {*known})
        strange = set(UNKNOWN) & set(await db.metadata_for_nodes_batch(mixed))
        expect_same("metadata_for_nodes_batch of unknown ids", strange, set())
        alone, together = [await edges_of(db.edges_batch, asked) for asked in (ids, mixed)]
        together.expect(alone, "edges_batch with unknown ids too")
        expect(not list(await db.get_nodes_batch([])), "get_nodes_batch([]) gave nodes.")
        expect(not (await edges_of(db.edges_batch, [])).triples, "edges_batch([]) gave edges.")
        bad = [(ids[0], "no such predicate", ids[0]), (UNKNOWN[0], "p", UNKNOWN[1])]
        found_of = await db.metadata_for_edges_batch(bad)
        expect_same("metadata_for_edges_batch of edges that do not exist", {*found_of}, set())


@reading_rule(
    "the backend contract: edges_from gives what leaves an entity, edges_to what enters it"
)
async def both_directions(trial: Trial) -> None:
    """Both directions of an edge agree."""
    ways = (("edges_from", 0, "edges_to", 2), ("edges_to", 2, "edges_from", 0))
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            found = [(await edges_of(db.edges_from, entity_id)).triples[:EDGES]]
            found.append((await edges_of(db.edges_to, entity_id)).triples[:EDGES])
            ends = {o for _, _, o in found[0]} | {s for s, _, _ in found[1]}
            nodes = {node.id for node in await db.get_nodes_batch(sorted(ends))} | {entity_id}
            for edges, (method, near, opposite, far) in zip(found, ways, strict=True):
                for edge in (e for e in edges if e[far] in nodes):
                    other = await edges_of(getattr(db, opposite), edge[far])
                    what = f"{method}({edge[near]!r}) has {edge}, but {opposite}({edge[far]!r})"
                    expect(edge in other.triples or not other.whole, f"{what} does not.")


@reading_rule(
    "the backend contract: edges_from, edges_to; protocol 7: an edge is its triple of texts"
)
async def own_edges(trial: Trial) -> None:
    """edges_from gives edges that leave the node, edges_to those that enter it."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            node = await db.get_node(entity_id)
            for method, end in (("edges_from", 0), ("edges_to", 2)):
                for edge in (await edges_of(getattr(db, method), entity_id)).triples:
                    expect(edge[end] == node.id, f"{method}({entity_id!r}) gave {edge}.")
                    expect(all(isinstance(part, str) for part in edge), f"Not all text: {edge}.")


@reading_rule("protocol 8: an edge end without a node in the store is not a node")
async def ends_exist(trial: Trial) -> None:
    """The ends of every edge are nodes, or always are not."""
    async with trial.sampled() as (db, ids):
        missing = known_ends = 0
        for entity_id in ids:
            edges = [*(await edges_of(db.edges_from, entity_id)).triples[:EDGES]]
            edges += (await edges_of(db.edges_to, entity_id)).triples[:EDGES]
            ends = sorted({end for s, _, o in edges for end in (s, o)} - {entity_id})
            known = {node.id for node in await db.get_nodes_batch(ends)}
            missing += len(set(ends) - known)
            known_ends += len(known)
            for end in [*sorted(known)[:5], *sorted(set(ends) - known)[:5]]:
                single = await answered(db, "get_node", end) is not KeyError
                of = f"{end!r}, an end of an edge of {entity_id!r}, is a node to"
                expect(single <= (end in known), f"{of} get_node and not to get_nodes_batch.")
                expect(single >= (end in known), f"{of} get_nodes_batch and not to get_node.")
        if missing and trial.open is not None:
            what = (
                f"none of the {missing} other ends has one, so every traversal stays at its seeds"
            )
            advice = "Are the ids in the edges written like those of the nodes?"
            expect(known_ends, f"No examined edge leads to a node: {what}. {advice}")
            trial.odd(f"Ends of examined edges that are not nodes: {missing}.")
