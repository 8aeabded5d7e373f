"""Cypher for nodes, edges, search and the schema.

Cypher for indexes is in `index_queries`, and for writing in `load/`.

Every statement about known nodes begins with `_bind_nodes`: index seeks for each requested value,
by every property that may hold an id, in all labels that have an index for it. Measured on 100,000
nodes and 500,000 relationships: a match without a label reads all nodes, once for every id; a label
without an index, all of its nodes. Labels without an index are therefore read once, for all ids
together, and nodes without a label have their element id as their id.

Most statements return one record with nested lists, because unpacking a record for each node costs
the client twice as much.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from bfsql.models.merge import UNTYPED
from bfsql.models.records import EdgeDirection
from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.values import DOCUMENTS, ELEMENT, can_name, candidates

Statement = tuple[str, dict[str, Any]]
"""Query text and its parameters."""

CHUNK = 5_000
"""Most keys in one statement."""
PART = 2_500
"""Edges of a node and direction that are sent in one piece, the unit of a ring."""
GROUP = 50
"""Nodes whose edges are in the server's memory at the same time."""
FOUND = 60
"""Most hits that search ranks itself."""


class NodeFilter(NamedTuple):
    """A condition on `n` in Cypher."""

    clauses: str
    """Binds values for `verdict`, and leaves out nodes that cannot meet the condition."""
    verdict: str = "true"
    """True, false, or null where the server cannot decide."""
    parameters: Mapping[str, Any] = {}


def quoted(name: str) -> str:
    r"""A label, type, property or index name between backticks; Cypher takes no parameter for it.

    Cypher reads a backslash, a `u` and four digits as a character everywhere, even
    inside backticks, so that a name could close them by \u0060. Every backslash is therefore
    written that way.

    Raises:
        ValueError: The name is empty or contains U+0000.
    """
    if not name or "\0" in name:
        raise ValueError(
            f"{name!r} is not a valid name in Neo4j: a name is not empty and does "
            "not contain U+0000"
        )
    return "`" + name.replace("\\", "\\u005c").replace("`", "``") + "`"


def any_of(names: Iterable[str]) -> str:
    """Alternative names, one of which matches."""
    return "|".join(map(quoted, names))


# --- parts of statements about nodes --------------------------------------------


def _bind_nodes(schema: GraphSchema, *, elements: bool) -> str:
    """Binds `n` to the nodes whose id may be one of `$values`, or of `$elements`."""
    each = "UNWIND $values AS value MATCH (n:{labels} {{{name}: value}}) RETURN n"
    once = "MATCH (n:{labels}) WHERE n.{name} IN $values RETURN n"
    branches = [
        text.format(labels=any_of(labels), name=quoted(name))
        for text, by_property in ((each, schema.seeks), (once, schema.scans))
        for name, labels in by_property.items()
        if name not in schema.templates
    ]
    for place, text in enumerate(schema.templates):
        branches += _bind_template(schema, place, text)
    if elements or not branches:
        element, given = schema.dialect.element, schema.dialect.element_id("e")
        asked = "$elements" if given == "e" else f"[e IN $elements | {given}]"
        branches.append(f"MATCH (n) WHERE {element}(n) IN {asked} RETURN n")
    if len(branches) == 1:
        # Without the list, the planner returns the requested value for the property's: 42.0 for 42.
        found = branches[0].removesuffix(" RETURN n")
        together = f"{found} WITH collect(DISTINCT n) AS found UNWIND found AS n WITH n"
    else:
        scope = "()" if schema.dialect.scoped else ""
        together = f"CALL {scope} {{ {' UNION '.join(branches)} }} WITH n"
    excluded = _is_node(schema, "n")
    return together if excluded == "true" else f"{together} WHERE {excluded}"


