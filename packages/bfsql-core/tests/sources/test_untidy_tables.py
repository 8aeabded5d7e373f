"""Untidy tables: headers with blanks, unclosed quotes, lines of any length."""

import gzip
import json
import tracemalloc
from functools import partial

import pytest
from backports import zstd

from bfsql.errors import SourceError
from bfsql.models import NodeRecord
from bfsql.models.load import ColumnAccount
from bfsql.sources import SourceOptions, open_source, open_sources


def test_blanks_around_the_names_of_columns_are_none_of_them_nor_of_the_cells(read):
    found = read("n.csv", 'ID, Name , TYPE\n a, Ann ,person\nb, "Bob, Jr", person\n')
    assert found.nodes == [
        NodeRecord("a", "person", {"name": "Ann"}),
        NodeRecord("b", "person", {"name": "Bob, Jr"}),
    ]


def test_where_the_header_has_no_blanks_cells_keep_theirs(read):
    assert read("n.csv", "id,name\n a,Ann \n").nodes == [NodeRecord(" a", "", {"name": "Ann "})]


def test_options_name_columns_whatever_their_case(read):
    options = {"id_column": " CODE", "type_column": "Sort", "name_column": "called"}
    found = read("n.csv", "Code,sort,Called\n1,film,Big\n", **options)
    assert found.nodes == [NodeRecord("1", "film", {"name": "Big"})]


def test_the_account_tells_how_a_table_was_read(read):
    found = read("n.csv", "Id;Type;;Name\n1;;x;Ann\n2;person;;Bob\n")
    account = found.account
    assert (account.encoding, account.separator, account.nodes) == ("utf-8", ";", 2)
    assert account.columns == [
        ColumnAccount("Id", "id", "1"),
        ColumnAccount("Type", "type", "person"),
        ColumnAccount("column_3", "metadata", "x"),
        ColumnAccount("Name", "name", "Ann"),
    ]
    assert account.notes == ["1 column has no name and is called column_3"]


def test_the_account_tells_the_keys_of_json_lines(read):
    account = read("e.jsonl", '{"from": 1, "to": 2}\n{"from": 1, "to": 3, "w": 4}\n').account
    assert account.columns == [
        ColumnAccount("from", "subject", "1"),
        ColumnAccount("to", "object", "2"),
        ColumnAccount("w", "metadata", "4"),
    ]


def test_a_header_repeated_in_the_middle_is_left_out_and_noted(read):
    found = read("n.csv", "id,name\n1,a\nid,name\n2,b\n")
    assert [node.id for node in found.nodes] == ["1", "2"]
    assert found.account.notes == ["line 3 repeats the header and was left out"]


@pytest.mark.parametrize("text", ["NaN", "nan", "null", "NULL", "None", ""])
def test_null_like_text_is_no_id_type_or_name_and_stays_in_metadata(read, text):
    table = f"id,type,name,aliases,note\n{text},x,y,z,w\na,{text},{text},{text},{text}\n"
    line = {"id": "a", "type": text, "name": text, "note": text}
    lines = f"{json.dumps({'id': text})}\n{json.dumps(line)}\n"
    for name, content in (("n.csv", table), ("n.jsonl", lines)):
        found = read(name, content, default_type="t")
        note = {} if name == "n.csv" and not text else {"note": text}
        assert found.nodes == [NodeRecord("a", "t", note)], name
        assert [reason for _, reason in found.reasons] == ["id is missing"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("n.csv", "id,type,name,aliases\n1,t,None,\n2,None,null,NaN\n3,,None,\n4,t,,\n"),
        (
            "n.jsonl",
            (
                '{"id": "1", "name": "None"}\n{"id": "2", "type": "None", "name": "null"}\n'
                '{"id": "3", "name": "None", "aliases": "NaN"}\n{"id": "4", "name": ""}\n'
            ),
        ),
        (
            "g.json",
            (
                '{"nodes": [{"id": 1, "name": "None"}, {"id": 2, "type": "None", "name": "null"}, '
                '{"id": 3, "name": "None", "aliases": "NaN"}], "links": []}'
            ),
        ),
    ],
)
def test_the_account_counts_texts_that_are_read_as_empty(read, name, content):
    notes = [note for note in read(name, content).account.notes if "read as empty" in note]
    keeps = '; --null-text "" keeps such texts'
    assert sorted(notes) == [
        f"aliases: read as empty: NaN 1{keeps}",
        f"name: read as empty: None 2, null 1{keeps}",
        f"type: read as empty: None 1{keeps}",
    ]


