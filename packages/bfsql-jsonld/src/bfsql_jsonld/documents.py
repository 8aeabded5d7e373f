"""Documents: converts JSON-LD in any form to nodes and edges, and loads contexts named by URL.

The library converts compact, expanded and flattened documents, `@graph`, `@reverse` and nested
nodes to the same list of node objects. Their statements are treated like the same statements in an
RDF file: links between IRIs are edges, and literals are metadata; a node without an IRI is a value
of the node that contains it.

Contexts are read from the files that the settings give for their URLs; others are fetched from
allowed hosts, with limits on size and number, and kept for an hour.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pyld import jsonld
from pyld.context_resolver import ContextResolver

from bfsql.deadline import check, checked
from bfsql.errors import SourceError, StoreError, StoreUnavailable
from bfsql.models.merge import merge_edges, merge_node_records
from bfsql.models.rdf import Literal, Prefixes, in_languages, value_of
from bfsql.models.rdf_names import ALIAS_PROPERTIES, NAME_PROPERTIES
from bfsql.models.records import EdgeRecord, NodeRecord, Triple
from bfsql.sources.json_ld_guard import check_json_ld
from bfsql.sources.rdf_choices import ENGLISH, Name, by_preference
from bfsql_jsonld.node_map import nodes_of
from bfsql_jsonld.replies import Reply, Request, Unreadable, joined, short
from bfsql_jsonld.routes import Api

CONTEXT_LINK = "http://www.w3.org/ns/json-ld#context"
"""Relation of the `Link` header that names a context (JSON-LD 1.1, 6.1)."""

_LD = "application/ld+json"
LABELS = {iri: rank for rank, iri in enumerate(map(Prefixes({}).full, NAME_PROPERTIES)) if iri}
_SYNONYMS = {*map(Prefixes({}).full, ALIAS_PROPERTIES)}

Record: TypeAlias = NodeRecord | EdgeRecord
Ordered: TypeAlias = dict[str, dict[str, list[Any]]]


class _Processor(jsonld.JsonLdProcessor):  # type: ignore[misc]
    """The library, whose work ends with its call: it expands an IRI for each key and value."""

    def _expand_iri(self, *args: Any, **named: Any) -> Any:
        check()
        return super()._expand_iri(*args, **named)


class _ContextMissing(Exception):
    """A context that is not loaded yet; the text is its URL."""


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """A piece of the graph in a document."""

    nodes: dict[str, tuple[str, dict[str, Any]]]
    """Type and metadata by id, of the nodes that the document describes."""
    edges: dict[Triple, dict[str, Any]]
    """Metadata by triple."""
    roots: tuple[str, ...]
    """Nodes at the top of the document, in its order."""

    @classmethod
    def of(
        cls, records: Iterable[Record], roots: Iterable[str], ordered: Ordered | None = None
    ) -> DocumentGraph:
        """Merge records, several of which may concern one thing (`protocol.md` 7).

        Args:
            records: In any order.
            roots: Nodes at the top of the document.
            ordered: Lists by node and key whose order is significant; they are not changed.
        """
        nodes: dict[str, list[NodeRecord]] = defaultdict(list)
        edges: dict[Triple, list[dict[str, Any]]] = defaultdict(list)
        for record in checked(records):
            if isinstance(record, NodeRecord):
                nodes[record.id].append(record)
            else:
                edges[record.subject, record.predicate, record.object].append(record.metadata)
        merged = {entity_id: merge_node_records(several) for entity_id, several in nodes.items()}
        for entity_id, lists in (ordered or {}).items():
            merged[entity_id][1].update(lists)
        return cls(
            merged,
            {triple: merge_edges(several) for triple, several in edges.items()},
            tuple(dict.fromkeys(roots)),
        )


class DocumentReader:
    """Reads documents as JSON-LD."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._settings = api.settings
        self._short = api.prefixes.short
        self._contexts = Contexts(api)
        self._languages = tuple(api.settings.languages)

    async def read(self, reply: Reply, document: Any) -> DocumentGraph:
        """The content of a document, or of a list of documents.

        Args:
            reply: The reply with the document; its URL is the base of relative IRIs.
            document: Its JSON.

        Raises:
            StoreError: The document is not JSON-LD, or a context cannot be loaded.
        """
        contexts: dict[str, tuple[str, Any]] = {}
        outer = self._outer_context(reply, document)
        while True:
            try:
                with reply.read():
                    return await asyncio.to_thread(
                        self._of_json_ld, document, reply.url, outer, contexts
                    )
            except _ContextMissing as missing:
                with reply.read():
                    if len(contexts) >= self._settings.max_contexts:
                        raise Unreadable(
                            f"it needs more than {len(contexts)} contexts (max_contexts)"
                        ) from None
                contexts[str(missing)] = await self._contexts.get(str(missing))

    def _of_json_ld(
        self, document: Any, url: str, outer: str | None, contexts: Mapping[str, tuple[str, Any]]
    ) -> DocumentGraph:
        if not isinstance(document, dict | list):  # the library would fetch a text as a URL
            raise Unreadable("it is not JSON-LD, which is an object or a list of objects")
        try:
            check_json_ld(url, document)
        except SourceError as error:
            raise Unreadable(f"it {error.reason}") from None
        expanded, flat = _flattened(document, url, outer, contexts)
        ordered: Ordered = {}
        records = list(self._records(flat, ordered))
        # A document may state only who links to the subject that it is about.
        about = self._roots([node for node in expanded if "@reverse" in node])
        records += [NodeRecord(root, "") for root in about]
        return DocumentGraph.of(records, self._roots(expanded), ordered)

    def _outer_context(self, reply: Reply, document: Any) -> str | None:
        """The context that accompanies the document, if JSON comes without one."""
        if reply.content_type != _LD:
            for target, _ in reply.links(CONTEXT_LINK):
                return joined(reply.url, target)
        named = isinstance(document, Mapping) and "@context" in document
        return None if named else self._settings.context

    # --- node objects to records --------------------------------------------

    def _roots(self, expanded: list[Any]) -> Iterator[str]:
        for node in expanded:
            named = node.get("@id") if isinstance(node, dict) else None
            if isinstance(named, str) and not named.startswith("_:"):
                yield self._short(named)

    def _records(self, flat: list[Any], ordered: Ordered) -> Iterator[Record]:
        """Records of all nodes; lists whose order is significant go into `ordered`."""
        blank = {node["@id"]: node for node in flat if node["@id"].startswith("_:")}
        for node in checked(flat):
            if node["@id"] not in blank:
                yield from self._of_node(node, blank, ordered)

    def _of_node(
        self, node: Mapping[str, Any], blank: Mapping[str, Any], ordered: Ordered
    ) -> Iterator[Record]:
        entity_id = self._short(node["@id"])
        for name in node.get("@type", ()):
            if not name.startswith("_:"):
                yield NodeRecord(entity_id, self._short(name))
        if names := by_preference(self._names(node), self._languages or (ENGLISH,)):
            yield NodeRecord(entity_id, "", {"name": names[0]})  # the others become synonyms
        for iri, values in _statements(node):
            predicate = self._short(iri)
            for value in checked(values):
                for target in _targets(value):
                    if target not in blank and not target.startswith("_:"):
                        yield EdgeRecord(entity_id, predicate, self._short(target))
                found = self._value(value, blank)
                if isinstance(found, list) and len(values) == 1:
                    ordered.setdefault(entity_id, {})[predicate] = found
                elif found is not None:
                    yield NodeRecord(entity_id, "", _metadata(iri, predicate, found))
        yield NodeRecord(entity_id, "")

    def _names(self, node: Mapping[str, Any]) -> Iterator[Name]:
        """The names of a node, in the wanted languages."""
        for iri, rank in LABELS.items():
            for value in node.get(iri, ()):
                if isinstance(text := self._value(value, {}), str) and "@value" in value:
                    yield rank, value.get("@language", "").lower(), text

    def _value(self, value: Mapping[str, Any], blank: Mapping[str, Any], levels: int = 5) -> Any:
        """A value that is not an edge; None for anything else, or a text in other languages.

        Nodes without an IRI, which are in `blank`, are read `levels` deep.
        """
        if "@list" in value:
            items = [self._value(item, blank, levels) for item in value["@list"]]
            return [item for item in items if item is not None] or None
        if "@id" in value:
            node = blank.get(value["@id"])
            return self._nested(node, blank, levels) if node and levels else None
        literal = value.get("@value")
        if isinstance(literal, str):
            text = Literal(literal, value.get("@language"), value.get("@type"))
            return value_of(text) if in_languages(text, self._languages) else None
        return literal

    def _nested(
        self, node: Mapping[str, Any], blank: Mapping[str, Any], levels: int
    ) -> dict[str, Any] | None:
        """A node without an IRI, as a value."""
        types = [self._short(name) for name in node.get("@type", ())]
        found: dict[str, Any] = {"type": types[0] if len(types) == 1 else types} if types else {}
        for iri, values in _statements(node):
            several = [
                self._short(value["@id"])
                if "@id" in value and value["@id"] not in blank
                else self._value(value, blank, levels - 1)
                for value in values
            ]
            readable = [value for value in several if value is not None]
            if readable:
                found[self._short(iri)] = readable[0] if len(readable) == 1 else readable
        return found or None


