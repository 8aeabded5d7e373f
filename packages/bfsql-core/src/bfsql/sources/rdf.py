"""RDF files: statements between IRIs are edges, literals are metadata.

| statement | becomes |
|---|---|
| `s rdf:type t` | the type of node `s`; of several the most specific, as for SPARQL stores |
| `s p "text"` | metadata `p` of node `s`; `name` or `synonyms` if `p` means that |
| `s p o`, both IRIs | an edge, and the nodes `s` and `o` |
| one about a statement | metadata of its edge: `rdf_statements` |
| one with a blank node | what `rdf_blank_nodes` finds that it says about nodes with an IRI |

Subjects and objects are nodes without a type until a record assigns one (`protocol.md` 8).
Predicates of statements with blank nodes that say nothing else are listed in the metadata
`blank_node_predicates` of their subject, and the account has their numbers. N-Triples, N-Quads,
Turtle, TriG and RDF/XML are read as streams, JSON-LD as a whole. The graphs of N-Quads, TriG and
JSON-LD become one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.merge import UNTYPED
from bfsql.models.rdf import WELL_KNOWN, Literal, Prefixes, in_languages, is_iri, value_of
from bfsql.models.rdf_names import ALIAS_PROPERTIES, NAME_PROPERTIES
from bfsql.models.rdf_statements import REFERENCE, reference_item, statement_metadata
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.fields import Unusable
from bfsql.sources.files import check_library, guarded, open_bytes
from bfsql.sources.headers import listed
from bfsql.sources.options import SourceOptions, option_of
from bfsql.sources.rdf_blank_nodes import BlankNode, BlankNodes
from bfsql.sources.rdf_choices import Choices, Name
from bfsql.sources.rdf_statements import Statements
from bfsql.sources.text import encoding_of, lines, open_utf8, whole_text

if TYPE_CHECKING:
    from bfsql.sources.rdf_parsers import Quad

BLANK_NODE_PREDICATES = "blank_node_predicates"
"""Metadata of a node: the predicates of its statements with a blank node that were left out."""

_TYPE = WELL_KNOWN["rdf"] + "type"
_SUBCLASS = WELL_KNOWN["rdfs"] + "subClassOf"
_NAMES, _SYNONYMS = (
    tuple(str(Prefixes({}).full(name)) for name in names)
    for names in (NAME_PROPERTIES, ALIAS_PROPERTIES)
)
_TURTLE = re.compile(rb"^\s*@?prefix\s+([^\s:]*):\s*<([^\s<>]+)>", re.IGNORECASE)
_XML = re.compile(rb"""xmlns(?::([^\s=]+))?\s*=\s*["']([^"'<]+)["']""")
_ENTITY = re.compile(rb"""<!ENTITY\s+([^\s%"']+)\s+["']([^"'&<]+)["']""")
_REFERENCE = re.compile(rb"&([^\s;&]+);")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILES = ("file:///", "<file:///")


def open_rdf(path: Path, options: SourceOptions, account: SourceAccount) -> RdfStream:
    """The records of a file in one of the RDF formats, which the account names.

    Raises:
        SourceError: The library for RDF is not installed; later, a syntax
            error, with its line if the format has lines.
    """
    format_ = account.format
    check_library(path, format_, "pyoxigraph", "rdf")
    if options.base is not None and not is_iri(options.base):
        raise SourceError(
            path,
            f"the base IRI is {options.base!r}, which is not an absolute IRI; name one such as "
            "http://example.org/",
        )
    from bfsql.sources.rdf_parsers import base_of, quads

    if format_ != "rdfxml":
        account.encoding = encoding_of(path, options.encoding)
    base = options.base or base_of(Path(account.name))
    read = partial(
        quads, path, format_, encoding=account.encoding, base=base, context=options.context
    )
    if options.graph:
        read = partial(_in_graphs, read, account, _iris(options, "graph", account))
    records = _Records(options, account, base, read)
    return RdfStream(_records(path, records), records)


class RdfStream(Iterator[GraphRecord | Refusal]):
    """The records of an RDF file, the last of which depend on all files of a load."""

    def __init__(self, stream: GraphStream, records: _Records) -> None:
        self.stream = stream
        self.records = records

    def __next__(self) -> GraphRecord | Refusal:
        return next(self.stream)