def test_null_like_text_is_no_end_and_no_predicate(read):
    found = read("e.csv", "from,rel,to\na,None,b\nnull,p,b\na,p,NaN\n")
    assert found.triples == [("a", "related_to", "b")]
    assert [reason for _, reason in found.reasons] == ["from is missing", "to is missing"]


def test_an_option_says_which_texts_are_null_like(read):
    text = "id,name\nNaN,None\n-,x\n"
    for nulls in ((), ("",)):
        assert len(read("n.csv", text, null_texts=nulls).nodes) == 2
    assert read("n.csv", text, null_texts=("-",)).nodes == [NodeRecord("NaN", "", {"name": "None"})]


# --- quotes -----------------------------------------------------------------


def test_a_quote_left_open_costs_its_line_alone(read):
    found = read("n.csv", 'id,name\n1,"open\n2,b\n3,"c"\n4,"d"\n')
    assert [node.id for node in found.nodes] == ["2", "3", "4"]
    ((line, reason),) = found.reasons
    assert line == 2
    assert "opens a quote that is not closed" in reason


def test_a_quote_that_another_one_closes_far_below_swallows_no_rows(read):
    text = 'id,name,age\n1,"open,5\n2,b,6\n3,c,7\n4,d,8"\n5,e,9\n'
    found = read("n.csv", text)
    assert [node.id for node in found.nodes] == ["2", "3", "4", "5"]
    assert [line for line, _ in found.reasons] == [2]


def test_a_quote_left_open_in_the_last_line_is_noticed(read):
    found = read("n.csv", 'id,name\n1,a\n2,"open')
    assert [node.id for node in found.nodes] == ["1"]
    assert [line for line, _ in found.reasons] == [3]


def test_cells_of_several_lines_and_untidy_quotes_are_read(read):
    text = 'id,note\n1,"a\nb, c\n\nd"\n2,"x"y\n3,5" pipe\n4,"say ""hi"""\n'
    notes = [node.metadata["note"] for node in read("n.csv", text).nodes]
    assert notes == ["a\nb, c\n\nd", "xy", '5" pipe', 'say "hi"']


def test_a_cell_of_many_lines_goes_over_blocks_and_line_numbers_stay_right(read):
    cell = "line\n" * 50_000
    found = read("n.csv", f'id,note\n1,"{cell}"\n,x\n')
    assert found.nodes[0].metadata["note"] == cell
    assert found.reasons == [(50_003, "id is missing")]


# --- lines ------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("n.csv", ["id,name", "1,Ann", ",x", '3,"a b"']),
        ("n.jsonl", ['{"id": 1, "name": "Ann"}', "", "{}", '{"id": 3, "name": "a b"}']),
    ],
)
def test_every_line_end_will_do(read, name, lines, end):
    for last in ("", end):
        found = read(name, end.join(lines) + last)
        assert [(node.id, node.metadata["name"]) for node in found.nodes] == [
            *(("1", "Ann"), ("3", "a b"))
        ]
        assert found.reasons == [(3, "id is missing")]


def test_line_ends_that_fall_between_two_blocks_are_one(read):
    rows = "".join(f"{number:06},{'x' * (number % 50)}\r\n" for number in range(20_000))
    found = read("n.csv", f"id,name\r\n{rows},y\r\n")
    assert len(found.nodes) == 20_000
    assert found.reasons == [(20_002, "id is missing")]


def test_rows_may_have_fewer_cells_and_empty_ones_more(read):
    found = read("n.csv", "id,name,age\n1\n2,b,,,\n3,c,4,5\n\n4,d,1\n")
    assert [node.id for node in found.nodes] == ["1", "2", "4"]
    assert found.reasons == [(4, "has 4 cells, but the table 3 columns")]
    assert found.account.notes == ["1 row has fewer cells than the table has columns"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        *((f"n.csv{packed}", b"id,name\n1,a\n", b"\n2,b\n") for packed in ("", ".gz")),
        *((f"n.jsonl{packed}", b'{"id": 1}\n', b'\n{"id": 2}\n') for packed in ("", ".zst")),
    ],
)
def test_a_line_of_any_length_is_refused_without_being_held(tmp_path, name, before, after):
    path = tmp_path / name
    openers = {".gz": partial(gzip.open, compresslevel=1), ".zst": zstd.open}
    with openers.get(path.suffix, open)(path, "wb") as stream:
        stream.write(before)
        for _ in range(256):
            stream.write(bytes(1 << 20))
        stream.write(after)
    tracemalloc.start()
    try:
        (source,) = open_sources([path], SourceOptions(encoding="utf-8"))
        records = list(source.records)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [getattr(record, "id", None) for record in records] == ["1", None, "2"]
    assert "is longer than" in records[1].reason
    assert records[1].line == before.count(b"\n") + 1
    assert peak < 1 << 28


