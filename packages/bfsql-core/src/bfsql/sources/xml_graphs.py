"""GraphML and GEXF: XML as a stream, one element at a time.

| in a GraphML file | becomes |
|---|---|
| a `<key>` | the name, type and default of an attribute; without a name its data are left out |
| what LightRAG's keys declare | also evidence: the last table |

| in a GEXF file, as Gephi and networkx write it | becomes |
|---|---|
| `label` of a node | its name, unless it has an attribute `name` |
| `kind` or `label` of an edge | its predicate, unless an attribute gives one |
| `type="mutual"` of an edge | two edges, one each way |
| `start`, `end` and `timestamp` of a node or an edge | properties of these names |
| its spells, `intervals`, `timestamps` | `periods`, a list of texts: `2010..2012`, `2015..` |
| values of an attribute `a` over time | a list, and `a.periods`: `2010..2012: value` |

Undirected edges, which GEXF's are by default, retain the direction in which they are written.
Positions, colours and sizes are left out. A document type declaration is refused, since neither
format needs one and entities can make a small file huge.

LightRAG's file is `graph_chunk_entity_relation.graphml`; older versions, and nano-graphrag, write
texts and ids in quotes, and no `entity_id`:

| attribute | of nodes | of edges |
|---|---|---|
| `entity_id`, `entity_type` | name and type | |
| `description` | metadata | metadata, and the passages of the evidence |
| `keywords` | | metadata, a list; edges have the default predicate |
| `source_id` | `total_mentions`: how many chunks name it | `chunk_ids` of the evidence |
| `file_path` | `supporting_documents` | `document_id` of the evidence |

Several values are joined into one text with `<SEP>`. The file does not record which description
comes from which chunk. Therefore only a single file becomes the `document_id` of a passage; several
files all become the `document_ids` of each passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, GraphStream, Refusal
from bfsql.sources.attributes import ID, OBJECT, SUBJECT, Attributes
from bfsql.sources.fields import Unusable
from bfsql.sources.options import SourceOptions
from bfsql.sources.xml_reader import XmlReader

_INTEGERS = {"int", "integer", "long", "short", "byte", "biginteger"}
_DECIMALS = {"float", "double", "bigdecimal"}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

_GEXF_NODE = ("timestamp", "pid", "label")
_GEXF_EDGE = ("timestamp", "kind", "label")

_BRACKETS = re.compile(r"[\[(]([^\])]*)")

_LIGHTRAG_NODE = {"entity_type", "description", "source_id"}
_LIGHTRAG_EDGE = {"description", "source_id"}
_SEPARATOR = "<SEP>"
_UNKNOWN = {"UNKNOWN", "unknown_source"}
"""The value that LightRAG writes for a missing value."""


@dataclass(slots=True)
class _Declaration:
    """An attribute that the file declares."""

    name: str
    type: str
    of: str
    default: Any = None


@dataclass(slots=True)
class _Element:
    """A node or an edge whose end has not been read yet."""

    kind: str
    line: int
    attributes: dict[str, Any] = field(default_factory=dict)
    undirected: bool = False


class _XmlGraph(XmlReader):
    """A file that is being read: the open elements and the finished records."""

    namespace_separator = " "

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path)
        self.make = Attributes(options, account)
        self.options = options
        self.account = account
        self.ready: list[GraphRecord | Refusal] = []
        self.open: list[_Element] = []
        self.text: list[str] | None = None
        """Collects text; None before the first element whose text is wanted."""
        self.parser.CharacterDataHandler = self._characters
        self.parser.XmlDeclHandler = self._declaration

    @classmethod
    def read(cls, path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
        """The nodes and edges of a file, in its order.

        Raises:
            SourceError: The file is not well-formed XML, begins with an unexpected element,
                or declares a document type.
        """
        graph = cls(path, options, account)
        account.encoding = "utf-8"
        for _ in graph.parts():
            ready, graph.ready = graph.ready, []
            yield from ready

    def begin_node(self, attributes: dict[str, str]) -> dict[str, Any]:
        """Open a node; return its attributes."""
        found = {ID: attributes.get("id")}
        self.open.append(_Element("node", self.parser.CurrentLineNumber, found))
        return found

    def begin_edge(self, attributes: dict[str, str], *, undirected: bool) -> dict[str, Any]:
        """Open an edge; return its attributes."""
        ends = {SUBJECT: attributes.get("source"), OBJECT: attributes.get("target")}
        self.open.append(_Element("edge", self.parser.CurrentLineNumber, ends, undirected))
        return ends

    def finish(self, known: list[str] | None = None) -> None:
        """Turn the node or edge that was opened last into a record.

        `known` are the attributes that nodes have; None if `label` is a node's name.
        """
        element = self.open.pop()
        try:
            if element.kind == "node":
                self.ready.append(self.make.node(element.attributes, ID, known))
            else:
                self.ready.append(self.make.edge(element.attributes, SUBJECT, OBJECT))
                if element.undirected:
                    self.make.note_undirected()
        except Unusable as reason:
            self.ready.append(Refusal(self.path, element.line, str(reason)))

    # --- the parser's handlers ---

    def _declaration(self, _: str, encoding: str | None, __: int) -> None:
        self.account.encoding = (encoding or "utf-8").lower()

    def _characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)


class GraphML(_XmlGraph):
    """Reads a GraphML file."""

    root = "graphml"

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path, options, account)
        self._keys: dict[str, _Declaration] = {}
        self._key: _Declaration | None = None
        self._defaults: list[_Declaration] = []
        self._undirected = False
        self._of_lightrag: bool | None = None
        self._of_nodes: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """See `XmlReader`."""
        match name:
            case "data":
                self._key, self.text = self._keys.get(attributes.get("key", "")), []
            case "node":
                self.begin_node(attributes)
            case "edge":
                directed = attributes.get("directed", "false" if self._undirected else "true")
                self.begin_edge(attributes, undirected=directed == "false")
            case "key":
                of, type_ = attributes.get("for", "all"), attributes.get("attr.type", "string")
                self._key = _Declaration(attributes.get("attr.name", ""), type_, of)
                self._keys[attributes.get("id", "")] = self._key
            case "graph":
                self._undirected = attributes.get("edgedefault") == "undirected"
            case "default":
                self.text = []
            case "hyperedge":
                reason = "is a hyperedge; an edge has a subject and an object"
                self.ready.append(Refusal(self.path, self.parser.CurrentLineNumber, reason))

    def end(self, name: str) -> None:
        """See `XmlReader`."""
        text = "".join(self.text or ())
        key = self._key
        if name in {"node", "edge"} and self.open:
            self._finish(self.open[-1])
        elif name in {"data", "default"} and key is not None and key.name and text:
            if name == "default":
                key.default = _typed(text, key.type)
                self._defaults.append(key)
            elif self.open:
                self.open[-1].attributes[key.name] = _typed(text, key.type)

    def _finish(self, element: _Element) -> None:
        attributes = element.attributes
        for key in self._defaults:
            if key.of in {element.kind, "all"}:
                attributes.setdefault(key.name, key.default)
        if self._of_lightrag is None:
            self._recognise()
        if self._of_lightrag and element.kind == "edge":
            self._finish_lightrag(attributes)
            return
        if self._of_lightrag:
            _refine_node(attributes)
        self.finish(self._of_nodes)

    def _recognise(self) -> None:
        """Find out by the declarations whether LightRAG has written the file."""
        of = {
            kind: [key.name for key in self._keys.values() if key.of in {kind, "all"}]
            for kind in ("node", "edge")
        }
        self._of_nodes = of["node"]
        self._of_lightrag = {*of["node"]} >= _LIGHTRAG_NODE and {*of["edge"]} >= _LIGHTRAG_EDGE
        if self._of_lightrag:
            name = self.options.name_column or "entity_id"
            self.make = Attributes(replace(self.options, name_column=name), self.account)
            self.account.note("read as a graph from LightRAG")

    def _finish_lightrag(self, attributes: dict[str, Any]) -> None:
        written = dict(attributes)
        items = _refine_edge(attributes, self.options.predicate_column)
        for key in ("description", "source_id", "file_path"):
            self.make.note(written, key, "evidence")
        self.finish()
        edge = self.ready[-1]
        if isinstance(edge, EdgeRecord):
            triple = (edge.subject, edge.predicate, edge.object)
            self.ready += [EvidenceRecord(*triple, item) for item in items]


class Gexf(_XmlGraph):
    """Reads a GEXF file."""

    root = "gexf"

    def __init__(self, path: Path, options: SourceOptions, account: SourceAccount) -> None:
        super().__init__(path, options, account)
        self._declared: dict[tuple[str, str], _Declaration] = {}
        self._class = "node"
        self._attribute: _Declaration | None = None
        self._default_type = "undirected"
        self._mutual = False

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """See `XmlReader`."""
        match name:
            case "graph":
                self._default_type = attributes.get("defaultedgetype", "undirected")
            case "attributes":
                self._class = attributes.get("class", "node")
            case "attribute":
                title = attributes.get("title") or attributes.get("id", "")
                type_ = attributes.get("type", "string").lower()
                self._attribute = _Declaration(title, type_, self._class)
                self._declared[self._class, attributes.get("id", "")] = self._attribute
            case "default":
                self.text = []
            case "node":
                node = self.begin_node(attributes)
                node |= {key: attributes[key] for key in _GEXF_NODE if attributes.get(key)}
                self._add_times(node, attributes)
            case "edge":
                type_ = attributes.get("type", self._default_type)
                edge = self.begin_edge(attributes, undirected=type_ == "undirected")
                self._mutual = type_ == "mutual"
                edge |= {key: attributes[key] for key in _GEXF_EDGE if attributes.get(key)}
                if weight := attributes.get("weight"):
                    edge["weight"] = _typed(weight, "double")
                self._add_times(edge, attributes)
            case "spell" | "slice" if self.open:
                _add(self.open[-1].attributes, "periods", _period(attributes))
            case "attvalue" if self.open and attributes.get("value"):
                self._add_value(self.open[-1], attributes)

    def end(self, name: str) -> None:
        """See `XmlReader`."""
        text = "".join(self.text or ())
        if name == "default" and self._attribute is not None and text:
            self._attribute.default = _typed(text, self._attribute.type)
        elif name in {"node", "edge"} and self.open:
            self._finish(self.open[-1])

    def _add_times(self, element: dict[str, Any], attributes: dict[str, str]) -> None:
        """Add when a node or an edge exists; Gephi lists times as `<[1, 2]; [3, 4]>`."""
        times = ((key, _time(key, attributes)) for key in ("start", "end"))
        element |= {key: time for key, time in times if time}
        for key, between in (("intervals", ".."), ("timestamps", "")):
            for part in _BRACKETS.findall(attributes.get(key, "")):
                found = [one.strip() for one in part.split(",")]
                _add(element, "periods", *([between.join(found)] if between else found))

    def _add_value(self, element: _Element, attributes: dict[str, str]) -> None:
        # Undeclared attributes retain their own names; `for` was called `id` in the first versions.
        key = attributes.get("for", attributes.get("id", ""))
        undeclared = _Declaration(key, "string", element.kind)
        declared = self._declared.get((element.kind, key), undeclared)
        value = _typed(attributes["value"], declared.type)
        period = _period(attributes)
        if period:
            _add(element.attributes, f"{declared.name}.periods", f"{period}: {attributes['value']}")
        if period and declared.name in element.attributes:
            _add(element.attributes, declared.name, value)
        else:
            element.attributes[declared.name] = value

    def _finish(self, element: _Element) -> None:
        attributes = element.attributes
        for (kind, _), declared in self._declared.items():
            if kind == element.kind and declared.default is not None:
                attributes.setdefault(declared.name, declared.default)
        self.finish()
        if element.kind == "edge" and self._mutual:
            back: dict[str, Any] = {SUBJECT: attributes[OBJECT], OBJECT: attributes[SUBJECT]}
            self.open.append(_Element("edge", element.line, attributes | back))
            self.finish()


def _time(key: str, attributes: dict[str, str]) -> str:
    return attributes.get(key) or attributes.get(f"{key}open", "")  # as GEXF 1.2 excludes it


def _period(attributes: dict[str, str]) -> str:
    """The time of a spell or a value; empty without one."""
    start, end = _time("start", attributes), _time("end", attributes)
    return f"{start}..{end}" if start or end else attributes.get("timestamp", "")


def _add(attributes: dict[str, Any], key: str, *values: Any) -> None:
    """Add values to the list of an attribute."""
    have = attributes.get(key)
    if not isinstance(have, list):
        attributes[key] = have = [] if have is None else [have]
    have += values


def _typed(text: str, type_: str) -> Any:
    """The value of a text by its declared type; the text itself if it is not such a value."""
    if type_ == "boolean":
        return _TRUTH.get(text.strip().lower(), text)
    try:
        if type_ in _INTEGERS:
            return int(text)
        if type_ in _DECIMALS:
            return float(text)
    except ValueError:
        return text
    return [part.strip() for part in text.split("|")] if type_ == "liststring" else text


# --- LightRAG's attributes ---


def _refine_node(attributes: dict[str, Any]) -> None:
    """Replace a node's own attributes by their meaning."""
    _unquote(attributes)
    attributes.setdefault("entity_id", attributes.get(ID))
    if attributes.get("entity_type") in _UNKNOWN:
        del attributes["entity_type"]
    descriptions, chunks, files = _popped(attributes)
    _put(attributes, "description", _unpacked(descriptions))
    _put(attributes, "total_mentions", len(chunks))
    _put(attributes, "supporting_documents", files)


