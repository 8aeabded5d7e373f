"""How processor time grows with the size of what authors, callers and servers choose.

    python -m bfsql_test_support.growth [PART OF A NAME]

prints a table with a row for each case: its size n, the times at n and 2n, and at 4n where the
first step exceeds the bound. Run it in a process of its own.
"""

# ruff: noqa: E501 - a row of a table is one line

import asyncio
import gc
import json
import logging
import math
import signal
import struct
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

import httpx2

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.answers import Answer, clean, compact
from bfsql.call import AnswerFormat
from bfsql.errors import BfsqlError, did_you_mean
from bfsql.masking import hide_secrets, is_secret_name, secrets_in
from bfsql.models import json_values, matching, merge, outline
from bfsql.models.characters import escaped, is_visible, without_hidden
from bfsql.models.comparison import Literal, moment_in, number_of, unordered_text
from bfsql.models.quotation import excerpt
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.models.spelling import KnownNames
from bfsql.query.patterns import PatternReader, may_be_pattern, may_relate
from bfsql.query.properties import (
    condition,
    facet,
    masked,
    measures,
    property_condition,
    sorted_step,
)
from bfsql.query.steps import StepReader
from bfsql.query.vocabulary import Names, Schema, Vocabulary
from bfsql.rest import application
from bfsql.rest.handlers import _position
from bfsql.server import apps, messages
from bfsql.serving import logs
from bfsql.settings import ServeSettings
from bfsql.sources import open_source
from bfsql.tools import verify
from bfsql.tools.validate import checked
from bfsql_gremlin import values as gremlin
from bfsql_gremlin.serialization import serializer
from bfsql_jsonld import documents, replies, search
from bfsql_neo4j.search import _word
from bfsql_sparql import dataset, failures
from bfsql_sqlite import search_text
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.raw_mcp import message

BOUND = 2.6
"""Growth from n to 2n, and again to 4n, above which a case fails; a square grows fourfold."""
LEAST = 0.05
"""Seconds of processor time at n."""
ENOUGH = 1
"""Seconds of one run above which a case that exceeds the bound is measured no further."""
SHARE = 29
"""Everyday runs measure one of so many cases of texts; it divides no number of units or ends."""
CALLERS, AUTHORS = 1 << 14, 1 << 17
"""Most characters of a text of a caller, and sizes up to which texts of authors are tried: one
that takes less than `LEAST` there is not tried at larger sizes."""


class Case(NamedTuple):
    """One function, and how input of a size is made for it."""

    name: str
    build: Callable[[int], Any]
    run: Callable[[Any], object]
    most: int = 1 << 22
    """Largest n: a case that takes less than `LEAST` even there is not measured further."""


class Row(NamedTuple):
    """What was measured of a case."""

    name: str
    n: int
    seconds: list[float]
    """At n, 2n and 4n."""

    @property
    def steps(self) -> list[float]:
        """The growth from each size to the next."""
        return [
            after / max(before, 1e-9)
            for before, after in zip(self.seconds, self.seconds[1:], strict=False)
        ]

    @property
    def is_square(self) -> bool:
        """Whether both steps exceed the bound."""
        return min(self.steps, default=0) > BOUND and (
            len(self.steps) > 1 or self.seconds[-1] > ENOUGH
        )


def measured(case: Case) -> Row:
    """Measure a case at the first n that takes `LEAST` seconds, and at 2n and 4n."""
    n = 256
    while (first := _seconds(case, n)) < LEAST and n < case.most:
        n *= 2 if first > LEAST / 8 else 4
    if first < LEAST:
        return Row(case.name, n, [first])
    for runs in (5,) if THOROUGH else (1, 5):
        seconds = [min(_seconds(case, n) for _ in range(runs))]
        for size in (2 * n, 4 * n):
            seconds.append(min(_seconds(case, size) for _ in range(runs)))
            if seconds[-1] <= BOUND * seconds[-2] or seconds[-1] > ENOUGH:
                break
        row = Row(case.name, n, seconds)
        if not row.is_square:
            break
    return row


def _seconds(case: Case, n: int) -> float:
    """The processor time of one run; infinite if it was ended after twice `ENOUGH`."""
    given = case.build(n)
    gc.collect()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, 2 * ENOUGH, ENOUGH)
    begin = time.process_time()
    try:
        case.run(given)
    except (BfsqlError, messages.BadMessage, httpx2.InvalidURL, ValueError, LookupError):
        pass
    except _TooLong:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
    return time.process_time() - begin


