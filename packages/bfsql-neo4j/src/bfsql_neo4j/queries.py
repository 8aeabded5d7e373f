"""Cypher for nodes, edges, evidence and search.

Cypher for the schema is in `schema_queries`, for indexes in `index_queries`, and for writing in
`load/`. Most statements return one record with nested lists, because unpacking a record for each
node costs the client twice as much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import Any

from bfsql.models.merge import UNTYPED
from bfsql.models.records import EdgeDirection
from bfsql_neo4j.cypher import (
    NodeFilter,
    Part,
    Statement,
    about,
    any_of,
    element_of,
    followed_types,
    id_of,
    is_node,
    name_of,
    properties_of,
    quoted,
)
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.values import DOCUMENTS, can_name

CHUNK = 5_000
"""Most keys in one statement, and most edges of one that is read at once."""
PART = 1_000
"""Edges of a node and direction that are sent in one record, which the driver decodes at once."""
GROUP = 50
"""Nodes whose edges are in the server's memory at the same time."""
SEPARATOR, NO_VALUE = "\x1f", "\x1e"
"""Between texts that are sent as one, and in place of a missing one."""
HIT_LIMIT = 60
"""Most hits that search ranks itself."""


# --- nodes ----------------------------------------------------------------------


def nodes(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, labels]` of the nodes that exist."""
    return _each(schema, ids, "labels(n)")


def nodes_that_meet(
    schema: GraphSchema, types: Collection[str] | None, test: NodeFilter, wanted: Collection[str]
) -> Statement:
    """`labels, ids, properties` of the nodes of some types, `PART` nodes of equal labels a record.

    The properties are those of `wanted` where the server cannot decide the condition, else null.
    The nodes are collected before their ids are read: they alone take some 30 bytes each.

    Args:
        schema: The schema of the graph.
        types: The types, of which the nodes may have another one; None for all.
        test: The condition on the nodes.
        wanted: Properties that decide the condition.
    """
    names = [name for name in types or () if can_name(name)]
    of_types = [f"n:{any_of(names)}"] * bool(names)
    of_types += ["size(labels(n)) = 0"] * (UNTYPED in names)
    tests = [] if types is None else [f"({' OR '.join(of_types)})"]
    above = list(takewhile(lambda label: label not in names, schema.labels)) if names else []
    text = (
        f"MATCH (n) WHERE {' AND '.join([*tests, is_node(schema, 'n')])} "
        f"{test.clauses}WITH n, {test.verdict} AS met WHERE coalesce(met, true) "
        "WITH labels(n) AS labels, met, collect(n) AS found "
        "WHERE none(label IN labels WHERE label IN $above) "
        f"UNWIND range(0, size(found) - 1, {PART}) AS start "
        f"WITH labels, met, found[start..start + {PART}] AS part "
        f"RETURN labels, [n IN part | {id_of(schema, 'n')}], CASE WHEN met IS NULL "
        f"THEN [n IN part | {properties_of('n', wanted)}] END"
    )
    given = {"above": above} | _wanted_names(wanted) | schema.parameters
    return text, given | dict(test.parameters)


def stubs(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, labels, name, aliases, score]` of the nodes that exist."""
    return about(schema, ids, f"RETURN collect({_candidate(schema, 'null')})")


def node_metadata(
    schema: GraphSchema,
    ids: Collection[str],
    wanted: Collection[str] | None = None,
    *,
    part: Part = "all",
) -> Statement:
    """`[id, labels, properties]` of the nodes that exist; with `wanted`, only these properties.

    Those with times as text are for times that the driver cannot read: years beyond 1 to 9999.
    """
    shown = properties_of("n", wanted, part)
    text, parameters = _each(schema, ids, "labels(n)", shown)
    return text, parameters | _wanted_names(wanted)


def _wanted_names(wanted: Collection[str] | None) -> dict[str, list[str]]:
    return {} if wanted is None else {"wanted": sorted(wanted)}


def node_elements(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, element id]` of the nodes that exist."""
    return _each(schema, ids, element_of(schema, "n"))


def _each(schema: GraphSchema, ids: Collection[str], *values: str) -> Statement:
    """The id of each node, and these values."""
    return about(schema, ids, f"RETURN collect([{', '.join([id_of(schema, 'n'), *values])}])")


# --- edges ----------------------------------------------------------------------


def _ends(schema: GraphSchema, left: str, right: str, types: Sequence[str] | None, end: str) -> str:
    """`[type, other end]`, and so on as in `end`, of a node's relationships in one direction.

    With `types`, only relationships of these types, all of which must be followed.
    """
    if schema.followed == ():
        return "[]"
    where = is_node(schema, "m")
    kept = "" if where == "true" else f" WHERE {where}"
    followed = followed_types(schema) if types is None else f":{any_of(types)}"
    return f"[(n){left}[r{followed}]{right}(m){kept} | {end}]"


def _degree(
    schema: GraphSchema, types: Sequence[str] | None, direction: EdgeDirection | None
) -> str:
    """The number of a node's relationships, which the server stores; at least those of `_ends`."""
    if schema.followed == ():
        return "0"
    left, right = "<-" if direction == "in" else "-", "->" if direction == "out" else "-"
    followed = followed_types(schema) if types is None else f":{any_of(types)}"
    return schema.dialect.count(f"(n){left}[{followed}]{right}()")