@pytest.mark.slow
def test_a_hundred_thousand_columns_are_read(read):
    names = ",".join(f"c{number}" for number in range(100_000))
    found = read("n.csv", f"id,{names}\n1,{'7,' * 99_999}8\n")
    assert len(found.nodes[0].metadata) == 100_000
    with pytest.raises(SourceError, match=r"c39 and 99,960 more\. Name the right ones"):
        read("m.csv", f"{names}\n")


def test_excel_names_the_separator_in_the_first_line(read):
    found = read("n.csv", "sep=;\nid;name\n1;a,b,c\n;x\n")
    assert found.nodes == [NodeRecord("1", "", {"name": "a,b,c"})]
    assert found.reasons == [(4, "id is missing")]


def test_a_separator_within_quotes_does_not_count(read):
    assert read("n.csv", 'id;"name, first, last"\n1;Ann\n').nodes[0].id == "1"


@pytest.mark.parametrize("first", ["35  1033", "35\t1033", "35 1033 ", "35  1033\t"])
def test_white_space_of_any_kind_is_one_separator(read, first):
    pairs = [("35", "1033"), *((str(n), str(n % 7)) for n in range(1_000, 1_400))]
    rest = [("\t", "  ", " \t")[n % 3].join(ends) for n, ends in enumerate(pairs[1:])]
    for name in ("cora.cites", "cora.csv", "cora.tsv"):
        found = read(name, "\n".join([first, *rest]) + "\n")
        assert [(edge.subject, edge.object) for edge in found.edges] == pairs, name
        assert (found.reasons, found.account.separator) == ([], " ")


def test_a_table_of_tabs_keeps_its_empty_cells_and_blanks(read):
    found = read("n.tsv", "id\tname\tsort\n1\tTom Hanks\tman\n2\t\ttwo words\n3\tTom Hanks\t\n")
    assert found.nodes == [
        NodeRecord("1", "", {"name": "Tom Hanks", "sort": "man"}),
        NodeRecord("2", "", {"sort": "two words"}),
        NodeRecord("3", "", {"name": "Tom Hanks"}),
    ]


def test_of_separators_that_the_header_has_equally_often_most_lines_decide(read):
    found = read("n.csv", "id;city, country\n1;Oslo\n2;Rome\n")
    assert [node.metadata for node in found.nodes] == [
        {"city, country": "Oslo"},
        {"city, country": "Rome"},
    ]


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "{a,b}.csv", "ä ö.csv"])
def test_names_with_wildcards_are_names(write, name):
    write("a1.csv", "id\nwrong\n")
    assert [node.id for node in open_source(write(name, "id\nright\n"))] == ["right"]


@pytest.mark.parametrize("content", ["a;b;c\nb;d\n", "a,b\nc,d,e\nb,c\n", ",a,b\na,0,1\nb,1,0\n"])
def test_adjacency_lists_and_matrices_are_no_edge_lists(read, content):
    with pytest.raises(SourceError, match=r"no column is recognized as ids|looks like data"):
        read("graph.csv", content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b,c\n1,2,3\n4,5,6\n", "--no-header makes it an edge from a to c with the predicate b"),
        ("a,b\n1,2\n", "--no-header makes it an edge from a to b$"),
        ("1,2,3,4\na,b,c,d\n", "Add --no-header, which makes it a row of 4 cells"),
    ],
)
def test_the_advice_on_a_header_says_what_the_first_row_would_become(read, content, said):
    with pytest.raises(SourceError, match=said):
        read("letters.csv", content)


CONCEPTS = "TaxonomyID,Concept,ConceptID,Needs,w\nM,Rings,1,,1\nM,Sets,2,1,2\nM,Fields,3,1|2,4\n"


def test_columns_of_ids_and_of_references_are_proposed_from_the_rows(read):
    proposed = "add --id-column c.csv=ConceptID --edge-column Needs, because ConceptID has another"
    with pytest.raises(SourceError, match=proposed):
        read("c.csv", CONCEPTS)
    with pytest.raises(SourceError, match=r"add --id-column c\.csv=b, because b has another value"):
        read("c.csv", "a,b,c\n0.5,x,1\n0.7,y,1\n")