class _TooLong(BaseException):
    """A run took more than twice `ENOUGH`."""


def _stop(*_: object) -> None:
    raise _TooLong


signal.signal(signal.SIGVTALRM, _stop)


# --- texts ------------------------------------------------------------------------

UNITS = {
    "letters": "a", "digits": "1", "blanks": " ", "lines": "\n", "tabs": "\t", "words": "a ",
    "quotes": '"', "apostrophes": "'", "backticks": "`", "brackets": "[", "closed": "[]", "braces": "{",
    "parentheses": "(", "angles": "<", "tails": "->", "arrows": "<-", "dashes": "-", "dots": ".",
    "scopes": "a.", "colons": ":", "at": "@", "slashes": "/", "bars": "|", "values": "a|",
    "commas": ",", "pairs": "a=1,", "ands": " and a", "equals": "=", "operators": "a = ", "steps": "-a-> ",
    "loose steps": "a -", "quoted": "='a'", "braced": "{a: ", "queries": "?key=", "logins": "a://b:",
    "secrets": "password=a ", "tokens": "bearer a", "escapes": "\\", "entities": "&a;", "tags": "<script ",
    "marks": "\u0301\u0323", "one mark": "\u0301", "joined emoji": "\U0001f469\u200d",
    "ligatures": "\ufdfa", "syllables": "\uac01", "hidden": "\u202e", "selectors": "\u2764\ufe0f",
    "accents": "\u00e9", "capitals": "\u0130", "surrogates": "\ud800",
}  # fmt: skip
"""What texts repeat."""
ENDS = ("{}", "a{}", "{}!", "a={}b", "-{}> A")

SCHEMA = Schema(("A", "b c"), ("a", "has part"), True)
NAMES = Names(SCHEMA.entity_types, SCHEMA.predicates)
MANY = KnownNames([*("a" * n + "b" for n in range(300)), "a"])
MANY_NAMES = Vocabulary(Schema(tuple(MANY.names), tuple(MANY.names), True))


def reader() -> PatternReader:
    """A reader of patterns and steps."""
    return PatternReader(Vocabulary(SCHEMA))


def _log_line(formatter: logging.Formatter, text: str) -> str:
    record = logging.LogRecord("bfsql", logging.INFO, "", 1, "%s", (text,), None)
    record.__dict__["bfsql"] = {"query": text}
    return formatter.format(record)


