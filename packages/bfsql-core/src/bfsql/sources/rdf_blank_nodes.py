"""What the statements with blank nodes say about nodes that have an IRI.

Ontologies describe classes by anonymous ones. What follows from such a description for the named
class is an edge or a value of it:

| statement | follows |
|---|---|
| `C subClassOf [onProperty p; someValuesFrom D]` | `C p D` |
| the same with `hasValue v`, or at least one of `onClass D` | `C p v`, `C p D` |
| the same with `equivalentClass` or `type` in place of `subClassOf` | the same |
| `C subClassOf [intersectionOf (A B ...)]` | `C subClassOf A`, and so on, at any depth |
| `s p (a b ...)`, a list | `s p a`, `s p b`, and so on, without their order |
| `s p [q v; ...]`, any other | the value `v` of `p` and `q`, unless it is blank |

A typed blank node that no node with an IRI leads to is a node itself, and what it leads to in one
step is read as above. Its IRI is made of the file's, its type and its place among those of the
type. Types of RDF, RDFS and OWL, such as `owl:Restriction`, do not count.

The statements wait in a temporary file until all have been read, since they may come in any order.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias, final

from bfsql.deadline import check
from bfsql.models.rdf import WELL_KNOWN, Literal
from bfsql.sources.rdf_choices import BATCH

_RDF, _RDFS, _OWL = WELL_KNOWN["rdf"], WELL_KNOWN["rdfs"], WELL_KNOWN["owl"]
_TYPE, _FIRST, _REST = (f"{_RDF}{name}" for name in ("type", "first", "rest"))
_SUBCLASS = f"{_RDFS}subClassOf"
_AXIOMS = {_SUBCLASS, f"{_OWL}equivalentClass", _TYPE}
"""Predicates from a node to a description of its class."""
_ON, _ALL_OF, _SOME, _CLASS = (
    f"{_OWL}{name}" for name in ("onProperty", "intersectionOf", "someValuesFrom", "onClass")
)
_AT_LEAST = {f"{_OWL}minQualifiedCardinality", f"{_OWL}qualifiedCardinality"}
_IRI, _BLANK, _LITERAL = range(3)
"""Kinds of objects."""


@final
@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node by the label that the parser gives it."""

    name: str


Object: TypeAlias = str | Literal | BlankNode
Quoted: TypeAlias = tuple[str, str, str] | tuple[None, None, None]
"""A statement that is the object of another: an edge by its IRIs, or anything else."""
_Description: TypeAlias = dict[str, list[Object]]

