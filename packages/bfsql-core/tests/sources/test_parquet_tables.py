"""Parquet tables, as written by pyarrow."""

import datetime as dt
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources


@pytest.fixture
def put(tmp_path):
    def written(name, columns, **how):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, tmp_path / name, **how)
        return tmp_path / name

    return written


@pytest.fixture
def read_parquet(put, sort_out):
    def written_and_read(columns, **options):
        return sort_out(open_source(put("t.parquet", columns), SourceOptions(**options)))

    return written_and_read


def test_columns_are_those_of_other_tables(read_parquet):
    found = read_parquet({"id": [1, 2], "type": ["film", None], "title": ["Big", None]})
    assert found.nodes == [NodeRecord("1", "film", {"name": "Big"}), NodeRecord("2", "", {})]
    found = read_parquet({"source": ["a"], "target": ["b"], "weight": [0.5]})
    assert found.edges == [EdgeRecord("a", "related_to", "b", {"weight": 0.5})]
    found = read_parquet(
        {"who": ["a"], "whom": ["b"], "how": ["knows"]},
        subject_column="who",
        object_column="whom",
        predicate_column="how",
    )
    assert found.triples == [("a", "knows", "b")]


def test_values_of_every_type_are_as_other_readers_give_them(read_parquet):
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 123456)  # noqa: DTZ001 - without a zone on purpose
    columns = {
        "id": pa.array(["a"], pa.large_string()),
        "view": pa.array(["x"], pa.string_view()),
        "category": pa.array(["x"]).dictionary_encode(),
        "small": pa.array([7], pa.int8()),
        "large": pa.array([2**64 - 1], pa.uint64()),
        "half": pa.array([1.5], pa.float16()),
        "day": pa.array([dt.date(2024, 5, 6)]),
        "moment": pa.array([moment], pa.timestamp("us")),
        "nano": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "Europe/Berlin")),
        "far": pa.array([300_000_000_000], pa.timestamp("s")),
        "hour": pa.array([dt.time(7, 8)]),
        "long": pa.array([dt.timedelta(days=1)]),
        "price": pa.array([Decimal("1.25")]),
        "text": pa.array([b"caf\xc3\xa9"]),
        "image": pa.array([b"\x89PNG\x00"]),
        "list": [[1, None, 2]],
        "struct": [{"a": 1, "when": moment, "none": None}],
        "map": pa.array(
            [[("k", [dt.date(2024, 1, 1)])]], pa.map_(pa.string(), pa.list_(pa.date32()))
        ),
        "none": pa.nulls(1),
    }
    (node,) = read_parquet(columns).nodes
    assert node == NodeRecord(
        "a",
        "x",
        {
            "view": "x",
            "small": 7,
            "large": 2**64 - 1,
            "half": 1.5,
            "day": "2024-05-06",
            "moment": "2024-05-06T07:08:09.123456",
            "nano": "2023-11-14T22:13:20.123456+00:00",
            "far": "11476-08-15 05:20:00",
            "hour": "07:08:00",
            "long": 86_400_000_000,
            "price": 1.25,
            "text": "café",
            "list": [1, None, 2],
            "struct": {"a": 1, "when": "2024-05-06T07:08:09.123456", "none": None},
            "map": {"k": ["2024-01-01"]},
        },
    )


def test_what_is_left_out_is_noted(put):
    path = put("t.parquet", {"id": ["a", "b"], "image": [b"\x89PNG", b"\xff"]})
    (source,) = open_sources([path])
    assert len(list(source.records)) == 2
    assert source.account.notes == ["2 binary values of the column 'image' were left out"]
    assert source.account.format == "parquet"


def test_a_row_without_usable_ids_is_refused_by_its_number(read_parquet):
    found = read_parquet({"source": ["a", None, ""], "target": ["b", "b", "c"]})
    assert [reason for _, reason in found.reasons] == [
        "row 2: source is missing",
        "row 3: source is missing",
    ]
    found = read_parquet({"id": [1.0, 2.0]})
    assert found.reasons[1] == (None, "row 2: id is 2.0, which is not text")
    found = read_parquet({"id": [["a"]], "x": [1]})
    assert found.reasons == [(None, "row 1: id is ['a'], which is not text")]


def test_a_table_without_rows_has_no_records_and_one_without_ids_is_an_error(put, read_parquet):
    assert read_parquet({"id": pa.array([], pa.string())}).nodes == []
    with pytest.raises(SourceError, match=r"no column is recognized as ids.*The columns are: who"):
        open_source(put("t.parquet", {"who": ["a"]}))
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    (source,) = open_sources([put("t.parquet", twice)])
    assert list(source.records) == [NodeRecord("a", "", {"id_1": "b"})]


def test_a_table_is_read_in_batches(put):
    rows = 20_000
    ids = [str(number) for number in range(rows)]
    path = put("t.parquet", {"id": ids, "x": list(range(rows))}, row_group_size=3_000)
    records = open_source(path)
    assert next(records) == NodeRecord("0", "", {"x": 0})
    del records
    assert [node.id for node in open_source(path)] == ids


@pytest.mark.parametrize("kept", [False, True])
def test_a_file_that_unpacks_to_any_size_is_refused_before_it_is_unpacked(put, kept):
    rows = 20_000
    texts = pa.DictionaryArray.from_arrays([0] * rows, ["x" * 5_000_000])
    ids = pa.array(map(str, range(rows)))
    path = put("t.parquet", pa.table({"id": ids, "text": texts}), store_schema=kept)
    assert path.stat().st_size < 1_000_000  # of 100 GB
    with pytest.raises(SourceError, match=r"unpack to 10,240,\d{3},\d{3} bytes, and at most 1 GB"):
        list(open_source(path))


@pytest.mark.parametrize("content", [b"PAR1", b"id,name\n" * 100])
def test_what_is_no_parquet_says_so(write, content):
    with pytest.raises(SourceError, match="is not a Parquet file, or it is damaged"):
        open_source(write("t.parquet", content))
    with pytest.raises(SourceError, match="decompress the file"):
        open_source(write("t.parquet.gz", content))


def test_a_damaged_file_is_an_error_where_it_is_read(put):
    path = put("t.parquet", {"id": [f"node {number}" for number in range(5_000)]})
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match="is not a Parquet file, or it is damaged"):
        open_source(path)
    path.write_bytes(content[:100] + bytes(2_000) + content[2_100:])
    with pytest.raises(SourceError, match="is not a Parquet file, or it is damaged"):
        list(open_source(path))


def test_without_the_library_the_sentence_names_the_extra(monkeypatch, put):
    path = put("t.parquet", {"id": ["a"]})
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SourceError, match=r'pip install "bfsql-core\[parquet\]"'):
        open_source(path)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"id": st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map("i".__add__)},
            optional={"n": st.integers(-(2**63), 2**63 - 1), "l": st.lists(st.booleans())},
        ),
        min_size=1,
    )
)
def test_what_pyarrow_writes_comes_back(put, rows):
    schema = pa.schema([("id", pa.string()), ("n", pa.int64()), ("l", pa.list_(pa.bool_()))])
    path = put("t.parquet", pa.Table.from_pylist(rows, schema), row_group_size=2)
    read = [{"id": node.id, **node.metadata} for node in open_source(path)]
    assert read == rows