OF_CALLERS: dict[str, Callable[[str], object]] = {
    "claims": lambda text: [(verify._end(one), verify._ARROW.findall(one)) for _, one in verify.claims_of(text)],
    "tail of a claim": verify._TAIL.search,
    "condition": lambda text: condition(text, NAMES, 3),
    "property condition in quotes": lambda text: property_condition(text, "where").property_text,
    "quoted spans": masked,
    "facet": lambda text: facet(text, NAMES, 3),
    "measure": lambda text: measures(["max 1." + text], NAMES, 3),
    "measure as it is": lambda text: measures([text], NAMES, 3),
    "expression": lambda text: condition(f"(a * {text}) - 1.{text} > 2", NAMES, 3),
    "sort_by": sorted_step,
    "pattern": lambda text: reader().pattern(text),
    "type and bracket": lambda text: reader().pattern("A[" + text + "]"),
    "relation": lambda text: reader().relation(text),
    "relation after no": lambda text: reader().relation("no " + text),
    "path": lambda text: reader().path([text]),
    "path of a type": lambda text: reader().path(["A " + text]),
    "where": lambda text: (may_relate(text), may_be_pattern(text), reader().where([text])),
    "steps with many names": lambda text: StepReader(text, MANY_NAMES).steps(),
    "nearest name": lambda text: (MANY.nearest(text), did_you_mean(text, MANY.names)),
    "arguments": lambda text: checked("bfs_query", {"seeds": text, text: text}),
    "excerpt": excerpt,
    "cursor": _position,
    "URL to search": search._ID.fullmatch,
    "words of an index": lambda text: (_word(text[:256]), search_text.swapped_grams(text[:256])),
    "header Link": lambda text: (replies._LINK.findall(f"<a>{text}"), replies._PARAMETER.findall(text)),
    "name to search": lambda text: matching.NameQuery(text).match("id", "A name", [text + "x"]),
}  # fmt: skip
OF_AUTHORS: dict[str, Callable[[str], object]] = {
    "fold": merge.fold,
    "without accents": merge.without_accents,
    "words of a name": lambda text: matching.words_of(matching.folded(text)),
    "name that is searched": lambda text: matching.NameQuery("aaaa aab").match(text, text, [text]),
    "clean text": clean.clean_text,
    "hidden characters": lambda text: (without_hidden(text), escaped(text), is_visible(text)),
    "encode": lambda text: (clean.encode({text: text}), json_values.encode({text: text})),
    "value": lambda text: (number_of(text), moment_in(text), Literal.of(text)),
    "values without order": lambda text: unordered_text({text: 1, text + "1": 2}),
    "folded name": lambda text: search_text.words(search_text.fold(text)),
    "page of an error": lambda text: failures._error_line(b"<" + text.encode("utf-8", "replace"), ()),
    "secrets": hide_secrets,
    "secrets in a setting": secrets_in,
    "name of a secret": is_secret_name,
    "line of the log": lambda text: _log_line(logs.TextLines(["s"]), text),
    "JSON line of the log": lambda text: _log_line(logs.JsonLines(["s"]), text),
    "message": lambda text: messages.message(json.dumps({"id": text, "method": text}).encode()),
    "broken message": lambda text: messages.message(text.encode("utf-8", "surrogatepass")),
    "lines": lambda text: compact.in_lines({"result": [{"id": text, "entity_type": text, text: text}]}),
    "lines of a schema": lambda text: compact.in_lines({"relations": [text, text + " (1)"]}),
}  # fmt: skip


def texts() -> Iterator[Case]:
    """Each function of texts with each unit and each end."""
    for functions, most in ((OF_CALLERS, CALLERS), (OF_AUTHORS, AUTHORS)):
        for (name, run), (unit_name, unit), end in product(functions.items(), UNITS.items(), ENDS):
            build = partial(_repeated, unit, end)
            yield Case(f"{name}: {unit_name} {end.format('*')}", build, run, most)


