"""Short ids for RDF: `prefix:local` for an IRI, where that can be undone.

One IRI must have one id, in the first statement of the first file as in the
last of the last. So the prefixes that files declare are collected before
anything is read, and stay as they are from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.sources.files import guarded, open_bytes

WELL_KNOWN = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "obo": "http://purl.obolibrary.org/obo/",
    "mesh": "http://id.nlm.nih.gov/mesh/",
    "uniprot": "http://purl.uniprot.org/uniprot/",
}
"""Prefixes that hold where neither options nor files bind the prefix or its namespace."""

_HEAD = 1 << 16
_TURTLE = re.compile(rb"^\s*@?prefix\s+([^\s:]*):\s*<([^\s<>]+)>", re.IGNORECASE)
_XML = re.compile(rb"""xmlns:([^\s=]+)\s*=\s*["']([^"'&<]+)["']""")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Prefixes:
    """Shortens IRIs by a fixed set of prefixes.

    Args:
        given: Prefix to namespace, the ones of the options and the files; of
            two with one namespace the first counts, of two that nest the longer.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        bound = dict(given)
        for prefix, namespace in WELL_KNOWN.items():
            if prefix not in bound and namespace not in given.values():
                bound[prefix] = namespace
        self._names = {prefix.casefold() for prefix in bound}
        self._by_namespace: dict[str, str] = {}
        for prefix, namespace in bound.items():
            self._by_namespace.setdefault(namespace, prefix)
        longest = sorted(filter(None, self._by_namespace), key=len, reverse=True)
        self._namespace = re.compile("|".join(map(re.escape, longest)))
        self.short = lru_cache(maxsize=1 << 15)(self._short)

    def _short(self, iri: str) -> str:
        """The id of an IRI: `prefix:local`, or the IRI itself where no prefix is of use.

        An IRI that would read as a short id of another one goes in angle brackets.
        """
        found = self._namespace.match(iri)
        if found:
            local = iri[found.end() :]
            if local and not local.startswith("//"):
                return f"{self._by_namespace[found[0]]}:{local}"
        scheme, _, rest = iri.partition(":")
        if scheme.casefold() in self._names and not rest.startswith("//"):
            return f"<{iri}>"
        return iri


def prefixes_of(path: Path, format_: str) -> dict[str, str]:
    """The prefixes that a file declares, of two for one prefix the first.

    Turtle and TriG are looked through to the end, a line at a time; of RDF/XML
    the first 64 KB are, where the root element stands.

    Args:
        path: The file.
        format_: One of the RDF formats.

    Raises:
        SourceError: The file cannot be read.
    """
    found: dict[str, str] = {}
    for prefix, namespace in guarded(path, _declared(path, format_)):
        if _ABSOLUTE.match(namespace):
            found.setdefault(prefix, namespace)
    return found


def _declared(path: Path, format_: str) -> Any:
    if format_ in {"turtle", "trig"}:
        with open_bytes(path) as stream:
            for line in stream:
                if found := _TURTLE.match(line.removeprefix(b"\xef\xbb\xbf")):
                    yield found[1].decode(), found[2].decode()
    elif format_ == "rdfxml":
        with open_bytes(path) as stream:
            for prefix, namespace in _XML.findall(stream.read(_HEAD)):
                yield prefix.decode(), namespace.decode()
    elif format_ == "jsonld":
        with open_bytes(path) as stream:
            yield from _in_context(stream.read())


def _in_context(content: bytes) -> Any:
    try:
        document = from_json(content.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return  # the reader says it better
    context = document.get("@context") if isinstance(document, dict) else None
    for part in context if isinstance(context, list) else [context]:
        if isinstance(part, dict):
            for term, meaning in part.items():
                if isinstance(meaning, str) and meaning.endswith(("/", "#", "_")):
                    yield term, meaning
