"""The formats of graph files, how the format of a path is determined, and the reading options."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bfsql.errors import SourceError


class Format(NamedTuple):
    """A format as help texts describe it."""

    summary: str
    """The content of such a file."""
    suffixes: tuple[str, ...]
    """Endings that identify the format; each may be followed by one of `PACKED`."""


FORMATS: dict[str, Format] = {
    "kgraph": Format("a kgraph bundle: a folder with entities.jsonl, relationships.jsonl", ()),
    "csv": Format("a table of nodes or of edges, cells separated by commas", (".csv",)),
    "tsv": Format("a table of nodes or of edges, cells separated by tabs", (".tsv", ".tab")),
    "jsonl": Format("nodes or edges, a JSON object a line", (".jsonl", ".ndjson")),
    "parquet": Format("a Parquet table of nodes or of edges", (".parquet", ".pq")),
    "graphrag": Format("Microsoft GraphRAG's output: a folder with entities.parquet, ...", ()),
    "json": Format(
        "a graph in one JSON value, read whole: networkx node-link or adjacency, Cytoscape, a list "
        "of nodes or of edges",
        (".json", ".cyjs"),
    ),
    "graphml": Format("GraphML", (".graphml",)),
    "gexf": Format("GEXF, as Gephi writes it", (".gexf",)),
    "gml": Format("GML, the Graph Modelling Language", (".gml",)),
    "turtle": Format("RDF in Turtle", (".ttl", ".turtle")),
    "ntriples": Format("RDF in N-Triples", (".nt", ".ntriples")),
    "nquads": Format("RDF in N-Quads; the graphs become one", (".nq", ".nquads")),
    "trig": Format("RDF in TriG; the graphs become one", (".trig",)),
    "rdfxml": Format("RDF in RDF/XML", (".rdf", ".owl")),
    "jsonld": Format("RDF in JSON-LD, read whole", (".jsonld",)),
}
"""The formats by name, as help texts describe them."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read graph files; every field can be left out."""

    format: str | None = None
    """Format of all files, by its name in `FORMATS`; otherwise the suffix decides."""
    encoding: str | None = None
    """Of text that does not say its own, by the name that Python has for it: `cp1252`. A byte order
    mark in a file counts more. Without it text is UTF-8."""
    null_texts: tuple[str, ...] = ("NaN", "nan", "null", "NULL", "None")
    """Texts that are no id, type, name, alias or predicate, as an empty one is; in metadata they
    stay. With an empty tuple, or one empty text, every other text counts."""
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
    """RDF: prefix to namespace, used to shorten ids before the prefixes of the files are. With
    None ids are whole IRIs in angle brackets."""
    languages: tuple[str, ...] = ()
    """RDF: languages of the texts to keep, for instance `en`; without any, all are kept."""


NO_OPTIONS = SourceOptions()
"""Default options: everything is read exactly as it is in the files."""

BUNDLE_FILES = ("manifest.json", "entities.jsonl", "entities.jsonl.gz")
"""Files that identify a folder as a kgraph bundle; one of them is enough."""

_FOLDERS = {
    "kgraph": BUNDLE_FILES,
    "graphrag": ("entities.parquet", "create_final_entities.parquet"),
}
"""Formats of folders, each with the files that identify it; one of them is enough."""

PACKED = frozenset({".gz", ".zst"})
"""Endings of compressed files."""

FORMER_NAMES = {"node-link": "json"}
"""Former names of formats."""

_BY_SUFFIX = {suffix: name for name, known in FORMATS.items() for suffix in known.suffixes}


def check_library(path: Path, what: str, module: str, extra: str) -> None:
    """Check that a library is installed, without importing it.

    Args:
        path: The file that needs it.
        what: What the library reads.
        module: The module to import.
        extra: The extra of bfsql-core that installs it.

    Raises:
        SourceError: The library is not installed; the message names the command that installs it.
    """
    if not _is_there(module):
        raise SourceError(
            path,
            f"reading {what} needs a library that is not installed; install it with: "
            f'pip install "bfsql-core[{extra}]"',
        )


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # raised for the package that contains the module
        return False


def format_of(path: Path, named: str | None) -> str:
    """The name of the format of a file or folder.

    Args:
        path: The file or folder to read.
        named: The format that the caller specified, or None.

    Raises:
        SourceError: The path does not exist, or its format is unknown; the
            message lists the known formats.
    """
    named = FORMER_NAMES.get(named or "", named)
    if named is not None and named not in FORMATS:
        raise SourceError(
            path, f"there is no format {named!r}; the formats are: {', '.join(FORMATS)}"
        )
    try:
        is_folder = path.is_dir()
        if not is_folder and not path.exists():
            raise SourceError(path, "there is no such file or folder; check the path")
        if is_folder:
            return _format_of_folder(path, named)
    except OSError as error:
        raise SourceError(path, f"cannot be accessed: {error.strerror}") from error
    if named == "kgraph":
        raise SourceError(path, "a kgraph bundle is a folder, but this is a file; name its folder")
    if named == "graphrag":
        raise SourceError(
            path, "GraphRAG's output is a folder, but this is a file; name its folder"
        )
    return named or _format_of_file(path)


def _format_of_folder(path: Path, named: str | None) -> str:
    if named is not None and named not in _FOLDERS:
        raise SourceError(path, f"this is a folder, but the format {named!r} is for single files")
    for format_, files in _FOLDERS.items():
        if named == format_ or (named is None and any((path / name).exists() for name in files)):
            return format_
    raise SourceError(
        path,
        "this folder is neither a kgraph bundle, which has a manifest.json or an entities.jsonl, "
        "nor GraphRAG's output, which has an entities.parquet; name such a folder, or the graph "
        "files themselves",
    )


def _format_of_file(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    found = _BY_SUFFIX.get(suffixes[-1]) if suffixes else None
    if found is None:
        known = ", ".join(
            f"{name} ({' '.join(f.suffixes) or 'folder'})" for name, f in FORMATS.items()
        )
        raise SourceError(
            path,
            "the file name has no known extension; name the format with --format. The formats "
            f"are: {known}",
        )
    return found
