"""Notes and records in answers."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.answers import Draft, SubgraphWriter, entity_document, search_document
from bfsql.answers.notes import counted, omissions
from bfsql.answers.subgraph_notes import subgraph_notes
from bfsql.models import (
    AnswerGaps,
    BfsResult,
    EntityStub,
    IntersectionResult,
    Omission,
    SchemaSummary,
    Subgraph,
)
from bfsql.models.quotation import listed


def result_with(facts: AnswerGaps, *, ids: tuple[str, ...] = ("a",), count: int = 9) -> BfsResult:
    page = Subgraph(ids, dict.fromkeys(ids, "T"), [])
    summary = SchemaSummary(["T"], [])
    return BfsResult(["a"], count, 0, summary, page, facts, max_hops=2, offset=3, limit=None)


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (AnswerGaps(bare_nodes=1), "1 node was left without metadata"),
        (AnswerGaps(bare_nodes=2, bare_edges=1), "2 nodes and 1 edge were left without metadata"),
        (
            AnswerGaps(dangling_edges=1, dangling_ids=1),
            "1 edge was left out: the graph has no node for 1 id at",
        ),
        (AnswerGaps(dangling_edges=2, dangling_ids=1), "2 edges were left out"),
        (AnswerGaps(removed_seeds=("a",)), "a was removed"),
        (AnswerGaps(removed_seeds=("a", "b")), "a, b were removed"),
        (AnswerGaps(edges_to_earlier=1), "1 edge joins this page"),
        (AnswerGaps(edges_to_earlier=2), "2 edges join this page"),
        (AnswerGaps(cut_nodes=1), "1 node did not fit"),
    ],
)
def test_notes_count_in_good_english(facts, wanted):
    notes = Draft(SubgraphWriter(()), result_with(facts)).document["notes"]
    assert any(wanted in note for note in notes)
    assert all(note.strip() and note.endswith(".") for note in notes)


@given(st.lists(st.sampled_from(['"metadata":false', "metadata", ":false", '"', "\\", "é"])))
def test_no_name_is_taken_for_the_place_of_metadata(parts):
    name = "".join(parts) + "."
    triple, summary = (name, name, name), SchemaSummary([name], [name], {name: 1}, {name: 1})
    page = Subgraph([name, "b"], {name: name, "b": name}, [triple, (name, name, "b")])
    page = replace(page, node_metadata={name: {name: name}}, edge_metadata={triple: {"n": [name]}})
    result = BfsResult([name], 2, 2, summary, page, AnswerGaps(), max_hops=1, offset=0, limit=None)
    content = Draft(SubgraphWriter(()), result).answer().content
    assert [node.get("metadata") for node in content["nodes"]] == [{name: name}, None]
    assert [edge.get("metadata") for edge in content["edges"]] == [{"n": [name]}, None]
    assert (content["nodes"][0]["id"], content["edges"][1]["object"]) == (name, "b")


def test_an_answer_that_lacks_nothing_has_no_notes():
    document = Draft(SubgraphWriter(()), result_with(AnswerGaps(), count=4)).document
    assert "notes" not in document
    summary = SchemaSummary([], [])
    empty = IntersectionResult(["a"], 0, 0, summary, Subgraph([], {}, []), AnswerGaps(), k=1)
    assert subgraph_notes(empty) == []


def test_lists_in_notes_name_a_few_and_count_the_rest():
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(12)]) == "0, 1, 2, 3, 4 and 7 more"
    assert (counted(0, "node"), counted(1, "node")) == ("0 nodes", "1 node")


def test_what_the_backend_left_out_is_reported_with_its_reason_and_no_hidden_text():
    [note] = omissions([Omission("a\u202e", "in", 7, "the endpoint's\x00 limit")])
    assert note.startswith('At least 7 incoming edges of "a\\u202e" are missing (the endpoint\'s')
    assert note.isprintable()
    assert len(list(omissions([Omission(str(i)) for i in range(100)]))) <= 6


def test_what_no_call_can_show_is_one_sentence_a_reason():
    left_out = [
        Omission(f"n:{i}", "out", 2, "their ends have no ids", lasting=True) for i in range(9)
    ]
    one, other = omissions([Omission("a", "in", 1, lasting=True), *left_out])
    assert one == "1 edge of a was left out. No call can show them."
    assert other == (
        "18 edges of n:0, n:1, n:2, n:3, n:4 and 4 more were left out (their ends have no ids). "
        "No call can show them."
    )


def test_reserved_keys_of_metadata_stand_beside_the_protocols_own():
    metadata = {
        "id": 1,
        "entity_type": 2,
        "provenance": 3,
        "notes": 4,
        "metadata.id": 5,
        "name": "x",
        "metadata": 6,
    }
    record = entity_document("e", "T", metadata, provenance={"total": 0, "items": []}, notes=["n"])
    assert record == {
        "id": "e",
        "entity_type": "T",
        "notes": ["n"],
        "metadata.id": 1,
        "metadata.entity_type": 2,
        "metadata.provenance": 3,
        "metadata.notes": 4,
        "metadata.metadata.id": 5,
        "name": "x",
        "metadata": 6,
        "provenance": {"total": 0, "items": []},
    }


@given(
    st.dictionaries(
        st.from_regex(r"(metadata\.){0,2}(id|entity_type|provenance|notes|x)", fullmatch=True),
        st.integers(-(2**53), 2**53),
    )
)
def test_no_metadata_key_hides_another_in_a_flat_record(metadata):
    record = entity_document("e", "T", metadata)
    assert (record.pop("id"), record.pop("entity_type")) == ("e", "T")
    assert sorted(record.values()) == sorted(metadata.values())


@pytest.mark.parametrize(
    ("score", "wanted"), [(None, None), (0.5, 0.5), (1, 1.0), (math.nan, None), (math.inf, None)]
)
def test_a_score_is_a_number_or_null(score, wanted):
    hits = search_document(
        [EntityStub("a", "T", "A\u202e", score), EntityStub("b", "T")],
        {"a": "name", "b": "id"},
        {"b": ["in Z"]},
    )
    assert hits == [
        {"id": "a", "entity_type": "T", "name": "A", "score": wanted, "match": "name"},
        {"id": "b", "entity_type": "T", "score": None, "match": "id", "context": ["in Z"]},
    ]


def test_evidence_keeps_its_triple_and_has_its_text_cleaned():
    item = {"subject": "a\u202e", "predicate": "p", "object": "b", "text_span": "x\x00y", "n": None}
    record = entity_document("a", "T", {}, provenance={"total": 1, "items": [item]})
    assert record["provenance"]["items"] == [
        {"subject": "a\u202e", "predicate": "p", "object": "b", "text_span": "xy"}
    ]
