"""Types and predicates that the graph does not know are notes, never errors."""

from __future__ import annotations

import json

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.tools.validate import matched

KNOWN = ["Disease", "Drug", "Gene", "gene"]


async def notes_of(graph, **filters):
    answer = await graph.bfs_query("RxNorm:3251", 1, **filters)
    document = json.loads(answer.text)
    assert tuple(document.get("notes", ())) == answer.notes
    return document, list(answer.notes)


@pytest.mark.parametrize("argument", ["node_types", "exclude_node_types"])
async def test_an_unknown_type_is_named_with_the_closest(graph, argument):
    document, notes = await notes_of(graph, **{argument: ["Drugs", "Gene"]})
    assert document["node_count"] == 3
    [note] = notes
    assert argument in note
    assert '"Drugs"' in note
    assert "Drug" in note.split("closest")[1]


async def test_an_unknown_predicate_is_named_with_the_closest(graph):
    document, [note] = await notes_of(graph, predicates=["TREAT"])
    assert document["edge_count"] == 2
    assert all("metadata" not in edge for edge in document["edges"])
    assert "predicates" in note
    assert "TREATS" in note.split("closest")[1]


async def test_a_value_like_nothing_in_the_graph_points_to_where_values_are_listed(graph):
    _, [note] = await notes_of(graph, node_types=["zzzzzz"])
    assert "describe_schema" in note


async def test_a_unique_match_apart_from_case_is_taken_and_said(graph):
    document, notes = await notes_of(graph, node_types=["drug"], predicates=["treats"])
    assert notes == [
        'node_types: took "Drug" for "drug".',
        'predicates: took "TREATS" for "treats".',
    ]
    assert [n["id"] for n in document["nodes"] if "metadata" in n] == ["RxNorm:3251"]
    assert all("metadata" in edge for edge in document["edges"])


async def test_known_values_and_empty_lists_make_no_notes(graph):
    for filters in ({"node_types": ["Drug"], "predicates": ["TREATS"]}, {"node_types": []}):
        assert await notes_of(graph, **filters) == (
            json.loads((await graph.bfs_query("RxNorm:3251", 1, **filters)).text),
            [],
        )


def test_a_match_that_is_not_unique_is_not_taken():
    taken, [note] = matched("node_types", ["GENE"], KNOWN, complete=True)
    assert taken == ["GENE"]
    assert "Gene, gene" in note


def test_an_exact_match_wins_over_others_apart_from_case():
    assert matched("node_types", ["gene", "Gene"], KNOWN, complete=True) == (["gene", "Gene"], [])


def test_the_note_on_a_partial_schema_does_not_claim_that_there_is_nothing():
    _, [partial] = matched("node_types", ["Paper"], KNOWN, complete=False)
    assert "sample" in partial


def test_many_and_long_unknown_values_make_a_few_short_notes():
    values = [f"{i}" + "x" * 16_000 for i in range(1_000)]
    taken, notes = matched("node_types", values, KNOWN * 3_000, complete=True)
    assert taken == values
    assert len(notes) == 6
    assert "995 more" in notes[-1]
    assert all(len(note) < 300 for note in notes)


def test_hidden_characters_in_a_value_are_shown_as_escapes():
    _, [note] = matched("node_types", ["D\u202erug\ud800"], KNOWN, complete=True)
    assert note.isprintable()


async def test_a_search_takes_the_graphs_spelling_and_notes_unknown_types(graph):
    answer = await graph.search_entities("Cushing", node_types=["disease", "Papers"])
    assert len(answer.content["result"]) == 2
    assert answer.notes[0] == 'node_types: took "Disease" for "disease".'
    assert '"Papers"' in answer.notes[1]


async def test_a_schema_of_every_case_of_a_word_is_matched_exactly(over):
    graph = over(MemoryBackend([NodeRecord("a", "gene"), NodeRecord("b", "GENE")]))
    answer = await graph.bfs_query(["a", "b"], 1, exclude_node_types=["GENE"])
    assert [n["id"] for n in answer.content["nodes"]] == ["a"]


def test_known_values_joined_by_commas_are_taken_apart():
    one, other = KNOWN[:2]
    assert matched("node_types", [f"{one}, {other}"], KNOWN, complete=True) == ([one, other], [])
    joined = f"{one},nothing"
    taken, notes = matched("node_types", [joined], KNOWN, complete=True)
    assert taken == [joined]
    assert len(notes) == 1
