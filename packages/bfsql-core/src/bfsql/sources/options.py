"""What a person can say about graph files that the files do not say themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read graph files; every field can be left out."""

    format: str | None = None
    """Format of all files, by its name in `FORMATS`; otherwise the suffix decides."""
    id_column: str | None = None
    """Column of a node table with the node's id."""
    type_column: str | None = None
    """Column of a node table with the node's type."""
    name_column: str | None = None
    """Column of a node table with the display name."""
    alias_column: str | None = None
    """Column of a node table with further names, separated by `|` or `;`."""
    subject_column: str | None = None
    """Column of an edge table with the id of the node that the edge leaves."""
    predicate_column: str | None = None
    """Column of an edge table with what the relationship is."""
    object_column: str | None = None
    """Column of an edge table with the id of the node that the edge enters."""
    default_type: str = ""
    """Type of nodes that name none."""
    default_predicate: str = "related_to"
    """Predicate of edges that name none."""
    prefixes: Mapping[str, str] | None = field(default_factory=dict)
    """RDF: prefix to namespace; shortens ids, before the prefixes of the files. None shortens
    none: ids are whole IRIs in angle brackets."""
    languages: tuple[str, ...] = ()
    """RDF: languages of the texts to keep, for instance `en`; without any, all are kept."""


NO_OPTIONS = SourceOptions()
"""Everything as the files say it."""