def _repeated(unit: str, end: str, n: int) -> str:
    return end.replace("{}", unit * (n // len(unit)))


# --- graphs and answers ---------------------------------------------------------------

COLLIDING = tuple("\0\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f")


def _keys(n: int) -> dict[str, Any]:
    """Keys that all become one text: they differ by characters that are removed."""
    return {"\u00e9" + "".join(COLLIDING[int(digit)] for digit in str(k)): k for k in range(n)}


def _own_keys(n: int, letter: str = "\u00e9") -> dict[str, Any]:
    return {f"{letter}{k}": k for k in range(n)}


def _hub(n: int, **metadata: Any) -> list[Any]:
    """A hub with n neighbours, each with a number of its own."""
    nodes = [NodeRecord(f"n{k}", "A", {"name": f"N {k}", "v": k, **metadata}) for k in range(n)]
    return [
        NodeRecord("hub", "A", {"name": "hub"}),
        *nodes,
        *(EdgeRecord("hub", "a", f"n{k}") for k in range(n)),
    ]


def _call(
    tool: str,
    records: Callable[[int], list[Any]],
    answer_format: AnswerFormat = "json",
    **arguments: Any,
) -> tuple[Any, Any]:
    """How a graph is opened and a tool is called on it."""
    loop = asyncio.new_event_loop()

    def build(n: int) -> Any:
        opened = open_graph(MemoryBackend(records(n)), limits=Limits(answer_format=answer_format))
        return opened, loop.run_until_complete(opened.__aenter__())

    return build, lambda opened: loop.run_until_complete(opened[1].call(tool, arguments))


def _one(metadata: Mapping[str, Any]) -> list[Any]:
    return [
        NodeRecord("n", "A", dict(metadata)),
        NodeRecord("m", "A"),
        EdgeRecord("n", "a", "m", dict(metadata)),
    ]


CALLS: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "describe_entity: keys that become one": _call("describe_entity", lambda n: _one(_keys(n)), id="n"),
    "bfs_query: a hub in lines": _call("bfs_query", _hub, "lines", seeds=["hub"], max_tokens=0),
    "describe_entity: many keys in lines": _call("describe_entity", lambda n: _one(_own_keys(n)), "lines", id="n"),
    "describe_schema: predicates in lines": _call("describe_schema", lambda n: [NodeRecord("n", "A"), *(EdgeRecord("n", f"p{k}", "n") for k in range(n))], "lines"),
    "describe_entity: many keys": _call("describe_entity", lambda n: _one(_own_keys(n)), id="n"),
    "describe_entity: evidence": _call("describe_entity", lambda n: _one({"provenance": [{"text_span": "t", "section": k} for k in range(n)]}), id="n"),
    "describe_entities: long list": _call("describe_entities", lambda n: _one({"k": [f"v{k}" for k in range(n)]}), ids=["n"]),
    "bfs_query: a hub": _call("bfs_query", _hub, seeds=["hub"]),
    "bfs_query: a hub without a budget": _call("bfs_query", _hub, seeds=["hub"], max_tokens=0),
    "bfs_query: facets": _call("bfs_query", _hub, seeds=["hub"], facets=["v"]),
    "bfs_query: where": _call("bfs_query", _hub, seeds=["hub"], where=["v>1"], sort_by="v"),
    "bfs_query: path with a measure": _call("bfs_query", _hub, seeds=["hub"], path=["-a->"], measure=["max 1.v"]),
    "bfs_query: path with the best": _call("bfs_query", _hub, seeds=["hub"], path=["-a->"], show="0", measure=["argmax 1.v", "median 1.v", "top 20 1.v"]),
    "bfs_query: many keys": _call("bfs_query", lambda n: _one(_own_keys(n)), seeds=["n"]),
    "bfs_query: large values": _call("bfs_query", lambda n: _one({"k": "\u0301" * n}), seeds=["n"]),
    "intersect_subgraphs: hubs": _call("intersect_subgraphs", _hub, seeds=["n1", "n2"], k=2),
    "search_entities: names": _call("search_entities", _hub, query="name of nothing"),
    "search_entities: aliases": _call("search_entities", lambda n: _one({"synonyms": [f"s {k}" for k in range(n)]}), query="s x"),
    "search_entities: a name of many words": _call("search_entities", lambda n: _one({"name": "a " * n}), query="a" * 5_000),
    "describe_schema: types": _call("describe_schema", lambda n: [NodeRecord(str(k), f"T{k}") for k in range(n)]),
    "describe_schema: predicates": _call("describe_schema", lambda n: [NodeRecord("n", "A"), *(EdgeRecord("n", f"p{k}", "n") for k in range(n))]),
}  # fmt: skip


# --- values -----------------------------------------------------------------------------

VALUES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "keys that become one": (_keys, clean.clean_metadata),
    "keys of which one is not ASCII": (lambda n: {"\u00e9": 1, **_own_keys(n, "k")}, clean.clean_metadata),
    "keys in other normal forms": (lambda n: {k + f: 1 for k in _own_keys(n // 2) for f in ("\u00e9", "e\u0301")}, clean.clean_metadata),
    "items of evidence": (lambda n: [{"text_span": "t", "section": k} for k in range(n)], merge.combined),
    "items of evidence without fields": (lambda n: [{"text_span": "t", f"k{k}": 1, "section": k} for k in range(n)], merge.combined),
    "items of evidence that grow": (lambda n: [{"text_span": "t", f"k{k}": 1} for k in range(n)], merge.combined),
    "items of evidence of two fields": (lambda n: [{"text_span": "t", "a": k % 300, "b": k // 300, f"c{k % 9}": 1} for k in range(n)], merge.combined),
    "records of a node": (lambda n: [NodeRecord("n", f"T{k}", {"name": f"N{k}", f"k{k}": k, "k": k}) for k in range(n)], merge.merge_node_records),
    "records of an edge": (lambda n: [{"confidence": k, f"k{k % 99}": k} for k in range(n)], merge.merge_edges),
    "joined words": (lambda n: ("a" * 9_000, "a " * n), lambda pair: matching.NameQuery(pair[0]).match("id", pair[1], ())),
    "letters of two words": (lambda n: ("ab" * 120, "ab" * n), lambda pair: matching.NameQuery(pair[0]).match("id", pair[1], ())),
    "known names": (lambda n: KnownNames("a" * (k % 200) + str(k) for k in range(n)), lambda names: ([*names.at("a" * 300, 0)], names.nearest("aab"))),
    "properties": (lambda n: [("A", {f"k{k}": k, "k": k}) for k in range(n)], outline.properties_of),
    "encoded metadata": (_own_keys, json_values.encode),
    "log line of many values": (lambda n: [f"v{k}" for k in range(n)], lambda values: _log_line(logs.TextLines(), str(values))),
}  # fmt: skip


# --- answers of stores ---------------------------------------------------------------------


def _solutions(n: int) -> bytes:
    rows = [
        {
            "a": {"type": "uri", "value": f"u{k}"},
            "b": {"type": "literal", "value": f"v{k}", "datatype": f"d{k}"},
        }
        for k in range(n)
    ]
    return json.dumps({"head": {"vars": ["a", "b"]}, "results": {"bindings": rows}}).encode()


def _variables(n: int) -> bytes:
    row = {f"v{k}": {"type": "bnode", "value": "b"} for k in range(n)}
    return json.dumps({"head": {"vars": list(row)}, "results": {"bindings": [row]}}).encode()


def _graphson(value: Any) -> str:
    return json.dumps(
        {
            "requestId": "1",
            "status": {"code": 200, "message": "", "attributes": {}},
            "result": {"data": value, "meta": {}},
        }
    )


def _document(document: Any) -> Any:
    nodes = documents._flattened(document, "http://e/d", None, {})[1]
    records = [
        NodeRecord(node["@id"], "", {key: str(one)})
        for node in nodes
        for key, values in node.items()
        for one in values
    ]
    return documents.DocumentGraph.of(records, ())


def _binary(code: int, size: int, content: bytes) -> bytes:
    """A value of GraphBinary: its type, and its number of items or bytes."""
    return bytes((code, 0)) + struct.pack(">i", size) + content


def _graphbinary(value: bytes) -> bytes:
    return b"\x81\x01" + struct.pack(">i", 200) + b"\x01" + bytes(8) + value


def _binary_text(text: str) -> bytes:
    return _binary(3, len(text), text.encode())


def _binary_list(n: int, item: Callable[[int], bytes]) -> bytes:
    return _binary(9, n, b"".join(map(item, range(n))))


def _binary_map(n: int) -> bytes:
    return _binary(10, n, b"".join(_binary_text(f"k{k}") + _binary(1, k, b"") for k in range(n)))


def _traverser(k: int) -> bytes:
    return b"\x21\x00" + struct.pack(">q", 1) + _binary_text(f"v{k}")


def _web() -> Callable[[Any], object]:
    """Sends requests to a web API in this process."""
    loop = asyncio.new_event_loop()
    graph = loop.run_until_complete(open_graph(MemoryBackend(_hub(1))).__aenter__())
    transport = httpx2.ASGITransport(application(graph, ServeSettings(rest=True)))
    client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1")
    return lambda request: loop.run_until_complete(client.request(**request))


def _post(content: Any) -> dict[str, Any]:
    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 64):
            yield body[start : start + 64]

    body = json.dumps(content).encode()
    named = {"Content-Type": "application/json"}
    return {"method": "POST", "url": "/tools/bfs_query", "content": parts(), "headers": named}


WEB = _web()
GRAPHSON, GRAPHBINARY = serializer("graphson"), serializer("graphbinary")
SUBJECT = {"@id": "http://e/s"}
REPLIES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object]]] = {
    "solutions of SPARQL": (_solutions, lambda body: (dataset.rows(body), dataset.links(body))),
    "variables of SPARQL": (_variables, lambda body: (dataset.rows(body), dataset.links(body))),
    "rows of GraphSON": (lambda n: _graphson({"@type": "g:List", "@value": [{"@type": "g:Map", "@value": [f"k{k}", {"@type": "g:Int32", "@value": k}]} for k in range(n)]}), GRAPHSON.deserialize_message),
    "keys of GraphSON": (lambda n: _graphson({"@type": "g:Map", "@value": [one for k in range(n) for one in (f"k{k}", "v")]}), GRAPHSON.deserialize_message),
    "set of GraphSON": (lambda n: _graphson({"@type": "g:Set", "@value": [f"v{k}" for k in range(n)]}), GRAPHSON.deserialize_message),
    "rows of GraphBinary": (lambda n: _graphbinary(_binary_list(n, lambda k: _binary_map(k % 9))), GRAPHBINARY.deserialize_message),
    "lists of GraphBinary": (lambda n: _graphbinary(_binary_list(n, lambda k: _binary_list(2, _traverser))), GRAPHBINARY.deserialize_message),
    "keys of GraphBinary": (lambda n: _graphbinary(_binary_map(n)), GRAPHBINARY.deserialize_message),
    "bulk of GraphBinary": (lambda n: _graphbinary(_binary_list(n, _traverser)), GRAPHBINARY.deserialize_message),
    "text of GraphBinary": (lambda n: _graphbinary(_binary_text("a" * 64 * n)), GRAPHBINARY.deserialize_message),
    "body of the web API": (lambda n: _post({"seeds": [f"s{k}" for k in range(n)]}), WEB),
    "keys of a body of the web API": (lambda n: _post({"seeds": ["n1"], **_own_keys(n)}), WEB),
    "text of a body of the web API": (lambda n: _post({"seeds": ["n1"], "where": ["a" * 16 * n]}), WEB),
    "query of the web API": (lambda n: {"method": "GET", "url": "/entities?" + "type=a&" * n}, WEB),
    "keys of a query of the web API": (lambda n: {"method": "GET", "url": "/entities?" + _joined("k#=1&", n)}, WEB),
    "arguments of MCP": (lambda n: json.dumps(message(1, "tools/call", {"name": "bfs_query", "arguments": {"seeds": [f"s{k}" for k in range(n)], **_own_keys(n)}})).encode(), messages.message),
    "extensions of MCP": (lambda n: {"method": "initialize", "params": {"capabilities": {"extensions": {apps.EXTENSION: {"mimeTypes": [f"t{k}" for k in range(n)]}, **_own_keys(n)}}}}, messages.reduced),
    "document for the card": (lambda n: Answer("lines", {"nodes": [{"id": k, "metadata": {"k": k}} for k in range(n)], "edges": [{"subject": k, "object": k // 2} for k in range(n)], "facets": {str(k): {"values": [["a", 1]]} for k in range(n)}}), lambda answer: apps.drawn_document("bfs_query", answer)),
    "set of Gremlin": (lambda n: {f"v{k}" for k in range(n)}, gremlin.from_driver),
    "properties of Gremlin": (lambda n: [[f"k{k % 99}", k, {"m": k}] for k in range(n)], gremlin.properties_of),
    "vertices of one id": (lambda n: [(f"T{k}", {f"k{k}": k, "name": str(k)}) for k in range(n)], lambda vertices: gremlin.node_metadata(vertices, (), ())),
    "edges of one triple": (lambda n: [{f"k{k % 99}": k, "text": str(k)} for k in range(n)], gremlin.edge_metadata),
    "values of JSON-LD": (lambda n: {**SUBJECT, "http://e/p": [f"v{k}" for k in range(n)]}, _document),
    "links of JSON-LD": (lambda n: {**SUBJECT, "http://e/p": [{"@id": f"http://e/{k}"} for k in range(n)]}, _document),
    "types of JSON-LD": (lambda n: {**SUBJECT, "@type": [f"http://e/{k}" for k in range(n)]}, _document),
    "nodes without ids of JSON-LD": (lambda n: {**SUBJECT, "http://e/p": [{"http://e/q": k} for k in range(n)]}, _document),
    "one node of JSON-LD": (lambda n: [{**SUBJECT, "http://e/p": k, "@type": f"http://e/{k}"} for k in range(n)], _document),
    "graph of JSON-LD": (lambda n: {**SUBJECT, "@graph": [{"@id": f"http://e/{k}", "http://e/p": k} for k in range(n)]}, _document),
    "reverse of JSON-LD": (lambda n: {**SUBJECT, "@reverse": {"http://e/p": [{"@id": f"http://e/{k}"} for k in range(n)]}}, _document),
    "terms of JSON-LD": (lambda n: {"@context": {f"t{k}": f"http://e/{k}" for k in range(n)}, **SUBJECT, **{f"t{k}": k for k in range(n)}}, _document),
    "languages of JSON-LD": (lambda n: {"@context": {"l": {"@id": "http://e/l", "@container": "@language"}}, **SUBJECT, "l": {f"en-a{k}": str(k) for k in range(n)}}, _document),
}  # fmt: skip


# --- files -----------------------------------------------------------------------------

_FOLDER = Path(tempfile.mkdtemp())
_GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}<graph edgedefault="directed">{}</graph></graphml>'
_GEXF = '<gexf version="1.3" xmlns="http://gexf.net/1.3"><graph><attributes class="node">{}</attributes><nodes>{}</nodes></graph></gexf>'
_RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"><rdf:Description rdf:about="http://e/s">{}</rdf:Description></rdf:RDF>'


def _joined(unit: str, n: int, separator: str = "") -> str:
    return separator.join(unit.replace("#", str(k)) for k in range(n))


FILES: dict[str, tuple[str, Callable[[int], str]]] = {
    "keys of one object": ("a.jsonl", lambda n: json.dumps({"id": "n", **_own_keys(n)}, ensure_ascii=False)),
    "keys of one object with half a character": ("a.jsonl", lambda n: json.dumps({"id": "n\ud800", **_own_keys(n)})),
    "a key for each object": ("a.jsonl", lambda n: _joined('{"id": "n#", "\u00e9#": 1}\n', n)),
    "edges and nodes": ("a.jsonl", lambda n: _joined('{"id": "n#", "k#": 1}\n{"subject": "n#", "predicate": "p#", "object": "n1"}\n', n)),
    "bad lines": ("a.jsonl", lambda n: '{"id": "n"}\n' + "{\n" * n),
    "columns": ("a.csv", lambda n: "id," + _joined("\u00e9#", n, ",") + "\nn" + ",1" * n),
    "columns of one name": ("a.csv", lambda n: "id" + ",name" * n + "\nn" + ",1" * n),
    "quotes never closed": ("a.csv", lambda n: "id,name\n" + 'a,"b\n' * n),
    "quotes across lines": ("a.csv", lambda n: 'id,name\na,"' + "b\n" * n + '"\n'),
    "short and long rows": ("a.csv", lambda n: "id,name,k\n" + "a\nb,c,d,e,f\n" * n),
    "rows": ("a.csv", lambda n: "subject,predicate,object,k\n" + _joined("a#,p,b#,1\n", n)),
    "a cell of many values": ("a.tsv", lambda n: "id\tsynonyms\nn\t" + "a|" * n),
    "comments": ("a.csv", lambda n: "# a\n" * n + "id,name\na,b\n"),
    "node-link JSON": ("a.json", lambda n: json.dumps({"nodes": [{"id": k, f"\u00e9{k}": k} for k in range(n)], "links": [{"source": k, "target": 0, f"k{k}": 1} for k in range(n)]})),
    "GraphML keys": ("a.graphml", lambda n: _GRAPHML.format(_joined('<key id="d#" for="node" attr.name="k#"/>', n), '<node id="n">' + _joined('<data key="d#">1</data>', n) + "</node>")),
    "GraphML nodes": ("a.graphml", lambda n: _GRAPHML.format("", _joined('<node id="n#"/><edge source="n#" target="n1"/>', n))),
    "GraphML text": ("a.graphml", lambda n: _GRAPHML.format('<key id="d" for="node" attr.name="k"/>', '<node id="n"><data key="d">' + "&amp;\n" * n + "</data></node>")),
    "GEXF attributes": ("a.gexf", lambda n: _GEXF.format(_joined('<attribute id="#" title="k#" type="string"/>', n), '<node id="n"><attvalues>' + _joined('<attvalue for="#" value="1"/>', n) + "</attvalues></node>")),
    "GEXF times": ("a.gexf", lambda n: _GEXF.format("", '<node id="n" intervals="' + "[1,2];" * n + '"><spells>' + _joined('<spell start="#"/>', n) + "</spells><attvalues>" + _joined('<attvalue for="a" value="1" end="#"/>', n) + "</attvalues></node>")),
    "list": ("a.ttl", lambda n: "<http://e/s> <http://e/p> (" + _joined("<http://e/#> ", n) + ")."),
    "list of values": ("a.ttl", lambda n: "<http://e/s> <http://e/p> (" + _joined("'#' ", n) + ")."),
    "lists": ("a.ttl", lambda n: _joined("<http://e/#> <http://e/p> (<http://e/a> 1).\n", n)),
    "list of blank nodes": ("a.ttl", lambda n: "<http://e/s> <http://e/p> (" + _joined("[<http://e/v> #] ", n) + ")."),
    "blank nodes of one subject": ("a.ttl", lambda n: _joined("<http://e/s> <http://e/p> [<http://e/v#> #].\n", n)),
    "values of one subject": ("a.ttl", lambda n: _joined("<http://e/s> <http://e/p#> '#'; <http://e/p> '#'.\n", n)),
    "types and names": ("a.ttl", lambda n: _joined("<http://e/s> a <http://e/T#>; <http://www.w3.org/2000/01/rdf-schema#label> 'n#'.\n", n)),
    "classes in a row": ("a.ttl", lambda n: _joined("<http://e/#> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/1#>.\n", n)),
    "prefixes": ("a.ttl", lambda n: _joined("@prefix p#: <http://e/#/>.\n", n) + _joined("p#:s p#:p p#:o.\n", n)),
    "restrictions": ("a.ttl", lambda n: "@prefix o: <http://www.w3.org/2002/07/owl#>. @prefix r: <http://www.w3.org/2000/01/rdf-schema#>.\n" + _joined("<http://e/C> r:subClassOf [o:onProperty <http://e/p#>; o:someValuesFrom <http://e/D#>].\n", n)),
    "intersections": ("a.ttl", lambda n: "@prefix o: <http://www.w3.org/2002/07/owl#>.\n<http://e/C> o:equivalentClass [o:intersectionOf (" + _joined("[o:onProperty <http://e/p#>; o:someValuesFrom <http://e/D#>] ", n) + ")]."),
    "triples stated twice": ("a.nt", lambda n: 2 * _joined("<http://e/s> <http://e/p> <http://e/#> .\n", n)),
    "N-Triples": ("a.nt", lambda n: _joined('<http://e/s> <http://e/p> "#" .\n', n)),
    "bad N-Triples": ("a.nt", lambda n: "<http://e/s> <http://e/p> <http://e/o> .\n" + "<http://e/s> <\n" * n),
    "RDF/XML": ("a.rdf", lambda n: _RDF_XML.format(_joined("<e:p#>1</e:p#>", n))),
    "RDF/XML list": ("a.rdf", lambda n: _RDF_XML.format('<e:p rdf:parseType="Collection">' + _joined('<rdf:Description rdf:about="http://e/#"/>', n) + "</e:p>")),
    "JSON-LD list": ("a.jsonld", lambda n: json.dumps({"@id": "http://e/s", "http://e/p": {"@list": [{"@id": f"http://e/{k}"} for k in range(n)]}})),
    "JSON-LD keys": ("a.jsonld", lambda n: json.dumps({"@id": "http://e/s", **{f"http://e/{k}": k for k in range(n)}})),
}  # fmt: skip


def _read(path: Path) -> None:
    for _ in open_source(path):
        pass


def _file(name: str, content: Callable[[int], str], n: int) -> Path:
    path = _FOLDER / name
    path.write_text(content(n), "utf-8", "surrogatepass")
    return path


def cases() -> Iterator[Case]:
    """All cases."""
    yield from (Case(f"call: {name}", *both, 1 << 14) for name, both in CALLS.items())
    yield from (Case(f"values: {name}", *both) for name, both in VALUES.items())
    yield from (Case(f"reply: {name}", *both, 1 << 15) for name, both in REPLIES.items())
    for name, (file, content) in FILES.items():
        yield Case(f"file {file}: {name}", partial(_file, file, content), _read, 1 << 20)
    yield from islice(texts(), None, None, 1 if THOROUGH else SHARE)


def main(part: str = "") -> int:
    """Print the rows of the cases whose names contain a text; 1 if one is a square."""
    logging.disable()
    squares = 0
    for case in cases():
        if part in case.name:
            gc.collect()
            gc.freeze()  # what earlier cases left is not looked through in each run
            row = measured(case)
            squares += row.is_square
            numbers = [f"{one:.3f}" for one in row.seconds], [f"{one:.2f}" for one in row.steps]
            end = " SQUARE" if row.is_square else ""
            sys.stdout.write(
                f"{row.name} | {row.n:,} | {' '.join(numbers[0])} | {' '.join(numbers[1])}{end}\n"
            )
    return squares > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
