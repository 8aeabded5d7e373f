"""What stands in a row of results."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from bfsql.models.rdf import Literal


class Blank(NamedTuple):
    """A blank node: it leads nowhere, since its label holds for one answer alone."""

    label: str


Term: TypeAlias = str | Literal | Blank
"""An IRI (plain text), a literal, or a blank node."""

Row: TypeAlias = tuple[Term | None, ...]
"""One solution, in the order of the projection; None is what is not bound."""