def read_together(streams: Iterable[RdfStream | None]) -> None:
    """Make what depends on all RDF files when the last is read; other files have None."""
    files = [one.records for one in streams if one is not None]
    for one in files:
        one.files = files if one is files[-1] else ()
        one.choices.files = [file.choices for file in one.files]


def _iris(options: SourceOptions, field: str, account: SourceAccount) -> tuple[str, ...]:
    """The IRIs of ids in an option, which are those of answers."""
    full = Prefixes(options.prefixes or {}).full
    found = {name: full(name) for name in getattr(options, field)}
    if wrong := [name for name, iri in found.items() if iri is None]:
        raise SourceError(
            account.name,
            f"{wrong[0]!r} ({option_of(field)}) is no id of RDF: write an IRI, or a name with one "
            "of the prefixes, such as rdfs:label",
        )
    return tuple(filter(None, found.values()))


def _in_graphs(
    read: Callable[[], Iterator[Quad | Refusal]], account: SourceAccount, graphs: Sequence[str]
) -> Iterator[Quad | Refusal]:
    """The statements of some graphs; a note counts the others."""
    others = 0
    for quad in read():
        if isinstance(quad, Refusal) or quad[3] in graphs:
            yield quad
        else:
            others += 1
    if others:
        account.note(f"left out by --graph: {others:,} statements of other graphs")


def _records(path: Path, records: _Records) -> GraphStream:
    with closing(records):
        blank, statements = records.blank, records.statements
        roles = statements.roles
        for quad in records.read():
            if isinstance(quad, Refusal):
                yield quad
                continue
            subject, predicate, object_, _ = quad
            role = roles.get(predicate)
            if role != 0 and statements.add(role, subject, predicate, object_):
                continue
            assert not isinstance(object_, tuple)  # which only `rdf:reifies` has
            if type(subject) is BlankNode or type(object_) is BlankNode:
                blank.add(subject, predicate, object_)
                continue
            try:
                records.add(subject, predicate, object_)
            except Unusable as reason:
                yield Refusal(path, None, str(reason))
            if records.ready:
                yield from records.ready
                records.ready.clear()
        records.finish_node()
        yield from records.ready
        records.ready.clear()
        blank.complete()
        yield from records.of_waiting()
        yield from records.of_blank_nodes(blank)
        yield from records.of_statements()
        yield from records.of_choices()


class _Node(NamedTuple):
    """A node whose record is not complete yet; its types are IRIs."""

    id: str
    types: list[str]
    names: list[Name]
    metadata: dict[str, Any]


