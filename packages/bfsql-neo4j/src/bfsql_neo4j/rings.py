"""The edges around nodes, in batches, with the types of both ends from the same statement."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import chain, count, repeat
from operator import add
from typing import Any

from bfsql import call, workers
from bfsql.models.comparison import column_texts, key_texts
from bfsql.models.json_properties import stored_names
from bfsql.models.parts import TypedTriple
from bfsql.models.records import EdgeDirection, Omission
from bfsql_neo4j import queries
from bfsql_neo4j.connection import Reader
from bfsql_neo4j.cypher import Statement
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.schema_queries import KEYS
from bfsql_neo4j.values import from_driver, is_readable

SHARED_ID = "another node has the same id"


class NewName(Exception):
    """A label or relationship type is newer than the schema."""


class _Types(dict[tuple[str, ...], str]):
    """The type of a node by its labels."""

    def __init__(self, schema: GraphSchema) -> None:
        super().__init__()
        self._schema = schema

    def __missing__(self, labels: tuple[str, ...]) -> str:
        if not self._schema.rank.keys() >= set(labels):
            raise NewName
        self[labels] = found = self._schema.type_of(labels)
        return found


async def ring_batches(
    reader: Reader,
    schema: GraphSchema,
    chunks: Iterable[Sequence[str]],
    keys: Sequence[str] = (),
    *,
    predicates: Collection[str] | None = None,
    direction: EdgeDirection | None = None,
) -> AsyncGenerator[list[Any]]:
    """Every edge with a requested node at either end; an edge between two of them comes twice.

    Args:
        reader: The server.
        schema: The schema of the graph.
        chunks: Ids, a statement for each chunk.
        keys: Keys of metadata; with any, each row ends with `key_texts`.
        predicates: Restricts the edges to these; None for all.
        direction: Only edges that leave or that enter the requested nodes; None for both.

    Raises:
        NewName: The schema, and then the ring, has to be read again.
    """
    types = _Types(schema)
    rows: list[Any] = []
    stored = stored_names(keys).intersection(await reader.one(KEYS) if keys else ())
    names, texts = sorted(stored), partial(_texts, keys, sorted(stored))
    followed = None if predicates is None else schema.relationship_types(predicates)
    if followed == ():
        return
    for chunk in chunks:
        asked, bearers, number = set(chunk), dict[str, Any](), count()
        statement = partial(queries.ring, schema, chunk, followed, direction, names=names)
        found = _parts(reader, statement, few=len(asked) <= workers.SMALL)
        async with aclosing(found) as records:
            async for parts in records:
                for entity_id, labels, bearer, *ends in parts:
                    if entity_id not in asked:
                        continue
                    this = next(number) if bearer is None else bearer
                    if bearers.setdefault(entity_id, this) != this:
                        await report_shared_id(reader, schema, entity_id)
                    else:
                        own = _edges(entity_id, types[tuple(labels)], ends[:4], schema, types)
                        values = chain(*ends[4:]) if names else repeat([], len(own))
                        rows += map(add, own, texts(list(values))) if keys else own
                if len(rows) > workers.SMALL:
                    yield rows
                    rows = []
    if rows:
        yield rows


async def _parts(
    reader: Reader, statement: Callable[..., Statement], *, few: bool
) -> AsyncGenerator[Sequence[Any]]:
    """The parts of each record; those of many nodes or edges are read when it is the client's turn.

    Meanwhile only a stream with a turn has a connection, so that the reader can have another one.
    """
    if few:
        text, parameters = statement(most=queries.CHUNK)
        async with aclosing(reader.long_stream(text, **parameters)) as stream:
            records = [parts async for (parts,) in stream]
        if records != [[]]:
            for parts in records:
                yield parts
            return
    text, parameters = statement()
    async with reader.large.turn(), aclosing(reader.long_stream(text, **parameters)) as stream:
        async for (parts,) in stream:
            yield parts


async def report_shared_id(reader: Reader, schema: GraphSchema, entity_id: str) -> None:
    """Report that only one of the nodes with an id is in the answer, with their element ids."""
    text, parameters = queries.node_elements(schema, [entity_id])
    rows = await reader.one(text, **parameters)
    both = " and ".join([element for one, element in rows if one == entity_id][:2])
    call.omitted(Omission(entity_id, reason=f"{SHARED_ID}: their element ids are {both}"))


def _texts(
    keys: Sequence[str], names: Sequence[str], values: Sequence[Any]
) -> Iterator[tuple[Any]]:
    """The ends of rows, from the values of some properties of each; None for a long one."""
    if {str}.issuperset(map(type, values)) and set(names) <= set(keys):
        every, width = queries.SEPARATOR.join(values).split(queries.SEPARATOR), len(names)
        if len(every) == width * len(values):
            columns = {name: _column(every[place::width]) for place, name in enumerate(names)}
            return zip(column_texts(columns, keys, len(values)), strict=True)
    return (_text(keys, names, one) for one in values)


def _column(texts: list[str]) -> Sequence[str | None]:
    if queries.NO_VALUE not in texts:
        return texts
    return [None if text == queries.NO_VALUE else text for text in texts]


def _text(keys: Sequence[str], names: Sequence[str], values: str | list[Any] | None) -> tuple[Any]:
    """The end of a row whose values may be of any type, or keys of their own."""
    if isinstance(values, str):
        values = [*_column(values.split(queries.SEPARATOR))]
    if values is None or len(values) != len(names):  # a text has a separator of its own
        return (None,)
    found = zip(names, values, strict=True)
    known = {name: from_driver(value) for name, value in found if value is not None}
    is_plain = known.keys() <= set(keys) and all(map(is_readable, values))
    return (key_texts(known, keys) if is_plain else None,)


def _edges(
    node: str, own: str, ends: Sequence[Any], schema: GraphSchema, types: _Types
) -> list[TypedTriple]:
    predicates = schema.predicates
    out_types, leaving, in_types, entering = ends
    edges: list[TypedTriple]
    try:
        edges = [
            (node, predicates[name], other, own, types[tuple(labels)])
            for name, (other, labels) in zip(out_types, leaving, strict=True)
        ]
        edges += [
            (other, predicates[name], node, types[tuple(labels)], own)
            for name, (other, labels) in zip(in_types, entering, strict=True)
        ]
    except KeyError:
        raise NewName from None
    return edges
