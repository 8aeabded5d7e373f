"""The known formats of graph files, and which of them a file or folder has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.records import GraphStream
from bfsql.plugins.distributions import Installed, PluginState, plugins_of
from bfsql.sources.files import PACKED, faults_of
from bfsql.sources.headers import listed
from bfsql.sources.json_graphs import open_json
from bfsql.sources.json_ld_guard import is_json_ld
from bfsql.sources.json_records import is_lines
from bfsql.sources.kgraph import open_bundle
from bfsql.sources.options import SourceOptions
from bfsql.sources.parquet import open_graphrag, open_parquet
from bfsql.sources.rdf import open_rdf
from bfsql.sources.relational import OPENERS, files_in, opener_of
from bfsql.sources.rows import is_table
from bfsql.sources.tables import AnyTable, read_table
from bfsql.sources.text import beginning
from bfsql.sources.xml_graphs import Gexf, GraphML

Sniff: TypeAlias = Callable[[str], bool]
"""Whether a file that begins with this text has the format: up to 64 KB, decompressed; the last
line may be incomplete, and bytes that are not text are U+FFFD."""

Read: TypeAlias = Callable[[Path, SourceOptions, SourceAccount], AnyTable | GraphStream]
"""Reads a file or folder with options, of which it ignores those that do not concern it, on demand.

It yields a `Refusal` for each part that cannot be used, and enters columns and notes into the
account, among them one on everything that it leaves out; the caller counts the records. It raises
a `SourceError` if the file is not of the format or lacks something; faults that only show later
are raised between the records. `bfsql.sources.text` opens files, compressed or not.
"""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of graph files: how it is recognised, how it is read, and what a load leaves out.

    Another distribution adds a format by an entry point that names its value; the name of the
    entry point is the name of the format:

        [project.entry-points."bfsql.formats"]
        graphson = "bfsql_graphson:GRAPHSON"

    Several formats can have the same ending. The file is of the last of them whose `sniff`
    recognises it, or else of the first, which owns the ending. A file whose ending is unknown is
    of the last format that recognises it. In both cases formats of other distributions are last.
    """

    summary: str
    """The content of such a file, as help texts describe it."""
    read: Read
    suffixes: tuple[str, ...] = ()
    """Endings that identify the format; each may be followed by one of `PACKED`."""
    sniff: Sniff | None = None
    """Recognises a file; None if only the ending can."""
    folder: tuple[str, ...] = ()
    """Files that identify a folder of this format, one of which is enough; none if the format
    is for single files."""
    loses: str = ""
    """What a load leaves out of such a file, as a clause; empty if nothing."""


GROUP = "bfsql.formats"
"""The entry point group of formats of other distributions."""


_BLANK = "blank nodes in blank nodes"
_NAMES = f"graph names, {_BLANK}"
_DRAWN = "positions, colours, sizes"
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
        folder=("entities.parquet",),
        loses="communities, reports, covariates",
    ),
    "json": Format(
        "a graph in one JSON value, read whole: networkx node-link, Cytoscape, a list of nodes or "
        "of edges",
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
    "graphml": Format("GraphML", GraphML.read, (".graphml",), loses="hyperedges"),
    "gexf": Format("GEXF, as Gephi writes it", Gexf.read, (".gexf",), loses=_DRAWN),
    "turtle": Format("RDF in Turtle", open_rdf, (".ttl", ".turtle"), loses=_BLANK),
    "ntriples": Format("RDF in N-Triples", open_rdf, (".nt", ".ntriples"), loses=_BLANK),
    "nquads": Format(
        "RDF in N-Quads; the graphs become one", open_rdf, (".nq", ".nquads"), loses=_NAMES
    ),
    "trig": Format("RDF in TriG; the graphs become one", open_rdf, (".trig",), loses=_NAMES),
    "rdfxml": Format("RDF in RDF/XML", open_rdf, (".rdf", ".owl"), loses=_BLANK),
    "jsonld": Format(
        "RDF in JSON-LD, read whole", open_rdf, (".jsonld", ".json"), is_json_ld, loses=_NAMES
    ),
}
"""The formats of this distribution by name; of those with the same ending, the first owns it."""

