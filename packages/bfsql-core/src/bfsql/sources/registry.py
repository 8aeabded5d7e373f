"""The known formats of graph files, and which of them a file or folder has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream
from bfsql.plugins.distributions import Installed, PluginState, plugins_of
from bfsql.sources.contents import format_of_content
from bfsql.sources.files import faults_of
from bfsql.sources.formats import PACKED, Format, SourceOptions
from bfsql.sources.gexf import Gexf
from bfsql.sources.gml import open_gml
from bfsql.sources.graphml import GraphML
from bfsql.sources.headers import listed
from bfsql.sources.json_graphs import open_json
from bfsql.sources.json_ld_guard import is_json_ld
from bfsql.sources.json_lines import is_lines
from bfsql.sources.kgraph import open_bundle
from bfsql.sources.obo_graphs import is_obo_graphs, open_obo_graphs
from bfsql.sources.parquet_graphs import open_graphrag, open_parquet
from bfsql.sources.rows import is_table
from bfsql.sources.tables import read_table
from bfsql.sources.text import beginning

GROUP = "bfsql.formats"
"""The entry point group of formats of other distributions."""


def _read_rdf(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    from bfsql.sources.rdf import open_rdf

    return open_rdf(path, account.format, options, account)


_BLANK = "blank nodes in blank nodes"
_SUPERSETS = {"ntriples": {"turtle", "trig", "nquads"}, "nquads": {"trig"}, "turtle": {"trig"}}
"""Formats whose readers also read another one."""

FORMATS: dict[str, Format] = {
    "kgraph": Format(
        "a kgraph bundle: a folder with entities.jsonl, relationships.jsonl",
        open_bundle,
        folder=("manifest.json", "entities.jsonl", "entities.jsonl.gz"),
        loses="mentions, which are only counted",
    ),
    "csv": Format(
        "a table of nodes or of edges, cells separated by commas, semicolons, bars, tabs or blanks",
        read_table,
        (".csv",),
        sniff=is_table,
    ),
    "tsv": Format(
        "a table of nodes or of edges, cells separated by tabs", read_table, (".tsv", ".tab")
    ),
    "parquet": Format(
        "a Parquet table of nodes or of edges",
        open_parquet,
        (".parquet", ".pq"),
        loses="binary values that are not text",
    ),
    "graphrag": Format(
        "Microsoft GraphRAG's output: a folder with entities.parquet, ...",
        open_graphrag,
        folder=("entities.parquet", "create_final_entities.parquet"),
        loses="communities, reports, covariates",
    ),
    "json": Format(
        "a graph in one JSON value, read whole: networkx node-link or adjacency, Cytoscape, a list "
        "of nodes or of edges",
        open_json,
        (".json", ".cyjs"),
        loses="of Cytoscape's elements everything but their data",
    ),
    "jsonl": Format(
        "nodes, edges or both, a JSON object a line, as the MCP memory server and APOC write them",
        read_table,
        (".jsonl", ".ndjson", ".json"),
        sniff=is_lines,
    ),
    "obographs": Format(
        "OBO Graphs, an ontology in one JSON value, read whole",
        open_obo_graphs,
        (".json",),
        sniff=is_obo_graphs,
        loses="axioms other than edges and logical definitions",
    ),
    "graphml": Format(
        "GraphML",
        lambda path, options, account: GraphML(path, options, account).records(),
        (".graphml",),
        loses="hyperedges",
    ),
    "gexf": Format(
        "GEXF, as Gephi writes it",
        lambda path, options, account: Gexf(path, options, account).records(),
        (".gexf",),
        loses="positions, colours, sizes",
    ),
    "gml": Format(
        "GML, the Graph Modelling Language", open_gml, (".gml",), loses="positions, colours, sizes"
    ),
    "turtle": Format("RDF in Turtle", _read_rdf, (".ttl", ".turtle"), loses=_BLANK),
    "ntriples": Format("RDF in N-Triples", _read_rdf, (".nt", ".ntriples"), loses=_BLANK),
    "nquads": Format(
        "RDF in N-Quads; the graphs become one",
        _read_rdf,
        (".nq", ".nquads"),
        loses=f"graph names, {_BLANK}",
    ),
    "trig": Format(
        "RDF in TriG; the graphs become one", _read_rdf, (".trig",), loses=f"graph names, {_BLANK}"
    ),
    "rdfxml": Format("RDF in RDF/XML", _read_rdf, (".rdf", ".owl"), loses=_BLANK),
    "jsonld": Format(
        "RDF in JSON-LD, read whole",
        _read_rdf,
        (".jsonld", ".json"),
        sniff=is_json_ld,
        loses=f"graph names, {_BLANK}",
    ),
}
"""The formats of this distribution by name; of those with the same ending, the first owns it."""

_SHEETS = "save each sheet as CSV, and load those"
_SCRIPT = "run it in Neo4j, and then: bfsql serve --backend neo4j"
_NETWORKX = "in Python, networkx.write_graphml(networkx.{}(FILE), 'graph.graphml')"
CONVERSIONS = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEETS),
    **dict.fromkeys((".cypher", ".cql"), _SCRIPT),
    **dict.fromkeys((".dot", ".gv"), _NETWORKX.format("nx_pydot.read_dot")),
    **dict.fromkeys((".net", ".paj"), _NETWORKX.format("read_pajek")),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z"), "unpack it, and load the folder"),
    **dict.fromkeys((".obo", ".ofn", ".omn"), "robot convert --input FILE --output graph.owl"),
    **dict.fromkeys((".cx", ".cx2", ".cys", ".xgmml"), "in Cytoscape, export it as GraphML or CSV"),
    **dict.fromkeys((".db", ".sqlite", ".sql"), "export the tables of the database as CSV"),
    **dict.fromkeys((".pdf", ".docx"), "GraphRAG or LightRAG makes a graph of its text"),
    ".hdt": "with hdt-cpp, hdt2rdf FILE graph.nt",
    ".mtx": "in Python, scipy.io.mmread, and write its coordinates as CSV",
    ".pkl": "in Python, load it, and write it with networkx.write_graphml",
    ".graphson": "install a format, such as examples/bfsql-graphson",
    ".md": "install a format for notes, or a backend: docs/tutorial/write-a-backend.md",
}
"""Endings of files that no format reads, and what to do with them."""

_GRAPHSON = re.compile(r'"@type"\s*:\s*"g:')


def known_formats() -> dict[str, Format]:
    """All formats by name, those of other distributions last; without any that is broken."""
    theirs = {one.name: _load(one) for one in plugins_of(GROUP)}
    usable = {name: found for name, found in theirs.items() if isinstance(found, Format)}
    return FORMATS | {name: found for name, found in usable.items() if name not in FORMATS}


@cache
def _load(one: Installed) -> Format | str:
    """The format, or why it cannot be used."""
    try:
        found = one.entry_point.load()
    except (Exception, SystemExit) as cause:  # noqa: BLE001 - third-party code may raise anything
        return f"it cannot be imported ({type(cause).__name__}: {cause})"
    return found if isinstance(found, Format) else "it is not a bfsql.sources.Format"


@dataclass(frozen=True, slots=True)
class FormatState(PluginState):
    """A format of another distribution, as a line of `bfsql backends`."""

    summary: str


def format_states() -> list[FormatState]:
    """Every installed format of another distribution."""
    return [_state(one, _load(one)) for one in plugins_of(GROUP)]


def _state(one: Installed, found: Format | str) -> FormatState:
    state, summary = (found, "") if isinstance(found, str) else ("ok", found.summary)
    if one.name in FORMATS:
        state = "bfsql-core has a format of the same name"
    return FormatState(one.name, one.distribution, one.version, state, summary)


def _broken() -> str:
    """A sentence on the formats that cannot be used, or nothing."""
    broken = [f"{one.name} of {one.distribution}" for one in format_states() if not one.ok]
    return f"; installed, but not usable: {', '.join(broken)}" if broken else ""


def format_of(path: Path, named: str | None) -> str:
    """The name of the format of a file or folder.

    Args:
        path: The file or folder to read.
        named: The format that the caller specified, or None.

    Raises:
        SourceError: The path does not exist, or its format is unknown; the
            message lists the known formats.
    """
    known = known_formats()
    if named is not None and named not in known:
        names = ", ".join(known)
        raise SourceError(
            path, f"there is no format {named!r}; the formats are: {names}{_broken()}"
        )
    try:
        is_folder = path.is_dir()
        if not is_folder and not path.exists():
            raise SourceError(path, "there is no such file or folder; check the path")
        if is_folder:
            return _format_of_folder(path, named, known)
    except OSError as error:
        raise SourceError(path, f"cannot be accessed: {error.strerror}") from error
    if named is not None and known[named].folder:
        raise SourceError(
            path, f"the format {named!r} is for folders, but this is a file; name its folder"
        )
    return named or _format_of_file(path, known)


def graph_files(folder: Path, named: str | None) -> tuple[list[Path], tuple[str, ...]] | None:
    """The graph files in a folder, and a note on the others; None if it has a format of its own.

    Raises:
        SourceError: The folder cannot be read, or contains no graph file.
    """
    known = known_formats()
    marks = [file for one in known.values() for file in one.folder]
    if (named in known and known[named].folder) or any((folder / file).exists() for file in marks):
        return None
    with faults_of(folder):
        found = [*sorted(one for one in folder.iterdir() if one.name[0] != "." and one.is_file())]
    files, others = [], []
    for file in found:
        try:
            format_of(file, named)
            files.append(file)
        except SourceError:
            others.append(file.name)
    if not files:
        has = f"has no graph file; its files are: {listed(others)}" if others else "is empty"
        raise SourceError(
            folder,
            f"this folder {has}. Give graph files, a folder of them, a kgraph bundle (with a "
            "manifest.json or an entities.jsonl), or GraphRAG's output (with an entities.parquet)",
        )
    return files, ((f"not read from its folder: {listed(others)}",) if others else ())


def _format_of_folder(path: Path, named: str | None, known: Mapping[str, Format]) -> str:
    if named is not None and not known[named].folder:
        raise SourceError(path, f"this is a folder, but the format {named!r} is for single files")
    for name, one in known.items():
        if name == named or (named is None and any((path / file).exists() for file in one.folder)):
            return name
    raise SourceError(path, "this folder has no format of its own; name the files in it")


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return next((suffix for suffix in reversed(suffixes) if suffix not in PACKED), "")


def _format_of_file(path: Path, known: Mapping[str, Format]) -> str:
    suffix = _suffix(path)
    sharing = [name for name, one in known.items() if suffix in one.suffixes]
    owner = sharing[0] if sharing else None
    if len(sharing) > 1:
        owner = _recognised(path, sharing, known) or owner
    elif suffix not in CONVERSIONS and (owner is None or owner in FORMATS):
        owner = format_by_content(path, owner) or _recognised(path, known, known)
    if owner is None and suffix in CONVERSIONS:
        raise SourceError(path, f"{suffix} files cannot be read: {CONVERSIONS[suffix]}")
    if owner is None:
        endings = ", ".join(
            f"{name} ({' '.join(one.suffixes) or 'folder'})" for name, one in known.items()
        )
        raise SourceError(
            path,
            "the file name has no known extension; name the format with --format. The formats "
            f"are: {endings}{_broken()}",
        )
    return owner


def format_by_content(path: Path, owner: str | None) -> str | None:
    """The format of a file by its content, if that is plain; or else the owner of its ending."""
    found = None
    with suppress(SourceError), faults_of(path):  # the reader reports the fault
        found = format_of_content(beginning(path)) if path.is_file() else None
    is_json = found == "jsonld" and owner in {"json", "jsonl"}
    return owner if found is None or is_json or owner in _SUPERSETS.get(found, ()) else found


def note_on_name(path: Path, name: str) -> tuple[str, ...]:
    """A sentence on a file whose ending is that of another format, or nothing."""
    summaries = {suffix: one.summary for one in FORMATS.values() for suffix in one.suffixes}
    suffix = _suffix(path)
    if suffix not in summaries or name not in FORMATS or suffix in FORMATS[name].suffixes:
        return ()
    return (f"its content is {FORMATS[name].summary}, although its name ends in {suffix}",)


def _recognised(path: Path, names: Iterable[str], known: Mapping[str, Format]) -> str | None:
    """The last of the named formats that recognises a file; a pipe is not read."""
    if not path.is_file():
        return None
    with faults_of(path):
        text = beginning(path)
    sniffs = ((name, known[name].sniff) for name in reversed([*names]))
    found = next((name for name, sniff in sniffs if sniff is not None and sniff(text)), None)
    if found in {None, "jsonl"} and _GRAPHSON.search(text):
        raise SourceError(path, f"GraphSON cannot be read: {CONVERSIONS['.graphson']}")
    return found