def _refine_edge(attributes: dict[str, Any], predicate: str | None) -> list[dict[str, Any]]:
    """Replace an edge's own attributes by their meaning; return the items of its evidence.

    There is an item for each description. The attribute `predicate` remains one text.
    """
    _unquote(attributes)
    descriptions, chunks, files = _popped(attributes)
    keywords = attributes.get("keywords")
    if isinstance(keywords, str) and predicate != "keywords":
        words = (word.strip() for word in keywords.replace(_SEPARATOR, ",").split(","))
        attributes["keywords"] = [word for word in words if word]
    _put(attributes, "description", _unpacked(descriptions))
    common: dict[str, Any] = {}
    _put(common, "document_id" if len(files) == 1 else "document_ids", _unpacked(files))
    _put(common, "chunk_ids", chunks)
    return [common | {"text_span": text} for text in descriptions] or [common] * bool(common)


def _unquote(attributes: dict[str, Any]) -> None:
    for key, value in attributes.items():
        if isinstance(value, str) and _SEPARATOR not in value:
            attributes[key] = _without_quotes(value)


def _without_quotes(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


def _popped(attributes: dict[str, Any]) -> Iterator[list[str]]:
    """The different descriptions, chunks and files of a node or an edge, which are removed."""
    for key in ("description", "source_id", "file_path"):
        value = attributes.pop(key, None)
        parts = [] if value is None else map(_without_quotes, str(value).split(_SEPARATOR))
        known = (part for part in map(str.strip, parts) if part not in {"", *_UNKNOWN})
        yield list(dict.fromkeys(known))


def _unpacked(parts: list[str]) -> Any:
    return parts[0] if len(parts) == 1 else parts


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    if value:
        into[key] = value
