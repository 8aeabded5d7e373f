"""The outline of a graph, and claims about it, over the web API."""

from bfsql import MemoryBackend, open_graph
from bfsql.models import NodeRecord, Outline, outline_of
from bfsql.tools.verify import Verdict


async def test_the_outline_counts_relations_and_tells_properties(web):
    assert (await web.get("/schema")).json()["outline"] == "/outline"
    outline = (await web.get("/outline")).json()
    assert not outline["counting"]
    assert outline["relations_from"] == "all"
    assert outline["node_counts"] == {"Film": 2, "Person": 3}
    assert outline["relations"][0] == {
        "subject_type": "Person",
        "predicate": "ACTED_IN",
        "object_type": "Film",
        "edges": 4,
    }
    assert {
        key: value
        for key, value in outline["node_properties"]["Film"][1].items()
        if key not in ("values", "further_values")
    } == {"name": "year", "kind": "number", "minimum": 1993, "maximum": 1993}
    assert "ACTED_IN" in outline["edge_properties"]


async def test_the_outline_of_a_sample_has_no_numbers(served):
    class Sampling(MemoryBackend):
        async def outline(self) -> Outline:
            return outline_of({}, {("T", "p", "T"): 3}, sampled=True)

    outline = (await (await served(Sampling([NodeRecord("a", "T")]))).get("/outline")).json()
    assert outline["relations_from"] == "sample"
    assert outline["relations"] == [{"subject_type": "T", "predicate": "p", "object_type": "T"}]
    assert outline["node_counts"] == {}


async def test_claims_are_checked_as_in_python(web, records):
    text = "Tom Hanks -ACTED_IN-> Sleepless in Seattle\nMeg Ryan -DIRECTED-> film:1\nBravo!"
    async with open_graph(MemoryBackend(records)) as graph:
        verdicts = await graph.verify(text)
    answer = (await web.post("/verify", json={"text": text})).json()
    assert [Verdict.model_validate(one, strict=False) for one in answer["verdicts"]] == verdicts
    assert answer["verdicts"][0]["evidence"][0]["text_span"] == "They met."
    wrong = await web.post("/verify", json={"text": ["a"]})
    assert (wrong.status_code, wrong.json()["argument"]) == (400, "text")
    assert wrong.json()["detail"].startswith("text must be a string, not")