def _bind_template(schema: GraphSchema, place: int, text: str) -> Iterator[str]:
    """The branches that bind `n` to nodes with the values of `$keys[place]`."""
    names = [quoted(name) for name in schema.templates[text].names]
    keys = f"$keys[{place}]"
    if labels := schema.seeks.get(text):
        values = ", ".join(f"{name}: key[{i}]" for i, name in enumerate(names))
        yield f"UNWIND {keys} AS key MATCH (n:{any_of(labels)} {{{values}}}) RETURN n"
    if labels := schema.scans.get(text):
        values = ", ".join(f"n.{name}" for name in names)
        yield f"MATCH (n:{any_of(labels)}) WHERE [{values}] IN {keys} RETURN n"


def _about(schema: GraphSchema, ids: Collection[str], rest: str) -> Statement:
    """A statement about the nodes with these ids."""
    elements = [i.removeprefix(ELEMENT) for i in ids if i.startswith(ELEMENT)]
    values = [value for entity_id in ids for value in candidates(entity_id)]
    parameters = {"values": values, "elements": elements} | schema.parameters
    if schema.templates:
        parameters["keys"] = [
            [key for entity_id in ids for key in template.keys(entity_id)]
            for template in schema.templates.values()
        ]
    return f"{_bind_nodes(schema, elements=bool(elements))} {rest}", parameters


def _each(schema: GraphSchema, ids: Collection[str], *values: str) -> Statement:
    """The id of each node, and these values."""
    return _about(schema, ids, f"RETURN collect([{', '.join([_id(schema, 'n'), *values])}])")


def _ends(schema: GraphSchema, left: str, right: str, types: Sequence[str] | None) -> str:
    """`[type, other end]` of a node's relationships in one direction.

    With `types`, only relationships of these types, all of which must be followed.
    """
    if schema.followed == ():
        return "[]"
    where = _is_node(schema, "m")
    kept = "" if where == "true" else f" WHERE {where}"
    followed = _types(schema) if types is None else f":{any_of(types)}"
    return f"[(n){left}[r{followed}]{right}(m){kept} | [type(r), m]]"


def _part_of(schema: GraphSchema, ends: str) -> str:
    """Two lists, from `start`: the types of relationships, and `[id, labels]` of the other ends."""
    part = f"{ends}[start..start + {PART}]"
    others = f"[m IN [end IN {part} | end[1]] | [{_id(schema, 'm')}, labels(m)]]"
    return f"[end IN {part} | end[0]], {others}"


def _types(schema: GraphSchema) -> str:
    return f":{any_of(schema.followed)}" if schema.followed else ""


def _id(schema: GraphSchema, variable: str) -> str:
    """The text of the id, or the element id with its prefix."""
    value = _id_value(schema, variable)
    if schema.aliased:
        value = f"CASE WHEN NOT {_element(schema, variable)} IN $aliased THEN {value} END"
    return f"coalesce({schema.dialect.text}({value}), '{ELEMENT}' + {_element(schema, variable)})"


def _element(schema: GraphSchema, variable: str) -> str:
    return f"toString({schema.dialect.element}({variable}))"


def _is_node(schema: GraphSchema, variable: str) -> str:
    """Condition that it has no excluded label."""
    if not schema.excluded:
        return "true"
    return f"NOT {variable}:{any_of(schema.excluded)}"


def _id_value(schema: GraphSchema, variable: str) -> str:
    """The value of the first id property that a node has; null if it has none, or no label."""
    value = _by_label(schema, variable, schema.label_ids, schema.common_ids)
    return (
        f"CASE WHEN size(labels({variable})) > 0 THEN {value} END" if schema.unlabelled else value
    )


def _name(schema: GraphSchema) -> str:
    """The value of the first name property that `n` has; null if it has none."""
    return _by_label(schema, "n", schema.label_names, schema.names)


def _by_label(
    schema: GraphSchema,
    variable: str,
    by_label: Mapping[str, Sequence[str]],
    common: Sequence[str],
) -> str:
    """The first value of a node's properties: those of a label, or else those for all nodes."""
    value = _first(schema, variable, common)
    if not by_label:
        return value
    cases = " ".join(
        f"WHEN {variable}:{quoted(label)} THEN {_first(schema, variable, names)}"
        for label, names in by_label.items()
    )
    return f"CASE {cases} ELSE {value} END"


