r"""Statements about statements in RDF files.

| a statement node, or handle | its statement |
|---|---|
| `h rdf:reifies <<( s p o )>>`, in Turtle also `s p o {\| ... \|}` and `<< s p o >>` | `s p o` |
| `h rdf:subject s ; rdf:predicate p ; rdf:object o` | `s p o` |
| the same with `owl:annotatedSource`, `annotatedProperty`, `annotatedTarget` | `s p o` |
| `h rdf:singletonPropertyOf p`, and `s h o` | `s p o`, in place of `s h o` |
| `s p:P1 h`, `h ps:P1 o`, of Wikibase | `s wdt:P1 o` |

What else is said of a handle is said of the edge, if a file of the load has the edge. A handle
with an IRI remains a node, as it is behind an endpoint; statement nodes, references and values of
Wikibase do not.

Handles, and what blank ones say, wait in the temporary file of the blank nodes. If there are any,
the file is read once more, for its edges and for what is said of handles with IRIs, since
statements may come in any order. An edge whose predicate occurs for the first time waits, too:
the predicate may turn out to be a singleton.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from bfsql.deadline import check
from bfsql.models.rdf import WELL_KNOWN, Literal
from bfsql.models.rdf_statements import (
    DIRECT,
    OBJECT,
    PREDICATE,
    REFERENCE,
    REIFIES,
    SUBJECT,
    TYPE,
    is_metadata,
)
from bfsql.models.records import Refusal, Triple
from bfsql.sources.rdf_blank_nodes import (
    BlankNode,
    BlankNodes,
    Object,
    Quoted,
    columns_of,
    object_of,
)
from bfsql.sources.rdf_choices import BATCH

if TYPE_CHECKING:
    from bfsql.sources.rdf_parsers import Quad

_OWL, _WIKIBASE = WELL_KNOWN["owl"], WELL_KNOWN["wikibase"]
_NODE = re.compile(r"/(entity/statement|reference|value)/[^/#]+\Z")
"""IRIs of statement nodes, references and values of Wikibase."""
_PROPERTY = re.compile(
    r"(.*)/prop/(?:(P\d+)|statement/(P\d+)|(?:statement|qualifier|reference)/[\w/-]+)\Z"
)
"""The predicates of Wikibase to a statement node, to its value, and to all else of a node."""
_COMPONENT = re.compile(re.escape(_WIKIBASE) + "(?:rank|(?:time|quantity|geo)[A-Za-z]*)")
"""The predicates of ranks, and of the parts of complex values."""

_NONE, _SUBJECT, _PREDICATE, _OBJECT, _REIFIES, _SINGLETON, _FIRST = range(7)
"""What predicates mean here; the last occurs for the first time."""
_TYPE, _CLAIM, _VALUE, _OF_NODE = range(7, 11)
"""The same in Wikibase: from an item to a statement node, from that to the value, all else."""
_ROLES = {
    SUBJECT: _SUBJECT,
    PREDICATE: _PREDICATE,
    OBJECT: _OBJECT,
    f"{_OWL}annotatedSource": _SUBJECT,
    f"{_OWL}annotatedProperty": _PREDICATE,
    f"{_OWL}annotatedTarget": _OBJECT,
    REIFIES: _REIFIES,
    f"{WELL_KNOWN['rdf']}singletonPropertyOf": _SINGLETON,
    TYPE: _TYPE,
    REFERENCE: _OF_NODE,
}

_TABLES = """
CREATE TABLE part (blank INTEGER, handle TEXT, role INTEGER, kind INTEGER, o TEXT);
CREATE TABLE claim (n INTEGER PRIMARY KEY, blank INTEGER, handle TEXT, s TEXT, p TEXT, o TEXT);
CREATE TABLE held (n INTEGER PRIMARY KEY, s TEXT, p TEXT, o TEXT);
CREATE TABLE said (
    n INTEGER PRIMARY KEY, blank INTEGER, handle TEXT,
    p TEXT, kind INTEGER, o TEXT, language TEXT, datatype TEXT
);
CREATE TABLE read (s TEXT, p TEXT, kind INTEGER, o TEXT, language TEXT, datatype TEXT);
CREATE TABLE fact (s TEXT, p TEXT, o TEXT, PRIMARY KEY (s, p, o)) WITHOUT ROWID;
-- Of the last file of a load, about all of them. h is a hash of an edge.
CREATE TABLE stated (h INTEGER);
CREATE TABLE wanted (h INTEGER PRIMARY KEY);
CREATE TABLE again (s TEXT, p TEXT, o TEXT, h INTEGER);
CREATE TABLE repeated (s TEXT, p TEXT, o TEXT, n INTEGER, PRIMARY KEY (s, p, o)) WITHOUT ROWID;
"""
_INSERTS = {
    "part": "INSERT INTO part VALUES (?, ?, ?, ?, ?)",
    "claim": "INSERT INTO claim VALUES (NULL, ?, ?, ?, ?, ?)",
    "held": "INSERT INTO held VALUES (NULL, ?, ?, ?)",
    "said": "INSERT INTO said VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
    "read": "INSERT INTO read VALUES (?, ?, ?, ?, ?, ?)",
    "stated": "INSERT INTO stated VALUES (?)",
    "again": "INSERT INTO again VALUES (?, ?, ?, ?)",
}
_SINGLE = """
CREATE TABLE single AS
SELECT held.p AS handle, min(held.s) AS s, min(part.o) AS p, min(held.o) AS o
FROM held JOIN part ON handle = held.p AND role = 5 GROUP BY held.p
HAVING count(DISTINCT held.n) = 1 AND min(part.o) = max(part.o);
DELETE FROM held WHERE p IN (SELECT handle FROM single);
DELETE FROM part WHERE role = 5 AND handle IN (SELECT handle FROM single);
INSERT INTO claim SELECT NULL, 0, handle, s, p, o FROM single;
INSERT OR IGNORE INTO fact SELECT s, p, o FROM single;
"""
_CLAIMS = """
CREATE VIEW whole AS
SELECT blank, handle, max(o) FILTER (WHERE role = 1) AS s, max(o) FILTER (WHERE role = 2) AS p,
    max(o) FILTER (WHERE role = 3) AS o,
    max(kind) = 0 AND count(DISTINCT role || ' ' || o) = 3 AND count(DISTINCT role) = 3 AS complete
