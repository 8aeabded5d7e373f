"""Nodes and edges: none missing, none added, in both directions, alone and in batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial

from bfsql.abc import GraphDbInterface, normalized
from bfsql.answers.clean import clean_metadata
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, Node, NodeRecord, Triple
from bfsql.models.parts import only
from bfsql_testing.conformance.graphs import (
    GRAPHS,
    dangling,
    hub,
    node_ids,
    parallel,
    several_types,
    shapes,
)
from bfsql_testing.conformance.harness import (
    EDGES,
    UNKNOWN,
    Broken,
    Trial,
    Untried,
    beside_reference,
    edges_of,
    expect,
    expect_same,
    expect_unknown,
    filling_rule,
    parts_of,
    reading_rule,
    ring_of,
    rule,
    sample,
    some_edges,
)

BATCH = "the backend contract: a batch is a better way to answer the same question"

NO_KEY = "no key of any metadata"

JOINS = (":", "|", "/", "\t", "->")
"""Separators with which careless stores join the parts of a triple into one key."""


def _identities(nodes: Iterable[Node]) -> list[tuple[str, str]]:
    return [(node.id, node.entity_type) for node in nodes]


@filling_rule(
    "every node exists, with its own id and its own type",
    source="chapter 8: get_node is the identity call; protocol 9: a node has one entity_type",
)
async def every_node(trial: Trial) -> None:
    """Alone and in one batch, over every graph of the kit."""
    for graph in GRAPHS.values():
        records = trial.storable(graph())
        ids = node_ids(records)
        wanted = set(_identities(await MemoryBackend(records).get_nodes_batch(ids)))
        async with trial.filled(records) as db:
            batch = set(_identities(await db.get_nodes_batch(ids)))
            expect_same(f"Over {graph.__name__}, get_nodes_batch and the nodes", batch, wanted)
            for entity_id in ids[:20]:
                node = await db.get_node(entity_id)
                expect(
                    (node.id, node.entity_type) in wanted and node.id == entity_id,
                    f"Over {graph.__name__}, get_node({entity_id!r}) gave {node}.",
                )


@filling_rule(
    "every edge exists in both directions, parallel ones once, and no other",
    source="protocol 7: an edge's identity is its triple; a self-loop is an edge",
)
async def every_edge(trial: Trial) -> None:
    """`edges_from`, `edges_to` and the ring of each node."""
    for graph in (shapes, parallel, several_types, dangling):
        async with beside_reference(trial, graph) as (db, wanted, records):
            for entity_id in node_ids(records):
                await _expect_same_edges(db, wanted, entity_id)


async def _expect_same_edges(db: GraphDbInterface, memory: MemoryBackend, entity_id: str) -> None:
    for method in ("edges_from", "edges_to"):
        have = sorted(map(tuple, await getattr(db, method)(entity_id)))
        want = sorted(map(tuple, await getattr(memory, method)(entity_id)))
        expect(have == want, f"{method}({entity_id!r}) gave {have}; expected: {want}.")
    ring = await ring_of(db, [entity_id])
    want_ring = set(await memory.edges_batch([entity_id]))
    expect(
        ring == want_ring,
        f"edges_batch([{entity_id!r}]) gave {sorted(ring)}; expected: {sorted(want_ring)}.",
    )


@filling_rule("a hub gives all of its edges", source="protocol 11: nothing is cut silently")
async def whole_hub(trial: Trial) -> None:
    """1,200 edges, in both directions, alone and in a ring."""
    records = trial.storable(hub())
    half = sum(isinstance(r, EdgeRecord) and r.subject == "hub" for r in records)
    every = sum(isinstance(r, EdgeRecord) for r in records)
    async with trial.filled(records) as db:
        counts = {
            "edges_from": (len(set(await db.edges_from("hub"))), half),
            "edges_to": (len(set(await db.edges_to("hub"))), every - half),
            "edges_batch": (len(await ring_of(db, ["hub"])), every),
        }
        for method, (have, want) in counts.items():
            expect(have == want, f"{method} of a hub gave {have} edges of {want}.")
        spokes = node_ids(records)
        found = len(list(await db.get_nodes_batch(spokes)))
        expect(found == len(spokes), f"get_nodes_batch gave {found} nodes of {len(spokes)}.")


@filling_rule(
    "a node without edges is known",
    source="chapter 8: one without edges gives nothing; KeyError is for unknown ones",
)
async def alone_is_known(trial: Trial) -> None:
    """No edges, no error."""
    async with trial.filled(trial.storable(shapes())) as db:
        for ask in (db.edges_from, db.edges_to):
            try:
                edges = list(await ask("s:4"))
            except KeyError as error:
                raise Broken(
                    f"{ask.__name__}('s:4') raised KeyError; the node exists, without edges."
                ) from error
            expect(not edges, f"{ask.__name__}('s:4') gave {edges}; the node has no edges.")
        expect(not list(await db.edges_batch(["s:4"])), "edges_batch(['s:4']) gave edges.")
        await db.metadata_for_node("s:4")


@filling_rule(
    "an end without a node is not a node",
    source="protocol 8: it is not a node; edges_batch gives nothing for an id that is not a node",
)
async def dangling_ends(trial: Trial) -> None:
    """The known end still gives the edge, the other end is unknown."""
    async with beside_reference(trial, dangling) as (db, reference, records):
        ends = {e for r in records if isinstance(r, EdgeRecord) for e in (r.subject, r.object)}
        strangers = sorted(ends - set(node_ids(records)))
        found = [node.id for node in await db.get_nodes_batch(strangers)]
        expect(not found, f"get_nodes_batch gave {found}, which no record describes.")
        for stranger in strangers:
            await expect_unknown(db, "get_node", stranger, "; no record describes it.")
        wanted = {tuple(edge) for edge in await reference.edges_from("d:1")}
        have = {tuple(Edge(*edge)) for edge in await db.edges_from("d:1")}
        expect(
            have == wanted, f"edges_from('d:1') gave {sorted(have)}; expected: {sorted(wanted)}."
        )
        expect(
            not list(await db.edges_batch(strangers)),
            "edges_batch gave edges for ids that are not nodes.",
        )


@filling_rule(
    "triples that join to the same text are different edges",
    source="protocol 7: an edge's identity is (subject, predicate, object)",
)
async def triples_apart(trial: Trial) -> None:
    """`a:b` - `c` - `d` and `a` - `b:c` - `d`, with every usual separator."""
    edges = [
        edge
        for join in JOINS
        for edge in (Edge(f"a{join}b", "c", "d"), Edge("a", f"b{join}c", "d"))
    ]
    ids = sorted({end for subject, _, obj in edges for end in (subject, obj)})
    nodes = [NodeRecord(i, "Thing", {"name": i}) for i in ids]
    marked = [EdgeRecord(*edge, {"mark": f"edge {n}"}) for n, edge in enumerate(edges)]
    records = trial.storable([*nodes, *marked])
    wanted = [r.metadata.get("mark") for r in records if isinstance(r, EdgeRecord)]
    async with trial.filled(records) as db:
        batch = {tuple(e): m for e, m in (await db.metadata_for_edges_batch(edges)).items()}
        for edge, mark in zip(edges, wanted, strict=True):
            for found in (await db.metadata_for_edge(edge), batch.get(tuple(edge), {})):
                expect(
                    found.get("mark") == mark,
                    f"{edge} has the metadata {dict(found)}; expected: the mark {mark!r}.",
                )


@reading_rule("get_nodes_batch equals get_node", source=BATCH)
async def nodes_batch(trial: Trial) -> None:
    """Same ids, same types, each once."""
    async with trial.sampled() as (db, ids):
        batch = _identities(await db.get_nodes_batch(ids))
        single = _identities([await db.get_node(i) for i in ids])
        expect(len(set(batch)) == len(batch), f"get_nodes_batch gave a node twice: {batch}.")
        expect_same("get_nodes_batch and get_node", batch, single)


@reading_rule("edges_batch equals edges_from and edges_to", source=BATCH)
async def edges_batch(trial: Trial) -> None:
    """One ring, undirected, for one node and for all of the sample."""
    async with trial.sampled() as (db, ids):
        every: set[Triple] = set()
        whole = True
        for entity_id in ids:
            out, into = [await edges_of(ask, entity_id) for ask in (db.edges_from, db.edges_to)]
            ends, alone = {*out.triples, *into.triples}, await edges_of(db.edges_batch, [entity_id])
            complete = out.whole and into.whole and alone.whole
            whole, every = whole and complete, every | ends
            what = f"edges_batch([{entity_id!r}]) and the two single calls"
            expect_same(what, alone.triples, ends, whole=complete)
        together = await edges_of(db.edges_batch, ids)
        what = f"edges_batch of {len(ids)} ids and the single calls"
        expect_same(what, together.triples, every, whole=whole and together.whole)


@reading_rule(
    "edges_batch gives the requested part of a ring",
    source="the backend contract: edges_batch(ids, predicates, direction)",
)
async def edges_part(trial: Trial) -> None:
    """Some predicates, none and unknown ones; leaving, entering and both; alone and together."""
    async with trial.sampled() as (db, ids):
        for asked in (ids[:1], ids):
            whole = await edges_of(db.edges_batch, asked)
            for part, wanted in parts_of(whole.triples, asked):
                read = await edges_of(partial(normalized(db).edges_batch, **part), asked)
                what = f"edges_batch of {len(asked)} ids with {part} and that part of the ring"
                expect_same(what, read.triples, wanted, whole=whole.whole and read.whole)


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
            expect(
                clean_metadata(batch[key]) == alone,
                f"The metadata of {key!r} is {alone} alone and {batch[key]} in a batch.",
            )


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
                right, given = clean_metadata(metadata), clean_metadata(part.get(one, {}))
                expect(
                    given == right,
                    f"Of {one!r} the keys {keys} are {given}, and in the whole metadata {right}.",
                )


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


@reading_rule(
    "batches leave unknown ids out",
    source="the backend contract: get_nodes_batch gives the nodes that exist",
)
async def unknown_in_batches(trial: Trial) -> None:
    """Unknown ids among known ones change nothing; alone, they give nothing."""
    async with trial.sampled() as (db, ids):
        mixed = [*UNKNOWN[:2], *ids, *UNKNOWN[2:]]
        known = _identities(await db.get_nodes_batch(ids))
        found = _identities(await db.get_nodes_batch(mixed))
        expect_same("get_nodes_batch with unknown ids and without", found, known)
        metadata = await db.metadata_for_nodes_batch(mixed)
        expect(
            not set(UNKNOWN) & set(metadata),
            f"metadata_for_nodes_batch gave unknown ids: {set(UNKNOWN) & set(metadata)}.",
        )
        alone = await edges_of(db.edges_batch, ids)
        together = await edges_of(db.edges_batch, mixed)
        what, whole = "edges_batch with unknown ids and without", alone.whole and together.whole
        expect_same(what, together.triples, alone.triples, whole=whole)
        expect(not list(await db.get_nodes_batch([])), "get_nodes_batch([]) gave nodes.")
        expect(not (await edges_of(db.edges_batch, [])).triples, "edges_batch([]) gave edges.")
        bad = [(ids[0], "no such predicate", ids[0]), (UNKNOWN[0], "p", UNKNOWN[1])]
        expect(
            not await db.metadata_for_edges_batch(bad),
            "metadata_for_edges_batch gave metadata of edges that do not exist.",
        )


@reading_rule(
    "both directions of an edge agree",
    source="chapter 8: edges_from gives what leaves an entity, edges_to what enters it",
)
async def both_directions(trial: Trial) -> None:
    """What leaves one node enters another, and vice versa."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            out, into = [await edges_of(ask, entity_id) for ask in (db.edges_from, db.edges_to)]
            leaving, entering = out.triples[:EDGES], into.triples[:EDGES]
            ends = {o for _, _, o in leaving} | {s for s, _, _ in entering}
            nodes = {node.id for node in await db.get_nodes_batch(sorted(ends))} | {entity_id}
            ways = (
                (leaving, "edges_from", 0, "edges_to", 2),
                (entering, "edges_to", 2, "edges_from", 0),
            )
            for edges, method, near, opposite, far in ways:
                for edge in (e for e in edges if e[far] in nodes):
                    other = await edges_of(getattr(db, opposite), edge[far])
                    expect(
                        edge in other.triples or not other.whole,
                        f"{method}({edge[near]!r}) has {edge}, but {opposite}({edge[far]!r}) does "
                        "not.",
                    )


