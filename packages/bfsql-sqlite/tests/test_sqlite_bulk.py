"""Tables that DuckDB reads make the graph, and the report, that their records make."""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.loading import Reading, Staging
from bfsql.loading.intake import Worker
from bfsql.models import LoadMode, LoadOptions, LoadReport
from bfsql.sources import SourceOptions
from bfsql_sqlite.bulk import bulk_graph
from bfsql_sqlite.plugin import plugin

CREATING = LoadOptions(LoadMode.REPLACE, create_nodes=True, default_type="Node")
Graph = tuple[list[Any], list[Any], dict[str, Any]]


def by_records(paths: Iterable[Path], options: SourceOptions, how: LoadOptions, at: Path) -> Graph:
    """Nodes, edges and report as the staging has them."""
    reading = Reading(plugin, [*paths], options, how=how)
    at.mkdir()
    with closing(Staging(at, Worker(), options=reading.how)) as staging:
        staging.take(reading.records)
        staging.merge_nodes()
        staging.merge_edges()
        nodes = [(*node[:2], node[2]) for node in staging.nodes()]
        edges = [tuple(edge) for edge in staging.edges()]
        known = {node[0] for node in nodes}
        report = staging.report
        ends = {end for s, _, o, _ in edges for end in (s, o)} - known
        report.dangling_edges = sum(not {s, o} <= known for s, _, o, _ in edges)
        report.dangling_examples = sorted(ends)[:5]
    return nodes, edges, told(reading, report)


def in_bulk(
    paths: Iterable[Path], options: SourceOptions, how: LoadOptions, at: Path
) -> Graph | None:
    """The same, as DuckDB reads it; None where it leaves that to the reader of records."""
    reading = Reading(plugin, [*paths], options, how=how)
    at.mkdir()
    with bulk_graph(reading.records, at, lambda: False, reading.how) as graph:
        if graph is None:
            return None
        ids = list(graph.ids())
        assert [one.n for one in ids] == list(range(len(ids)))
        assert [one.id for one in ids] == sorted(one.id for one in ids)
        nodes = [(one.id, one.type, decode(one.metadata)) for one in ids if one.type is not None]
        edges, both = [], []
        for part in graph.leaving():
            metadata = dict(part.metadata)
            both += part.triples.tolist()
            for s, p, o in part.triples.tolist():
                data = decode(metadata.get(len(edges)))
                edges.append((ids[s].id, graph.predicates[p], ids[o].id, data))
        entering = [row for part in graph.entering() for row in part.tolist()]
        assert entering == sorted(both, key=lambda row: (row[2], row[0], row[1]))
    return nodes, edges, told(reading, graph.report)


def decode(text: str | None) -> Any:
    import json

    return json.loads(text or "{}")


def told(reading: Reading, report: LoadReport) -> dict[str, Any]:
    return asdict(reading.completed(report))


def check(tmp_path: Path, *paths: Path, how: LoadOptions = CREATING, **options: Any) -> bool:
    """Whether the tables were read in bulk, with the same outcome."""
    given = SourceOptions(**options)
    found = in_bulk(paths, given, how, tmp_path / "bulk")
    if found is None:
        return False
    assert found == by_records(paths, given, how, tmp_path / "records")
    return True


def test_two_tables(tmp_path: Path) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text(
        'id,type,name,mass\na,Drug,"Aspirin, ""the"" one",1.50\nb,,Ä,\n\na,Drug,Acetyl,2\n'
        "id,type,name,mass\nc\nd,x,y,z,w\n,T,n,1\nnull,T,n,1\n"
    )
    edges.write_text(
        "subject,predicate,object,weight,confidence\na,treats,b,1,0.5\na,treats,b,2,0.9\n"
        "a,,b,,\nx,treats,a,true,\na,treats,b,,\n,p,b,,\nsubject,predicate,object,weight,confidence\n"
    )
    assert check(tmp_path, nodes, edges)


TEXTS = st.sampled_from(
    [
        *("", "a", "b", "c", "B", "ä", "🜁", "null", "NaN", "NULL", " ", " a", "a b", "0", "007"),
        *("1", "1.0", "1.50", "1e5", "1e-05", "true", "True", "-3", "a|b", "x;y|", ";", "|", "'"),
        *('""', '"a"', 'a"b', 'a"', '"a"b', '"x,y"', '"x""y"', '"x"";y"', "id", "type"),
        *("\\", "\\n", "\ufeff", "\x01", "\u2028", "\x85", "[1]", "{}", "#", "subject", "object"),
        *("a\tb", "name", '"\t"', "한", "[null]", "+1", "1_000", "Infinity", "x" * 300),
    ]
)
HEADERS = [
    ["id"],
    ["id", "type"],
    ["id", "type", "name", "mass"],
    ["id", "category", "name", "synonyms", "x"],
    ["x:ID(G)", "name", "n:int", "f:float[]", ":LABEL"],
    ["x:ID(H)", "b:boolean", ":IGNORE", "s:string"],
    ["subject", "object"],
    ["subject", "predicate", "object"],
    ["subject", "predicate", "object", "w", "confidence"],
    ["subject", "predicate", "object", "knowledge_source", "multiplicity", "confidences"],
    [":START_ID(G)", ":END_ID(H)", ":TYPE", "w:double"],
    ["subject", "predicate", "object", "provenance"],
    ["source", "target", "type", "weight"],
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, bytes]:
    """The ending of a name and the content of a table."""
    tabs = draw(st.booleans())
    separator = "\t" if tabs else draw(st.sampled_from(",,,;|"))
    header = draw(st.sampled_from(HEADERS))
    width = len(header)
    even = st.lists(TEXTS, min_size=width, max_size=width)
    ragged = st.lists(TEXTS, min_size=0, max_size=width + 2)
    rows = draw(st.lists(st.one_of(even, even, even, ragged, st.just(header)), max_size=12))
    end = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = [separator.join(row) for row in [header, *rows]]
    text = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    data = text.encode()
    if draw(st.integers(0, 9)) == 0:
        data += b'"'
    elif draw(st.integers(0, 9)) == 0:
        data += b"\xff" + draw(st.sampled_from([b"", b",a,b", b"\n"]))
    return (".tsv" if tabs else ".csv"), draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + data


@given(
    st.lists(tables(), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from(["", "Thing"]),
    st.sampled_from([False, False, False, True]),
)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
def test_whatever_the_tables_are(
    contents: list[tuple[str, bytes]], create: bool, default_type: str, strict: bool
) -> None:
    how = LoadOptions(
        LoadMode.REPLACE, create_nodes=create, default_type=default_type or "Node", strict=strict
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{at}{suffix}" for at, (suffix, _) in enumerate(contents)]
        for path, (_, data) in zip(paths, contents, strict=True):
            path.write_bytes(data)
        try:
            Reading(plugin, paths)
        except SourceError:
            return
        event(f"in bulk: {check(folder, *paths, how=how, default_type=default_type)}")
