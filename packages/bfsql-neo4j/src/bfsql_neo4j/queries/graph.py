"""Statements about nodes, edges and names.

Every statement about known nodes begins with `found`: index seeks for each
asked value, by every property that may hold an id, in all labels that have an
index for it. Measured on 100,000 nodes and 500,000 relationships: a match
without a label reads all nodes, once for every asked id; a label without an
index all of its nodes. So labels without one are read once, for all ids
together, and nodes without a label have their element id as their id.

What belongs together comes in one record, as nested lists: unpacking a record a
node costs the client twice as much.
"""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.models.merge import UNTYPED
from bfsql_neo4j.identity import ELEMENT
from bfsql_neo4j.quoting import quoted
from bfsql_neo4j.shape import Dialect, Shape
from bfsql_neo4j.stored import DOCUMENTS

CHUNK = 5_000
"""Keys that one statement is asked for at most."""
PREFERRED = 1_000
"""Hits of the full-text index, best first, that are put in the order of search."""
FOUND = 60
"""Hits that search looks at closely."""


class Queries:
    """The statements for one graph.

    Args:
        shape: Its labels, types, and what is indexed.
        dialect: What its server understands.
        names: Properties that hold the display name, best first.
        aliases: Properties that hold further names.
    """

    def __init__(
        self, shape: Shape, dialect: Dialect, names: Iterable[str], aliases: Iterable[str]
    ) -> None:
        self._shape = shape
        self._dialect = dialect
        self._names = list(names)
        self._aliases = list(aliases)

    # --- nodes --------------------------------------------------------------

    def nodes(self, *, elements: bool) -> str:
        """`[id, labels]` of the nodes that exist."""
        return f"{self._found(elements)} RETURN collect([{self._id('n')}, labels(n)])"

    def stubs(self, *, elements: bool) -> str:
        """`[id, labels, name, aliases, score]` of the nodes that exist."""
        return f"{self._found(elements)} RETURN collect({self._candidate('null')})"

    def node_metadata(self, *, elements: bool) -> str:
        """`[id, labels, properties]` of the nodes that exist."""
        return (
            f"{self._found(elements)} RETURN collect([{self._id('n')}, labels(n), properties(n)])"
        )

    def node_metadata_as_text(self, *, elements: bool) -> str:
        """The same, moments as text: the driver cannot read years beyond 1 to 9999."""
        return (
            f"{self._found(elements)} RETURN collect([{self._id('n')}, labels(n), {_texts('n')}])"
        )

    def node_elements(self, *, elements: bool) -> str:
        """`[id, element id]` of the nodes that exist."""
        return f"{self._found(elements)} RETURN collect([{self._id('n')}, {self._element('n')}])"

    # --- edges --------------------------------------------------------------

    def ring(self, *, elements: bool) -> str:
        """`[id, leaving, entering]` of each node, the lists of `[type, other end]`."""
        return (
            f"{self._found(elements)} WITH {self._id('n')} AS id, {self._ends('-', '->')} AS "
            f"leaving, {self._ends('<-', '-')} AS entering "
            "RETURN collect([id, leaving, entering])"
        )

    def leaving(self, *, elements: bool) -> str:
        """`[id, leaving]` of each node."""
        return f"{self._found(elements)} RETURN collect([{self._id('n')}, {self._ends('-', '->')}])"

    def entering(self, *, elements: bool) -> str:
        """`[id, entering]` of each node."""
        return f"{self._found(elements)} RETURN collect([{self._id('n')}, {self._ends('<-', '-')}])"

    def edge_metadata(self, *, as_text: bool) -> str:
        """`[position, properties]` for `$edges`, lists of position, element, type, element."""
        element, given = self._dialect.element, self._dialect.given
        # In order, so that both ends are there before the planner looks between them: it walks
        # from the end with fewer relationships then, and never over all of a hub's.
        return (
            f"UNWIND $edges AS e MATCH (a) WHERE {element}(a) = {given('e[1]')} "
            f"MATCH (b) WHERE {element}(b) = {given('e[3]')} WITH e, a, b ORDER BY e[0] "
            "MATCH (a)-[r]->(b) WHERE type(r) = e[2] "
            f"RETURN collect([e[0], {_texts('r') if as_text else 'properties(r)'}])"
        )

    def evidence(self, *, elements: bool) -> str:
        """`[subject, type, object, values]` of relationships of `$id` with a value of `$keys`."""
        return (
            f"{self._found(elements)} MATCH (n)-[r{self._types()}]-(m) "
            f"WHERE {self._id('n')} = $id "
            "AND any(key IN $keys WHERE r[key] IS NOT NULL) "
            f"{self._evidence()}"
        )

    def supplied(self) -> str:
        """The same of the relationships whose evidence is from `$document`."""
        return (
            "CALL db.index.fulltext.queryRelationships($index, $lucene) YIELD relationship AS r "
            f"WITH r WHERE $document IN r.{quoted(DOCUMENTS)} {self._evidence()}"
        )

    def _evidence(self) -> str:
        """The first `$most` by their triple."""
        return (
            "WITH DISTINCT r, startNode(r) AS a, endNode(r) AS b "
            f"WHERE {self._is_node('a')} AND {self._is_node('b')} "
            f"WITH r, {self._id('a')} AS s, {self._id('b')} AS o "
            "ORDER BY s, type(r), o LIMIT $most "
            "RETURN collect([s, type(r), o, [key IN $keys | r[key]]])"
        )

    # --- search -------------------------------------------------------------

    def words(self) -> str:
        """Candidates by words, the best of the index `$index` for `$lucene`."""
        return (
            "CALL db.index.fulltext.queryNodes($index, $lucene) YIELD node AS n, score "
            f"WITH n, score {self._wanted()} WITH n, score LIMIT {PREFERRED} "
            f"{self._best_candidates()}"
        )

    def parts(self) -> str:
        """Candidates by a part of a name, `$called`, looking at every node."""
        return (
            f"MATCH (n) WITH n, 0.0 AS score {self._wanted()} "
            f"WITH n, score WHERE any(text IN {self._all_names()} "
            f"WHERE toLower({self._dialect.text}(text)) CONTAINS $called) "
            f"{self._best_candidates()}"
        )

    def nearest(self) -> str:
        """Candidates by the nearness of vectors, `$most` of the index `$index` for `$vector`."""
        return (
            "CALL db.index.vector.queryNodes($index, $most, $vector) YIELD node AS n, score "
            f"WITH n, score {self._wanted()} "
            f"WITH n, score ORDER BY score DESC LIMIT {FOUND} "
            f"RETURN collect({self._candidate('score')})"
        )

    def _best_candidates(self) -> str:
        text = self._dialect.text
        return (
            f"WITH n, score, {text}({self._name()}) AS name "
            "ORDER BY coalesce(toLower(name) = $called, false) DESC, score DESC, "
            f"size(name), {self._id('n')} LIMIT {FOUND} "
            f"RETURN collect({self._candidate('score')})"
        )

    def _candidate(self, score: str) -> str:
        return f"[{self._id('n')}, labels(n), {self._name()}, {self._other_names()}, {score}]"

    def _wanted(self) -> str:
        """Keeps nodes, and those of the types `$types` if it is not null."""
        kind = f"coalesce(head([l IN $rank WHERE l IN labels(n)]), '{UNTYPED}')"
        return f"WHERE {self._is_node('n')} AND ($types IS NULL OR {kind} IN $types)"

    def _name(self) -> str:
        return _first("n", self._names)

    def _other_names(self) -> str:
        parts = [f"coalesce([] + n.{quoted(name)}, [])" for name in self._aliases]
        return " + ".join(parts) or "[]"

    def _all_names(self) -> str:
        parts = [f"coalesce([] + n.{quoted(name)}, [])" for name in (*self._names, *self._aliases)]
        return " + ".join(parts) or "[]"

    # --- parts --------------------------------------------------------------

    def _found(self, elements: bool) -> str:  # noqa: FBT001 - read with its name where it matters
        """Binds `n` to the nodes whose id may be one of `$values`, or of `$elements`."""
        each = "UNWIND $values AS value MATCH (n:{labels} {{{name}: value}}) RETURN n"
        once = "MATCH (n:{labels}) WHERE n.{name} IN $values RETURN n"
        branches = [
            text.format(labels="|".join(map(quoted, labels)), name=quoted(name))
            for text, by_property in ((each, self._shape.seeks), (once, self._shape.scans))
            for name, labels in by_property.items()
        ]
        if elements or not branches:
            element, given = self._dialect.element, self._dialect.given("e")
            asked = "$elements" if given == "e" else f"[e IN $elements | {given}]"
            branches.append(f"MATCH (n) WHERE {element}(n) IN {asked} RETURN n")
        if len(branches) == 1:
            # Without the list, the planner takes the asked value for the property's: 42.0 for 42.
            found = branches[0].removesuffix(" RETURN n")
            together = f"{found} WITH collect(DISTINCT n) AS found UNWIND found AS n WITH n"
        else:
            scope = "()" if self._dialect.scoped else ""
            together = f"CALL {scope} {{ {' UNION '.join(branches)} }} WITH n"
        excluded = self._is_node("n")
        return together if excluded == "true" else f"{together} WHERE {excluded}"

    def _ends(self, left: str, right: str) -> str:
        """`[type, other end]` of a node's relationships in one direction."""
        if self._shape.followed == ():
            return "[]"
        where = self._is_node("m")
        kept = "" if where == "true" else f" WHERE {where}"
        return f"[(n){left}[r{self._types()}]{right}(m){kept} | [type(r), {self._id('m')}]]"

    def _types(self) -> str:
        followed = self._shape.followed
        return ":" + "|".join(map(quoted, followed)) if followed else ""

    def _is_node(self, variable: str) -> str:
        return is_node(self._shape, variable)

    def _id(self, variable: str) -> str:
        """The text of the id, or the marked element id."""
        value = id_value(self._shape, variable)
        if self._shape.aliased:
            value = f"CASE WHEN NOT {self._element(variable)} IN $aliased THEN {value} END"
        return f"coalesce({self._dialect.text}({value}), '{ELEMENT}' + {self._element(variable)})"

    def _element(self, variable: str) -> str:
        return f"toString({self._dialect.element}({variable}))"


