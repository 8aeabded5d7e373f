"""Readers of graph files: one module per format, each a stream with bounded memory use."""

from bfsql.sources.open import RDF, Source, open_source, open_sources, read_all
from bfsql.sources.options import SourceOptions
from bfsql.sources.registry import FORMATS, Format

__all__ = [
    "FORMATS",
    "RDF",
    "Format",
    "Source",
    "SourceOptions",
    "open_source",
    "open_sources",
    "read_all",
]
