"""CSV, TSV and JSON Lines tables: columns, cells, bad rows, size."""

import csv
import io
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources, read_all
from bfsql.sources.fields import value_of


def test_a_node_table_by_its_usual_columns(read):
    found = read("n.csv", "id,type,name,aliases,age\nn1,person,Ann,A|Anna,41\nn2,,,,\n")
    assert found.nodes == [
        NodeRecord("n1", "person", {"age": 41, "name": "Ann", "synonyms": ["A", "Anna"]}),
        NodeRecord("n2", "", {}),
    ]


@pytest.mark.parametrize(
    "header",
    [
        *("subject,predicate,object", "source,type,target", "from,relation,to", "start,label,end"),
        *(":START_ID,:TYPE,:END_ID", "Source,Relationship,Target"),
    ],
)
def test_an_edge_table_by_its_usual_columns(read, header):
    found = read("e.csv", f"{header},since\na,knows,b,1999\n")
    assert found.edges == [EdgeRecord("a", "knows", "b", {"since": 1999})]


def test_a_neo4j_node_header(read):
    found = read("n.csv", "personId:ID(Person),name,:LABEL\n1,Ann,Person\n")
    assert found.nodes == [NodeRecord("1", "Person", {"name": "Ann"})]


def test_label_is_the_name_where_no_other_column_is(read):
    assert read("a.csv", "Id,Label\n1,Ann\n").nodes == [NodeRecord("1", "", {"name": "Ann"})]
    assert read("b.csv", "id,name,label\n1,Ann,P\n").nodes == [
        NodeRecord("1", "P", {"name": "Ann"})
    ]


def test_columns_by_option(read):
    text = "key;sort;called;also;name\nk1;film;Big;Large;extra\n"
    options = {"id_column": "key", "type_column": "sort", "name_column": "called"}
    found = read("n.csv", text, **options, alias_column="also")
    metadata = {"name": "Big", "synonyms": ["Large"], "column.name": "extra"}
    assert found.nodes == [NodeRecord("k1", "film", metadata)]
    text = "a,b,c\nx,y,z\n"
    options = {"subject_column": "c", "predicate_column": "b", "object_column": "a"}
    assert read("e.csv", text, **options).triples == [("z", "y", "x")]


def test_defaults_for_what_a_table_does_not_say(read):
    assert read("n.csv", "id\na\n", default_type="thing").nodes == [NodeRecord("a", "thing", {})]
    assert read("e.csv", "from,to\na,b\n").triples == [("a", "related_to", "b")]
    assert read("f.csv", "from,to\na,b\n", default_predicate="p").triples == [("a", "p", "b")]


def test_node_and_edge_tables_together_are_one_graph(write, sort_out):
    paths = [write("n.tsv", "id\tname\na\tAnn\n"), write("e.csv", "src,dst,rel\na,b,likes\n")]
    options = SourceOptions(id_column="id", subject_column="src", object_column="dst")
    found = sort_out(read_all(paths, options))
    assert [node.id for node in found.nodes] == ["a"]
    assert found.triples == [("a", "likes", "b")]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,name\n1,A\n", {"id_column": "code"}, "no column 'code'.*columns are: id, name"),
        ("id,name\n1,A\n", {"name_column": "title"}, "no column 'title'"),
        ("source,target\n1,A\n", {"subject_column": "src"}, "no column 'src'"),
        ("source,target\n1,A\n", {"predicate_column": "rel"}, "no column 'rel'"),
        ("a,b\n1,A\n", {}, "columns are: a, b. Name the right ones with --id-column"),
        ("a,a\n1,A\n", {}, "'a' occurs twice"),
        ("\n", {}, "has to name its columns"),
    ],
)
def test_a_column_that_is_not_there_is_said_before_the_first_record(write, text, options, said):
    with pytest.raises(SourceError, match=said):
        open_source(write("n.csv", text), SourceOptions(**options))


def test_a_named_column_has_to_be_in_one_of_the_tables(write):
    paths = [write("n.csv", "id\na\n"), write("e.csv", "from,to\na,b\n")]
    with pytest.raises(SourceError, match=r"no column 'src'.*columns are: id, from, to"):
        read_all(paths, SourceOptions(subject_column="src"))


def test_bad_rows_are_refused_with_their_line(read):
    text = b'id,name\n1,"two\nlines"\n,nobody\n2,b,c\n\n3,\xff\n4,d\n'
    found = read("n.csv", text, encoding="utf-8")
    assert [node.id for node in found.nodes] == ["1", "4"]
    assert found.reasons[:2] == [(4, "id is missing"), (5, "has 3 cells, but the table 2 columns")]
    line, reason = found.reasons[2]
    assert line == 7
    assert reason.startswith("is not UTF-8 text. In other encodings, the line is: cp1252 '3,ÿ'")


