"""`nodes_stream`: the list of entities, of which conditions remove none that meets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, get_args

from bfsql import call
from bfsql.abc import ForwardingBackend, GraphDbInterface, normalized
from bfsql.answers.clean import clean_metadata
from bfsql.errors import EntitiesNotListed
from bfsql.integers import IntegerGraph
from bfsql.masking import shorten
from bfsql.models import GraphRecord, Metadata, Node
from bfsql.models.condition import Operator, PropertyCondition
from bfsql_testing.conformance.answers import SAME_BYTES
from bfsql_testing.conformance.columns import columns_of
from bfsql_testing.conformance.comparison import both, same, same_either_way
from bfsql_testing.conformance.graphs import (
    HOSTILE,
    hub,
    laboratory,
    mixed,
    node_ids,
    scored,
    tangled,
)
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    Trial,
    Untried,
    expect,
    expect_same,
    filling_rule,
    looked_at,
    no_error,
    reading_rule,
)

NODES = "the backend contract: nodes_stream lists the entities, perhaps too many, never too few"

MOST = 100_000
"""Entities after which a list of a large store is abandoned."""
DEGREE = 200
"""Edges of the hub of a store that has to leave something out."""
LITERALS = (
    *("42", "4.2e1", "1", "0.1", "-17", "2024", "9223372036854775809", "1e40", "-1e-320"),
    *("true", "2024-02-29", "2024-02-29T23:00", "", "a", "cafe", "CAF\u00c9", "strasse", "\u212a"),
    *("nan", *(text for text in HOSTILE if "'" in text or "%" in text or "}" in text)),
)
"""Values with which the properties of the mixed graph are compared."""

PATTERNS: tuple[dict[str, Any], ...] = (
    {"seeds": ["Trial:*"]},
    {"seeds": ["Trial|Lab[year>=2002]", "d:0"], "sort_by": "-year", "limit": 3},
    {"seeds": ["*[name=TWIN]"], "fields": ["name"]},
    {"seeds": ["Trial[status=open|closed][tags!=b]"], "facets": ["year", "tags"], "limit": 0},
    {"seeds": ["*[no name]"]},
    {"seeds": ["Disease[no <-treats- Compound]"]},
    {"seeds": ["Compound[<-tests- Trial[status=open] >= 1]"]},
    {"seeds": ["Trial[status=open]"], "max_hops": 1},
    {"seeds": ["Trial:*"], "path": ["-tests-> Compound[name~1|2]"]},
    {"seeds": ["Compound:*"], "path": ["-treats->", "<-studies- Trial[year<2004]"]},
    {"seeds": ["Compound:*"], "path": ["-interacts_with-{1,2}"], "where": ["1 != 0"]},
    {"seeds": ["Lab:*"], "path": ["-->", "-->"], "where": ["no 2 <-treats- Compound"]},
    {"seeds": ["l:0"], "path": ["-->", "--"], "to": ["Disease[name=twin]"]},
    {"seeds": ["Trial[year>=2003]"], "to": ["Disease:*"]},
    {"seeds": ["Trial:*"], "path": ["-studies->"], "measure": ["count 0", "max 0.year"]},
)
"""Arguments of `bfs_query` over the laboratory graph in which patterns stand."""


UNLIKE: tuple[dict[str, Any], ...] = (
    {"seeds": ["Result:*"], "where": ["score>0"]},
    {"seeds": ["Result[score>0]"]},
    {"seeds": ["Result[score>0]"], "limit": 0, "facets": ["score"]},
    {"seeds": ["Result[score<2020-03][score!=high]"]},
    {"seeds": ["Result[score=high]", "Result[score!=true]"]},
    {"seeds": ["Query:*"], "where": ["-has-> Result[score>0]"]},
    {"seeds": ["Query[-has-> Result[score>0]]"]},
    {"seeds": ["Query:*"], "path": ["-has-> Result[score>2]"]},
    {"seeds": ["q:0"], "path": ["-has->"], "to": ["Result[score>0]"]},
    {"seeds": ["q:0"], "to": ["Result[score>2]"]},
    {"seeds": ["q:0"], "along": ["-has-> Result[score>0]"]},
)
"""One condition in its spellings; some values of the property are no numbers."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entities that one call listed."""

    nodes: dict[str, Node]
    whole: bool
    """Whether the store reported no omission, and the list was read to its end."""


@contextmanager
def _untried() -> Iterator[None]:
    try:
        yield
    except EntitiesNotListed:
        raise Untried("The backend cannot list its entities.") from None