def _values_of(ends: str, names: Sequence[str]) -> str:
    """The values of properties of each relationship, from `start`; null where one is long.

    Texts are one text, since the driver takes 2 microseconds for each.
    """
    values = [f"end[2].{quoted(name)}" for name in names]
    are_texts = [f"({value} IS NULL OR {value} = toStringOrNull({value}))" for value in values]
    joined = f" + '{SEPARATOR}' + ".join(f"coalesce({value}, '{NO_VALUE}')" for value in values)
    long = [f"size(toStringOrNull({value})) > 100" for value in values]
    return (
        f"[end IN {ends}[start..start + {PART}] | CASE WHEN {' OR '.join(long)} THEN null "
        f"WHEN {' AND '.join(are_texts)} THEN {joined} ELSE [{', '.join(values)}] END]"
    )


def _part_of(schema: GraphSchema, ends: str) -> str:
    """Two lists, from `start`: the types of relationships, and `[id, labels]` of the other ends."""
    part = f"{ends}[start..start + {PART}]"
    others = f"[m IN [end IN {part} | end[1]] | [{id_of(schema, 'm')}, labels(m)]]"
    return f"[end IN {part} | end[0]], {others}"


def ring(
    schema: GraphSchema,
    ids: Collection[str],
    types: Sequence[str] | None = None,
    direction: EdgeDirection | None = None,
    *,
    names: Sequence[str] = (),
    most: int | None = None,
) -> Statement:
    """The edges of the nodes that exist, in records of a list of parts.

    With `types`, of which at least one is followed, only their edges are read; with a
    direction, only edges that leave or that enter the nodes. If there may be more edges than
    `most`, none is read, and the only record is an empty list.

    A part is `[id, labels, bearer, types, leaving, types, entering]`, where leaving and entering
    are lists of `[other end, its labels]`. A node has one part with all its edges and null as the
    bearer of its id; or, beyond `PART` edges in a direction, several parts with its element id as
    the bearer. With names, a part ends with values of the edges that leave and that enter.

    The server holds the nodes, and of `GROUP` nodes at a time the relationships. Ids and labels of
    the other ends, which take twice as much again, are read for one record at a time.
    """
    end = "[type(r), m, r]" if names else "[type(r), m]"  # which take memory
    leaving = "[]" if direction == "in" else _ends(schema, "-", "->", types, end)
    entering = "[]" if direction == "out" else _ends(schema, "<-", "-", types, end)
    scope, given = ("(some)", "") if schema.dialect.scoped else ("", "WITH some ")
    counted, firsts = "", f"range(0, size(found) - 1, {GROUP})"
    if most is not None:
        counted = f", sum({_degree(schema, types, direction)}) AS edges"
        firsts = f"CASE WHEN edges > {most} THEN [null] ELSE {firsts} END"
    texts = "".join(f", {_values_of(f'node[{place}]', names)}" for place in (3, 4) if names)
    return about(
        schema,
        ids,
        f"WITH collect(n) AS found{counted} UNWIND {firsts} AS first "
        f"WITH found[first..first + {GROUP}] AS some "
        f"CALL {scope} {{ {given}UNWIND some AS n "
        f"WITH n, {leaving} AS leaving, {entering} AS entering "
        "WITH n, leaving, entering, CASE WHEN size(leaving) > size(entering) "
        "THEN size(leaving) ELSE size(entering) END AS longer "
        f"RETURN collect([{id_of(schema, 'n')}, labels(n), "
        f"CASE WHEN longer >= {PART} THEN {element_of(schema, 'n')} END, "
        "leaving, entering, longer]) AS nodes, max(longer) AS longest } "
        f"UNWIND range(0, coalesce(longest, 0), {PART}) AS start "
        "RETURN [node IN nodes WHERE node[5] >= start | [node[0], node[1], node[2], "
        f"{_part_of(schema, 'node[3]')}, {_part_of(schema, 'node[4]')}{texts}]]",
    )


def edge_metadata(
    schema: GraphSchema,
    edges: Collection[Sequence[Any]],
    wanted: Collection[str] | None = None,
    *,
    part: Part = "all",
) -> Statement:
    """`[position, properties]` for edges, lists of position, element, type, element."""
    element, given = schema.dialect.element, schema.dialect.element_id
    # Sorted, so that both ends are known before the planner expands between them: it then starts at
    # the end with fewer relationships, and never reads all relationships of a hub.
    text = (
        f"UNWIND $edges AS e MATCH (a) WHERE {element}(a) = {given('e[1]')} "
        f"MATCH (b) WHERE {element}(b) = {given('e[3]')} WITH e, a, b ORDER BY e[0] "
        "MATCH (a)-[r]->(b) WHERE type(r) = e[2] "
        f"RETURN collect([e[0], {properties_of('r', wanted, part)}])"
    )
    return text, {"edges": edges} | _wanted_names(wanted)