FROM part GROUP BY blank, handle;
INSERT INTO claim SELECT NULL, blank, handle, s, p, o FROM whole WHERE complete;
INSERT INTO claim SELECT NULL, blank, handle, NULL, NULL, NULL FROM whole WHERE NOT complete;
DELETE FROM claim WHERE n NOT IN (SELECT min(n) FROM claim GROUP BY blank, handle, s, p, o);
CREATE INDEX claim_handle ON claim (blank, handle);
CREATE INDEX claim_edge ON claim (s, p, o);
-- All that is said of one handle is said of each of its statements.
UPDATE claim SET s = NULL, p = NULL, o = NULL WHERE (blank, handle) IN (
    SELECT blank, handle FROM claim GROUP BY blank, handle HAVING count(*) > 100);
INSERT INTO said SELECT NULL, 1, s, p, kind, o, language, datatype FROM statement
WHERE blank = 1 AND s IN (SELECT handle FROM claim WHERE blank) ORDER BY n;
DELETE FROM statement WHERE blank = 1 AND s IN (SELECT handle FROM claim WHERE blank);
CREATE INDEX said_handle ON said (blank, handle);
"""
_MATCH = """
INSERT OR IGNORE INTO fact SELECT s, p, o FROM read WHERE kind = 0 AND EXISTS (
    SELECT 1 FROM claim WHERE claim.s = read.s AND claim.p = read.p AND claim.o = read.o);
INSERT INTO said SELECT NULL, 0, s, p, kind, o, language, datatype FROM read WHERE EXISTS (
    SELECT 1 FROM claim WHERE blank = 0 AND handle = read.s);