def _flattened(
    document: Any, url: str, outer: str | None, contexts: Mapping[str, tuple[str, Any]]
) -> tuple[list[Any], list[Any]]:
    """The document expanded, and its nodes.

    Raises:
        _ContextMissing: The document needs a context that is not in `contexts`.
        Unreadable: The document is not JSON-LD.
    """
    missing: list[str] = []

    def load(needed: str, _options: Any) -> dict[str, Any]:
        if needed not in contexts:
            missing.append(needed)
            raise _ContextMissing(needed)
        at, context = contexts[needed]
        return {"contentType": _LD, "contextUrl": None, "documentUrl": at, "document": context}

    options = {"base": url, "documentLoader": load, "extractAllScripts": False}
    if outer is not None:
        options["expandContext"] = outer
    try:
        # A separate resolver, since the library's stores contexts for the whole process.
        expanded = _Processor().expand(
            document, {**options, "contextResolver": ContextResolver({}, load)}
        )
        return expanded, nodes_of(expanded)
    except jsonld.JsonLdError as error:
        check()  # which the library may have reported as an invalid context
        if missing:
            raise _ContextMissing(missing[-1]) from None
        raise Unreadable(f"it is not JSON-LD ({_reason(error)})") from None
    except (RecursionError, TypeError, AttributeError, ValueError, LookupError) as error:
        # The library trusts its input more than is safe for documents from elsewhere.
        raise Unreadable(f"it is not JSON-LD ({type(error).__name__}: {error})") from None


