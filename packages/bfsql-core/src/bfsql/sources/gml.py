"""GML, the Graph Modelling Language, read as a stream: one node or edge at a time.

    graph [ directed 1
      node [ id 1 label "Ann" ]
      edge [ source 1 target 1 label "knows" ] ]

The `label` of a node is its name, unless the node has an attribute `name`. Nested blocks
become metadata objects, and repeated keys become lists. Undirected edges retain the
direction in which they are written. `graphics` are left out. If an attribute is chosen as
the id, the numbers that edges use are held in memory.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bfsql.errors import SourceError
from bfsql.models.json_values import is_text
from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphStream, NodeRecord, Refusal
from bfsql.sources.attributes import Attributes
from bfsql.sources.fields import Unusable, excerpt, identifier
from bfsql.sources.options import SourceOptions
from bfsql.sources.text import encoding_of, open_text

_LONGEST = 1 << 24
"""Maximum number of characters in a line and in a text."""
_DEEPEST = 50
"""Maximum nesting depth of blocks."""

_TOKEN = re.compile(
    r'(?P<space>\s+|\#.*)|(?P<key>[A-Za-z_]\w*)|(?P<text>"[^"]*")|(?P<bracket>[\[\]])'
    r"|(?P<number>[+-]?(?:INF\b|NAN\b|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"
)
_ENTITY = re.compile(r"&(?:\w+|#\d+|#[xX][0-9a-fA-F]+);", re.ASCII)
_DRAWING = {"graphics", "labelgraphics"}
_LIST_START = "_networkx_list_start"
"""The item that networkx inserts before the only item of a list."""


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


@dataclass(slots=True)
class _Block:
    """The content between two brackets."""

    key: str
    line: int
    values: dict[str, Any] = field(default_factory=dict)

    def put(self, key: str, value: Any) -> None:
        """Add a value; if the key already exists, extend it to a list of values."""
        if key not in self.values:
            self.values[key] = value
        elif isinstance(have := self.values[key], list):
            have.append(value)
        else:
            self.values[key] = [value] if have == _LIST_START else [have, value]


def open_gml(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The nodes and edges of a GML file, in its order.

    Raises:
        SourceError: The file is not text, is not GML, contains no graph, or ends too early;
            raised during reading.
    """
    account.encoding = encoding_of(path, options.encoding)
    reading = _Reading(options, account)
    parser = _Parser(path)
    with open_text(path, account.encoding) as stream:
        for token in _tokens(path, iter(partial(stream.readline, _LONGEST), "")):
            block = parser.take(token)
            if block is None:
                continue
            try:
                yield reading.record(block, directed=parser.directed)
            except Unusable as reason:
                yield Refusal(path, block.line, str(reason))
    parser.finish()


class _Reading:
    """Turns the blocks of one file into records."""

    def __init__(self, options: SourceOptions, account: SourceAccount) -> None:
        self._id = options.id_column or "id"
        self._make = Attributes(options, account)
        self._account = account
        self._ids: dict[Any, Any] = {}

    def record(self, block: _Block, *, directed: bool) -> NodeRecord | EdgeRecord:
        """The node or edge of a block.

        Raises:
            Unusable: An id is missing, or a field is of the wrong kind.
        """
        values = {key: value for key, value in block.values.items() if key.lower() not in _DRAWING}
        if len(values) < len(block.values):
            self._account.note("graphics were left out")
        if block.key == "node":
            node = self._make.node(values, self._id, None)
            if self._id != "id":
                self._ids[identifier(values.get("id"), "id")] = values[self._id]
            return node
        for end in ("source", "target") if self._ids else ():
            values[end] = self._ids.get(str(values.get(end)), values.get(end))
        edge = self._make.edge(values, "source", "target")
        if not directed:
            self._make.note_undirected()
        return edge


class _Parser:
    """Takes one token after another, and returns the nodes and edges that they complete.

    The first open block is the file, the second a graph.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[_Block] = [_Block("", 1)]
        self._key: str | None = None
        self._graphs = 0

    @property
    def directed(self) -> bool:
        """Whether the open graph declares its edges as directed."""
        return len(self._open) > 1 and self._open[1].values.get("directed") == 1

    def take(self, token: _Token) -> _Block | None:
        """The node or edge that ends with this token.

        Raises:
            SourceError: The token is not valid here.
        """
        key, self._key = self._key, None
        reason = ""
        if key is None and token.kind == "key":
            self._key = token.text
        elif key is None and token.text == "]" and len(self._open) > 1:
            return self._close()
        elif key is None or token.text == "]":
            expected = "a key" if key is None else f"a value of {key!r}"
            reason = f"is not GML: it has {excerpt(token.text)} where {expected} should be"
        elif token.text == "[":
            self._open.append(_Block(key, token.line))
            if len(self._open) > _DEEPEST:
                reason = f"more than {_DEEPEST} blocks are nested inside each other"
        elif self._open[2:] or key == "directed":
            self._open[-1].put(key, _value(token))
        if reason:
            raise SourceError(self._path, reason, token.line)
        return None

    def _close(self) -> _Block | None:
        closed = self._open.pop()
        around = [block.key for block in self._open]
        if around == ["", "graph"]:
            return closed if closed.key in {"node", "edge"} else None
        self._graphs += closed.key == "graph" and around == [""]
        if self._open[2:]:
            self._open[-1].put(closed.key, closed.values)
        return None

    def finish(self) -> None:
        """Check the state at the end of the tokens.

        Raises:
            SourceError: A block is still open, or there was no graph.
        """
        last = self._open[-1]
        if len(self._open) > 1:
            reason = f"the file ends inside {last.key!r}, which begins here; is it complete?"
            raise SourceError(self._path, reason, last.line)
        if not self._graphs:
            reason = "contains no graph: GML has `graph [ node [ id 1 ] ... ]`"
            raise SourceError(self._path, reason)


def _tokens(path: Path, lines: Iterator[str]) -> Iterator[_Token]:
    number = 0
    for line in lines:
        number += 1
        if len(line) == _LONGEST:
            raise SourceError(path, f"this line is longer than {_LONGEST:,} characters", number)
        at = 0
        while at < len(line):
            match = _TOKEN.match(line, at)
            if match is None and line[at] == '"':
                begun = number
                for more in lines:
                    number += 1
                    line += more  # noqa: PLW2901 - a text goes on in the next line
                    if '"' in more or len(line) > _LONGEST:
                        break
                match = _TOKEN.match(line, at)
                if match is None:
                    raise SourceError(path, "a quote is opened here and never closed", begun)
            if match is None:
                reason = f"is not GML: it cannot be read from {excerpt(line[at:].strip())} on"
                raise SourceError(path, reason, number)
            if match.lastgroup != "space":
                yield _Token(match.lastgroup or "", match[0], number)
            at = match.end()


def _value(token: _Token) -> Any:
    if token.kind == "text":
        text = token.text[1:-1]
        if not is_text(text):
            return text
        return _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(token.text)
    return token.text