async def listing(
    db: GraphDbInterface,
    types: Collection[str] | None = None,
    conditions: Sequence[PropertyCondition] = (),
) -> Listing:
    """The entities of `nodes_stream`, at most about `MOST`.

    Raises:
        Untried: The backend cannot list its entities.
    """
    nodes: dict[str, Node] = {}
    with call.scope(seconds=call.remaining()) as scope, _untried():
        stream = normalized(db).nodes_stream(entity_types=types, conditions=conditions)
        async with aclosing(stream) as batches:
            async for batch in batches:
                nodes.update((node.id, node) for node in batch)
                if len(nodes) > MOST:
                    return Listing(nodes, whole=False)
    return Listing(nodes, all(one.direction != "nodes" for one in scope.omissions))


@reading_rule(
    NODES,
    "nodes_stream lists every entity of the requested types and no other, or reports an omission",
)
async def nodes_list(trial: Trial) -> None:
    """Each type, some, all, none and unknown ones; an omission has the direction `nodes`."""
    async with looked_at(trial, tangled()) as (db, ids):
        types = {node.id: node.entity_type for node in await db.get_nodes_batch(ids)}
        names = sorted(set(types.values()))
        known = await normalized(db).metadata_for_nodes_batch(ids, ["other_types"])
        others = {name for of in known.values() for name in of.get("other_types") or ()}
        absent = [*UNKNOWN, *sorted(others.difference(await db.entity_types()))]
        for asked in (None, names[:2], [], absent, *([one] for one in names)):
            _expect_types(await listing(db, asked), types, asked)
    if trial.omitting is not None:
        records = trial.storable(hub(DEGREE))
        async with trial.omitting(records) as db:
            found = await db.get_nodes_batch(node_ids(records))
            with suppress(Untried):  # what makes it omit edges may also leave it without lists
                listed = await listing(db)
                _expect_types(listed, {node.id: node.entity_type for node in found}, None)


def _expect_types(listed: Listing, types: dict[str, str], kinds: Collection[str] | None) -> None:
    of = "all types" if kinds is None else f"the types {list(kinds)}"
    wanted = {i for i, name in types.items() if kinds is None or name in kinds}
    missing = sorted(wanted - listed.nodes.keys())[:4]
    what = f"nodes_stream of {of}"
    reported = "no omission with the direction 'nodes' was reported"
    expect(not (missing and listed.whole), f"{what} lacks {missing}, and {reported}.")
    for entity_id, node in listed.nodes.items():
        have, right = node.entity_type, types.get(entity_id, node.entity_type)
        given = f"{what} gave {entity_id!r} with the type {have!r}"
        fits = have == right and (kinds is None or right in kinds)
        expect(fits, f"{given}; get_nodes_batch gives {right!r}.")


@filling_rule(
    "the backend contract: pushdown narrows only by what cannot miss",
    "nodes_stream misses no entity that meets the conditions, and filters_exactly is true only "
    "where it yields no other",
)
async def nodes_conditions(trial: Trial) -> None:
    """Every operator over numbers, text, dates, booleans, lists, and strings of query languages."""
    records = trial.storable(mixed())
    async with trial.filled(records) as db:
        known = await _metadata(db, records)

        async def listed(conditions: Sequence[PropertyCondition]) -> Collection[str]:
            return (await listing(db, None, conditions)).nodes

        await _expect_met(db, "nodes_stream", listed, db.filters_exactly, known)


async def _metadata(db: GraphDbInterface, records: Sequence[GraphRecord]) -> dict[str, Metadata]:
    ids = node_ids(records)
    return {i: {} for i in ids} | dict(await normalized(db).metadata_for_nodes_batch(ids))


def _conditions(db: GraphDbInterface) -> Iterator[list[PropertyCondition]]:
    """Conditions on the properties of the mixed graph: one each, and some together."""
    for operator in filter(db.knows_operator, get_args(Operator)):
        if operator in ("has", "lacks"):
            for key in ("value", "other", "no such key", *HOSTILE):
                yield [PropertyCondition(key, operator)]
            continue
        for text in LITERALS:
            yield [PropertyCondition("value", operator, (text,))]
        yield [PropertyCondition("value", operator, ("42", "Caf\u00e9", "true"))]
        yield [PropertyCondition("no such key", operator, ("1",))]
        yield [PropertyCondition("other", operator, ("1",)), PropertyCondition("value", "has")]


