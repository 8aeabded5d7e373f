"""What tables and columns mean: one table of nodes, or one of edges.

    people: id=person_id, name=full_name, type='Person', aliases=nicknames, metadata=born|died
    employment: subject=person_id, predicate='works for', object=company_id

A table with a colon and what its columns are, separated by commas; a semicolon
ends it. A value in single quotes is a constant, any other is a column. Names
with spaces or signs stand in double quotes. In a configuration file the same is
a table: `{table = "people", id = "person_id", type = "'Person'", metadata = ["born"]}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

Name = Annotated[str, Field(min_length=1), AfterValidator(lambda value: _sound(value))]  # noqa: PLW0108 - it is defined below
"""Name of something in Postgres."""

Columns = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: _listed(value)),  # noqa: PLW0108 - it is defined below
]
"""Names of columns: a list, or one text with bars between them."""


class Table(BaseModel):
    """A table, a view or a materialized view, by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    table: Name = Field(description="`name` or `schema.name`.")
    metadata: Columns | None = Field(
        default=None, description="Columns of the metadata; all that mean nothing else by default."
    )

    @property
    def path(self) -> tuple[str | None, str]:
        """Schema, or None where the setting `schema` says it, and name."""
        parts = [_bare(part) for part in re.findall(_NAME_PART, self.table)]
        return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])  # noqa: PLR2004


class NodeTable(Table):
    """A table whose rows are nodes."""

    id: str = Field(default="id", description="Column of the id.")
    type: str | None = Field(
        default=None, description="Column of the type, or a constant; the table's name by default."
    )
    name: str | None = Field(
        default=None, description="Column of the display name; `name` by default, where it is."
    )
    aliases: str | None = Field(
        default=None, description="Column of further names: an array, JSON, or text."
    )


class EdgeTable(Table):
    """A table whose rows are edges."""

    subject: str = Field(default="subject", description="Column of the id that the edge leaves.")
    predicate: str | None = Field(
        default=None, description="Column, or a constant; the table's name by default."
    )
    object: str = Field(default="object", description="Column of the id that the edge enters.")


T = TypeVar("T", NodeTable, EdgeTable)


def constant(value: str) -> str | None:
    """The text of a constant in single quotes, None for the name of a column."""
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return None


def tables(value: Any) -> Any:
    """Tables out of texts; what is no text goes through as it is.

    Args:
        value: A text, or a list of texts, mappings and models. A command line cuts
            its texts at commas, so that the pieces are put together again here.

    Raises:
        ValueError: A sentence on what cannot be read.
    """
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return value
    parsed: list[Any] = []
    texts: list[str] = []
    for item in value:
        if isinstance(item, str):
            texts.append(item)
        else:
            parsed.append(item)
    return [*parsed, *_parsed(texts)]


# --- the short form ---------------------------------------------------------

_NAME = r'(?:"(?:[^"]|"")*"|[^\s:=,;"\'.|]+)'
_NAME_PART = rf"{_NAME}|[^.]+"
_HEAD = re.compile(rf"({_NAME}(?:\.{_NAME})?)\s*(?::|$)")
_ITEM = re.compile(
    rf"([a-z]+)\s*=\s*('(?:[^']|'')*'|{_NAME}(?:\s*\|\s*{_NAME})*|)$",
)
_CUT = re.compile(r"""((?:"[^"]*"|'[^']*'|[^,;"'])+)""")


def _parsed(texts: list[str]) -> Iterator[dict[str, Any]]:
    joined = ", ".join(texts)
    if joined.lstrip().startswith("{"):
        yield from _json(joined)
        return
    table: dict[str, Any] | None = None
    for piece in (found.strip() for found in _CUT.findall(joined)):
        head = _HEAD.match(piece)
        rest = piece
        if head:
            if table is not None:
                yield table
            table = {"table": head[1]}
            rest = piece[head.end() :].strip()
        item = _ITEM.match(rest)
        if table is None or (rest and item is None):
            raise ValueError(_UNREAD.format(piece))
        if item:
            table[item[1]] = item[2] if item[1] == "metadata" else _unquoted(item[2])
    if table is not None:
        yield table


_UNREAD = (
    "{!r} cannot be read; write a table, a colon and what its columns are, as in "
    "people: id=person_id, name=full_name, type='Person', metadata=born|died"
)


def _json(text: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = json.loads(f"[{text}]")
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    return found


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return [_bare(part.strip()) for part in re.findall(_NAME, value)]
    return value


def _unquoted(text: str) -> str:
    return text if text.startswith("'") else _bare(text)


def _sound(name: str) -> str:
    """The name, when Postgres can have one like it."""
    if "\0" in name or not name.isprintable():
        raise ValueError(f"{name!r} is no name of anything in Postgres")
    return name


def _bare(name: str) -> str:
    """A name without its double quotes."""
    return name[1:-1].replace('""', '"') if name[:1] == name[-1:] == '"' else name
