"""Resources, prompts and completions read what calls of tools read, within the same bounds."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from bfsql.call import Limits
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql.server import create_server
from bfsql_test_support.hooks import Hiding, Refusing

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
ODD = 'a/b "c" %41 é?#'
PASSAGES = [{"document_id": f"d{n}", "text_span": f"passage {n} {'x' * 500}"} for n in range(3)]
TEMPLATE = "bfsql://evidence/{subject}/{predicate}/{object}"


@pytest.fixture
def graph() -> MemoryBackend:
    """Drugs of which one has an id that a URI has to encode; one relation with passages."""
    return MemoryBackend(
        [
            NodeRecord(ODD, "Drug", {"name": "Odd One", "salt": "hidden"}),
            NodeRecord("d:1", "Disease", {"name": "Ache"}),
            *(NodeRecord(f"n:{n}", "Drug", {"name": f"Odd {n}"}) for n in range(3)),
            EdgeRecord(ODD, "TREATS", "d:1"),
            *(EvidenceRecord(ODD, "TREATS", "d:1", one) for one in PASSAGES),
        ]
    )


def uri(kind: str, *parts: str) -> str:
    return f"bfsql://{'/'.join([kind, *(quote(part, safe='') for part in parts)])}"


EVIDENCE = uri("evidence", ODD, "TREATS", "d:1")


async def text(client: Client, of: str) -> str:
    return (await client.read_resource(of)).contents[0].text


async def completed(client: Client, place: str, name: str, value: str) -> list[str]:
    is_uri = place.startswith("bfsql:")
    ref: Any = ResourceTemplateReference(uri=place) if is_uri else PromptReference(name=place)
    return (await client.complete(ref, {"name": name, "value": value})).completion.values


@ERAS
async def test_a_resource_is_the_answer_of_its_tool(graph, era):
    async with open_graph(graph) as direct, Client(create_server(graph), mode=era) as client:
        assert await text(client, uri("schema")) == (await direct.describe_schema()).text
        assert await text(client, uri("entity", ODD)) == (await direct.describe_entity(ODD)).text
        verdict = json.loads(await text(client, EVIDENCE))
        other = json.loads(await text(client, uri("evidence", "d:1", "TREATS", ODD)))
        claim = json.loads(await text(client, uri("claim", "Ache <-TREATS- Odd One")))
    passages = [{k: one[k] for k in PASSAGES[0]} for one in verdict["evidence"]]
    assert (verdict["verdict"], verdict["evidence_count"], passages) == ("stored", 3, PASSAGES)
    assert (other["verdict"], claim["verdict"]) == ("not stored", "stored")
    assert claim["evidence"] == verdict["evidence"][:1]


@ERAS
async def test_prompts_bring_what_they_are_about(graph, era):
    given = {"first": "Ache", "second": ODD, "claim": "no claim"}
    async with Client(create_server(graph), mode=era) as client:
        listed = (await client.list_prompts()).prompts
        for prompt in listed:
            needed = {a.name: given[a.name] for a in prompt.arguments or () if a.required}
            first, *rest = (await client.get_prompt(prompt.name, needed)).messages
            told = [json.dumps(one, ensure_ascii=False) for one in needed.values()]
            assert all(one in first.content.text for one in told)
            read = [message.content.resource for message in rest]
            assert [one.text for one in read] == [await text(client, one.uri) for one in read]
            assert len(read) == max(1, len(needed))
    assert [one.name for one in listed] == ["survey", "compare", "verify"]


COMPLETIONS = {
    ("bfsql://entity/{id}", "id", "odd"): [ODD, "n:0", "n:1", "n:2"],
    (TEMPLATE, "predicate", "reat"): ["TREATS"],
    (TEMPLATE, "object", "ache"): ["d:1"],
    ("survey", "type", "d"): ["Disease", "Drug"],
    ("compare", "second", "ache"): ["Ache"],
    ("compare", "first", " "): [],
    ("verify", "claim", "Ache"): [],
}


@ERAS
async def test_ids_names_types_and_predicates_complete(graph, era):
    async with Client(create_server(graph), mode=era) as client:
        for case, wanted in COMPLETIONS.items():
            assert sorted(await completed(client, *case)) == wanted, case


WRONG = [
    (text, ("bfsql://nothing",), "There is no resource"),
    (text, ("bfsql://entity/a/b",), "percent-encoded"),
    (text, ("bfsql://entity/Ahe",), "no entity has the id or the name"),
    (text, (uri("claim", "a -b-> c\nd -e-> f"),), "several claims"),
    (Client.get_prompt, ("nothing", {}), "survey(type); compare(first, second); verify(claim)"),
    (Client.get_prompt, ("compare", {"first": "Ache"}), 'no prompt "compare" with ["first"]'),
    (Client.get_prompt, ("compare", {"first": "Ahe", "second": ODD}), "no entity has the id"),
    (completed, ("survey", "typ", "d"), 'has no argument "typ"'),
    (completed, ("nothing", "id", "d"), 'has no argument "id"'),
]


@ERAS
async def test_what_is_unknown_gets_a_sentence(graph, era):
    async with Client(create_server(graph), mode=era) as client:
        for ask, given, said in WRONG:
            with pytest.raises(MCPError) as error:
                await ask(client, *given)
            assert (said in str(error.value), error.value.code) == (True, -32602), given


async def test_hooks_and_bounds_hold(graph):
    hiding = Hiding(lambda kind, key, known: {k: v for k, v in known.items() if k == "name"})
    async with Client(create_server(graph, hooks=[hiding])) as client:
        record = await text(client, uri("entity", ODD))
        assert ("Odd One" in record, "hidden" in record) == (True, False)
        assert "passage" not in await text(client, EVIDENCE)
    async with Client(create_server(graph, hooks=[Refusing("not for you")])) as client:
        for ask, given in ((text, (uri("schema"),)), (completed, ("survey", "type", "D"))):
            with pytest.raises(MCPError, match="not for you"):
                await ask(client, *given)
    async with Client(create_server(graph, limits=Limits(max_tokens=500))) as client:
        cut = json.loads(await text(client, EVIDENCE))
    assert 0 < len(cut["evidence"]) < cut["evidence_count"] == len(PASSAGES)
    async with Client(create_server(graph, limits=Limits(deadline=1e-9))) as client:
        for of in (uri("schema"), EVIDENCE):
            with pytest.raises(MCPError, match="did not finish") as late:
                await text(client, of)
            assert late.value.code == -32603
