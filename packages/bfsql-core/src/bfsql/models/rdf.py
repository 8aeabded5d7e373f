"""RDF terms, their literals as JSON values, and short ids for IRIs.

A term is an IRI (a plain text), a `Literal`, or None for a blank node. Libraries of RDF have
terms of their own, some of which convert each literal on creation; here its text is unchanged.

An IRI has one id, whether it comes from a file, an endpoint or a model:
`prefix:local` if that can be reversed. An IRI that would read as the short id of
another IRI, or as no IRI at all, is written in angle brackets, which always mean
exactly the IRI inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from pydantic_core import from_json

ALL_LANGUAGES = "mul"
"""The language of a text that is the same in many languages."""
JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
"""Datatype of a literal that contains JSON text."""

_XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal: its text, and its language or datatype, if any."""

    text: str
    language: str | None = None
    datatype: str | None = None


Term: TypeAlias = str | Literal | None
"""An IRI, a literal, or None: a blank node."""

Statement: TypeAlias = tuple[Term, Term, Term]
"""Subject, predicate, object; the graph that holds it is ignored."""


def value_of(literal: Literal) -> Any:
    """The literal in JSON: integers, decimals, booleans and JSON as such, all else as text."""
    convert = _CONVERSIONS.get(literal.datatype or "")
    if convert is None:
        return literal.text
    try:
        return convert(literal.text.strip())
    except (ValueError, KeyError):
        return literal.text


def in_languages(literal: Literal, languages: Sequence[str]) -> bool:
    """Whether the literal has no language, `mul`, or one of these, where `en-GB` counts as `en`."""
    return not languages or language_rank(literal.language, languages) <= len(languages) + 1


def language_rank(language: str | None, languages: Sequence[str]) -> int:
    """The place of a language: the wanted ones in their order, then `mul`, none, all others."""
    if not language:
        return len(languages) + 1
    tag = language.casefold()
    tags = (tag, tag.partition("-")[0])
    ranks = (at for at, name in enumerate((*languages, ALL_LANGUAGES)) if name.casefold() in tags)
    return next(ranks, len(languages) + 2)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_INTEGERS = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte"
)
_CONVERSIONS: dict[str, Callable[[str], Any]] = {
    **{f"{_XSD}{name}": int for name in _INTEGERS.split()},
    **{f"{_XSD}{name}": _finite for name in ("decimal", "double", "float")},
    f"{_XSD}boolean": _TRUTH.__getitem__,
    JSON: from_json,
}


# --- short ids ----------------------------------------------------------------

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
    "dcat": "http://www.w3.org/ns/dcat#",
    "void": "http://rdfs.org/ns/void#",
    "prov": "http://www.w3.org/ns/prov#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": "http://wikiba.se/ontology#",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "obo": "http://purl.obolibrary.org/obo/",
    "mesh": "http://id.nlm.nih.gov/mesh/",
    "uniprot": "http://purl.uniprot.org/uniprot/",
    "up": "http://purl.uniprot.org/core/",
}
"""Prefixes that apply if neither options nor files bind the prefix or its namespace."""


_SAFE = (
    r"[A-Za-z0-9\-._~:/?@!$&'()*+,;="
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U000efffd]"
)
_PART = rf"(?:{_SAFE}|%[0-9A-Fa-f]{{2}})*"
_PLAIN = re.compile(rf"[A-Za-z][A-Za-z0-9+.\-]*:{_PART}(?:\#{_PART})?")
_ALLOWED = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")


def is_iri(text: str) -> bool:
    """Whether a text may appear between `<` and `>` in RDF and SPARQL, and is absolute."""
    return _ALLOWED.fullmatch(text) is not None


def may_be_same(one: str, other: str) -> bool:
    """Whether one id may be another spelling of the other: an IRI and a short id.

    Their last parts have to be equal, and a well-known prefix or namespace is that of the other.
    Which prefixes a file declared is not known any more.
    """
    one, other = _without_brackets(one), _without_brackets(other)
    iri, short = (one, other) if "://" in one else (other, one)
    prefix, _, local = short.partition(":")
    if one == other or "://" not in iri or "://" in short or not local:
        return one == other
    if prefix in WELL_KNOWN:
        return WELL_KNOWN[prefix] + local == iri
    namespace = iri.removesuffix(local)
    return namespace.endswith(("/", "#")) and namespace not in WELL_KNOWN.values()


def _without_brackets(id_: str) -> str:
    return id_[1:-1] if id_.startswith("<") and id_.endswith(">") else id_


class Prefixes:
    """Shortens IRIs with a fixed set of prefixes, and expands them again.

    Args:
        given: Prefix to namespace, from the options and the files. Of two prefixes with the
            same namespace the first applies; of two nested namespaces the longer.
    """

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._bound = dict(prefixes)
        for prefix, namespace in WELL_KNOWN.items():
            if prefix not in self._bound and namespace not in prefixes.values():
                self._bound[prefix] = namespace
        self._by_namespace: dict[str, str] = {}
        for prefix, namespace in self._bound.items():
            self._by_namespace.setdefault(namespace, prefix)
        longest = sorted(filter(None, self._by_namespace), key=len, reverse=True)
        # A pattern tries each namespace, so it is faster only where these are few.
        few = longest if len(longest) < 2 * len(WELL_KNOWN) else ()
        self._namespace = re.compile("|".join(map(re.escape, few)))
        self._lengths = () if few else tuple(dict.fromkeys(map(len, longest)))
        self.short = lru_cache(maxsize=1 << 15)(self._short)

    def full(self, id_: str) -> str | None:
        """The IRI that an id means, in any of its spellings; None if it means none."""
        if id_.startswith("<") and id_.endswith(">"):
            return id_[1:-1] if is_iri(id_[1:-1]) else None
        prefix, colon, local = id_.partition(":")
        if colon and local and not local.startswith("//") and prefix in self._bound:
            id_ = self._bound[prefix] + local
        return id_ if _PLAIN.fullmatch(id_) else None

    def _short(self, iri: str) -> str:
        """The id of an IRI: `prefix:local`, or the IRI itself if no prefix applies."""
        if _PLAIN.fullmatch(iri) is None:
            return f"<{iri}>"
        found = self._namespace.match(iri)
        starts = (iri[:length] for length in self._lengths)
        known = self._by_namespace
        namespace = found[0] if found else ""
        namespace = namespace or next((one for one in starts if one in known), "")
        local = iri[len(namespace) :]
        if namespace and local and not local.startswith("//"):
            return f"{known[namespace]}:{local}"
        scheme, _, rest = iri.partition(":")
        if scheme in self._bound and not rest.startswith("//"):
            return f"<{iri}>"
        return iri
