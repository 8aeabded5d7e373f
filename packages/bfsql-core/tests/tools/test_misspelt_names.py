"""Names that are misspelt, and texts of which only a part is a name."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfsql import MemoryBackend, call, open_graph
from bfsql.errors import ToolError
from bfsql.models import NodeRecord
from bfsql.models.records import Omission
from bfsql_test_support.backends.author_style import RestBackend, Service

PEOPLE = ["Vanlam Chakel", "Vanlam Drorep", "Korbin Chakel", "Stelna Mordrik", "Ulrik Fasdren"]
RECORDS = [
    *(NodeRecord(f"P:{n}", "Person", {"name": name}) for n, name in enumerate(PEOPLE)),
    *(NodeRecord(f"R:{n:02}", "Report", {"name": f"Report {n} of the centre"}) for n in range(30)),
    *(NodeRecord(f"M:{n}", "Memo", {"name": f"Memo {n} on Zelkrat"}) for n in range(5)),
]


async def found(backend, query):
    """The names and classes of the hits, and the notes."""
    async with open_graph(backend) as graph:
        answer = await graph.search_entities(query)
    hits = answer.content["result"]
    return [(hit["name"], hit["match"]) for hit in hits], list(answer.notes)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        *(("VanlamChakel", "words"), ("Van lam Chakel", "words"), ("Vanla mChakel", "words")),
        ("VnalamChakel", "similar"),
        *(("Vnalam Chakle", "similar"), ("Van lma Chakel", "similar")),
    ],
)
async def test_spaces_may_be_lost_and_added_and_letters_swapped(query, kind):
    hits, _ = await found(MemoryBackend(RECORDS), query)
    assert hits == [("Vanlam Chakel", kind)]


async def test_a_rare_word_is_similar_where_nothing_has_all_words():
    hits, notes = await found(MemoryBackend(RECORDS), "the annual report on zelkrat")
    assert hits == [(f"Memo {n} on Zelkrat", "similar") for n in range(5)]
    assert notes == [
        'No entity is called "the annual report on zelkrat"; these share a rare word with it.'
    ]


class PartlySearched(MemoryBackend):
    async def search_entities(self, query, node_types=None):
        call.omitted(Omission(query, "search", reason="only ids were compared"))
        return []


async def test_the_error_of_an_unknown_name_says_that_its_search_was_incomplete():
    async with open_graph(PartlySearched(RECORDS)) as graph:
        with pytest.raises(ToolError, match=r"The search did not finish \(only ids were compared"):
            await graph.bfs_query(["Vanlam"])


@pytest.mark.parametrize("query", ["annual report", "report 31", "nothing here"])
async def test_words_that_many_have_and_numbers_are_nothing_in_common(query):
    hits, notes = await found(MemoryBackend(RECORDS), query)
    assert hits == []
    assert notes[0].startswith("Nothing matches")


async def test_a_candidate_of_a_store_that_shares_a_rare_word_is_shown(monkeypatch):
    backend = MemoryBackend(RECORDS)
    every = await backend.search_entities("the centre")

    async def search(query, node_types=None):
        return [*every[:15], *await MemoryBackend(RECORDS).search_entities("Zelkrat")]

    monkeypatch.setattr(backend, "search_entities", search)
    hits, _ = await found(backend, "centre of zelkrat institute")
    assert hits == [(f"Memo {n} on Zelkrat", "similar") for n in range(5)]


class Plain(RestBackend):
    """The eight methods and a list of entities; its search finds nothing."""

    async def search_entities(self, query):
        return []

    async def nodes_stream(self, *, entity_types=None, conditions=()):
        async for nodes in self._service._graph.nodes_stream(entity_types=entity_types):
            yield nodes


@pytest.mark.parametrize("types", [None, ["Person"], ["Memo", "Report"]])
async def test_eight_methods_and_a_list_find_what_the_reference_does(types):
    queries = ["VnalamChakel", "Vnalam Chakle", "Van lma Chakel", "Vanlam", "Ulrik Fasdrne"]
    queries += ["the annual report on zelkrat", "annual report", "nothing here", "?", "\ud800"]
    plain, reference = Plain(Service(RECORDS)), MemoryBackend(RECORDS)
    async with open_graph(plain) as graph, open_graph(reference) as other:
        for query in queries:
            asked = {"query": query, "node_types": types}
            found = await graph.search_entities(**asked)
            assert found.text == (await other.search_entities(**asked)).text, query


async def test_names_beyond_the_first_of_a_long_list_are_not_compared(monkeypatch):
    monkeypatch.setattr("bfsql.tools.hits.MOST_LISTED", 4)
    hits, notes = await found(Plain(Service(RECORDS)), "Stelna Mordirk")
    assert hits == [("Stelna Mordrik", "similar")]
    hits, notes = await found(Plain(Service(RECORDS)), "Ulrik Fasdrne")
    assert hits == []
    assert any("only the names of 4 entities were compared" in note for note in notes)


@settings(max_examples=100)
@given(st.integers(0, 10**6))
async def test_any_lost_space_is_found(seed):
    chance = random.Random(seed)
    name = chance.choice(PEOPLE)
    at = chance.randrange(1, len(name) - 2)
    swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    for query in (name.replace(" ", ""), swapped.replace(" ", "")):
        hits, _ = await found(MemoryBackend(RECORDS), query)
        assert name in [called for called, _ in hits]
