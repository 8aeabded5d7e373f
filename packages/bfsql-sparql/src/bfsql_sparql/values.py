"""JSON values as literals that every store gives back as they were.

Stores rewrite literals: Oxigraph writes numbers in its own way, Virtuoso shows
six digits of a double, makes decimals of integers beyond 32 bits and takes no
U+0000. So only what passes through all of them is a literal of its own type;
anything else is a JSON text with the datatype `rdf:JSON`. Reading is the
business of `bfsql.models.rdf.value_of`.
"""

from __future__ import annotations

import json
from typing import Any

from bfsql.models.json_values import as_text
from bfsql.models.merge import sorted_union
from bfsql.models.rdf import JSON, WELL_KNOWN, Literal, is_iri

_XSD = WELL_KNOWN["xsd"]
_INT32 = 2**31


def literals(value: Any) -> list[Literal]:
    """The literals that a value is written as.

    A list becomes several where nothing is lost by it: a set of values has no order, no
    duplicates, no length below two and, since stores convert, not two types of numbers.

    Args:
        value: Plain JSON, as `bfsql.loading` gives it.
    """
    if isinstance(value, list) and is_several(value) and len(set(map(type, value)) - {str}) <= 1:
        several = [_scalar(item) for item in value]
        if len(several) > 1 and None not in several:
            return [one for one in several if one is not None]
    return [_scalar(value) or _json(value)]


def is_several(values: list[Any]) -> bool:
    """Whether the list is as values of one property come back: some, sorted, each once."""
    return bool(values) and sorted_union(values) == values


def is_plain(value: Any) -> bool:
    """Whether the value is a text that can stand as a literal."""
    return isinstance(value, str) and "\0" not in value


def _scalar(value: Any) -> Literal | None:
    """The literal of its own type; None where some store would change it."""
    match value:
        case bool():
            return Literal(str(value).lower(), None, f"{_XSD}boolean")
        case int() if -_INT32 <= value < _INT32:
            return Literal(str(value), None, f"{_XSD}integer")
        case float() if float(f"{value:g}") == value:
            return Literal(repr(value), None, f"{_XSD}double")
        case str() if is_plain(value):
            # Virtuoso makes an IRI of a bare text that is one in the same update.
            return Literal(as_text(value), None, f"{_XSD}string" if is_iri(value) else None)
    return None


def _json(value: Any) -> Literal:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Literal(as_text(written), None, JSON)