def is_node(shape: Shape, variable: str) -> str:
    """Condition: it bears no label that is excluded."""
    if not shape.excluded:
        return "true"
    return f"NOT {variable}:{'|'.join(map(quoted, shape.excluded))}"


def id_value(shape: Shape, variable: str) -> str:
    """The value of the first id property that a node has; null where it has none, or no label."""
    value = _first(variable, shape.identity.common)
    if shape.identity.by_label:
        cases = " ".join(
            f"WHEN {variable}:{quoted(label)} THEN {_first(variable, names)}"
            for label, names in shape.identity.by_label.items()
        )
        value = f"CASE {cases} ELSE {value} END"
    return f"CASE WHEN size(labels({variable})) > 0 THEN {value} END" if shape.unlabelled else value


def _first(variable: str, names: Iterable[str]) -> str:
    values = [f"{variable}.{quoted(name)}" for name in names]
    if not values:
        return "null"
    return values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"


def _texts(variable: str) -> str:
    """Properties as a list of key and value, moments as text."""
    value = f"{variable}[key]"
    return (
        f"[key IN keys({variable}) | [key, CASE "
        f"WHEN valueType({value}) =~ '(DATE|LOCAL|ZONED).*' THEN toString({value}) "
        f"WHEN valueType({value}) =~ 'LIST<(DATE|LOCAL|ZONED).*' "
        f"THEN [item IN {value} | toString(item)] ELSE {value} END]]"
    )