def _first(schema: GraphSchema, variable: str, names: Iterable[str]) -> str:
    values = [_value(schema, variable, name) for name in names]
    if not values:
        return "null"
    return values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"


def _value(schema: GraphSchema, variable: str, name: str) -> str:
    """A property, or the text of a template; null if the node lacks one of its properties."""
    template = schema.templates.get(name)
    if template is None:
        return f"{variable}.{quoted(name)}"
    values = [f"{schema.dialect.text}({variable}.{quoted(one)})" for one in template.names]
    if len(values) > 1:
        values = [f"replace(replace({value}, '%', '%25'), '/', '%2F')" for value in values]
    joined = " + '/' + ".join(values)
    return f"($prefixes[{list(schema.templates).index(name)}] + {joined})"


def _properties(variable: str, wanted: Collection[str] | None, *, as_text: bool) -> str:
    """Properties as a map or as a list of key and value: all of them, or those in `$wanted`."""
    if as_text:
        return _texts(variable, f"keys({variable})" if wanted is None else "$wanted")
    if wanted is None:
        return f"properties({variable})"
    value = f"{variable}[key]"
    return f"[key IN $wanted WHERE {value} IS NOT NULL | [key, {value}]]"


def _texts(variable: str, keys: str) -> str:
    """Properties as a list of key and value, with times as text."""
    value = f"{variable}[key]"
    return (
        f"[key IN {keys} WHERE {value} IS NOT NULL | [key, CASE "
        f"WHEN valueType({value}) =~ '(DATE|LOCAL|ZONED).*' THEN toString({value}) "
        f"WHEN valueType({value}) =~ 'LIST<(DATE|LOCAL|ZONED).*' "
        f"THEN [item IN {value} | toString(item)] ELSE {value} END]]"
    )


def _id_text(schema: GraphSchema, variable: str) -> str:
    return f"{schema.dialect.text}({_id_value(schema, variable)})"


# --- nodes ----------------------------------------------------------------------


def nodes(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, labels]` of the nodes that exist."""
    return _each(schema, ids, "labels(n)")


def nodes_that_meet(
    schema: GraphSchema,
    types: Collection[str] | None,
    kept: NodeFilter,
    wanted: Collection[str],
) -> Statement:
    """`labels, ids, properties` of the nodes of some types, `PART` nodes of equal labels a record.

    The properties are those of `wanted` where the server cannot decide the condition, else null.
    The nodes are collected before their ids are read: they alone take some 30 bytes each.

    Args:
        schema: The schema of the graph.
        types: The types, of which the nodes may have another one; None for all.
        kept: The condition on the nodes.
        wanted: Properties that decide the condition.
    """
    names = [name for name in types or () if can_name(name)]
    of_types = [f"n:{any_of(names)}"] * bool(names)
    of_types += ["size(labels(n)) = 0"] * (UNTYPED in names)
    tests = [] if types is None else [f"({' OR '.join(of_types)})"]
    above = list(takewhile(lambda label: label not in names, schema.labels)) if names else []
    text = (
        f"MATCH (n) WHERE {' AND '.join([*tests, _is_node(schema, 'n')])} "
        f"{kept.clauses}WITH n, {kept.verdict} AS met WHERE coalesce(met, true) "
        "WITH labels(n) AS labels, met, collect(n) AS found "
        "WHERE none(label IN labels WHERE label IN $above) "
        f"UNWIND range(0, size(found) - 1, {PART}) AS start "
        f"WITH labels, met, found[start..start + {PART}] AS part "
        f"RETURN labels, [n IN part | {_id(schema, 'n')}], CASE WHEN met IS NULL "
        f"THEN [n IN part | {_properties('n', wanted, as_text=False)}] END"
    )
    given = {"above": above} | _wanted_names(wanted) | schema.parameters
    return text, given | dict(kept.parameters)


def stubs(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, labels, name, aliases, score]` of the nodes that exist."""
    return _about(schema, ids, f"RETURN collect({_candidate(schema, 'null')})")


def node_metadata(
    schema: GraphSchema,
    ids: Collection[str],
    wanted: Collection[str] | None = None,
    *,
    as_text: bool = False,
) -> Statement:
    """`[id, labels, properties]` of the nodes that exist; with `wanted`, only these properties.

    With `as_text`, times are text: the driver cannot read years beyond 1 to 9999.
    """
    shown = _properties("n", wanted, as_text=as_text)
    text, parameters = _each(schema, ids, "labels(n)", shown)
    return text, parameters | _wanted_names(wanted)


def _wanted_names(wanted: Collection[str] | None) -> dict[str, list[str]]:
    return {} if wanted is None else {"wanted": sorted(wanted)}


def node_elements(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[id, element id]` of the nodes that exist."""
    return _each(schema, ids, _element(schema, "n"))


