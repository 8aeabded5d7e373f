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


@pytest.fixture
def graph() -> MemoryBackend:
    """Drugs of which one has a name that a URI has to encode; one relation with passages."""
    return MemoryBackend(
        [
            NodeRecord(ODD, "Drug", {"name": "Odd One", "salt": "hidden"}),
            NodeRecord("d:1", "Disease", {"name": "Ache"}),
            *(NodeRecord(f"n:{n}", "Drug", {"name": f"Odd {n}"}) for n in range(3)),
            EdgeRecord(ODD, "TREATS", "d:1"),
            *(EvidenceRecord(ODD, "TREATS", "d:1", one) for one in PASSAGES),
        ]
    )


def evidence(*edge: str) -> str:
    return "bfsql://evidence/" + "/".join(quote(part, safe="") for part in edge)


async def text(client: Client, uri: str) -> str:
    return (await client.read_resource(uri)).contents[0].text


async def completed(client: Client, place: str, name: str, value: str) -> list[str]:
    is_uri = place.startswith("bfsql:")
    ref: Any = ResourceTemplateReference(uri=place) if is_uri else PromptReference(name=place)
    found = await client.complete(ref, {"name": name, "value": value})
    return found.completion.values


@ERAS
async def test_a_resource_is_the_answer_of_its_tool(graph, era):
    entity = f"bfsql://entity/{quote(ODD, safe='')}"
    async with open_graph(graph) as direct, Client(create_server(graph), mode=era) as client:
        assert await text(client, "bfsql://schema") == (await direct.describe_schema()).text
        assert await text(client, entity) == (await direct.describe_entity(ODD)).text
        verdict = json.loads(await text(client, evidence(ODD, "TREATS", "d:1")))
        other = json.loads(await text(client, evidence("d:1", "TREATS", ODD)))
        claim = json.loads(await text(client, "bfsql://claim/" + quote("Ache <-TREATS- Odd One")))
    passages = [{k: one[k] for k in PASSAGES[0]} for one in verdict["evidence"]]
    assert (verdict["verdict"], verdict["evidence_count"], passages) == ("stored", 3, PASSAGES)
    assert (other["verdict"], claim["verdict"]) == ("not stored", "stored")
    assert claim["evidence"] == verdict["evidence"][:1]


@ERAS
async def test_prompts_bring_what_they_are_about(graph, era):
    async with Client(create_server(graph), mode=era) as client:
        listed = {one.name: one for one in (await client.list_prompts()).prompts}
        given = {"first": "Ache", "second": ODD, "claim": "Ache -TREATS-> Odd One"}
        for name, prompt in listed.items():
            needed = {a.name: given[a.name] for a in prompt.arguments or () if a.required}
            first, *rest = (await client.get_prompt(name, needed)).messages
            assert all(
                json.dumps(one, ensure_ascii=False) in first.content.text for one in needed.values()
            )
            for message in rest:
                read = message.content.resource
                assert read.text == await text(client, read.uri)
            assert [m.role for m in (first, *rest)] == ["user"] * (1 + max(1, len(needed)))
    assert list(listed) == ["survey", "compare", "verify"]


COMPLETIONS = {
    ("bfsql://entity/{id}", "id", "odd"): [ODD, "n:0", "n:1", "n:2"],
    ("bfsql://evidence/{subject}/{predicate}/{object}", "predicate", "reat"): ["TREATS"],
    ("bfsql://evidence/{subject}/{predicate}/{object}", "object", "ache"): ["d:1"],
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
    ("read", "bfsql://nothing", "There is no resource"),
    ("read", "bfsql://entity/a/b", "percent-encoded"),
    ("read", "bfsql://entity/Ahe", "no entity has the id or the name"),
    ("read", "bfsql://claim/a%20-b-%3E%20c%0Ad%20-e-%3E%20f", "several claims"),
    ("prompt", ("nothing", {}), "survey(type); compare(first, second); verify(claim)"),
    ("prompt", ("compare", {"first": "Ache"}), 'no prompt "compare" with ["first"]'),
    ("prompt", ("verify", {"claim": "no claim"}), "is not one claim"),
    ("complete", ("survey", "typ", "d"), 'has no argument "typ"'),
    ("complete", ("nothing", "id", "d"), 'has no argument "id"'),
]


@ERAS
@pytest.mark.parametrize(("what", "asked", "said"), WRONG)
async def test_what_is_unknown_gets_a_sentence(graph, era, what, asked, said):
    async with Client(create_server(graph), mode=era) as client:
        asks = {
            "read": lambda: text(client, asked),
            "prompt": lambda: client.get_prompt(*asked),
            "complete": lambda: completed(client, *asked),
        }
        if asked == ("verify", {"claim": "no claim"}):
            told = (await client.get_prompt(*asked)).messages[1].content.resource.text
            assert said in told
            return
        with pytest.raises(MCPError) as error:
            await asks[what]()
    assert said in str(error.value)
    assert error.value.code == -32602


async def test_hooks_and_bounds_hold(graph):
    hiding = Hiding(lambda kind, key, known: {k: v for k, v in known.items() if k == "name"})
    async with Client(create_server(graph, hooks=[hiding])) as client:
        record = await text(client, f"bfsql://entity/{quote(ODD, safe='')}")
        passages = await text(client, evidence(ODD, "TREATS", "d:1"))
    assert "Odd One" in record
    assert "hidden" not in record
    assert "passage" not in passages
    async with Client(create_server(graph, hooks=[Refusing("not for you")])) as client:
        for uri in ("bfsql://schema", "bfsql://entity/d%3A1"):
            with pytest.raises(MCPError, match="not for you"):
                await text(client, uri)
        with pytest.raises(MCPError, match="not for you"):
            await completed(client, "survey", "type", "D")
    async with Client(create_server(graph, limits=Limits(max_tokens=500))) as client:
        cut = json.loads(await text(client, evidence(ODD, "TREATS", "d:1")))
    assert 0 < len(cut["evidence"]) < cut["evidence_count"] == len(PASSAGES)
    async with Client(create_server(graph, limits=Limits(deadline=1e-9))) as client:
        for uri in ("bfsql://schema", evidence(ODD, "TREATS", "d:1")):
            with pytest.raises(MCPError, match="did not finish") as late:
                await text(client, uri)
            assert late.value.code == -32603
