"""Traversals for nodes, edges, search and the schema.

They are built from the steps of gremlinpython and sent as bytecode, in which names and values are
arguments: no text of a caller is ever read as Gremlin. Every traversal that reads has the strategy
with which the server refuses to write.

Measured on JanusGraph with 1,000 vertices and 5,000 edges, edges of 1,000 ids: one projection with
the properties of each far end takes 410 ms; the far ends by the engine's own ids, grouped by label,
and each of them once with its properties in the same answer, 210 ms. Reading a property of every
far end is what costs, in the server and on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import GraphTraversal, __
from gremlin_python.process.strategies import ReadOnlyStrategy
from gremlin_python.process.traversal import Column, P, T
from gremlin_python.statics import long
from gremlin_python.structure.graph import Graph

from bfsql.models.records import EdgeDirection
from bfsql_gremlin.values import ELEMENT, candidates, id_text

CHUNK = 2_500
"""Most keys in one traversal."""
HIT_LIMIT = 60
"""Most hits of each comparison of a search."""

Step = Callable[[], Any]
"""Makes a traversal of its own for each use, since adding a step changes a traversal."""


@dataclass(frozen=True)
class GraphSchema:
    """What reading needs to know of a graph, as found when it was opened."""

    id_property: str | None
    """The property that holds the id of a vertex; None for the engine's own id."""
    type_property: str | None
    """The property that holds the type of a vertex; None for its label."""
    id_kinds: frozenset[str] = frozenset({"text"})
    """The kinds of the values of the id property, see `values.kind_of`."""
    own_kinds: frozenset[str] = frozenset({"number"})
    """The kinds of the engine's own ids."""
    text_keys: frozenset[str] = frozenset()
    """Properties that a mixed index of JanusGraph finds by their words."""
    whole_keys: frozenset[str] = frozenset()
    """Those of them that it also finds by their whole text."""
    indexed: bool | None = None
    """Whether an index finds ids; None if that is not known."""
    own_long: bool = True
    """Whether own ids that are numbers have 64 bits, for engines that distinguish them."""
    nested: bool = True
    """Whether properties may have properties."""
    is_empty: bool = False
    """Whether the graph had no vertex, so that the kinds of ids are not known."""
    label_steps: bool = False
    """Whether labels of many vertices are read at once only by a step, as in JanusGraph.

    On Cassandra, 1,900 vertices were filtered in 1 s by a step, and in 4 s by `has_label`.
    """
    labels: tuple[str, ...] = ()
    """Edge labels of JanusGraph's schema, which also has labels without edges."""

    @property
    def key_properties(self) -> set[str]:
        """The properties that hold id and type."""
        return {key for key in (self.id_property, self.type_property) if key is not None}

    def entity_id(self, own: Any, value: Sequence[Any]) -> str:
        """The id of an entity, from the engine's own id and the values of the id property."""
        if self.id_property is None:
            return str(own)
        text = id_text(value[0]) if value else None
        return ELEMENT + str(own) if text is None else text


def source(*, read_only: bool = True) -> Any:
    """The beginning of every traversal."""
    g = traversal().with_graph(Graph())
    return g.with_strategies(ReadOnlyStrategy()) if read_only else g


# --- parts ------------------------------------------------------------------------


def vertices(schema: GraphSchema, ids: Collection[str]) -> Any:
    """The vertices with these ids, and perhaps others; None if no vertex can have them."""
    own: list[Any] = []
    values: list[Any] = []
    for entity_id in ids:
        if schema.id_property is not None:
            values += candidates(entity_id, schema.id_kinds)
        if schema.id_property is None or entity_id.startswith(ELEMENT):
            text = entity_id if schema.id_property is None else entity_id.removeprefix(ELEMENT)
            own += candidates(text, schema.own_kinds)
    if values and own:
        found = source().inject(0)
        by_value = __.V().has(schema.id_property, P.within(values))
        return found.union(by_value, __.V(*own)).dedup()
    if values:
        return source().V().has(schema.id_property, P.within(values))
    return source().V(*own).dedup() if own else None


def with_own_ids(schema: GraphSchema, own: Collection[Any]) -> Any:
    """The vertices with these own ids of the engine, as it has sent them."""
    return source().V(*(own_value(schema, one) for one in own))


def own_value(schema: GraphSchema, own: Any) -> Any:
    """An own id as an argument."""
    return long(own) if schema.own_long and type(own) is int else own