class _Records:
    """Turns statements into records.

    Consecutive statements that give a node values become one record, if merging a record of each
    has the same result; those that give it types and names wait for the end of the load. A load of
    Turtle then takes a sixth less time.

    Attributes:
        ready: Records that are complete.
        choices: The types and names.
        blank: The statements with blank nodes.
        statements: The statements about statements.
        files: The files whose choices and statements about edges are read here: this one, or those
            of `read_together`.
    """

    def __init__(
        self,
        options: SourceOptions,
        account: SourceAccount,
        base: str,
        read: Callable[[], Iterator[Quad | Refusal]],
    ) -> None:
        self.ready: list[GraphRecord] = []
        self.read, self.blank = read, BlankNodes()
        self.statements = Statements(self.blank, read)
        self.files: Sequence[_Records] = (self,)
        prefixes = options.prefixes
        # In brackets an id means this IRI, regardless of the bound prefixes.
        self._short = (lambda iri: f"<{iri}>") if prefixes is None else Prefixes(prefixes).short
        self._languages, self._default_type = options.languages, options.default_type
        self._account = account
        self._seen: set[str] = set()
        self._node: _Node | None = None
        iris = partial(_iris, options, account=account)
        self._types = {*iris("type_property")}
        self._names = {iri: n for n, iri in enumerate(iris("label_property") or _NAMES)}
        self._synonyms = {*(iris("alias_property") or _SYNONYMS)}
        self._only, self._excluded = {*iris("only_predicate")}, {*iris("exclude_predicate"), _TYPE}
        self._not_edges = 0
        for iri in self._names if options.label_property else ():
            account.add_column(self._short(iri), "name", "")
        self.choices = Choices(options.languages, iris("type_priority"))
        self._base = base
        self._is_relative = options.base is not None  # whether the account notes it

    def close(self) -> None:
        """Remove the temporary files, except those that wait for another file."""
        for one in self.files:
            one.choices.connection.close()
            one.blank.close()

    def add(self, subject: str, predicate: str, object_: str | Literal) -> None:
        """Add a statement.

        Raises:
            Unusable: An IRI in it is empty.
        """
        if not (subject and predicate and object_):
            missing = "object" if subject and predicate else "predicate" if subject else "subject"
            raise Unusable(f"{missing} is missing")
        id_ = self._short(subject)
        if isinstance(object_, Literal):
            if in_languages(object_, self._languages):
                self._add_value(id_, predicate, object_)
        elif predicate in self._types:
            self._present(id_).types.append(object_)
        else:
            if predicate == _SUBCLASS:
                self.choices.add_subclass(subject, object_)
            if not self._follows(predicate):
                self._not_edges += 1
                return
            relation, other = self._short(predicate), self._short(object_)
            for end in (id_, other):
                if end not in self._seen:
                    self.ready.append(NodeRecord(end, self._default_type))
                    self._remember(end)
            self.ready.append(EdgeRecord(id_, relation, other))
            self.statements.note_edge(subject, predicate, object_)

    def _follows(self, predicate: str) -> bool:
        """Whether statements with a predicate are edges."""
        return predicate not in self._excluded and (not self._only or predicate in self._only)

    def _add_value(self, id_: str, predicate: str, literal: Literal) -> None:
        value = value_of(literal)
        if (rank := self._names.get(predicate)) is not None:
            language = literal.language
            name = (rank, language.lower() if language else "", str(value))
            self._present(id_).names.append(name)
        elif predicate in self._synonyms:
            self._present(id_, "synonyms").metadata["synonyms"] = [str(value)]
        elif isinstance(value, list) and len(value) > 1:
            self.finish_node()  # merging sorts lists
            self._present(id_).metadata[self._short(predicate)] = value
            self.finish_node()
        else:
            key = self._short(predicate)
            self._present(id_, key).metadata[key] = value

    def _present(self, id_: str, key: str = "") -> _Node:
        """The node of the present record, or of the next one if the present has the key."""
        node = self._node
        if node is None or node.id != id_ or key in node.metadata:
            self.finish_node()
            self._node = node = _Node(id_, [], [], {})
            self._remember(id_)
        self._account.nodes += 1
        self._account.joined_nodes += 1
        return node

    def finish_node(self) -> None:
        """Complete the record of the present node, if there is one; types and names wait."""
        node, self._node = self._node, None
        if node is None:
            return
        if node.types or node.names:
            self.choices.add(node.id, node.types, node.names)
        if node.metadata:
            metadata = dict(sorted(node.metadata.items()))  # as merging does
            record = NodeRecord(node.id, self._default_type, metadata)
            self.ready.append(self._of_statements(record))

    def _of_statements(self, record: NodeRecord) -> NodeRecord:
        """A record that will be counted, as its statements have been."""
        self._account.nodes -= 1
        self._account.joined_nodes -= 1
        return record

    def of_choices(self) -> GraphStream:
        """The types and names that depend on all files of the load, which a note reports."""
        for id_, types, names in self.choices.chosen():
            names = [name for name in names if name != id_]  # noqa: PLW2901
            metadata: dict[str, Any] = {"name": names[0]} if names else {}
            if others := {self._short(type_) for type_ in types[1:]} - {UNTYPED}:
                metadata["other_types"] = sorted(others)
            if len(names) > 1:
                metadata["synonyms"] = sorted(names[1:])
            main = self._short(types[0]) if types else self._default_type
            yield self._of_statements(NodeRecord(id_, main, metadata))
        if self._not_edges:
            self._account.note(
                "left out by --only-predicate and --exclude-predicate: "
                f"{self._not_edges:,} statements between nodes"
            )
        if self.choices.have_foreign_names():
            self._account.note(
                f"names are in the language {self.choices.languages()[0]} where there is one; "
                "names in others are synonyms. --language selects languages"
            )

    def of_waiting(self) -> GraphStream:
        """The edges that waited, since they could have been statements about others."""
        self.statements.complete()
        for edge in self.statements.plain():
            self.add(*edge)
            yield from self.ready
            self.ready.clear()
        self.finish_node()  # one of these may be the type of a node

    def of_statements(self) -> GraphStream:
        """What statements of all files say about edges, and how often edges are stated again."""
        if self.files:
            self.statements.complete_together([one.statements for one in self.files])
        again = (
            EdgeRecord(self._short(s), self._short(p), self._short(o), {"multiplicity": 1 - number})
            for s, p, o, number in (self.statements.repeated() if self.files else ())
        )
        described = (one.of_descriptions(self.files[:n]) for n, one in enumerate(self.files))
        for record in chain(again, *described):
            self._account.edges -= 1
            self._account.statements += 1
            yield record

    def of_descriptions(self, earlier: Sequence[_Records]) -> GraphStream:
        """The edges that are described by statements of this file, which notes count."""
        statements = self.statements
        keys, number, before = Counter[str](), 0, None
        for said in statements.descriptions():
            metadata = self._metadata(said.values)
            items = [reference_item(r, self._metadata(r), self._short) for r in said.references]
            metadata |= {"provenance": items} if items else {}
            if metadata and self._follows(said.edge[1]):
                keys.update(metadata.keys())
                number += 1
                if said.edge != before and not any(o.statements.quotes(said.edge) for o in earlier):
                    metadata["multiplicity"] = 0  # the edge itself is the record of the first
                before = said.edge
                subject, predicate, object_ = map(self._short, said.edge)
                yield EdgeRecord(subject, predicate, object_, metadata)
        self._note_statements(number, keys, *statements.left_out(), statements.unread)

    def _metadata(self, values: Mapping[str, Sequence[str | Literal]]) -> dict[str, Any]:
        """What is said of a statement, in the wanted languages."""
        wanted = {
            key: [x for x in terms if isinstance(x, str) or in_languages(x, self._languages)]
            for key, terms in values.items()
        }
        wanted = {key: terms for key, terms in wanted.items() if terms}
        return statement_metadata(wanted, self._short, (REFERENCE,))

    def _note_statements(
        self, number: int, keys: Counter[str], others: int, quoted: int, unread: Mapping[str, int]
    ) -> None:
        if number:
            about = (
                "1 statement about an edge" if number == 1 else f"{number:,} statements about edges"
            )
            self._account.note(f"{about}: {_ranked(keys)}")
        if others:
            self._account.note(
                f"statement nodes left out: {others:,}, which are incomplete or of more than 100 "
                "statements, or whose statement has a literal, a blank node or another statement "
                "at an end"
            )
        if quoted:
            self._account.note(
                f"statement nodes left out: {quoted:,}, whose edges are only quoted; state "
                "such an edge by itself, too"
            )
        if unread:
            left = _ranked({self._short(iri): n for iri, n in unread.items()})
            self._account.note(
                "values of statements left out, which are blank nodes, parts of complex values or "
                f"more than 100 of a reference: {left}"
            )

    def of_blank_nodes(self, blank: BlankNodes) -> GraphStream:
        """What is known from statements with blank nodes; notes say what they were."""
        yield from self._of_named(blank)
        unread, edges, values = Counter[str](), 0, 0
        for found in blank.findings():
            id_, metadata = self._short(found.subject), dict[str, Any]()
            for predicate, object_ in dict.fromkeys(found.edges):
                self.add(found.subject, predicate, object_)
                edges += 1
            for path, terms in found.values.items():
                metadata[".".join(map(self._short, path))] = self._values(terms)
                values += len(terms)
            for predicate, records in found.records.items():
                metadata[self._short(predicate)] = [
                    {self._short(key): self._values(terms) for key, terms in record.items()}
                    for record in records
                ]
                values += len(records)
            if found.unread:
                unread.update(found.unread)
                metadata |= self._unread(found.unread)
            if metadata:
                self.ready.append(NodeRecord(id_, self._default_type, metadata))
            self.finish_node()
            yield from self.ready
            self.ready.clear()
        blank.leave_roots()
        self._note_blank_nodes(unread + blank.unread, edges, values)

    def _of_named(self, blank: BlankNodes) -> GraphStream:
        """The statements of typed blank nodes that become nodes."""
        if iris := blank.named(self._base):
            self._is_relative = True  # the note on these says it
            several = f"{len(iris):,} typed blank nodes are nodes"
            self._account.note(
                f"{several if iris[1:] else '1 typed blank node is a node'}, with ids made of the "
                f"file, the type and a number, for instance {self._short(iris[0])}; --base-iri "
                "names another beginning"
            )
        for statement in blank.plain():
            self.add(*statement)
            yield from self.ready
            self.ready.clear()

    def _unread(self, predicates: Iterable[str]) -> dict[str, Any]:
        return {BLANK_NODE_PREDICATES: sorted({*map(self._short, predicates)})}

    def _values(self, terms: Iterable[str | Literal]) -> Any:
        """The values of terms in the wanted languages: one, or a list of several."""
        found = [
            self._short(term) if isinstance(term, str) else value_of(term)
            for term in terms
            if isinstance(term, str) or in_languages(term, self._languages)
        ]
        return found[0] if len(found) == 1 else found

    def _note_blank_nodes(self, unread: Mapping[str, int], edges: int, values: int) -> None:
        numbers = [f"{edges:,} of the edges"] * bool(edges)
        numbers += [f"{values:,} value{'s' * (values > 1)}"] * bool(values)
        if numbers:
            self._account.note(
                f"statements with blank nodes gave {' and '.join(numbers)}: "
                "restrictions of classes, lists, descriptions"
            )
        if unread:
            predicates = _ranked({self._short(iri): n for iri, n in unread.items()})
            several = f"{(number := sum(unread.values())):,} statements with blank nodes were"
            self._account.note(
                f"{several if number > 1 else '1 statement with a blank node was'} left out, by "
                f"predicate: {predicates}; {BLANK_NODE_PREDICATES} of the nodes lists them"
            )

    def _remember(self, id_: str) -> None:
        # Forgotten nodes are merely emitted again: records of one id are merged.
        if len(self._seen) >= 1 << 16:
            self._seen.clear()
        self._seen.add(id_)
        if not self._is_relative and id_.startswith(_FILES):
            self._is_relative = True
            self._account.note(
                f"its relative IRIs were resolved against {self._base}, for instance {id_}; "
                "--base-iri names another IRI"
            )