_TABLE = """
CREATE TABLE statement (
    n INTEGER PRIMARY KEY, blank INTEGER, s TEXT, p TEXT, kind INTEGER, o TEXT,
    language TEXT, datatype TEXT
)
"""
_INSERT = """
INSERT INTO statement (blank, s, p, kind, o, language, datatype) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_OF_IRIS = "SELECT s, p, o FROM statement WHERE blank = 0 AND kind = 1 ORDER BY s, n"
_OF_BLANK = (
    "SELECT p, kind, o, language, datatype FROM statement WHERE blank = 1 AND s = ? ORDER BY n"
)
_ROOTS = """
SELECT DISTINCT s FROM statement WHERE blank
AND s NOT IN (SELECT o FROM statement WHERE kind = 1) ORDER BY n
"""
_TYPED = """
WITH RECURSIVE part (s) AS (
    SELECT o FROM statement WHERE kind = 1 AND NOT blank
    UNION SELECT statement.o FROM part CROSS JOIN statement
    WHERE statement.blank = 1 AND statement.s = part.s AND kind = 1
)
SELECT s, o FROM statement WHERE blank AND kind = 0 AND p = ? AND s NOT IN part ORDER BY n
"""
_NAME_SUBJECT = "UPDATE statement SET blank = 0, s = ? WHERE blank = 1 AND s = ?"
_NAME_OBJECT = "UPDATE statement SET kind = 0, o = ? WHERE kind = 1 AND o = ?"
_PLAIN = """
SELECT s, p, kind, o, language, datatype FROM statement WHERE NOT blank AND kind != 1 ORDER BY n
"""


@dataclass(slots=True)
class Findings:
    """What follows for one node."""

    subject: str
    edges: list[tuple[str, str]] = field(default_factory=list)
    """Predicates and objects, which are IRIs."""
    values: dict[tuple[str, ...], list[str | Literal]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Values by the one or two predicates that lead to them."""
    records: dict[str, list[dict[str, list[str | Literal]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Values of several blank nodes with the same predicate, which belong together."""
    unread: list[str] = field(default_factory=list)
    """The predicates of what is not read, one for each statement."""


class BlankNodes:
    """The statements of one file with a blank node at an end.

    Attributes:
        unread: Predicates of statements that belong to no node with an IRI, with their numbers;
            complete after `leave_roots`.
        connection: The temporary file.
    """

    def __init__(self) -> None:
        self.unread: Counter[str] = Counter()
        self._waiting: list[tuple[object, ...]] = []
        self.connection = sqlite3.connect("", check_same_thread=False)
        self.connection.execute(_TABLE)

    def add(self, subject: str | BlankNode, predicate: str, object_: Object) -> None:
        """Add a statement."""
        blank = isinstance(subject, BlankNode)
        name = subject.name if isinstance(subject, BlankNode) else subject
        self._waiting.append((blank, name, predicate, *columns_of(object_)))
        if len(self._waiting) >= BATCH:
            self._flush()

    def complete(self) -> None:
        """Prepare for reading, after the last statement."""
        self._flush()
        self.connection.execute("CREATE INDEX statement_s ON statement (blank, s)")
        self.connection.execute("CREATE INDEX statement_o ON statement (kind, o)")

    def named(self, base: str) -> list[str]:
        """Make typed blank nodes that are part of no other node nodes; return their IRIs.

        Args:
            base: The IRI of the file.
        """
        numbers, found = Counter[str](), dict[str, str]()
        for name, type_ in self.connection.execute(_TYPED, (_TYPE,)):
            if name not in found and not type_.startswith((_RDF, _RDFS, _OWL)):
                local = re.split("[/#:]", type_)[-1]
                numbers[local] += 1
                found[name] = f"{base}#blank-{local}-{numbers[local]}"
        for statement in (_NAME_SUBJECT, _NAME_OBJECT):
            self.connection.executemany(statement, ((iri, name) for name, iri in found.items()))
        return [*found.values()]

    def plain(self) -> Iterator[tuple[str, str, str | Literal]]:
        """The statements of the nodes that `named` has made, without blank nodes."""
        for subject, predicate, *columns in self.connection.execute(_PLAIN):
            object_ = object_of(*columns)
            assert not isinstance(object_, BlankNode)
            yield subject, predicate, object_

    def close(self) -> None:
        """Remove the file."""
        self.connection.close()

    def findings(self) -> Iterator[Findings]:
        """What follows for each node with an IRI, by its IRI."""
        rows = self.connection.execute(_OF_IRIS)
        for subject, group in groupby(rows, itemgetter(0)):
            found = Findings(subject)
            others: dict[str, list[str]] = defaultdict(list)
            for _, predicate, name in group:
                if predicate in _AXIOMS:
                    self._read_class(found, predicate, name)
                else:
                    others[predicate].append(name)
            for predicate, names in others.items():
                read = [self._read_value(found, predicate, name) for name in names]
                records = [record for record in read if record]
                if len(records) > 1:
                    found.records[predicate] = records
                elif records:
                    found.values |= {(predicate, key): one for key, one in records[0].items()}
            yield found

    def leave_roots(self) -> None:
        """Count the statements of nodes that no other node leads to."""
        for (name,) in self.connection.execute(_ROOTS).fetchall():
            description = self._description(name)
            types = description.pop(_TYPE, [])
            found = description or {_TYPE: types}
            self.unread.update({key: len(objects) for key, objects in found.items()})

    # --- descriptions of classes --------------------------------------------------

    def _read_class(self, found: Findings, predicate: str, name: str) -> None:
        """Read the description of a class, and those that it is the intersection of."""
        waiting, seen = [name], {name}
        while waiting:
            description = self._description(waiting.pop())
            members = self._listed(description.get(_ALL_OF, ()))
            for member in members:
                if isinstance(member, str):
                    found.edges.append((_TYPE if predicate == _TYPE else _SUBCLASS, member))
                elif isinstance(member, BlankNode) and member.name not in seen:
                    seen.add(member.name)
                    waiting.append(member.name)
            if _ON in description:
                self._read_restriction(found, description)
            elif not members:
                form = next((key for key in description if key != _TYPE), predicate)
                found.unread.append(form)

    def _read_restriction(self, found: Findings, description: _Description) -> None:
        property_ = description[_ON][0]
        if not isinstance(property_, str):
            found.unread.append(_ON)
            return
        objects = [*description.get(_SOME, ()), *description.get(f"{_OWL}hasValue", ())]
        least = [one for key in _AT_LEAST for one in description.get(key, ())]
        if any(isinstance(one, Literal) and one.text.strip("0 ") for one in least):
            objects += description.get(_CLASS, ())
        read = 0
        for one in objects:
            inner = [one]
            if isinstance(one, BlankNode):
                inner = self._listed(self._description(one.name).get(_ALL_OF, ()))
                inner = [member for member in inner if isinstance(member, str)]
            read += bool(inner)
            for member in inner:
                _put(found, property_, member)
        if read < max(1, len(objects)):
            found.unread.append(property_)

    # --- other descriptions -------------------------------------------------------

    def _read_value(
        self, found: Findings, predicate: str, name: str
    ) -> dict[str, list[str | Literal]]:
        """The values of a blank node; those of a list are added to the findings at once."""
        record: dict[str, list[str | Literal]] = defaultdict(list)
        description = self._description(name)
        if _FIRST in description:
            for one in self._listed([BlankNode(name)]):
                _put(found, predicate, one)
            return record
        if not description:
            found.unread.append(predicate)
        for key, objects in description.items():
            for one in objects:
                if isinstance(one, BlankNode):
                    found.unread.append(key)
                else:
                    record[key].append(one)
        return record

    def _listed(self, heads: Sequence[Object]) -> list[Object]:
        """The items of lists."""
        items: list[Object] = []
        seen: set[str] = set()
        waiting = [head.name for head in heads if isinstance(head, BlankNode)]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            description = self._description(name)
            items += description.get(_FIRST, ())
            waiting += [x.name for x in description.get(_REST, ()) if isinstance(x, BlankNode)]
        return items

    def _description(self, name: str) -> _Description:
        """The statements about a blank node."""
        check()
        found: _Description = defaultdict(list)
        for predicate, *columns in self.connection.execute(_OF_BLANK, (name,)):
            found[predicate].append(object_of(*columns))
        return dict(found)

    def _flush(self) -> None:
        check()
        self.connection.executemany(_INSERT, self._waiting)
        self._waiting.clear()


def _put(found: Findings, predicate: str, term: Object) -> None:
    if isinstance(term, BlankNode):
        found.unread.append(predicate)
    elif isinstance(term, Literal):
        found.values[predicate,].append(term)
    else:
        found.edges.append((predicate, term))


def columns_of(term: Object) -> tuple[int, str, str | None, str | None]:
    """An object as a row has it: kind, text, language and datatype."""
    if isinstance(term, BlankNode):
        return _BLANK, term.name, None, None
    if isinstance(term, Literal):
        return _LITERAL, term.text, term.language, term.datatype
    return _IRI, term, None, None


def object_of(kind: int, text: str, language: str | None, datatype: str | None) -> Object:
    """The object of a row."""
    if kind == _BLANK:
        return BlankNode(text)
    return Literal(text, language, datatype) if kind == _LITERAL else text