async def _expect_met(
    db: GraphDbInterface,
    method: str,
    listed: Callable[[Sequence[PropertyCondition]], Awaitable[Collection[str]]],
    exact: Callable[[PropertyCondition], bool],
    known: dict[str, Metadata],
) -> None:
    """Compare what is listed for conditions with what meets them."""
    for conditions in _conditions(db):
        text = "".join(f"[{one.property_text}]" for one in conditions)[:200]
        with no_error(f"{method} with {text}"):
            found = set(await listed(conditions))
        met = {i for i, of in known.items() if all(one.holds(of) for one in conditions)}
        values = {
            i: f"{i!r}: {shorten(repr(known[i]), 200)}" for i in sorted(met ^ found) if i in known
        }
        lost = next((values[i] for i in sorted(met - found)), None)
        expect(lost is None, f"{method} with {text} lacks what meets it, {lost}.")
        for one in filter(exact, conditions):
            unmet = next(
                (values[i] for i in values if i in found and not one.holds(known[i])), None
            )
            what = f"filters_exactly is true for {one.property_text!r}, and {method} gave"
            expect(unmet is None, f"{what} what does not meet it, {unmet}.")


@filling_rule("the backend contract: a node with any metadata has all of them that the entity has")
async def nodes_metadata(trial: Trial) -> None:
    """A node of nodes_stream brings none or all of the properties that the conditions name."""
    records = trial.storable(mixed())
    async with trial.filled(records) as db:
        known = await _metadata(db, records)
        for first, second in product(("has", "lacks"), ("has", "lacks", "!=")):
            conditions = [
                PropertyCondition("other", first),  # type: ignore[arg-type]
                PropertyCondition("value", second, ("1",) if second == "!=" else ()),  # type: ignore[arg-type]
            ]
            for node in (await listing(db, None, conditions)).nodes.values():
                for key in ("other", "value") if node.metadata else ():
                    have, want = _of_key(node.metadata, key), _of_key(known[node.id], key)
                    what = "nodes_stream, beside metadata_for_nodes_batch,"
                    expect_same(f"{what} of {node.id!r}", have, want)


def _of_key(metadata: Metadata, key: str) -> str:
    return repr(clean_metadata({key: metadata[key]} if metadata.get(key) is not None else {}))


@filling_rule("the backend contract: columns are a faster way to answer the same questions")
async def nodes_columns(trial: Trial) -> None:
    """Columns list the nodes of nodes_stream, each once."""
    records = trial.storable(mixed())
    async with trial.filled(records) as db:
        columns = columns_of(db)
        names = sorted({node.entity_type for node in await db.get_nodes_batch(node_ids(records))})
        for asked in (None, names[:1], names, [], list(UNKNOWN)):
            wanted = {i: n.entity_type for i, n in (await listing(db, asked)).nodes.items()}
            have = await _in_columns(columns, asked)
            what = f"In columns, beside nodes_stream, the list of the types {asked}"
            expect_same(what, {*have.items()}, {*wanted.items()})
        known, listed = await _metadata(db, records), partial(_in_columns, columns, None)
        await _expect_met(db, "columns().nodes", listed, columns.filters_exactly, known)


async def _in_columns(
    columns: IntegerGraph,
    types: Collection[str] | None,
    conditions: Sequence[PropertyCondition] = (),
) -> dict[str, str]:
    """The types of the nodes that columns list, by id."""
    found: dict[str, str] = {}
    with _untried():
        async with aclosing(columns.nodes(types, conditions)) as batches:
            async for batch in batches:
                ids = await columns.ids(batch.handles)
                again = sorted(i for i, n in Counter([*found, *ids]).items() if n > 1)[:4]
                expect(not again, f"columns().nodes gave nodes more than once: {again}.")
                types_of = map(columns.type_names.__getitem__, batch.types)
                found.update(zip(ids, types_of, strict=True))
    return found


class _WithoutPushdown(ForwardingBackend):
    """A backend that knows no operator, so that core compares all conditions."""

    columns = GraphDbInterface.columns

    def knows_operator(self, operator: str) -> bool:
        return False


@filling_rule(SAME_BYTES)
async def nodes_bytes(trial: Trial) -> None:
    """Patterns give the bytes of the reference, whether the store compares or core does."""
    records = trial.storable(laboratory())
    async with trial.filled(records) as db:
        await listing(db, [])
        calls = [("bfs_query", arguments) for arguments in PATTERNS]
        await same_either_way(db, records, _WithoutPushdown(db), "compares", calls)


@filling_rule(
    SAME_BYTES,
    "every spelling of a condition reports the values that it cannot compare, as the reference "
    "does",
)
async def nodes_unlike(trial: Trial) -> None:
    """`where`, brackets, `limit=0`, relation conditions, `to` and `along`; contents are counted."""
    async with both(trial, trial.storable(scored())) as (mine, wanted):
        await listing(mine.db, [])
        await mine.counted()
        for arguments in UNLIKE:
            await same(mine, wanted, "bfs_query", arguments)