# --- edges ----------------------------------------------------------------------


def ring(
    schema: GraphSchema,
    ids: Collection[str],
    types: Sequence[str] | None = None,
    direction: EdgeDirection | None = None,
) -> Statement:
    """The edges of the nodes that exist, in records of a list of parts.

    With `types`, of which at least one is followed, only their edges are read; with a
    direction, only edges that leave or that enter the nodes.

    A part is `[id, labels, bearer, types, leaving, types, entering]`, where leaving and entering
    are lists of `[other end, its labels]`. A node has one part with all its edges and null as the
    bearer of its id; or, beyond `PART` edges in a direction, several parts with its element id as
    the bearer.

    The server holds the nodes, and of `GROUP` nodes at a time the relationships. Ids and labels of
    the other ends, which take four times as much, are read for one record at a time.
    """
    leaving = "[]" if direction == "in" else _ends(schema, "-", "->", types)
    entering = "[]" if direction == "out" else _ends(schema, "<-", "-", types)
    scope, given = ("(some)", "") if schema.dialect.scoped else ("", "WITH some ")
    return _about(
        schema,
        ids,
        f"WITH collect(n) AS found UNWIND range(0, size(found) - 1, {GROUP}) AS first "
        f"WITH found[first..first + {GROUP}] AS some "
        f"CALL {scope} {{ {given}UNWIND some AS n "
        f"WITH n, {leaving} AS leaving, {entering} AS entering "
        "WITH n, leaving, entering, CASE WHEN size(leaving) > size(entering) "
        "THEN size(leaving) ELSE size(entering) END AS longer "
        f"RETURN collect([{_id(schema, 'n')}, labels(n), "
        f"CASE WHEN longer >= {PART} THEN {_element(schema, 'n')} END, "
        "leaving, entering, longer]) AS nodes, max(longer) AS longest } "
        f"UNWIND range(0, longest, {PART}) AS start "
        "RETURN [node IN nodes WHERE node[5] >= start | [node[0], node[1], node[2], "
        f"{_part_of(schema, 'node[3]')}, {_part_of(schema, 'node[4]')}]]",
    )


def edge_metadata(
    schema: GraphSchema,
    edges: Collection[Sequence[Any]],
    wanted: Collection[str] | None = None,
    *,
    as_text: bool = False,
) -> Statement:
    """`[position, properties]` for edges, lists of position, element, type, element."""
    element, given = schema.dialect.element, schema.dialect.element_id
    # Sorted, so that both ends are known before the planner expands between them: it then starts at
    # the end with fewer relationships, and never reads all relationships of a hub.
    text = (
        f"UNWIND $edges AS e MATCH (a) WHERE {element}(a) = {given('e[1]')} "
        f"MATCH (b) WHERE {element}(b) = {given('e[3]')} WITH e, a, b ORDER BY e[0] "
        "MATCH (a)-[r]->(b) WHERE type(r) = e[2] "
        f"RETURN collect([e[0], {_properties('r', wanted, as_text=as_text)}])"
    )
    return text, {"edges": edges} | _wanted_names(wanted)


