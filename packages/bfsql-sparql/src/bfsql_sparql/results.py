"""The SPARQL 1.1 Query Results JSON Format: its terms, and rows made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from pydantic_core import from_json

from bfsql.models.rdf import Literal

_BLANK = b"bnode"


class Blank(NamedTuple):
    """A blank node: it leads nowhere, since its label holds for one answer alone."""

    label: str


Term: TypeAlias = str | Literal | Blank
"""An IRI (plain text), a literal, or a blank node."""

Row: TypeAlias = tuple[Term | None, ...]
"""One solution, in the order of the projection; None is what is not bound."""


class NoResults(ValueError):
    """The document is not in the format; the message says what it is."""


def rows(body: bytes) -> list[Row]:
    """All solutions of a SELECT.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    names, bindings = _solutions(body)
    try:
        columns = [[_term(one.get(name)) for one in bindings] for name in names]
    except (AttributeError, KeyError, TypeError) as error:
        raise NoResults(f"a row is none ({error})") from None
    return list(zip(*columns, strict=True)) if names else [()] * len(bindings)


def links(body: bytes) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Solutions without literals, all variables bound: those of IRIs alone, and those with blanks.

    The way for edges, which come in tens of thousands: no object is made a term.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    names, bindings = _solutions(body)
    try:
        values = list(
            zip(*([one[name]["value"] for one in bindings] for name in names), strict=True)
        )
        if _BLANK not in body:
            return values, []
        blank = [any(one[name]["type"] == "bnode" for name in names) for one in bindings]
    except (KeyError, TypeError) as error:
        raise NoResults(f"a row lacks {error}") from None
    iris = [row for row, is_blank in zip(values, blank, strict=True) if not is_blank]
    return iris, [row for row, is_blank in zip(values, blank, strict=True) if is_blank]


def truth(body: bytes) -> bool:
    """The answer to an ASK; one server gives the row of a SELECT in its place.

    Raises:
        NoResults: The document is broken, cut, or something else.
    """
    document = _document(body)
    answer = document.get("boolean")
    if isinstance(answer, bool):
        return answer
    first = next((value for row in rows(body) for value in row), None)
    return isinstance(first, Literal) and first.text in ("1", "true")


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = from_json(body)
    except ValueError as error:
        raise NoResults(f"it is not whole, or not JSON ({error})") from None
    if not isinstance(document, dict):
        raise NoResults("it is JSON, but no results of SPARQL")
    return document


def _solutions(body: bytes) -> tuple[list[str], list[dict[str, Any]]]:
    document = _document(body)
    try:
        names, bindings = document["head"]["vars"], document["results"]["bindings"]
    except (KeyError, TypeError):
        raise NoResults("it is JSON, but no results of SPARQL") from None
    if not isinstance(names, list) or not isinstance(bindings, list):
        raise NoResults("it is JSON, but no results of SPARQL")
    return names, bindings


def _term(found: Mapping[str, Any] | None) -> Term | None:
    if found is None:
        return None
    kind, value = found["type"], found["value"]
    if kind == "uri":
        return value  # type: ignore[no-any-return]
    if kind == "bnode":
        return Blank(value)
    if kind == "triple":  # no id stands for it, either
        return Blank("triple")
    return Literal(value, found.get("xml:lang"), found.get("datatype"))
