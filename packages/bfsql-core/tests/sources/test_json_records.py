"""Files of JSON objects of which some are nodes and others edges."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.errors import SourceError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.sources import open_source

MEMORY = [
    {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["likes tea"]},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ann", "to": "Acme", "relationType": "works_at"},
]
MEMORY_RECORDS = (
    [
        NodeRecord("Ann", "person", {"observations": ["likes tea"], "name": "Ann"}),
        NodeRecord("Acme", "company", {"observations": [], "name": "Acme"}),
    ],
    [EdgeRecord("Ann", "works_at", "Acme", {})],
)
APOC = [
    {"type": "node", "id": "0", "labels": ["P", "Q"], "properties": {"name": "Ann", "age": 42}},
    {"type": "node", "id": "1", "labels": ["P"]},
    {
        "id": "7",
        "type": "relationship",
        "label": "KNOWS",
        "properties": {"since": 1993},
        "start": {"id": "0", "labels": ["P", "Q"], "properties": {"name": "Ann"}},
        "end": {"id": "1", "labels": ["P"]},
    },
]
APOC_RECORDS = (
    [
        NodeRecord("0", "P", {"age": 42, "other_types": ["Q"], "name": "Ann"}),
        NodeRecord("1", "P", {}),
    ],
    [EdgeRecord("0", "KNOWS", "1", {"id": "7", "since": 1993})],
)


def lines(objects) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


@pytest.mark.parametrize("write_form", [("g.jsonl", lines), ("g.json", json.dumps)])
@pytest.mark.parametrize(
    ("objects", "records", "writer"),
    [(MEMORY, MEMORY_RECORDS, "MCP memory server"), (APOC, APOC_RECORDS, "APOC")],
)
def test_the_files_of_known_programs_are_recognised(read, write_form, objects, records, writer):
    name, form = write_form
    found = read(name, form(objects))
    assert (found.nodes, found.edges, found.refusals) == (*records, [])
    assert any(writer in note for note in found.account.notes)


@pytest.mark.parametrize("name", ["memory.jsonl", "memory.json"])
def test_several_objects_in_a_line_are_all_read(read, name):
    first, *others = map(json.dumps, MEMORY)
    found = read(name, f'{first} {others[0]}\t\n{"".join(others[1:])}\n{first}{{"type":\n')
    assert (found.nodes, found.edges) == MEMORY_RECORDS
    assert [line for line, _ in found.reasons] == [3]


@pytest.mark.parametrize("number", [0, 150])
def test_edges_are_found_wherever_they_are(read, number):
    entities = [{"type": "entity", "name": f"n{n}", "entityType": "thing"} for n in range(number)]
    found = read("m.jsonl", lines([*entities, *MEMORY[::-1], *MEMORY]))
    assert len(found.nodes) == number + 4
    assert found.edges == MEMORY_RECORDS[1] * 2
    assert {node.entity_type for node in found.nodes} <= {"thing", "person", "company"}


def test_edges_after_a_hundred_nodes_of_a_table_are_edges(read):
    nodes = [{"id": f"n{n}", "label": "L", "name": f"N {n}"} for n in range(120)]
    edge = {"id": "e1", "source": "n1", "target": "n2", "label": "near", "weight": 2}
    found = read("g.jsonl", lines([*nodes, edge]))
    assert found.nodes[7] == NodeRecord("n7", "L", {"name": "N 7"})
    assert found.edges == [EdgeRecord("n1", "near", "n2", {"id": "e1", "weight": 2})]
    assert "edges occur after the first objects" in found.account.notes


def test_nodes_after_a_hundred_edges_of_a_table_are_nodes(read):
    edges = [{"source": f"n{n}", "target": "hub", "type": "near"} for n in range(120)]
    found = read("g.jsonl", lines([*edges, {"id": "hub", "type": "Hub", "title": "The hub"}]))
    assert found.nodes == [NodeRecord("hub", "Hub", {"name": "The hub"})]
    assert found.edges[0] == EdgeRecord("n0", "near", "hub", {})
    assert len(found.edges) == 120


def test_an_object_with_one_end_is_refused_and_not_a_node(read):
    half = {"type": "relation", "from": "Ann", "relationType": "works_at"}
    found = read("m.jsonl", lines([*MEMORY, half]))
    assert (found.nodes, found.edges) == MEMORY_RECORDS
    assert found.reasons == [(4, "object is missing")]


def test_a_node_may_have_a_value_called_like_an_end_that_edges_of_its_file_do_not_have(read):
    node, edge = {"id": "a", "source": "wiki"}, {"from": "a", "to": "b"}
    found = read("m.jsonl", lines([edge, node]))
    assert found.nodes == [NodeRecord("a", "", {"source": "wiki"})]
    assert found.triples == [("a", "related_to", "b")]


def test_a_node_may_have_values_called_like_ends_if_its_type_says_that_it_is_one(read):
    event = {"type": "entity", "name": "Fair", "entityType": "event", "start": "1", "end": "2"}
    found = read("m.jsonl", lines([event, *MEMORY]))
    assert found.nodes[0] == NodeRecord("Fair", "event", {"start": "1", "end": "2", "name": "Fair"})


def test_names_that_recur_are_no_ids_unless_relations_name_them(read, write):
    assert len(read("m.jsonl", lines([*MEMORY, MEMORY[0]])).nodes) == 3
    others = [{"name": "a", "kind": "x"}, {"name": "a", "kind": "y"}, {"from": "a", "to": "b"}]
    with pytest.raises(SourceError, match="column name cannot be used as the id"):
        list(open_source(write("g.jsonl", lines(others))))


_ids = st.sampled_from(["a", "b", "c"])
_objects = st.one_of(
    st.builds(lambda id_, type_: {"id": id_, "type": type_}, _ids, _ids),
    st.builds(lambda s, p, o: {"source": s, "type": p, "target": o}, _ids, _ids, _ids),
)


@given(st.lists(_objects, min_size=1, max_size=8))
def test_every_object_is_what_its_own_keys_say(tmp_path_factory, objects):
    path = tmp_path_factory.mktemp("mixed") / "g.jsonl"
    path.write_text(lines(objects))
    expected = [
        NodeRecord(one["id"], one["type"], {})
        if "id" in one
        else EdgeRecord(one["source"], one["type"], one["target"], {})
        for one in objects
    ]
    assert list(open_source(path)) == expected
