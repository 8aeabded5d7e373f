"""The metadata of a page, limited to the filters and `fields` of the query.

`node_types` and `predicates` select the records, `fields` the keys of each (`protocol.md` 32).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from itertools import islice

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.engine.pages import Pages, Result
from bfsql.models import Metadata
from bfsql.models.parts import only, present


async def with_node_metadata(db: GraphDbInterface, pages: Pages, result: Result) -> Result:
    """The result with node metadata.

    All nodes that the filters want in full have metadata, or none if the deadline passes first.
    """
    wanted, _ = pages.wanted_in_full(result.page)
    keys = frozenset(pages.query.fields) or None
    try:
        found = await call.within(db.metadata_for_nodes_batch(wanted, keys)) if wanted else {}
    except TimeoutError:
        call.cut_by("deadline")
        return replace(result, facts=replace(result.facts, late=("nodes",)))
    brought = pages.selection.columns.node_metadata
    came = only({i: brought[i] for i in wanted if i in brought}, keys)
    full: dict[str, Metadata] = {
        i: {**came[i], **found.get(i, {})} if i in came else found.get(i, {}) for i in wanted
    }
    return replace(result, page=replace(result.page, node_metadata=full))


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
    keys = frozenset(pages.query.fields).difference(stripped) if pages.query.fields else None
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
    records = (result.page.node_metadata, result.page.edge_metadata)
    seen = {key for every in records for known in every.values() for key in present(known)}
    absent = [key for key in pages.query.fields if key not in seen]
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
