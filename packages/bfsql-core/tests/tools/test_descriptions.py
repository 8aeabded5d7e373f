"""The text that a client reads before its first call stays small."""

import json
import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace

import pytest

from bfsql.call import third_of_bytes
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord, Outline, outline_of
from bfsql.sources import read_all
from bfsql.tools import TOOLS, Operations, Schema, definitions
from bfsql.tools.descriptions import USAGE_IN_LINES, USAGE_NOTES
from bfsql.tools.parameters import PARAMETERS
from bfsql.tools.schema_in_prompt import examples, injection


@pytest.fixture
def tokens() -> Callable[[object], int]:
    """Counts the tokens of compact JSON with the tokenizer of a current GPT model."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import bpe_openai  # opens its vocabulary with a deprecated function

        encoding = bpe_openai.get_encoding("o200k_base")

    def counted(value: object) -> int:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return len(encoding.encode(text))

    return counted


KINDS = ("", "Product", "Variant", "Family", "Method")
WORDS = ("part_of", "cause_of", "marker_for", "effect_on", "source_of", "treatment")


def literature() -> list[GraphRecord]:
    """A graph of as many types and predicates as medlit, with names as long, in 60 relations."""
    types = [f"{word}{kind}" for word in ("Gene", "Drug", "Cell", "Study") for kind in KINDS][:19]
    verbs = [f"{verb}_{word}" for verb in ("is", "has", "may") for word in WORDS][:16]
    rng = random.Random(1)
    nodes = [
        NodeRecord(kind, kind, {"name": kind, "year": 2000 + n}) for n, kind in enumerate(types)
    ]
    pairs = dict.fromkeys((rng.choice(types), rng.choice(types)) for _ in range(60))
    edges = [EdgeRecord(a, verbs[n % 16], b) for n, (a, b) in enumerate(pairs)]
    return [*nodes, *edges]


@pytest.mark.parametrize("source", ["generated", "medlit"])
async def test_with_a_schema_of_many_names_the_six_stay_within_their_tokens(
    request, source, tokens
):
    if source == "medlit":
        records = list(read_all([request.getfixturevalue("medlit")]))
    else:
        records = literature()
    async with open_graph(MemoryBackend(records)) as graph:
        assert graph.schema is not None
        assert (len(graph.schema.entity_types), len(graph.schema.predicates)) == (19, 16)
        listed = await graph.listed()
    described = next(tool.description for tool in listed if tool.name == "bfs_query")
    assert all(name in described for name in (*graph.schema.entity_types, *graph.schema.predicates))
    inputs = [
        {"name": t.name, "description": t.description, "inputSchema": t.input_schema}
        for t in listed
    ]
    text = json.dumps(inputs, separators=(",", ":"), ensure_ascii=False)
    assert third_of_bytes(text.encode()) < 3_000
    assert tokens(inputs) < 2_500
    assert tokens([t.output_schema for t in listed]) < 1_000


def outline_with(relations: int) -> Outline:
    return outline_of(
        {"A": 1, "B": 1, "Alone": 1}, {("A", f"p{i:02}", "B"): i + 1 for i in range(relations)}
    )


@pytest.mark.parametrize(("relations", "listed"), [(1, True), (40, True), (41, False), (0, False)])
def test_few_relations_are_injected_in_place_of_the_lists(relations, listed):
    schema = Schema(("A", "Alone", "B"), ("p00", "unused"), comprehensive=True)
    text = injection(schema, outline_with(relations))
    assert ("A -p00-> B (1)" in text) is listed
    assert ('"entity_types":["A","Alone","B"]' in text) is not listed
    if listed:
        assert '"other_entity_types":["Alone"]' in text
        assert '"other_predicates":["unused"]' in text


def test_relations_of_a_sample_are_not_injected():
    schema = Schema(("A", "B"), ("p00",), comprehensive=True)
    outline = replace(outline_with(1), sampled=True)
    assert "->" not in injection(schema, outline)


async def test_each_tool_has_an_example_that_the_open_graph_answers():
    records = [
        NodeRecord("d1", "Disease", {"name": "NAME"}),
        NodeRecord("ID", "Trial", {"name": "Other", "year": 2001}),
        NodeRecord("t2", "Trial", {"name": "Third", "year": 2009}),
        EdgeRecord("ID", "studies", "d1"),
        EdgeRecord("t2", "studies", "d1"),
    ]
    async with open_graph(MemoryBackend(records)) as graph:
        for tool in await graph.listed():
            arguments = json.loads(tool.description.split(" Example: ")[1].split("\n")[0])
            answer = await graph.call(tool.name, arguments)
            assert not [note for note in answer.notes if "has no" in note or "No such" in note]
            if tool.name == "bfs_query":
                assert arguments["path"] == ["<-studies- Trial"]
                assert arguments["where"] == ["Trial.year>=2001"]
                assert answer.content["shown_count"] == 2


def test_without_types_there_are_no_examples():
    assert examples(None) == {}
    assert injection(Schema((), (), comprehensive=True)) == ""
    assert examples(Schema((), (), comprehensive=True)) == {}
    lists_alone = examples(Schema(("T",), ("p",), comprehensive=False))
    assert lists_alone["bfs_query"].endswith(
        '{"seeds":["T: NAME"],"max_hops":1,"topology_only":true}'
    )


def test_a_schema_is_injected_only_when_it_is_complete_and_small():
    def injected(types: int, predicates: int, *, complete: bool = True, length: int = 5) -> bool:
        schema = Schema(
            tuple(f"T{i:0{length}}" for i in range(types)),
            tuple(f"P{i:0{length}}" for i in range(predicates)),
            complete,
        )
        return '"predicates":["' in definitions(schema)[2].description

    assert injected(20, 30)
    assert not injected(21, 30)
    assert not injected(20, 31)
    assert not injected(2, 2, complete=False)
    assert not injected(20, 30, length=60)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_argument_is_described_required_ones_are_listed_and_no_other_is_taken(tool):
    schema = tool.input_schema
    listed = [p.name for p in PARAMETERS[tool.name] if p.is_listed]
    assert list(schema["properties"]) == listed
    shared = {p.name for p in PARAMETERS["bfs_query"] if p in PARAMETERS[tool.name]}
    undescribed = [n for n, p in schema["properties"].items() if len(p.get("description", "")) < 11]
    if tool.name == "intersect_subgraphs":
        assert set(undescribed) == shared
        assert f"{undescribed[0]} to {undescribed[-1]} are as in bfs_query" in tool.description
    else:
        assert not undescribed
    assert schema.get("required", []) == [p.name for p in PARAMETERS[tool.name] if p.required]
    assert schema["additionalProperties"] is False
    assert hasattr(Operations, tool.name)


def test_an_output_schema_types_the_fields_of_an_answer_and_describes_its_lists_in_words():
    texts = {"type": "array", "items": {"type": "string"}}
    schemas = {tool.name: tool.output_schema for tool in TOOLS}
    assert schemas["bfs_query"] == {
        "type": "object",
        "properties": {
            "seeds": texts,
            "seed_count": {"type": "integer"},
            "max_hops": {"type": "integer"},
            "along": texts,
            "shown_count": {"type": "integer"},
            "walk_count": {"type": "integer"},
            "node_count": {"type": "integer"},
            "edge_count": {"type": "integer"},
            "notes": texts | {"description": "What is missing, and how to get it."},
            "facets": {
                "type": "object",
                "description": "Counts, min, max, mean, sum and values of the whole answer.",
            },
            "schema_summary": {"type": "object"},
            "nodes": {
                "type": "array",
                "description": "Full {id, entity_type, metadata} or stub {id, entity_type}.",
            },
            "walks": {"type": "array", "description": "With show=walks: rows {nodes, edges}."},
            "edges": {
                "type": "array",
                "description": "{subject, predicate, object}, and metadata where it is full.",
            },
        },
    }
    schema = schemas["describe_schema"]["properties"]
    assert schema["comprehensive"] == {"type": "boolean"}
    assert schema["relations_from"] == {"enum": ["all", "sample"]}
    assert schema["properties"] == {"type": "object"}
    assert schemas["search_entities"]["properties"]["notes"] == texts


@pytest.mark.parametrize("notes", [USAGE_NOTES, USAGE_IN_LINES])
def test_the_usage_notes_say_what_removes_and_repeat_no_description_of_an_argument(notes):
    removing = {p.name for p in PARAMETERS["bfs_query"] if "REMOVE" in p.description}
    assert removing == {"exclude_node_types", "min_mentions", "where"}
    [sentence] = [one for one in re.split(r"[.;:] |\n", notes) if "REMOVE" in one]
    assert all(name in sentence for name in removing)
    assert "two consecutive edges are never the same edge" in notes
    parts = [p.description for every in PARAMETERS.values() for p in every]
    assert not [one for part in parts for one in part.split(". ") if one.rstrip(".") in notes]
