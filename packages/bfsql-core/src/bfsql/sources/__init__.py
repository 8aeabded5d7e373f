"""Readers of graph files: one format a module, each a stream that memory does not grow with."""

from bfsql.sources.formats import FORMATS, Format, SourceOptions
from bfsql.sources.open import open_source, read_all

__all__ = ["FORMATS", "Format", "SourceOptions", "open_source", "read_all"]