def _reason(error: BaseException) -> str:
    """The message of the library's innermost error."""
    inner = getattr(error, "cause", None)
    while isinstance(inner, jsonld.JsonLdError):
        error, inner = inner, inner.cause
    return str(error.args[0] if error.args else error).rstrip(".")


def _statements(node: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    return (
        (iri, values)
        for iri, values in node.items()
        if not iri.startswith("@") and not iri.startswith("_:")
    )


def _targets(value: Mapping[str, Any]) -> Iterator[str]:
    if "@id" in value:
        yield value["@id"]
    for item in value.get("@list", ()):
        yield from _targets(item)


def _metadata(iri: str, predicate: str, value: Any) -> dict[str, Any]:
    if iri in LABELS and isinstance(value, str):
        return {"name": value}
    if iri in _SYNONYMS and isinstance(value, str):
        return {"synonyms": [value]}
    return {predicate: value}


class Contexts:
    """Context documents by URL.

    Args:
        api: Fetches them; its settings have files, hosts and limits.
        capacity: Most contexts in memory; APIs usually have a few.
    """

    def __init__(self, api: Api, capacity: int = 64) -> None:
        self._session = api.session
        self._settings = api.settings
        self._capacity = capacity
        self._files = {_plain(url): path for url, path in api.settings.context_files.items()}
        self._cache: dict[str, tuple[float, str, Any]] = {}

    async def get(self, url: str) -> tuple[str, Any]:
        """The URL of the context after redirects, and the context.

        Raises:
            StoreError: It may not be fetched, or is not a context.
            StoreUnavailable: Its host does not answer.
        """
        cached = self._cache.get(url)
        if cached is None or time.monotonic() >= cached[0]:
            path = self._files.get(_plain(url))
            at, context = _from_file(url, path) if path else await self._fetched(url)
            if not isinstance(context, dict):
                raise StoreError(
                    f"The context {short(url)} is not a JSON object, so it cannot be a context."
                )
            if len(self._cache) >= self._capacity:
                self._cache.clear()
            cached = self._cache[url] = (time.monotonic() + 3_600.0, at, context)
        return cached[1:]

    async def _fetched(self, url: str) -> tuple[str, Any]:
        if not url.lower().startswith(("http://", "https://")):
            raise StoreError(
                f"A document names the context {short(url)!r}, which cannot be fetched. Name a "
                "file to use instead in context_files."
            )
        request = Request(
            url,
            headers={"Accept": f"{_LD}, application/json;q=0.9"},
            hosts=self._settings.context_hosts,
            most=self._settings.max_context_bytes,
        )
        cure = "It is the context of a document; context_files can name a file to use instead."
        try:
            reply = await self._session.ask(request)
            links = reply.links("alternate")
            alternates = [to for to, parameters in links if parameters.get("type") == _LD]
            if alternates and not reply.content_type.endswith("json"):
                alternate = replace(request, url=joined(reply.url, alternates[0]))
                reply = await self._session.ask(alternate)
            return reply.url, reply.json()
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error} {cure}") from None
        except StoreError as error:
            raise StoreError(f"{error} {cure}") from None


def _from_file(url: str, path: str) -> tuple[str, Any]:
    try:
        return url, json.loads(Path(path).expanduser().read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(
            f"The setting context_files names {path} for {short(url)}, which cannot be read as "
            f"JSON: {error}."
        ) from None


def _plain(url: str) -> str:
    return url.rstrip("/").removeprefix("https://").removeprefix("http://")