def _ranked(numbers: Mapping[str, int]) -> str:
    """Names with their numbers, the most frequent first."""
    ranked = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return listed([f"{name} {n:,}" for name, n in ranked])


def prefixes_of(path: Path, format_: str, encoding: str | None = None) -> dict[str, str]:
    """The prefixes that a file declares; of two declarations of one prefix, the first.

    An IRI must have the same id in the first statement of the first file and in the last of
    the last. The prefixes are therefore collected before any records are read, and then fixed.
    Turtle and TriG are scanned to the end, one line at a time; for RDF/XML only the
    first 64 KB, which contain the root element.

    Args:
        path: The file.
        format_: One of the RDF formats.
        encoding: Encoding of the text, UTF-8 by default; RDF/XML declares its own.

    Raises:
        SourceError: The file cannot be read, or is not in the encoding.
    """
    found: dict[str, str] = {}
    for prefix, namespace in guarded(path, _declared(path, format_, encoding)):
        if _ABSOLUTE.match(namespace):
            found.setdefault(prefix, namespace)
    return found


def _declared(path: Path, format_: str, encoding: str | None) -> Any:
    if format_ in {"turtle", "trig"}:
        with open_utf8(path, encoding_of(path, encoding)) as stream:
            for found in filter(None, map(_TURTLE.match, lines(stream))):
                yield found[1].decode(), found[2].decode()
    elif format_ == "rdfxml":
        with open_bytes(path) as stream:
            yield from _in_xml(stream.read(1 << 16))
    elif format_ == "jsonld":
        yield from _in_context(whole_text(path, encoding_of(path, encoding)))


def _in_xml(head: bytes) -> Any:
    entities = dict(_ENTITY.findall(head))
    found = [
        (prefix.decode(), _REFERENCE.sub(lambda name: entities.get(name[1], b""), name).decode())
        for prefix, name in _XML.findall(head)
    ]
    yield from (pair for pair in found if pair[0])
    # Ids are never shortened by the default namespace where another prefix does.
    known = {*WELL_KNOWN.values(), *(namespace for prefix, namespace in found if prefix)}
    yield from (pair for pair in found if not pair[0] and pair[1] not in known)


def _in_context(content: bytearray) -> Any:
    try:
        document = from_json(content)
    except ValueError:
        return  # the reader reports the fault better
    context = document.get("@context") if isinstance(document, dict) else None
    parts = context if isinstance(context, list) else [context]
    terms = (item for part in parts if isinstance(part, dict) for item in part.items())
    yield from (
        one for one in terms if isinstance(one[1], str) and one[1].endswith(("/", "#", "_"))
    )