def identified(schema: GraphSchema, start: Any, **more: Any) -> Any:
    """`[own id, type, ..., value of the id property]` of vertices; perhaps without a value.

    Args:
        schema: The schema of the graph.
        start: A traversal of vertices.
        **more: Further columns between type and value, by any name.
    """
    columns = {"i": T.id, "t": type_of(schema)} | more
    if schema.id_property is not None:
        columns["e"] = schema.id_property
    return _row(start, columns)


def _row(start: Any, columns: Mapping[str, Any]) -> Any:
    """A list of what each of the columns selects, for each element."""
    row = start.project(*columns)
    for column in columns.values():
        row = row.by(column)
    return row.select(Column.values)


def type_of(schema: GraphSchema) -> Any:
    """The type of a vertex, for `by`."""
    if schema.type_property is None:
        return T.label
    return __.coalesce(__.values(schema.type_property), __.label())


def types_of(schema: GraphSchema, found: Any) -> Any:
    """The types of vertices."""
    return found.label() if schema.type_property is None else found.map(type_of(schema))


def _of_types(schema: GraphSchema, start: Any, types: Collection[str] | None) -> Any:
    """Keeps the vertices of these types; None for all."""
    if types is None:
        return start
    if schema.type_property is None and not schema.label_steps:
        return start.has_label(P.within(list(types)))
    return start.filter_(_step(type_of(schema)).is_(P.within(list(types))))


# --- nodes and edges --------------------------------------------------------------


def ring(
    schema: GraphSchema,
    ids: Collection[str],
    labels: Collection[str] | None = None,
    direction: EdgeDirection | None = None,
) -> Any:
    """The edges of vertices: a row for each of them, and one for each far end.

    A vertex is `[own id, type, leaving, entering, value]`, with mappings from labels to own ids of
    far ends, and a far end is `[own id, type, value]`, the value of the id property in both.
    """
    found = vertices(schema, ids)
    if found is None:
        return None
    names = list(labels or ())
    empty = __.constant({})
    leaving = empty if direction == "in" else _adjacent(__.out_e(*names), __.in_v())
    entering = empty if direction == "out" else _adjacent(__.in_e(*names), __.out_v())
    step = {"out": "out", "in": "in_", None: "both"}[direction]
    far = getattr(__.unfold(), step)(*names).dedup()
    return found.fold().union(
        identified(schema, __.unfold(), o=leaving, n=entering), identified(schema, far)
    )


def _adjacent(edges: GraphTraversal, far: GraphTraversal) -> GraphTraversal:
    return edges.group().by(T.label).by(far.id_().fold())


def edges_of(
    schema: GraphSchema,
    limits: Mapping[Any, int],
    labels: Collection[str],
    direction: EdgeDirection,
) -> Any:
    """The edges with these labels that leave or enter vertices.

    Args:
        schema: The schema of the graph.
        limits: The most edges of each vertex, by its own id.
        labels: Labels of edges.
        direction: Whether the edges leave or enter the vertices.
    """
    step = "out_e" if direction == "out" else "in_e"
    by_limit: dict[int, list[Any]] = {}
    for own, limit in limits.items():
        by_limit.setdefault(limit, []).append(own_value(schema, own))
    parts = (
        __.V(*owns).local(getattr(__, step)(*labels).limit(limit))
        for limit, owns in by_limit.items()
    )
    return source().inject(0).union(*parts)


def edges_between(
    schema: GraphSchema,
    subjects: Collection[Any],
    labels: Collection[str],
    objects: Collection[Any],
) -> Any:
    """The edges with these labels that lead from some vertices to others, by own ids.

    Servers compare each far end with each of the wanted ones, so the search starts at the side with
    more vertices: of the edges of a hub, at the other ends.
    """
    if len(objects) > len(subjects):
        found, far, wanted = with_own_ids(schema, objects).in_e(*labels), __.out_v(), subjects
    else:
        found, far, wanted = with_own_ids(schema, subjects).out_e(*labels), __.in_v(), objects
    return found.filter_(far.has_id(P.within([own_value(schema, one) for one in wanted])))


def edge_rows(edges: Any, **more: Any) -> Any:
    """`[own id of the subject, label, own id of the object, ...]` of edges."""
    return _row(edges, {"s": __.out_v().id_(), "p": T.label, "o": __.in_v().id_()} | more)


def as_is() -> Any:
    """The value of a property."""
    return T.value


def unfolded() -> Any:
    """The value of a property as a list of its items."""
    return __.value().unfold().fold()


def as_text() -> Any:
    """The value of a property as text."""
    return __.value().as_string()


