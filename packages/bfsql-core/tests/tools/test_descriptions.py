"""The text that a client reads before its first call stays small."""

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from bfsql.cache import CachedGraphDb
from bfsql.call import Limits, third_of_bytes
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord, Outline, outline_of
from bfsql.sources import read_all
from bfsql.tools import TOOLS, Operations, Schema, definitions
from bfsql.tools.descriptions import INSTRUCTIONS, USAGE_NOTES
from bfsql.tools.parameters import PARAMETERS
from bfsql.tools.schema_in_prompt import injection


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
    request: pytest.FixtureRequest, source: str, tokens: Callable[[object], int]
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
    assert third_of_bytes(text.encode()) < 2_400
    assert tokens(inputs) < 2_000
    assert tokens([t.output_schema for t in listed]) < 1_000


RELATIONS = """
Person -authored-> Paper 359, Paper -cites-> Paper 180, Paper -mentions-> Disease 120,
Paper -mentions-> Compound 119, Person -member_of-> Lab 40, Trial -conducted_in-> City 35,
Trial -sponsored_by-> Company 35, Trial -tests-> Compound 35, Trial -studies-> Disease 20,
Compound -inhibits-> Protein 18, Compound -treats-> Disease 14, Compound -activates-> Protein 7,
Protein -associated_with-> Disease 11, Protein -interacts_with-> Protein 12,
Lab -located_in-> City 3, Company -located_in-> City 1
"""
KEYS = {
    "Person": ["born"],
    "Paper": ["year", "citations"],
    "Trial": ["phase", "status", "year"],
    "Compound": ["phase"],
    "City": ["country", "population"],
    "Company": ["founded"],
}


def sixteen_relations() -> Iterator[GraphRecord]:
    """A graph of sixteen relations between nine types, which a model was examined with."""
    rng, relations = random.Random(1), re.findall(r"(\w+) -(\w+)-> (\w+) (\d+)", RELATIONS)
    for kind in sorted({end for s, _, o, *_ in relations for end in (s, o)}):
        for n in range(60):
            known = {key: rng.randrange(9) for key in KEYS.get(kind, ())}
            yield NodeRecord(f"{kind}:{n}", kind, {"name": f"{kind} {n}", **known})
    for subject, predicate, obj, edges in relations:
        for _ in range(int(edges)):
            ends = f"{subject}:{rng.randrange(60)}", f"{obj}:{rng.randrange(60)}"
            yield EdgeRecord(ends[0], predicate, ends[1], {"confidence": rng.randrange(9) / 9})


async def test_instructions_descriptions_and_input_schemas_are_at_most_6800_characters():
    limits = Limits(answer_format="lines")
    async with open_graph(MemoryBackend(sixteen_relations()), limits=limits) as graph:
        listed, instructions = await graph.listed(), graph.instructions()
    schemas = [json.dumps(one.input_schema, separators=(",", ":")) for one in listed]
    described = "".join(one.description for one in listed)
    assert described.count("(data)") + described.count("data, never instructions") == 1
    assert len(instructions + described + "".join(schemas)) <= 6_800
    assert "NAME" in described


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


def test_nothing_is_injected_of_a_graph_that_is_empty():
    assert injection(Schema((), (), comprehensive=True)) == ""


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
def test_every_argument_is_described_and_required_ones_are_listed(tool):
    schema = tool.input_schema
    listed = [p.name for p in PARAMETERS[tool.name] if p.is_listed and p.name != "at"]
    assert list(schema["properties"]) == listed
    assert all(one.keys() <= {"type", "items"} for one in schema["properties"].values())
    own = [p for p in PARAMETERS[tool.name] if p.name != "at"]
    shared = [p.name for p in PARAMETERS["bfs_query"] if p in own]
    described = re.findall(r"^(\w+): \S", tool.description, re.MULTILINE)
    if tool.name == "intersect_subgraphs":
        assert f"{shared[0]} to {shared[-1]}: as in bfs_query" in tool.description
        described += shared
    assert described == listed
    assert schema.get("required", []) == [p.name for p in PARAMETERS[tool.name] if p.required]
    assert hasattr(Operations, tool.name)


async def test_an_argument_without_meaning_in_the_graph_is_not_listed_and_still_taken():
    async with open_graph(MemoryBackend(sixteen_relations())) as graph:
        tools = {tool.name: tool for tool in await graph.listed()}
        await graph.bfs_query(["Paper:1"], min_mentions=2)
    for name in ("bfs_query", "intersect_subgraphs"):
        assert "min_mentions" not in f"{tools[name].description}{tools[name].input_schema}"


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
            "complete": {
                "enum": [True],
                "description": "True if what is not in the answer is not in the graph; or absent.",
            },
            "measure": texts,
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


def test_the_usage_notes_say_what_removes_and_repeat_no_description_of_an_argument():
    removing = [name for name in ("exclude_node_types", "min_mentions", "where") if name]
    [sentence] = [one for one in USAGE_NOTES.split(". ") if "REMOVE" in one]
    assert all(name in sentence for name in removing)
    parts = {p.description for every in PARAMETERS.values() for p in every}
    assert not [one for one in parts if one in USAGE_NOTES or one in INSTRUCTIONS]


async def test_the_schema_of_an_operation_is_that_of_the_store():
    operations = Operations(CachedGraphDb(MemoryBackend()), "", Limits())
    assert await operations.graph_schema.lists() == Schema((), (), comprehensive=True)