def evidence_of_node(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[subject, type, object, values]` of the relationships of `$id` with one of `$keys`."""
    return about(
        schema,
        ids,
        f"MATCH (n)-[r{followed_types(schema)}]-(m) WHERE {id_of(schema, 'n')} = $id "
        f"AND any(key IN $keys WHERE r[key] IS NOT NULL) {_evidence_rows(schema)}",
    )


def evidence_of_document(schema: GraphSchema) -> str:
    """Rows, as in `evidence_of_node`, of the relationships whose evidence is from `$document`."""
    return (
        "CALL db.index.fulltext.queryRelationships($index, $lucene) YIELD relationship AS r "
        f"WITH r WHERE $document IN r.{quoted(DOCUMENTS)} {_evidence_rows(schema)}"
    )


def _evidence_rows(schema: GraphSchema) -> str:
    """The first `$most` rows, by triple."""
    return (
        "WITH DISTINCT r, startNode(r) AS a, endNode(r) AS b "
        f"WHERE {is_node(schema, 'a')} AND {is_node(schema, 'b')} "
        f"WITH r, {id_of(schema, 'a')} AS s, {id_of(schema, 'b')} AS o "
        "ORDER BY s, type(r), o LIMIT $most "
        "RETURN collect([s, type(r), o, [key IN $keys | r[key]]])"
    )


# --- search ---------------------------------------------------------------------


def search_by_words(schema: GraphSchema) -> str:
    """Candidates by words: the best hits of the index `$index` for `$lucene`."""
    return (
        "CALL db.index.fulltext.queryNodes($index, $lucene) YIELD node AS n, score "
        f"WITH n, score {_of_types(schema)} WITH n, score LIMIT 1000 "
        f"{_best_candidates(schema)}"
    )


def search_by_part_of_name(
    schema: GraphSchema, types: Collection[str] | None = None, most: int | None = None
) -> str:
    """Candidates by a part of a name, `$called`, in the first `most` nodes; 0: by whole names."""
    names = [name for name in types or () if name in schema.labels]
    label = f":{any_of(names)}" if names and UNTYPED not in (types or ()) else ""
    first, text = f"WITH n LIMIT {most} " if most else "", schema.dialect.text
    test = f"any(text IN {_list_of(schema.searched)} WHERE toLower({text}(text)) CONTAINS $called)"
    if most == 0:  # which takes a fraction of the time for each node
        test = f"toLower({text}({name_of(schema)})) = $called"
    return (
        f"MATCH (n{label}) {first}WITH n, 0.0 AS score {_of_types(schema)} "
        f"WITH n, score WHERE {test} {_best_candidates(schema)}"
    )


def search_by_indexes(schema: GraphSchema, spellings: Sequence[str]) -> Statement:
    """Candidates whose name is a text, or begins with it, in one of its spellings."""
    branches = [
        f"UNWIND $spellings AS text MATCH (n:{any_of(labels)}) "
        f"WHERE n.{quoted(name)} {test} text WITH n LIMIT {HIT_LIMIT * 10} RETURN n"
        for name, labels in (schema.name_indexes or {}).items()
        for test in ("=", "STARTS WITH")
    ]
    scope = "()" if schema.dialect.scoped else ""
    return (
        f"CALL {scope} {{ {' UNION '.join(branches)} }} WITH n, 0.0 AS score {_of_types(schema)} "
        f"WITH n, score {_best_candidates(schema)}"
    ), {"spellings": list(spellings)}


def nearest(schema: GraphSchema) -> str:
    """Candidates by vector similarity: `$most` hits of the index `$index` for `$vector`."""
    return (
        "CALL db.index.vector.queryNodes($index, $most, $vector) YIELD node AS n, score "
        f"WITH n, score {_of_types(schema)} "
        f"WITH n, score ORDER BY score DESC LIMIT {HIT_LIMIT} "
        f"RETURN collect({_candidate(schema, 'score')})"
    )


def _best_candidates(schema: GraphSchema) -> str:
    text = schema.dialect.text
    return (
        f"WITH n, score, {text}({name_of(schema)}) AS name "
        "ORDER BY coalesce(toLower(name) = $called, false) DESC, score DESC, "
        f"size(name), {id_of(schema, 'n')} LIMIT {HIT_LIMIT} "
        f"RETURN collect({_candidate(schema, 'score')})"
    )


def _candidate(schema: GraphSchema, score: str) -> str:
    name, aliases = name_of(schema), _list_of(schema.aliases)
    return f"[{id_of(schema, 'n')}, labels(n), {name}, {aliases}, {score}]"


def _of_types(schema: GraphSchema) -> str:
    """Keeps nodes, of the types `$types` if it is not null."""
    kind = f"coalesce(head([l IN $rank WHERE l IN labels(n)]), '{UNTYPED}')"
    return f"WHERE {is_node(schema, 'n')} AND ($types IS NULL OR {kind} IN $types)"


def _list_of(names: Iterable[str]) -> str:
    """The values of properties of `n` as one list."""
    return " + ".join(f"coalesce([] + n.{quoted(name)}, [])" for name in names) or "[]"
