"""What cannot be a parameter, as query text: the one place where names are quoted."""

from __future__ import annotations

from bfsql_postgres.catalogue import Column, Relation


def identifier(name: str) -> str:
    """A name in double quotes, whatever it is made of.

    Raises:
        ValueError: It is empty, or holds a character that no name has.
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is no name of anything in Postgres")
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """A text in single quotes; right whatever `standard_conforming_strings` is.

    Raises:
        ValueError: It holds a NUL, which no text in Postgres has.
    """
    if "\0" in text:
        raise ValueError(f"{text!r} holds a NUL, which no text in Postgres has")
    doubled = text.replace("'", "''")
    if "\\" in doubled:
        escaped = doubled.replace("\\", "\\\\")
        return f"E'{escaped}'"
    return f"'{doubled}'"


def relation_name(relation: Relation) -> str:
    """A table with its schema."""
    return f"{identifier(relation.schema)}.{identifier(relation.name)}"


def type_name(column: Column) -> str:
    """The type of a column with its schema."""
    return f"{identifier(column.type_schema)}.{identifier(column.type)}"