DELETE FROM read;
"""
_COMPARE = """
INSERT INTO repeated SELECT s, p, o, 1 FROM again WHERE h IN (SELECT h FROM wanted)
ON CONFLICT DO UPDATE SET n = n + 1;
DELETE FROM again;
"""
_STATED_AGAIN = """
INSERT OR IGNORE INTO wanted SELECT h FROM stated GROUP BY h HAVING count(*) > 1
"""
_AFTER = {"read": _MATCH, "again": _COMPARE}
"""What follows when rows were written to a table."""
_ONLY_QUOTED = "claim WHERE o IS NOT NULL AND (s, p, o) NOT IN (SELECT s, p, o FROM fact)"
_SAID = """
SELECT fact.s, fact.p, fact.o, claim.n, said.p, kind, said.o, language, datatype
FROM claim JOIN fact USING (s, p, o) LEFT JOIN said
ON said.blank = claim.blank AND said.handle = claim.handle
ORDER BY 1, 2, 3, claim.n, said.n
"""
_REFERENCE = """
SELECT p, kind, o, language, datatype FROM said WHERE blank = 0 AND handle = ? ORDER BY n LIMIT 101
"""


@dataclass(slots=True)
class Description:
    """What one statement says about an edge."""

    edge: Triple
    values: dict[str, list[str | Literal]]
    references: list[dict[str, list[str | Literal]]]
    """What each of its references of Wikibase says."""


class Statements:
    """The statements about statements of one file.

    Args:
        blank: The statements with blank nodes, in whose temporary file these wait.
        read: Reads the statements of the file.

    Attributes:
        roles: The roles of predicates that have occurred; plain numbers, which are compared faster.
        unread: Predicates of what is not read of statements about edges, with their numbers.
        connection: The temporary file.
    """

    def __init__(self, blank: BlankNodes, read: Callable[[], Iterator[Quad | Refusal]]) -> None:
        self._read = read
        self.roles = dict[str, int](_ROLES)
        self.unread: Counter[str] = Counter()
        self.connection = blank.connection
        self._waiting: dict[str, list[tuple[object, ...]]] = {table: [] for table in _INSERTS}
        self.connection.executescript(_TABLES)

    def add(
        self, role: int | None, subject: str | BlankNode, predicate: str, object_: Object | Quoted
    ) -> bool:
        """Add a statement whose predicate has a role, or none yet; whether it is nothing else."""
        if role == _TYPE:
            own = isinstance(object_, str) and (
                object_.startswith(_WIKIBASE) or "/prop/novalue/" in object_
            )
            return own and isinstance(subject, str) and _NODE.search(subject) is not None
        role = self._new_role(predicate) if role is None else role
        blank = isinstance(subject, BlankNode)
        handle = subject.name if isinstance(subject, BlankNode) else subject
        if isinstance(object_, tuple):
            self._put("claim", blank, handle, *object_)
        elif role <= _OBJECT:
            self._put("part", blank, handle, role, *columns_of(object_)[:2])
        elif blank or role == _REIFIES:
            return False
        elif role <= _FIRST:
            if not (isinstance(object_, str) and subject and predicate and object_):
                return False
            if role == _FIRST:
                self._put("held", subject, predicate, object_)
            else:
                self._put("part", blank, handle, role, 0, object_)
        else:
            return self._is_of_wikibase(role, handle, predicate, object_)
        return True

    def _new_role(self, predicate: str) -> int:
        """The role of a predicate that occurs for the first time."""
        found = _PROPERTY.match(predicate)
        role = _OF_NODE if found or _COMPONENT.match(predicate) else _NONE
        if found and (found[2] or found[3]):
            role = _CLAIM if found[2] else _VALUE
        if len(self.roles) >= 1 << 16:  # what is forgotten merely occurs for the first time again
            self.roles.clear()
            self.roles.update(_ROLES)
        self.roles[predicate] = role
        return role or _FIRST

    def _is_of_wikibase(self, role: int, subject: str, predicate: str, object_: Object) -> bool:
        """Add a statement that describes a node of Wikibase; whether it is one."""
        node = object_ if role == _CLAIM else subject
        found = _NODE.search(node) if isinstance(node, str) else None
        if found is None or (predicate == REFERENCE and found[1] != "entity/statement"):
            return False
        if role == _CLAIM:
            self._put("part", 0, node, _SUBJECT, 0, subject)
        elif role == _VALUE:
            direct = DIRECT.join(predicate.rsplit("/prop/statement/", 1))
            self._put("part", 0, node, _PREDICATE, 0, direct)
            self._put("part", 0, node, _OBJECT, *columns_of(object_)[:2])
        elif found[1] != "value" and is_metadata(predicate):
            self._put("said", 0, node, predicate, *columns_of(object_))
        else:
            self.unread[predicate] += 1
        return True

    def note_edge(self, *edge: str) -> None:
        """Note an edge, to find out which are stated again."""
        self._put("stated", hash(edge))

    def complete(self) -> None:
        """Find the statements and what is said of them, after the last statement of the file."""
        self.flush()
        self.connection.executescript(_SINGLE)
        self.connection.executescript(_CLAIMS)
        if self._count("claim WHERE o IS NOT NULL"):
            for subject, predicate, object_ in self.again():
                self._put("read", subject, predicate, *columns_of(object_))
            self.flush()

    def complete_together(self, files: Sequence[Statements]) -> None:
        """Find edges that another file states, and those stated again, after the last file.

        The files are read once more if there are any.
        """
        own = self.connection
        self.flush()
        for one in files if files[1:] else ():
            if one is not self:
                one.flush()
                stated = one.connection.execute("SELECT h FROM stated")
                own.executemany(_INSERTS["stated"], stated)
            quoted = one.connection.execute(f"SELECT s, p, o FROM {_ONLY_QUOTED}")  # noqa: S608
            hashes = ((hash(edge),) for edge in quoted)
            own.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", hashes)
        own.execute(_STATED_AGAIN)
        most = BATCH * BATCH  # hashes in memory; of more, all are compared in the file
        wanted = {h for (h,) in own.execute("SELECT h FROM wanted LIMIT ?", (most + 1,))}
        for one in files if wanted else ():
            for edge in one.again():
                if (h := hash(edge)) in wanted or len(wanted) > most:
                    self._put("again", *edge, h)
        self.flush()
        for one in files:
            found = own.execute("SELECT s, p, o FROM repeated")
            one.connection.executemany("INSERT OR IGNORE INTO fact VALUES (?, ?, ?)", found)

    def quotes(self, edge: Triple) -> bool:
        """Whether a statement of the file is about an edge."""
        found = self.connection.execute("SELECT 1 FROM claim WHERE (s, p, o) = (?, ?, ?)", edge)
        return found.fetchone() is not None

    def repeated(self) -> Iterator[tuple[str, str, str, int]]:
        """The edges that are stated again in the files of `complete_together`, and how often."""
        yield from self.connection.execute("SELECT s, p, o, n FROM repeated WHERE n > 1")

    def again(self) -> Iterator[tuple[str, str, str | Literal]]:
        """The statements of the file that are plain edges or values of nodes, read once more."""
        for quad in self._read():
            if isinstance(quad, Refusal):
                continue
            subject, predicate, object_, _ = quad
            if isinstance(subject, BlankNode) or isinstance(object_, tuple | BlankNode):
                continue
            role = self.roles.get(predicate, _NONE)
            if role == _NONE or (role > _TYPE and not _NODE.search(subject)):
                yield subject, predicate, object_
        yield from self.connection.execute("SELECT s, p, o FROM single")

    def plain(self) -> Iterator[Triple]:
        """The edges that waited, those of singletons with the property of these."""
        yield from self.connection.execute("SELECT s, p, o FROM held ORDER BY n")
        yield from self.connection.execute("SELECT s, p, o FROM single ORDER BY rowid")

    def descriptions(self) -> Iterator[Description]:
        """What is said of the edges of the file, by edge."""
        found = self.connection.execute(_SAID)
        for (subject, predicate, object_, *_), rows in groupby(found, itemgetter(0, 1, 2, 3)):
            check()
            values, references = defaultdict[str, list[str | Literal]](list), []
            for *_row, key, kind, text, language, datatype in rows:
                term = object_of(kind, text, language, datatype) if key else None
                if isinstance(term, BlankNode):
                    self.unread[key] += 1
                elif key == REFERENCE and (said := self._reference(text)):
                    references.append(said)
                elif term is not None and is_metadata(key):
                    values[key].append(term)
            yield Description((subject, predicate, object_), values, references)

    def left_out(self) -> tuple[int, int]:
        """How many statements are about no edge, and how many about one that the files lack."""
        others = self._count("claim WHERE o IS NULL") + self._count("part WHERE role = 5")
        return others, self._count(_ONLY_QUOTED)

    def _reference(self, name: str) -> dict[str, list[str | Literal]]:
        """What a reference of Wikibase says, at most a hundred values, as many may have it."""
        found = defaultdict[str, list[str | Literal]](list)
        for number, (key, *columns) in enumerate(self.connection.execute(_REFERENCE, (name,))):
            term = object_of(*columns)
            if isinstance(term, BlankNode) or number == 100:
                self.unread[key] += 1
            else:
                found[key].append(term)
        return found

    def _count(self, what: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0])  # noqa: S608

    def _put(self, table: str, *row: object) -> None:
        waiting = self._waiting[table]
        waiting.append(row)
        if len(waiting) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits to the temporary file."""
        check()
        for table, rows in self._waiting.items():
            self.connection.executemany(_INSERTS[table], rows)
            if rows and table in _AFTER:
                self.connection.executescript(_AFTER[table])
            rows.clear()
