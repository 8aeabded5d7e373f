"""The one place where values become query text (`protocol.md`, rule 7)."""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.models.json_values import as_text
from bfsql.models.rdf import Literal, is_iri

_ESCAPES = str.maketrans(
    {
        "\\": "\\\\",
        '"': '\\"',
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\b": "\\b",
        "\f": "\\f",
    }
)


def iri(value: str) -> str:
    """An IRI between angle brackets.

    Raises:
        ValueError: It is none by the grammar, so that it could end the brackets.
    """
    if not is_iri(value):
        raise ValueError(f"{value!r} is no IRI")
    return f"<{value}>"


def iris(values: Iterable[str]) -> str:
    """IRIs with spaces between, for VALUES and IN lists of SPARQL's own."""
    return " ".join(map(iri, values))


def text(value: str) -> str:
    """A plain literal; half a surrogate pair is no text and becomes U+FFFD."""
    return f'"{as_text(value).translate(_ESCAPES)}"'


def literal(value: Literal) -> str:
    """A literal with its datatype, if any."""
    return text(value.text) + (f"^^{iri(value.datatype)}" if value.datatype else "")
