"""The outline that the load of a file counted and kept in it.

It is valid as long as nothing else writes to the file, which the header of the file shows.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from functools import cache

from pydantic import TypeAdapter

from bfsql.models.outline import Outline
from bfsql_sqlite import queries


def to_text(outline: Outline, writes: int) -> str:
    """An outline as `of_file` reads it from a file with this number in its header."""
    text = json.dumps(_adapter().dump_python(outline))  # pydantic writes no lone surrogates
    return _mark(text, writes) + text


def of_file(reader: sqlite3.Connection, writes: int) -> Outline | None:
    """The outline that the load of a file kept; None if it did not, or another write followed."""
    ((stored,),) = reader.execute(queries.OUTLINE)
    mark, text = str(stored)[:8], str(stored)[8:]
    return _adapter().validate_python(json.loads(text)) if mark == _mark(text, writes) else None


@cache
def _adapter() -> TypeAdapter[Outline]:
    return TypeAdapter(Outline)


def _mark(text: str, writes: int) -> str:
    return f"{zlib.crc32(f'{writes} {text}'.encode()):08x}"
