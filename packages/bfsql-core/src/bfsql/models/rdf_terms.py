"""RDF terms as files and endpoints hand them on, and what a literal is in JSON.

A term is an IRI (plain text), a `Text`, or None for a blank node. The library
has terms of its own, which convert each literal when it is made and complain
about what is no value of its type; files have both, and the text is as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_core import from_json

JSON = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON"
"""Datatype of a literal that is a JSON text."""

_XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True, slots=True)
class Text:
    """A literal: its text, and its language or datatype, if any."""

    text: str
    language: str | None = None
    datatype: str | None = None


Term: TypeAlias = str | Text | None
"""An IRI, a literal, or None: a blank node."""

Statement: TypeAlias = tuple[Term, Term, Term]
"""Subject, predicate, object; the graph that holds it is of no account."""


def value_of(literal: Text) -> Any:
    """The literal in JSON: integers, decimals, booleans and JSON as such, all else as its text."""
    convert = _CONVERSIONS.get(literal.datatype or "")
    if convert is None:
        return literal.text
    try:
        return convert(literal.text.strip())
    except (ValueError, KeyError):
        return literal.text


def in_languages(literal: Text, languages: tuple[str, ...]) -> bool:
    """Whether to keep the literal: it has no language, or one of these, `en-GB` being `en`."""
    if not languages or not literal.language:
        return True
    language = literal.language.casefold()
    wanted = [name.casefold() for name in languages]
    return language in wanted or language.partition("-")[0] in wanted


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