def evidence_of_node(schema: GraphSchema, ids: Collection[str]) -> Statement:
    """`[subject, type, object, values]` of the relationships of `$id` with one of `$keys`."""
    return _about(
        schema,
        ids,
        f"MATCH (n)-[r{_types(schema)}]-(m) WHERE {_id(schema, 'n')} = $id "
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
        f"WHERE {_is_node(schema, 'a')} AND {_is_node(schema, 'b')} "
        f"WITH r, {_id(schema, 'a')} AS s, {_id(schema, 'b')} AS o "
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
    """Candidates by a part of a name, `$called`; reads the first `most` nodes of the types."""
    names = [name for name in types or () if name in schema.labels]
    label = f":{any_of(names)}" if names and UNTYPED not in (types or ()) else ""
    first = "" if most is None else f"WITH n LIMIT {most} "
    return (
        f"MATCH (n{label}) {first}WITH n, 0.0 AS score {_of_types(schema)} "
        f"WITH n, score WHERE any(text IN {_list_of(schema.searched)} "
        f"WHERE toLower({schema.dialect.text}(text)) CONTAINS $called) "
        f"{_best_candidates(schema)}"
    )


def search_by_indexes(schema: GraphSchema, spellings: Sequence[str]) -> Statement:
    """Candidates whose name is a text, or begins with it, in one of its spellings."""
    branches = [
        f"UNWIND $spellings AS text MATCH (n:{any_of(labels)}) "
        f"WHERE n.{quoted(name)} STARTS WITH text WITH n LIMIT {FOUND * 10} RETURN n"
        for name, labels in (schema.name_indexes or {}).items()
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
        f"WITH n, score ORDER BY score DESC LIMIT {FOUND} "
        f"RETURN collect({_candidate(schema, 'score')})"
    )


def _best_candidates(schema: GraphSchema) -> str:
    text = schema.dialect.text
    return (
        f"WITH n, score, {text}({_name(schema)}) AS name "
        "ORDER BY coalesce(toLower(name) = $called, false) DESC, score DESC, "
        f"size(name), {_id(schema, 'n')} LIMIT {FOUND} "
        f"RETURN collect({_candidate(schema, 'score')})"
    )


def _candidate(schema: GraphSchema, score: str) -> str:
    name, aliases = _name(schema), _list_of(schema.aliases)
    return f"[{_id(schema, 'n')}, labels(n), {name}, {aliases}, {score}]"


def _of_types(schema: GraphSchema) -> str:
    """Keeps nodes, of the types `$types` if it is not null."""
    kind = f"coalesce(head([l IN $rank WHERE l IN labels(n)]), '{UNTYPED}')"
    return f"WHERE {_is_node(schema, 'n')} AND ($types IS NULL OR {kind} IN $types)"


def _list_of(names: Iterable[str]) -> str:
    """The values of properties of `n` as one list."""
    return " + ".join(f"coalesce([] + n.{quoted(name)}, [])" for name in names) or "[]"


# --- the schema -----------------------------------------------------------------

KEYS = "CALL db.propertyKeys() YIELD propertyKey RETURN collect(propertyKey)"
"""The names of all properties."""

NODES = "MATCH (n) RETURN count(n)"

LABEL_SETS = "MATCH (n) WITH labels(n) AS labels, count(*) AS nodes RETURN collect([labels, nodes])"
"""`[labels, number of nodes]` for every set of labels that occurs. Reads all nodes."""


def labels(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all labels."""
    if procedures:
        return "CALL db.labels() YIELD label RETURN collect(label)"
    return "MATCH (n) UNWIND labels(n) AS label RETURN collect(DISTINCT label)"


def types(procedures: bool) -> str:  # noqa: FBT001 - its only argument
    """The names of all relationship types."""
    if procedures:
        return "CALL db.relationshipTypes() YIELD relationshipType RETURN collect(relationshipType)"
    return "MATCH ()-[r]->() RETURN collect(DISTINCT type(r))"


def nodes_of(names: Sequence[str]) -> str:
    """Position and number of nodes for each label, from counts that the server keeps."""
    return _counts("n", [f"(n:{quoted(name)})" for name in names])


def relationships_of(names: Sequence[str]) -> str:
    """Position and number of relationships for each type, from counts that the server keeps."""
    return _counts("r", [f"()-[r:{quoted(name)}]->()" for name in names])


def _counts(variable: str, patterns: Sequence[str]) -> str:
    return " UNION ALL ".join(
        f"MATCH {pattern} WITH count({variable}) AS bearers RETURN {place} AS place, bearers"
        for place, pattern in enumerate(patterns)
    )


def edge_counts(schema: GraphSchema) -> str:
    """`[labels, type, labels, edges]` for all edges; relationships of one triple are one edge.

    Node by node: to find the equal triples of the whole graph at once takes half as long again, and
    memory for all edges.
    """
    scope, given = ("(a)", "") if schema.dialect.scoped else ("", "WITH a ")
    return (
        f"MATCH (a) WHERE {_is_node(schema, 'a')} CALL {scope} {{ "
        f"{given}MATCH (a)-[r{_types(schema)}]->(b) WHERE {_is_node(schema, 'b')} "
        "RETURN DISTINCT type(r) AS type, b } "
        "WITH labels(a) AS subjects, type, labels(b) AS objects, count(*) AS edges "
        "RETURN collect([subjects, type, objects, edges])"
    )


def some_nodes(schema: GraphSchema, most: int) -> Statement:
    """Ids of the first `most` nodes that the server has."""
    text = (
        f"MATCH (n) WHERE {_is_node(schema, 'n')} WITH n LIMIT {most} "
        f"RETURN collect({_id(schema, 'n')})"
    )
    return text, dict(schema.parameters)


def some_edges(schema: GraphSchema, name: str, most: int) -> Statement:
    """Subject and object of the first `most` relationships of a type."""
    text = (
        f"MATCH (a)-[r:{quoted(name)}]->(b) "
        f"WHERE {_is_node(schema, 'a')} AND {_is_node(schema, 'b')} WITH a, b LIMIT {most} "
        f"RETURN collect([{_id(schema, 'a')}, {_id(schema, 'b')}])"
    )
    return text, dict(schema.parameters)


def samples(names: Sequence[str], most: int) -> str:
    """Position and the first `most` nodes of each label.

    A node is its labels and `[property, text, whether it is itself text]` of short values.
    """
    text = "toStringOrNull(n[key])"
    return " UNION ALL ".join(
        f"MATCH (n:{quoted(name)}) WITH n LIMIT {most} RETURN {place} AS place, "
        f"collect([labels(n), [key IN keys(n) WHERE size({text}) <= 200 | "
        f"[key, {text}, n[key] = {text}]]]) AS nodes"
        for place, name in enumerate(names)
    )


def equal_ids(keys: Sequence[tuple[str, str]]) -> str:
    """Position and other labels with an equal id, of labels; `$values` are `[label, id]`."""
    return " UNION ALL ".join(
        f"UNWIND $values AS pair MATCH (n:{quoted(label)} {{{quoted(name)}: pair[1]}}) "
        f"WHERE NOT pair[0] IN labels(n) RETURN {place} AS place, "
        "collect(DISTINCT pair[0]) AS others"
        for place, (label, name) in enumerate(keys)
    )


def labels_that_are_types(names: Sequence[str]) -> str:
    """For labels in the order of their rank, whether a node has that label and none before it."""
    tests = [
        f"EXISTS {{ MATCH (n:{quoted(name)}) "
        f"WHERE none(l IN labels(n) WHERE l IN $names[..{place}]) }}"
        for place, name in enumerate(names)
    ]
    return f"RETURN [{', '.join(tests)}]"


def id_counts(schema: GraphSchema) -> str:
    """The number of nodes without an id, and `[id, nodes]` of the ids that several nodes have."""
    return (
        f"MATCH (n) WHERE {_is_node(schema, 'n')} WITH {_id_text(schema, 'n')} AS id, "
        "count(*) AS bearers WHERE id IS NULL OR bearers > 1 RETURN collect([id, bearers])"
    )


def bearers(schema: GraphSchema) -> str:
    """`[id, element ids]` of the nodes that have one of `$ids`."""
    return (
        f"MATCH (n) WHERE {_is_node(schema, 'n')} WITH n, {_id_text(schema, 'n')} AS id "
        f"WHERE id IN $ids WITH id, collect({_element(schema, 'n')}) AS elements "
        "RETURN collect([id, elements])"
    )
