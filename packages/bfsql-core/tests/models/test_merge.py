"""Records of the same node or edge merge into one, whatever their order."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.memory import MemoryBackend
from bfsql.models import (
    EdgeRecord,
    EvidenceRecord,
    NodeRecord,
    combined,
    merge_edges,
    merge_metadata,
    merge_node_records,
    sorted_union,
    with_evidence,
)
from bfsql_test_support.case_table import case_table

values = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        1.0,
        0.0,
        -0.0,
        0.5,
        2,
        10**400,
        "",
        "a",
        "b",
        "1",
        {"k": 1},
        [],
        ["a"],
        ["b", "a", 1],
        [1.0],
        [{"k": 1}],
        math.nan,
    ]
)
records = st.lists(
    st.dictionaries(st.sampled_from(["x", "y", "confidence", "provenance"]), values),
    min_size=1,
    max_size=5,
)


def same(one: object, other: object) -> bool:
    """Compare as JSON, since `1`, `1.0` and `true` are equal in Python but not in an answer."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.lists(values), st.randoms())
def test_a_union_has_each_value_once_in_one_order(items, random):
    shuffled = random.sample(items, len(items))
    assert same(sorted_union(items), sorted_union(shuffled))
    assert same(sorted_union(sorted_union(items)), sorted_union(items))


@given(st.lists(values), st.lists(values), st.lists(values))
def test_a_union_of_unions_is_the_union_of_all(one, two, three):
    together = sorted_union([*one, *two, *three])
    assert same(sorted_union([*sorted_union([*one, *two]), *three]), together)
    assert same(sorted_union([*one, *sorted_union([*two, *three])]), together)


def test_values_are_sorted_by_type_then_value_and_one_is_not_true():
    assert repr(sorted_union(["b", 2, True, "a", 1.0, 1, False, [0]])) == (
        "[False, True, 1, 2, 'a', 'b', [0]]"
    )


@given(records, st.randoms())
def test_edges_merge_the_same_in_any_order(described, random):
    shuffled = random.sample(described, len(described))
    if len(described) > 1:
        assert same(merge_edges(described), merge_edges(shuffled))
        assert same(merge_metadata(described), merge_metadata(shuffled))


@given(records)
def test_a_merged_edge_has_every_value_and_says_of_how_many_records(described):
    merged = merge_edges(described)
    if len(described) == 1:
        assert merged == described[0]
        assert merged is not described[0]
        return
    assert merged["multiplicity"] == len(described)
    numbers = [r["confidence"] for r in described if is_number(r.get("confidence"))]
    if numbers:
        assert merged["confidence"] == max(numbers)
        assert merged["confidences"] == sorted(numbers)
    for record in described:
        for key in ("x", "y"):
            value = record.get(key)
            if value is None or value == []:
                continue
            have = merged[key] if isinstance(merged[key], list) else [merged[key]]
            wanted = value if isinstance(value, list) else [value]
            assert all(
                any(same(sorted_union([w]), sorted_union([h])) or w == h for h in have)
                for w in wanted
                if not isinstance(w, float) or not math.isnan(w)
            )


def is_number(value: object) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def test_merging_follows_the_rules_of_the_protocol():
    merged = merge_edges(
        [
            {"confidence": 0.5, "sources": ["b"], "kind": "x", "same": 1},
            {"confidence": 0.9, "sources": ["a", "b"], "kind": "w", "same": 1},
            {"confidence": 0.5, "same": 1},
        ]
    )
    assert merged == {
        "confidence": 0.9,
        "confidences": [0.5, 0.5, 0.9],
        "kind": ["w", "x"],
        "multiplicity": 3,
        "same": 1,
        "sources": ["a", "b"],
    }


@case_table(
    ("numbers", "merged"),
    [
        ([None, None, -1], {}),
        ([None, None, None, -1], {"multiplicity": 2}),
        ([None, 0], {}),
        ([None, 0, None], {"multiplicity": 2}),
        ([1, 0], {"multiplicity": 1}),
        ([1, 1, -1], {"multiplicity": 1}),
        ([1, 1], {"multiplicity": 2}),
    ],
)
def test_records_that_only_add_to_others_do_not_count(numbers, merged):
    records = [{} if number is None else {"multiplicity": number} for number in numbers]
    assert merge_edges(records) == merged