def test_a_quote_that_is_never_closed_is_refused_and_does_not_fill_memory(read):
    rows = "".join(f"{number},{'x' * 1000}\n" for number in range(18_000))
    found = read("n.csv", f'id,text\n1,a\n2,"open\n{rows}')
    assert found.nodes[0].id == "1"
    assert [line for line, _ in found.reasons] == [3]
    assert "opens a quote that is not closed" in found.reasons[0][1]
    assert len(found.nodes) == 18_001


def test_a_named_column_applies_to_the_tables_that_have_it(write):
    paths = [write("a.csv", "src,dst,rel\na,b,p\n"), write("b.csv", "source,dst,kind\nc,d,q\n")]
    first, second = open_sources(paths, SourceOptions(subject_column="src", predicate_column="rel"))
    (edge,) = second.records
    assert edge == EdgeRecord("c", "q", "d", {})
    assert not first.account.notes
    assert second.account.notes[0].startswith("--subject-column src does not apply to it")
    paths[1] = write("c.csv", "x,y\na,b\n")
    with pytest.raises(SourceError, match=r"no column is rec.*--subject-column src applies only"):
        read_all(paths, SourceOptions(subject_column="src"))


def test_a_cell_of_a_megabyte_is_read(read):
    (node,) = read("n.csv", f"id,text\n1,{'x' * 1_000_000}\n").nodes
    assert len(node.metadata["text"]) == 1_000_000


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("1.5", 1.5),
        ("0.90", 0.9),
        ("1e-05", 1e-05),
        ("true", True),
        ("False", False),
        *((text, text) for text in ("0042", "-0", "+1", "1e5", "1,5", "12345678901234567890")),
        *((text, text) for text in (" 1", "NaN", "inf", "tRUE", "1.", ".5", "\u0661", "12\n")),
    ],
)
def test_cells_mean_a_number_only_where_they_can_mean_nothing_else(cell, value):
    assert value_of(cell) == value
    assert type(value_of(cell)) is type(value)


def test_ids_and_names_stay_text_though_they_look_like_numbers(read):
    assert read("n.csv", "id,name\n007,1984\n").nodes == [NodeRecord("007", "", {"name": "1984"})]


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
HEADER = ["id", "type", "name", "note"]


@given(st.lists(st.tuples(CELL.filter(bool), CELL, CELL, CELL), max_size=20))
def test_what_a_csv_writer_wrote_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "n.csv"
    text = io.StringIO()
    csv.writer(text).writerows([HEADER, *rows])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    expected = []
    for id_, type_, name, note in rows:
        metadata = {"note": value_of(note)} if note else {}
        expected.append(NodeRecord(id_, type_, metadata | ({"name": name} if name else {})))
    assert list(open_source(path, SourceOptions(null_texts=()))) == expected


def test_jsonl_tables_keep_json_values(read):
    found = read("n.jsonl", '{"id": "a", "type": "t", "tags": ["x"], "none": null, "n": "0042"}\n')
    assert found.nodes == [NodeRecord("a", "t", {"tags": ["x"], "n": "0042"})]
    edge = {"subject": "a", "predicate": "p", "object": "b", "provenance": [{"text_span": "t"}]}
    found = read("e.jsonl", json.dumps(edge))
    assert found.edges == [EdgeRecord("a", "p", "b", {"provenance": [{"text_span": "t"}]})]


def test_bad_jsonl_lines_are_refused(read):
    lines = ['{"id": "a"}', "nope", "", "[1]", '{"id": true}', '{"id": "\\ud800"}', '{"id": "b"}']
    found = read("n.jsonl", "\n".join(lines))
    assert [node.id for node in found.nodes] == ["a", "b"]
    assert [line for line, _ in found.reasons] == [2, 4, 5, 6]
    assert "lone surrogate" in found.reasons[-1][1]


def test_a_jsonl_file_without_any_json_says_so_at_once(write):
    with pytest.raises(SourceError, match="line 1: is not JSON"):
        open_source(write("n.jsonl", "one\ntwo\n"))
    assert list(open_source(write("empty.jsonl", ""))) == []


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("large") / "n.jsonl"
    with path.open("w") as stream:
        for number in range(50_000):
            stream.write(f'{{"id": "n{number}", "type": "t", "name": "Name {number:0100}"}}\n')
    return path


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(large):
    stream = open_source(large)
    next(stream)
    tracemalloc.start()
    try:
        count = 1 + sum(1 for _ in stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert peak < 500_000 < large.stat().st_size / 10


@pytest.mark.slow
def test_the_first_record_comes_before_the_end_is_read(write):
    path = write("n.csv.gz", "id\n" + "".join(f"n{n}\n" for n in range(300_000)))
    path.write_bytes(path.read_bytes()[:-2000])
    stream = open_source(path)
    assert next(stream) == NodeRecord("n0", "", {})
    with pytest.raises(SourceError, match="damaged"):
        list(stream)
