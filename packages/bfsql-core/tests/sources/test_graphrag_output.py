"""The output of Microsoft GraphRAG: a folder of Parquet tables, or two of the tables."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bfsql.errors import SourceError
from bfsql.models import NodeRecord
from bfsql.sources import SourceOptions, open_source, open_sources

OUTPUT = Path(__file__).parent / "data" / "graphrag"
"""Output of the GraphRAG 3.3 workflows for two texts, with rows as a model extracts them."""
TRIPLES = [
    ("ADA LOVELACE", "related_to", "ANALYTICAL ENGINE"),
    ("CHARLES BABBAGE", "related_to", "ANALYTICAL ENGINE"),
    ("CHARLES BABBAGE", "related_to", "LONDON"),
]


@pytest.fixture
def output(tmp_path):
    """A copy of the output that a test may change."""
    return Path(shutil.copytree(OUTPUT, tmp_path / "output"))


def test_a_folder_has_nodes_edges_and_passages_with_their_documents(sort_out):
    (source,) = open_sources([OUTPUT])
    found = sort_out(source.records)
    metadata = {
        "name": "ADA LOVELACE",
        "human_readable_id": 0,
        "description": "Ada Lovelace wrote the first program",
        "degree": 1,
        "total_mentions": 1,
    }
    assert found.nodes[0] == NodeRecord("ADA LOVELACE", "PERSON", metadata)
    assert {node.id for node in found.nodes} == {end for s, _, o in TRIPLES for end in (s, o)}
    assert found.triples == TRIPLES
    assert found.edges[0].metadata == {
        "human_readable_id": 0,
        "description": "Ada Lovelace wrote a program for the Analytical Engine",
        "weight": 9.0,
        "combined_degree": 3,
    }
    items = [e.item for e in found.evidence if (e.subject, e.predicate, e.object) == TRIPLES[1]]
    for item in items[1:]:
        assert len(item.pop("text_unit_id")) == 128
    ada = "Ada Lovelace wrote a program for the Analytical Engine of Charles Babbage."
    babbage = "Charles Babbage, born in London, never finished his engine."
    description = "Charles Babbage designed the Analytical Engine, and never finished it"
    assert items == [
        {"section": "description", "text_span": description},
        {"document_id": "ada.txt", "text_span": ada},
        {"document_id": "babbage.txt", "text_span": babbage},
    ]
    account = source.account
    assert (account.format, account.nodes, account.edges, account.evidence) == ("graphrag", 4, 3, 7)
    (note,) = account.notes
    assert note.startswith("the tables are entities.parquet, relationships.parquet, text_units.p")
    told = {(c.name, c.meaning) for c in account.columns}
    assert {
        ("entities.title", "id"),
        ("entities.id", "ignored"),
        ("relationships.source", "subject"),
    } <= told
    assert ("relationships.description", "evidence") in told


def test_a_folder_may_lack_passages_and_documents(output, sort_out):
    (output / "documents.parquet").unlink()
    found = sort_out(open_source(output))
    assert len(found.evidence) == 7
    assert len(found.evidence[-1].item["document_id"]) == 128
    (output / "text_units.parquet").unlink()
    assert len(sort_out(open_source(output)).evidence) == 3
    (output / "relationships.parquet").unlink()
    with pytest.raises(SourceError, match=r"there is no relationships\.parquet"):
        open_source(output)


def test_a_column_of_predicates_that_was_added_counts(output, sort_out):
    table = pq.read_table(output / "relationships.parquet")
    predicates = pa.array(["PROGRAMMED", "DESIGNED", None])
    pq.write_table(table.append_column("how", predicates), output / "relationships.parquet")
    found = sort_out(open_source(output, SourceOptions(predicate_column="how")))
    assert [predicate for _, predicate, _ in found.triples] == [
        *("PROGRAMMED", "DESIGNED", "related_to")
    ]
    assert found.evidence[-1].predicate == "related_to"


def test_what_cannot_be_used_is_refused_and_what_is_missing_is_noted(output, sort_out):
    table = pq.read_table(output / "relationships.parquet")
    sources = pa.array([None, "B", "C"], pa.string())
    pq.write_table(table.set_column(2, "source", sources), output / "relationships.parquet")
    units = pq.read_table(output / "text_units.parquet")
    pq.write_table(units.slice(0, 1), output / "text_units.parquet")
    (source,) = open_sources([output])
    found = sort_out(source.records)
    assert found.reasons == [(None, "row 1: source is missing")]
    assert [e.item.get("document_id") for e in found.evidence] == [None, None, "ada.txt"]
    assert source.account.notes[-1] == "text units that are referred to but missing: 1"


def test_a_damaged_table_and_a_file_as_the_folder_say_so(output):
    with pytest.raises(SourceError, match="the format 'graphrag' is for folders"):
        open_source(OUTPUT / "entities.parquet", SourceOptions(format="graphrag"))
    (output / "text_units.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"text_units\.parquet: is not a Parquet file"):
        open_source(output)