def test_a_nodes_first_type_and_name_stay_and_others_stand_beside_them():
    entity_type, metadata = merge_node_records(
        [
            NodeRecord("n", "", {"synonyms": ["s"]}),
            NodeRecord("n", "Drug", {"name": "One"}),
            NodeRecord("n", "Gene", {"name": "Two", "extra": 1}),
            NodeRecord("n", "Drug", {"name": "One"}),
        ]
    )
    assert entity_type == "Drug"
    assert metadata == {
        "extra": 1,
        "name": "One",
        "other_types": ["Gene"],
        "synonyms": ["Two", "s"],
    }
    assert merge_node_records([NodeRecord("n", "")]) == ("owl:Thing", {})


@given(
    st.lists(
        st.builds(
            NodeRecord,
            st.just("n"),
            st.sampled_from(["A", "B"]),
            st.dictionaries(st.sampled_from(["x", "synonyms", "total_mentions"]), values),
        ),
        min_size=2,
        max_size=5,
    ),
    st.randoms(),
)
def test_nodes_merge_the_same_in_any_order_but_for_their_first_type(described, random):
    shuffled = random.sample(described, len(described))
    (one_type, one), (other_type, other) = map(merge_node_records, (described, shuffled))
    types = [
        {kind, *m.pop("other_types", ())} for kind, m in ((one_type, one), (other_type, other))
    ]
    assert types[0] == types[1]
    assert same(one, other)


items = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "text_span": st.sampled_from(["t", "u", None, ""]),
            "document_id": st.sampled_from(["d1", "d2", None]),
            "section": st.sampled_from(["s1", "s2", None]),
            "confidence": st.sampled_from([0.5, 1, 1.0, True, None]),
            "citations": st.sampled_from([[], ["c1"], ["c2"], None]),
        },
    ),
    max_size=7,
)


@given(items, st.randoms())
def test_evidence_combines_the_same_in_any_order(passages, random):
    assert same(combined(random.sample(passages, len(passages))), combined(passages))


@given(items)
def test_combining_evidence_again_changes_nothing(passages):
    once = combined(passages)
    assert same(combined(once), once)
    assert same(combined([*once, *once[:0]]), once)


@given(items)
def test_combining_invents_no_value_and_loses_none(passages):
    def told(things: list[dict[str, object]]) -> set[str]:
        return {
            json.dumps([key, value if not is_number(value) else float(value)])  # type: ignore[arg-type]
            for thing in things
            for key, value in thing.items()
            if value is not None and value != []
        }

    assert told(combined(passages)) == told(passages)


def test_two_records_of_one_passage_become_one():
    [item] = combined(
        [
            {"text_span": "It does.", "section": "abstract", "citation_markers": []},
            {"text_span": "It does.", "document_id": "d", "section": None, "confidence": 0.9},
        ]
    )
    assert item["document_id"] == "d"
    assert item["section"] == "abstract"


def test_equal_items_without_a_text_become_one():
    items = [{"document_id": "d"}, {"document_id": "e"}, {"document_id": "d"}]
    assert combined(items) == [{"document_id": "d"}, {"document_id": "e"}]


def test_passages_that_contradict_stay_apart():
    texts = [{"text_span": "t", "document_id": d} for d in ("d2", "d1")]
    assert combined([*texts, {"text_span": "t"}]) == [
        {"text_span": "t", "document_id": "d1"},
        {"text_span": "t", "document_id": "d2"},
    ]


def test_evidence_joins_what_an_edge_has_and_changes_nothing_given():
    metadata = {"confidence": 1, "provenance": [{"text_span": "old"}]}
    item = {"text_span": "new", "document_id": "d"}
    merged = with_evidence(metadata, [item, item])
    assert merged["provenance"] == [item, {"text_span": "old"}]
    assert metadata["provenance"] == [{"text_span": "old"}]
    assert merged["provenance"][0] is not item
    assert with_evidence({"a": 1}, []) == {"a": 1}


@pytest.mark.parametrize("turned", [False, True])
async def test_a_graph_is_the_same_whatever_order_its_records_come_in(turned):
    given_records = [
        NodeRecord("a", "T", {"n": 1}),
        NodeRecord("b", "T"),
        EdgeRecord("a", "p", "b", {"confidence": 0.5}),
        EdgeRecord("a", "p", "b", {"confidence": 0.25, "provenance": [{"text_span": "t"}]}),
        EvidenceRecord("a", "p", "b", {"text_span": "t", "document_id": "d"}),
    ]
    backend = MemoryBackend(reversed(given_records) if turned else given_records)
    metadata = await backend.metadata_for_edges_batch([("a", "p", "b")])
    assert metadata["a", "p", "b"] == {
        "confidence": 0.5,
        "confidences": [0.25, 0.5],
        "multiplicity": 2,
        "provenance": [{"text_span": "t", "document_id": "d"}],
    }
