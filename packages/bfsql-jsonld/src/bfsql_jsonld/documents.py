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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyld import jsonld
from pyld.context_resolver import ContextResolver

from bfsql.errors import SourceError, StoreError, StoreUnavailable
from bfsql.models.rdf import Literal, in_languages, value_of
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.json_ld_guard import check_json_ld
from bfsql_jsonld.attributes import Attributes, Described
from bfsql_jsonld.replies import Reply, Request, Unreadable, joined, short
from bfsql_jsonld.routes import NAMES, SYNONYMS, Names
from bfsql_jsonld.session import Session
from bfsql_jsonld.settings import JsonLdSettings

CONTEXT_LINK = "http://www.w3.org/ns/json-ld#context"
"""Relation of the `Link` header that names a context (JSON-LD 1.1, 6.1)."""

_DEEPEST = 5  # levels of nested nodes without an IRI
_IN_THREAD = 20_000  # bytes from which others need not wait; contexts mostly have more

Record = NodeRecord | EdgeRecord
Ordered = dict[str, dict[str, list[Any]]]


class _ContextMissing(Exception):
    """A context that is not loaded yet."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Linked:
    """Reads JSON-LD documents.

    Args:
        contexts: The contexts that documents name by URL.
        names: Short ids for IRIs.
        settings: The languages, the context of documents that name none, and limits.
    """

    def __init__(self, contexts: Contexts, names: Names, settings: JsonLdSettings) -> None:
        self._contexts = contexts
        self._names = names
        self._settings = settings
        self._languages = tuple(settings.languages)

    async def read(self, reply: Reply, document: Any) -> Described:
        """The content of a document.

        Args:
            reply: The reply with the document; its URL is the base of relative IRIs.
            document: Its JSON.

        Raises:
            StoreError: The document is not JSON-LD, or a context of it cannot be loaded.
        """
        with reply.read():
            if not isinstance(document, dict | list):  # the library would fetch a text as a URL
                raise Unreadable("it is not JSON-LD, which is an object or a list of objects")
            try:
                check_json_ld(reply.url, document)
            except SourceError as error:
                raise Unreadable(f"it {error.reason}") from None
        have: dict[str, tuple[str, Any]] = {}
        outer = self._outer_context(reply, document)
        work = (document, reply.url, outer, have)
        while True:
            try:
                with reply.read():
                    if len(reply.body) < _IN_THREAD and not have:
                        expanded, flat = _flattened(*work)
                    else:
                        expanded, flat = await asyncio.to_thread(_flattened, *work)
                    ordered: Ordered = {}
                    records = [*self._records(flat, ordered), *self._pointed_to(expanded)]
                    return Described.of(records, self._roots(expanded), ordered)
            except _ContextMissing as wanted:
                with reply.read():
                    if len(have) >= self._settings.max_contexts:
                        raise Unreadable(
                            f"it needs more than {len(have)} contexts (max_contexts)"
                        ) from None
                have[wanted.url] = await self._contexts.get(wanted.url)

    def _outer_context(self, reply: Reply, document: Any) -> str | None:
        """The context that accompanies the document, if JSON comes without one."""
        if reply.content_type != "application/ld+json":
            for target, _ in reply.links(CONTEXT_LINK):
                return joined(reply.url, target)
        named = isinstance(document, Mapping) and "@context" in document
        return None if named else self._settings.context

    # --- node objects to records --------------------------------------------

    def _roots(self, expanded: list[Any]) -> Iterator[str]:
        for node in expanded:
            named = node.get("@id") if isinstance(node, dict) else None
            if isinstance(named, str) and not named.startswith("_:"):
                yield self._names.short(named)

    def _pointed_to(self, expanded: list[Any]) -> Iterator[Record]:
        """Records of the subjects of documents that state only who links to them."""
        for root in self._roots([node for node in expanded if "@reverse" in node]):
            yield NodeRecord(root, "")

    def _records(self, flat: list[Any], ordered: Ordered) -> Iterator[Record]:
        """Records of all nodes; lists whose order is significant go into `ordered`."""
        nodes = list(_with_graphs(flat))
        blank = {node["@id"]: node for node in nodes if node["@id"].startswith("_:")}
        for node in nodes:
            if node["@id"] not in blank and len(node) > 1:
                yield from self._of_node(node, blank, ordered)

    def _of_node(
        self, node: Mapping[str, Any], blank: Mapping[str, Any], ordered: Ordered
    ) -> Iterator[Record]:
        entity_id = self._names.short(node["@id"])
        for name in node.get("@type", ()):
            if not name.startswith("_:"):
                yield NodeRecord(entity_id, self._names.short(name))
        for iri, values in _statements(node):
            predicate = self._names.short(iri)
            for value in values:
                for target in _targets(value):
                    if target not in blank and not target.startswith("_:"):
                        yield EdgeRecord(entity_id, predicate, self._names.short(target))
                found = self._value(value, blank, 0)
                if isinstance(found, list) and len(values) == 1:
                    ordered.setdefault(entity_id, {})[predicate] = found
                elif found is not None:
                    yield NodeRecord(entity_id, "", _metadata(iri, predicate, found))
        yield NodeRecord(entity_id, "")

    def _value(self, value: Mapping[str, Any], blank: Mapping[str, Any], depth: int) -> Any:
        """A value that is not an edge; None for anything else, or a text in other languages."""
        if "@list" in value:
            found = [self._value(item, blank, depth) for item in value["@list"]]
            return [item for item in found if item is not None] or None
        if "@id" in value:
            node = blank.get(value["@id"])
            return None if node is None or depth >= _DEEPEST else self._nested(node, blank, depth)
        literal = value.get("@value")
        language = value.get("@language")
        if isinstance(literal, str):
            text = Literal(literal, language, value.get("@type"))
            return value_of(text) if in_languages(text, self._languages) else None
        return literal

    def _nested(
        self, node: Mapping[str, Any], blank: Mapping[str, Any], depth: int
    ) -> dict[str, Any] | None:
        types = [self._names.short(name) for name in node.get("@type", ())]
        found: dict[str, Any] = {"type": types[0] if len(types) == 1 else types} if types else {}
        for iri, values in _statements(node):
            several = [
                self._names.short(value["@id"])
                if "@id" in value and value["@id"] not in blank
                else self._value(value, blank, depth + 1)
                for value in values
            ]
            told = [value for value in several if value is not None]
            if told:
                found[self._names.short(iri)] = told[0] if len(told) == 1 else told
        return found or None


def _flattened(
    document: Any, url: str, outer: str | None, have: Mapping[str, tuple[str, Any]]
) -> tuple[list[Any], list[Any]]:
    """The document expanded, and flattened.

    Raises:
        _Wanted: The document needs a context that is not in `have`.
        Unreadable: The document is not JSON-LD.
    """
    wanted: list[str] = []

    def load(needed: str, _options: Any) -> dict[str, Any]:
        if needed not in have:
            wanted.append(needed)
            raise _ContextMissing(needed)
        came_from, found = have[needed]
        return {
            "contentType": "application/ld+json",
            "contextUrl": None,
            "documentUrl": came_from,
            "document": found,
        }

    options = {"base": url, "documentLoader": load, "extractAllScripts": False}
    if outer is not None:
        options["expandContext"] = outer
    try:
        # A separate resolver, since the library's stores contexts for the whole process.
        expanded = jsonld.expand(
            document, {**options, "contextResolver": ContextResolver({}, load)}
        )
        return expanded, jsonld.flatten(expanded, None, {"base": url, "documentLoader": load})
    except jsonld.JsonLdError as error:
        if wanted:
            raise _ContextMissing(wanted[-1]) from None
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


def _with_graphs(flat: list[Any]) -> Iterator[Mapping[str, Any]]:
    """Node objects of all graphs; the graph of a statement does not matter."""
    for node in flat:
        yield {key: value for key, value in node.items() if key != "@graph"}
        yield from _with_graphs(node.get("@graph", []))


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
    if iri in NAMES and isinstance(value, str):
        return {"name": value}
    if iri in SYNONYMS and isinstance(value, str):
        return {"synonyms": [value]}
    return {predicate: value}


class Documents:
    """Reads documents.

    Args:
        attributes: Reads documents of context brokers.
        linked: Reads all other documents, as JSON-LD.
        settings: Determines the kind that the API returns.
    """

    def __init__(self, attributes: Attributes, linked: Linked, settings: JsonLdSettings) -> None:
        self._attributes = attributes
        self._linked = linked
        self._settings = settings

    async def read(self, reply: Reply, document: Any) -> Described:
        """The content of a document, or of a list of documents.

        Raises:
            StoreError: The document is not of the expected kind.
        """
        if self._settings.reading == "attributes":
            with reply.read():
                return self._attributes.read(document)
        return await self._linked.read(reply, document)


_LD = "application/ld+json"
_ACCEPT = "application/ld+json, application/json;q=0.9"
_KEPT = 64  # contexts


class Contexts:
    """Context documents by URL.

    Args:
        session: Fetches them.
        settings: Files, hosts and limits.
    """

    def __init__(self, session: Session, settings: JsonLdSettings) -> None:
        self._session = session
        self._settings = settings
        self._files = {_plain(url): path for url, path in settings.context_files.items()}
        self._kept: dict[str, tuple[float, str, Any]] = {}

    async def get(self, url: str) -> tuple[str, Any]:
        """The URL of the context after redirects, and the context.

        Raises:
            StoreError: It may not be fetched, or is not a context.
            StoreUnavailable: Its host does not answer.
        """
        kept = self._kept.get(url)
        if kept is None or time.monotonic() >= kept[0]:
            path = self._files.get(_plain(url))
            found = self._from_file(url, path) if path else await self._fetched(url)
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            kept = self._kept[url] = (time.monotonic() + 3_600.0, *found)
        return kept[1], kept[2]

    async def _fetched(self, url: str) -> tuple[str, Any]:
        if not url.lower().startswith(("http://", "https://")):
            raise StoreError(
                f"A document names the context {short(url)!r}, which cannot be fetched. Name a "
                "file to use instead in context_files."
            )
        request = Request(
            url,
            accept=_ACCEPT,
            hosts=self._settings.context_hosts,
            most=self._settings.max_context_bytes,
        )
        cure = "It is the context of a document; context_files can name a file to use instead."
        try:
            reply = await self._session.ask(request)
            alternate = next(
                (to for to, told in reply.links("alternate") if told.get("type") == _LD), None
            )
            if alternate is not None and not reply.content_type.endswith("json"):
                reply = await self._session.ask(_at(request, joined(reply.url, alternate)))
            found = reply.json()
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error} {cure}") from None
        except StoreError as error:
            raise StoreError(f"{error} {cure}") from None
        return reply.url, _checked(url, found)

    def _from_file(self, url: str, path: str) -> tuple[str, Any]:
        try:
            found = json.loads(Path(path).expanduser().read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(
                f"The setting context_files names {path} for {short(url)}, which cannot be read as "
                f"JSON: {error}."
            ) from None
        return url, _checked(url, found)


def _at(request: Request, url: str) -> Request:
    return Request(url, accept=request.accept, hosts=request.hosts, most=request.most)


def _checked(url: str, found: Any) -> Any:
    if not isinstance(found, dict):
        raise StoreError(
            f"The context {short(url)} is not a JSON object, so it cannot be a context."
        )
    return found


def _plain(url: str) -> str:
    return url.rstrip("/").removeprefix("https://").removeprefix("http://")