_NETWORKX = "in Python, networkx.write_graphml(networkx.{}(FILE), 'graph.graphml')"
CONVERSIONS = {
    **dict.fromkeys((".xls", ".ods"), "save each sheet as CSV, and load those"),
    **dict.fromkeys((".cypher", ".cql"), "run it in Neo4j, and then: bfsql serve --backend neo4j"),
    **dict.fromkeys((".dot", ".gv"), _NETWORKX.format("nx_pydot.read_dot")),
    **dict.fromkeys((".net", ".paj"), _NETWORKX.format("read_pajek")),
    ".gml": _NETWORKX.format("read_gml"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z"), "unpack it, and load the folder"),
    **dict.fromkeys((".obo", ".ofn", ".omn"), "robot convert --input FILE --output graph.owl"),
    **dict.fromkeys((".cx", ".cx2", ".cys", ".xgmml"), "in Cytoscape, export it as GraphML or CSV"),
    **dict.fromkeys((".db", ".sql"), "export the tables of the database as CSV"),
    **dict.fromkeys((".pdf", ".docx"), "GraphRAG or LightRAG makes a graph of its text"),
    ".hdt": "with hdt-cpp, hdt2rdf FILE graph.nt",
    ".mtx": "in Python, scipy.io.mmread, and write its coordinates as CSV",
    ".pkl": "in Python, load it, and write it with networkx.write_graphml",
    ".graphson": "install a format, such as examples/bfsql-graphson",
    ".md": "install a format for notes, or a backend: docs/tutorial/write-a-backend.md",
}
"""Endings of files that no format reads, and what to do with them."""

_GRAPHSON = re.compile(r'"@type"\s*:\s*"g:')


_ELEMENT = re.compile(r"<(?:\w+:)?(\w+)")
_ROOTS = {"graphml": "graphml", "gexf": "gexf", "RDF": "rdfxml"}
_PREFIX = re.compile(r"^[ \t]*+@(?:prefix|base)[ \t][^<\n]*<[^<>\n]*>[ \t]*\.", re.MULTILINE)
_STATEMENT = re.compile(
    r"(?:<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+"
    r'(?:<[^<>\s]*>|_:\S+|"(?:[^"\\]|\\.)*+"\S*)(\s+(?:<[^<>\s]*>|_:\S+))?\s*\.\s*'
)


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
    states = []
    for one in plugins_of(GROUP):
        found = _load(one)
        state, summary = (found, "") if isinstance(found, str) else ("ok", found.summary)
        if one.name in FORMATS:
            state = "bfsql-core has a format of the same name"
        states.append(FormatState(one.name, one.distribution, one.version, state, summary))
    return states


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
    known, reason = known_formats(), ""
    if named is not None and named not in known:
        reason = f"there is no format {named!r}; the formats are: {', '.join(known)}{_broken()}"
        raise SourceError(path, reason)
    try:
        if path.is_dir():
            return _format_of_folder(path, named, known)
        if path == Path("-") or (path.exists() and not path.is_file()):
            reason = "is a pipe or a device; save its content as a file, and load that"
        elif not path.exists():
            reason = "there is no such file or folder; check the path"
    except OSError as error:
        raise SourceError(path, f"cannot be accessed: {error.strerror}") from error
    if not reason and named is not None and known[named].folder:
        reason = f"the format {named!r} is for folders, but this is a file; name its folder"
    if reason:
        raise SourceError(path, reason)
    return named or _format_of_file(path, known)


def is_bundle(folder: Path) -> bool:
    """Whether a folder has the files of a format for folders."""
    marks = (file for one in known_formats().values() for file in one.folder)
    return any((folder / file).exists() for file in marks)


def graph_files(folder: Path, named: str | None) -> tuple[list[Path], tuple[str, ...]] | None:
    """The graph files in a folder, and a note on the others; None if it has a format of its own.

    Raises:
        SourceError: The folder cannot be read, or contains no graph file.
    """
    known = known_formats()
    if (named in known and known[named].folder) or is_bundle(folder):
        return None
    inside = files_in(folder)
    found = [one for one in inside if one.parent == folder] or inside
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
    if owner is None and path.is_file() and opener_of(path) not in (None, OPENERS[0]):
        reason = "is read by the keys of its tables; load it without graph files, --format and"
        raise SourceError(path, f"{reason} options on columns, or change what --write keeps")
    if len(sharing) > 1:
        owner = _recognised(path, sharing, known) or owner
    elif suffix not in CONVERSIONS and (owner is None or owner in FORMATS):
        owner = format_by_content(path, owner) or _recognised(path, known, known)
    if owner is not None:
        return owner
    if suffix in CONVERSIONS:
        raise SourceError(path, f"{suffix} files cannot be read: {CONVERSIONS[suffix]}")
    endings = (f"{name} ({' '.join(one.suffixes) or 'folder'})" for name, one in known.items())
    raise SourceError(
        path,
        "the file name has no known extension; name the format with --format. The formats "
        f"are: {', '.join(endings)}{_broken()}",
    )


def format_by_content(path: Path, owner: str | None) -> str | None:
    """The format of a file by its content, if that is plain; or else the owner of its ending."""
    found = None
    with suppress(SourceError), faults_of(path):  # the reader reports the fault
        found = _format_of_content(beginning(path))
    is_json = found == "jsonld" and owner in {"json", "jsonl"}
    return owner if found is None or is_json or owner in _SUPERSETS.get(found, ()) else found


def _format_of_content(text: str) -> str | None:
    """The name of the format of a file that begins with this text; None if it is another one."""
    begin = text.lstrip()[:1]
    if begin == "<" and (root := _ELEMENT.search(text)) and root[1] in _ROOTS:
        return _ROOTS[root[1]]
    if begin in {"{", "["}:
        return "jsonld" if is_json_ld(text) else None
    if _PREFIX.search(text):
        return "turtle"
    lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
    statement = _STATEMENT.fullmatch(next(lines, ""))
    return statement and ("nquads" if statement[1] else "ntriples")


def note_on_name(path: Path, name: str) -> tuple[str, ...]:
    """A sentence on a file whose ending is that of another format, or nothing."""
    summaries = {suffix: one.summary for one in FORMATS.values() for suffix in one.suffixes}
    suffix = _suffix(path)
    if suffix not in summaries or name not in FORMATS or suffix in FORMATS[name].suffixes:
        return ()
    return (f"its content is {FORMATS[name].summary}, although its name ends in {suffix}",)


def _recognised(path: Path, names: Iterable[str], known: Mapping[str, Format]) -> str | None:
    """The last of the named formats that recognises a file."""
    with faults_of(path):
        text = beginning(path)
    sniffs = {name: known[name].sniff for name in reversed([*names])}
    found = next((name for name, sniff in sniffs.items() if sniff and sniff(text)), None)
    if found in {None, "jsonl"} and _GRAPHSON.search(text):
        raise SourceError(path, f"GraphSON cannot be read: {CONVERSIONS['.graphson']}")
    return found