@reading_rule(
    "edges_from gives edges that leave the node, edges_to those that enter it",
    source="chapter 8: edges_from(id), edges_to(id); protocol 7: an edge is its triple of texts",
)
async def own_edges(trial: Trial) -> None:
    """The requested node is at the right end, and all three parts are text."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            node = await db.get_node(entity_id)
            for method, end in (("edges_from", 0), ("edges_to", 2)):
                for edge in (await edges_of(getattr(db, method), entity_id)).triples:
                    expect(edge[end] == node.id, f"{method}({entity_id!r}) gave {edge}.")
                    expect(all(isinstance(part, str) for part in edge), f"Not all text: {edge}.")


@reading_rule(
    "the ends of every edge are nodes, or always are not",
    source="protocol 8: an edge end without a node in the store is not a node",
)
async def ends_exist(trial: Trial) -> None:
    """An end is a node to every question, or to none; some that are none are odd, not wrong."""
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
                try:
                    await db.get_node(end)
                    single = True
                except KeyError:
                    single = False
                expect(
                    single == (end in known),
                    f"{end!r}, an end of an edge of {entity_id!r}, is "
                    f"{'a' if single else 'no'} node to get_node and "
                    f"{'no' if single else 'a'} node to get_nodes_batch.",
                )
        if missing and trial.open is not None:
            expect(
                known_ends > 0,
                f"No examined edge leads to a node: none of the {missing} other ends has one, so "
                "every traversal stays at its seeds. Are the ids in the edges written like those "
                "of the nodes?",
            )
            trial.odd(f"Ends of examined edges that are not nodes: {missing}.")
