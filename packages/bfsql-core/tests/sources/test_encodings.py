"""Encodings other than UTF-8: recognised, named, or refused with the likely ones."""

import codecs
import json
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.models import NodeRecord
from bfsql.sources import SourceOptions, open_source

TABLE = "id,name\n1,Müller\n2,Łódź\n"
NODES = [NodeRecord("1", "", {"name": "Müller"}), NodeRecord("2", "", {"name": "Łódź"})]
LINES = '{"id": 1, "name": "Müller"}\n{"id": 2, "name": "Łódź"}\n'
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@pytest.mark.parametrize("encoding", MARKS)
def test_a_byte_order_mark_tells_the_encoding(read, encoding):
    text = {"csv": TABLE, "jsonl": LINES, "json": f"[{LINES.strip().replace(chr(10), ',')}]"}
    for name in ("n.csv", "n.csv.gz", "n.jsonl", "n.json"):
        found = read(name, MARKS[encoding] + text[name.split(".")[1]].encode(encoding))
        assert found.nodes == NODES, name
        assert found.account.encoding == encoding.removesuffix("-le").removesuffix("-be")


@pytest.mark.parametrize("encoding", ["cp1250", "utf-16-le", "latin2"])
def test_the_encoding_is_named_by_an_option(read, encoding):
    for name, text in (("n.csv", TABLE), ("n.jsonl", LINES)):
        found = read(name, text.encode(encoding), encoding=encoding)
        assert found.nodes == NODES, name
        assert found.account.encoding == codecs.lookup(encoding).name


def test_a_byte_order_mark_counts_more_than_the_option(read):
    assert read("n.csv", "\ufeff" + TABLE, encoding="cp1252").nodes == NODES


def test_rdf_and_bundles_are_read_in_the_encoding_that_is_named(read, write, tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    statement = f'<http://e/a> {label} "Müller" .\n'
    for name in ("a.nt", "a.ttl"):
        found = read(name, statement.encode("cp1252"), encoding="cp1252")
        assert found.metadata("http://e/a") == [{"name": "Müller"}]
        with pytest.raises(SourceError, match=r"cp1252 '.*Müller"):
            open_source(write(name, statement.encode("cp1252")))
    write("kg/entities.jsonl", '{"entity_id": "a", "name": "Müller"}\n'.encode("cp1252"))
    write("kg/relationships.jsonl", "")
    (node,) = open_source(tmp_path / "kg", SourceOptions(encoding="cp1252"))
    assert node.metadata["name"] == "Müller"


def test_xml_says_its_own_encoding(read):
    root = ET.fromstring('<graphml><graph><node id="Müller"/></graph></graphml>')
    for encoding in ("utf-16", "iso-8859-1"):
        found = read("g.graphml", ET.tostring(root, encoding=encoding), encoding="cp1251")
        assert [node.id for node in found.nodes] == ["Müller"]


@pytest.mark.parametrize("name", ["hex", "klingon", "a\0b", ""])
def test_an_unknown_encoding_lists_some_that_are_known(write, name):
    with pytest.raises(SourceError, match=r"there is no encoding .*utf-16, cp1252"):
        open_source(write("n.csv", TABLE), SourceOptions(encoding=name))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *(("id,name\n1,Müller\n", "cp1252"), ("id,name\n1,Żółć\n", "cp1250")),
        *(("id,name\n1,Привет\n", "cp1251"), ("id,name\n1,東京都\n", "shift_jis")),
        *(("id,name\n1,北京市\n", "gb18030"), ("id,name\n1,서울시\n", "euc_kr")),
    ],
)
def test_a_file_that_is_not_utf_8_names_likely_encodings_with_its_line_in_each(
    write, text, encoding
):
    with pytest.raises(SourceError, match=r"line 2: this is not UTF-8 text") as raised:
        open_source(write("n.csv", text.encode(encoding)))
    assert f"{encoding} '{text.splitlines()[1]}'" in str(raised.value)
    assert "--encoding" in str(raised.value)


def test_the_sample_of_a_long_line_is_cut_around_the_place(write):
    text = f'{{"id": "{"a " * 500}Müller{" b" * 500}"}}\n'
    with pytest.raises(SourceError, match=r"cp1252 '(a )+Müller( b)+ '"):
        open_source(write("n.jsonl", text.encode("cp1252")))


def test_utf_16_without_a_mark_is_recognised_by_its_zeros(write):
    for order in ("le", "be"):
        path = write(f"{order}.csv", TABLE.encode(f"utf-16-{order}"))
        with pytest.raises(SourceError, match=f"--encoding utf-16-{order}"):
            open_source(path)


def test_what_no_usual_encoding_fits_says_so(write):
    with pytest.raises(SourceError, match="No common encoding fits"):
        open_source(write("n.csv", b"id\n" + bytes(range(1, 256))))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["n.csv", "n.jsonl"])
def test_a_bad_line_behind_the_head_is_refused_with_what_it_may_be(read, name):
    good = b"1,x\n" if name == "n.csv" else b'{"id": "1"}\n'
    bad = "2,Müller\n" if name == "n.csv" else '{"id": "2", "name": "Müller"}\n'
    count = (1 << 20) // len(good) + 1
    content = b"id,name\n" * (name == "n.csv") + good * count + bad.encode("cp1252") + good
    found = read(name, content)
    assert len(found.nodes) == count + 1
    ((line, reason),) = found.reasons
    assert line == count + 1 + (name == "n.csv")
    assert "is not UTF-8 text" in reason
    assert "Müller" in reason


def test_a_line_that_is_not_in_the_named_encoding_is_refused(read):
    found = read("n.csv", b"id\na\n\x81\nb\n", encoding="cp1252")
    assert [node.id for node in found.nodes] == ["a", "b"]
    assert found.reasons == [(3, "is not cp1252 text; name another encoding with --encoding")]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.sampled_from([*MARKS]))
def test_every_text_comes_back_from_every_encoding(tmp_path_factory, text, encoding):
    path = tmp_path_factory.mktemp("enc") / "n.jsonl"
    line = json.dumps({"id": text}, ensure_ascii=False) + "\n"
    path.write_bytes(line.encode(encoding))
    options = SourceOptions(encoding=encoding, null_texts=())
    assert list(open_source(path, options)) == [NodeRecord(text, "", {})]