def properties(keys: Collection[str] | None, value: Step, *, nested: bool) -> GraphTraversal:
    """Rows of key, value and, if `nested`, properties of the property; None for all keys."""
    columns = {"k": T.key, "v": value()} | ({"m": __.value_map()} if nested else {})
    return _row(_with_keys(keys), columns).fold()


def edge_properties(keys: Collection[str] | None, value: Step) -> GraphTraversal:
    """Properties of an edge: a mapping, or rows of key and value if the values are not as is."""
    if value is as_is and keys is None:
        return __.value_map()
    return properties(keys, value, nested=False)


def _with_keys(keys: Collection[str] | None) -> GraphTraversal:
    """The properties with these keys; None for all.

    JanusGraph refuses to look up a property by the name of an edge label, but not to compare keys.
    """
    found = __.properties()
    return found if keys is None else found.has_key(P.within(sorted(keys)))


def nodes_of_types(
    schema: GraphSchema, types: Collection[str] | None, present: Iterable[Collection[str]]
) -> Any:
    """The vertices of these types; of each of `present`, they have at least one property."""
    found = _of_types(schema, source().V(), types)
    for names in present:
        found = with_any(found, names)
    return found


def with_any(elements: Any, keys: Iterable[str]) -> Any:
    """The elements with one of these properties.

    JanusGraph combines two `or` steps in a row wrongly, so this is none.
    """
    return elements.filter_(_with_keys(set(keys)))


# --- search -----------------------------------------------------------------------


def named(
    schema: GraphSchema, tests: Sequence[tuple[str, P]], types: Collection[str] | None
) -> Any:
    """Vertices for which one of the tests of a property holds, `HIT_LIMIT` of each at most."""
    each = [_of_types(schema, __.V().has(key, test), types).limit(HIT_LIMIT) for key, test in tests]
    return source().inject(0).union(*each).dedup()


def with_texts(
    schema: GraphSchema, keys: Collection[str], tests: Sequence[P], types: Collection[str] | None
) -> Any:
    """Vertices of which each test holds for the text of one of some properties; reads all."""
    found = _of_types(schema, source().V(), types)
    for test in tests:
        found = found.filter_(_with_keys(keys).value().as_string().is_(test))
    return found.limit(HIT_LIMIT)


# --- the schema -------------------------------------------------------------------


def node_counts(schema: GraphSchema) -> Any:
    """One mapping of types to numbers of vertices."""
    return types_of(schema, source().V()).group_count()


def edge_labels() -> Any:
    """One mapping of labels to numbers of edges."""
    return source().E().group_count().by(T.label)


def type_names(schema: GraphSchema, some: Any) -> Any:
    """The types of some vertices."""
    return types_of(schema, some).dedup()


def label_names(some: Any) -> Any:
    """The labels of some edges."""
    return some.label().dedup()


def edge_counts(schema: GraphSchema) -> Any:
    """`[[type, label, type], number]` of all edges."""
    relation = (
        __.project("s", "p", "o")
        .by(__.out_v().map(_step(type_of(schema))))
        .by(T.label)
        .by(__.in_v().map(_step(type_of(schema))))
    )
    pairs = source().E().group_count().by(relation).unfold()
    return _row(pairs, {"r": __.select(Column.keys).select(Column.values), "n": Column.values})


def _step(by: Any) -> GraphTraversal:
    return __.label() if by is T.label else by


JANUSGRAPH = """
m = g.getGraph().openManagement()
try {
  [m.getRelationTypes(org.janusgraph.core.EdgeLabel).collect { it.name() },
   m.getGraphIndexes(org.apache.tinkerpop.gremlin.structure.Vertex).collectMany { i ->
     i.getFieldKeys().collect { k -> [i.name(), k.name(), i.isMixedIndex(), i.getFieldKeys().size(),
       i.getIndexStatus(k).toString(),
       i.isMixedIndex() ? i.getParametersFor(k).collect { it.toString() }.join(' ') : ''] } },
   m.getRelationTypes(org.janusgraph.core.PropertyKey).collectEntries {
     [it.name(), it.dataType().getSimpleName()] },
   g.getGraph().getConfiguration().getConfiguration().getContainedNamespaces(
     org.janusgraph.graphdb.configuration.GraphDatabaseConfiguration.INDEX_NS).toList()]
} finally { m.rollback() }
"""
"""A script for JanusGraph, which reads: edge labels, keys of indexes, property keys, and backends
of mixed indexes.

A key of an index is `[index, property, whether it is mixed, number of keys, status, parameters]`.
"""
