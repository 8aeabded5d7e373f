"""Values that a condition cannot compare are reported, wherever the condition stands."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import product
from typing import Any

import pytest

from bfsql import call
from bfsql.abc import ForwardingBackend
from bfsql.engine.properties import Tally, Values
from bfsql.errors import ToolError
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Omission, condition
from bfsql.models.comparison import contains
from bfsql.models.condition import Condition, Meaning, Operator
from bfsql.plugins import hookimpl
from bfsql.query import properties
from bfsql.tools import Limits
from bfsql_test_support.backends.columns import ColumnsOverMemory, Strings
from bfsql_test_support.case_table import case_table
from bfsql_test_support.nasty_values import LITERALS, VALUES

SCORES = [1, 2, "high", "3"]
RECORDS = [
    NodeRecord("s", "S"),
    *(NodeRecord(f"s{n}", "Start", {"at": n}) for n in range(20)),
    *(NodeRecord(f"t{n}", "T", {"score": one}) for n, one in enumerate(SCORES)),
    *(EdgeRecord("s", "rel", f"t{n}", {"weight": one}) for n, one in enumerate(SCORES)),
    *(EdgeRecord(f"s{n}", "rel", f"t{n % 4}") for n in range(20)),
]
NOTE = "1 value cannot be compared with"


class Inexact(ForwardingBackend):
    """A store that leaves every comparison to core."""

    def filters_exactly(self, condition):
        return False


class Older(Inexact):
    """A store that was written before `unlike`, and ignores what it does not know."""

    def nodes_stream(self, *, entity_types=None, conditions=()):
        known = [one for one in conditions if one.operator != "unlike"]
        return super().nodes_stream(entity_types=entity_types, conditions=known)


class Choosy(MemoryBackend):
    """A store that fails on an operator that it does not know, such as `unlike`."""

    def knows_operator(self, operator):
        return operator in ("=", "<", ">")

    async def nodes_stream(self, **asked):
        assert all(self.knows_operator(one.operator) for one in asked.get("conditions", ()))
        async for nodes in super().nodes_stream(**asked):
            yield nodes


class Recorded(MemoryBackend):
    """A store that keeps what its lists were asked for."""

    def __init__(self, *records: Any) -> None:
        super().__init__(*records)
        self.asked: list[list[tuple[str, Operator]]] = []

    async def nodes_stream(self, **asked):
        self.asked.append([(one.key, one.operator) for one in asked.get("conditions", ())])
        async for nodes in super().nodes_stream(**asked):
            yield nodes


KINDS = [MemoryBackend, ColumnsOverMemory, Inexact, Older, Choosy]


def made(kind):
    """A store of this kind with the records."""
    return kind(MemoryBackend(RECORDS)) if issubclass(kind, ForwardingBackend) else kind(RECORDS)


async def notes_of(graph: Graph, *seeds: str, **arguments: Any) -> list[str]:
    """The notes of a call on values that cannot be compared."""
    notes = (await graph.bfs_query(list(seeds), **arguments)).content.get("notes", [])
    return [one for one in notes if "cannot be compared" in one]


@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": ["T:*"], "where": ["score>0"]},
        {"seeds": ["T[score>0][score!=2]", "s"], "limit": 0},
        {"seeds": ["T[score>0]"], "limit": 0, "facets": ["score"]},
        {"seeds": ["*[score<9]"]},
        {"seeds": ["T[score=2]"]},
        {"seeds": ["Start:*"], "where": ["-rel-> T[score>0]"]},
        {"seeds": ["S[-rel-> T[score>0]]"]},
        {"seeds": ["S:*"], "where": ["-rel[weight>0]-> T"]},
        {"seeds": ["s"], "path": ["-rel-> T"], "where": ["0 -rel-> T[score>0]"]},
        {"seeds": ["s"], "path": ["-rel-> T[score>0]"]},
        {"seeds": ["Start:*"], "path": ["-rel-> T[score>2]"]},
        {"seeds": ["T[score>0]"], "path": ["<-rel- Start"]},
        {"seeds": ["s"], "path": ["-rel->"], "to": ["T[score>0]"]},
        {"seeds": ["s"], "to": ["T[score>2]"]},
        {"seeds": ["T[score>2]"], "to": ["T[score>2]"]},
        {"seeds": ["s"], "along": ["-rel-> T[score>0]"]},
    ],
    ids=str,
)
async def test_a_value_of_another_kind_is_reported_once_by_any_store_cold_and_warm(arguments):
    for kind, counted in product(KINDS, (True, False)):
        async with open_graph(made(kind)) as graph:
            if counted:
                await graph.counted()
            cold = await graph.bfs_query(**arguments)
            await graph.counted()
            assert (await graph.bfs_query(**arguments)).text == cold.text, (kind, counted)
        notes = cold.content["notes"]
        assert [NOTE in one for one in notes].count(True) == 1, (kind, counted, notes)


async def test_core_compares_by_an_operator_that_came_after_the_store(monkeypatch):
    monkeypatch.setitem(condition._MEANINGS, "~!", Meaning(contains, (True,), negated=True))
    monkeypatch.setitem(properties.SPELLINGS, "~!", "~!")
    db = Recorded([*RECORDS, NodeRecord("t9", "T")])
    async with open_graph(db) as graph:
        answer = await graph.bfs_query(["T[score~!hi|1][score<9]"])
    assert [node["id"] for node in answer.content["nodes"]] == ["t1", "t3"]
    assert [("score", "<")] in db.asked
    assert not any(operator == "~!" for asked in db.asked for _, operator in asked)


async def test_a_page_of_entities_reports_them_too():
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        with graph.scope(None, None):
            page = await graph.entity_page(["T"], ["score>0"], None, 10)
    assert [NOTE in str(one) for one in page.notes] == [True]


def test_the_values_that_unlike_finds_are_those_that_a_tally_counts():
    for operator, literals in product(
        ("=", "!=", "<", ">=", "~"),
        [*((one,) for one in LITERALS), ("12", "abc"), ("2004", "true")],
    ):
        one, values, tally = Condition("k", operator, literals, "text"), Values(), Tally()
        tally.keeps([one], values.numbers(VALUES), values, absent=False)
        found = [one.unlike is not None and one.unlike.holds({"k": value}) for value in VALUES]
        assert sum(found) == tally.facts(one, hidden=False, absent=False).unlike, one


async def test_values_are_counted_once_for_all_conditions_that_compare_alike():
    db = Recorded(RECORDS)
    async with open_graph(db) as graph:
        for text in ("score>0", "score<=2", "score=3", "score>0][name=x", "score>0"):
            assert len(await notes_of(graph, f"T[{text}]")) == 1
        assert len([one for one in db.asked if ("score", "unlike") in one]) == 1
        assert len(await notes_of(graph, "T[score>2020-01]")) == 1
        assert len([one for one in db.asked if ("score", "unlike") in one]) == 2


class Guard:
    """Removes the score of one node, for all but one caller."""

    @hookimpl
    def redact_metadata(self, kind, key, metadata, caller):
        hidden = key == "t2" and (caller is None or caller.client != "admin")
        return {k: v for k, v in metadata.items() if not (hidden and k == "score")}


@pytest.mark.parametrize("strings", [False, True])
async def test_a_redacted_value_is_absent_and_no_store_is_listed_twice(strings):
    db = Recorded([*RECORDS, NodeRecord("t9", "T", {"score": "low"})])
    async with open_graph(Strings(db) if strings else db, hooks=[Guard()]) as graph:
        arguments = {"seeds": ["T[score>0]"]}
        for client, count in ((None, 1), ("admin", 2), (None, 1)):
            db.asked.clear()
            answer = await graph.call("bfs_query", arguments, caller=call.Caller(client))
            assert f"{count} value" in answer.content["notes"][0]
            assert db.asked == [[]]


class Slow(MemoryBackend):
    """A store that does not count values of other kinds to their end."""

    asked = 0

    async def nodes_stream(self, **asked) -> AsyncGenerator[list[Any]]:
        if any(one.operator == "unlike" for one in asked.get("conditions", ())):
            type(self).asked += 1
            await self.count()
        async for nodes in super().nodes_stream(**asked):
            yield nodes

    async def count(self):
        await asyncio.Event().wait()


class Failing(Slow):
    """A store that fails on an operator that it does not know."""

    async def count(self):
        raise ValueError("unlike")


class Partial(Slow):
    """A store that does not list all entities for such a question."""

    async def count(self):
        call.omitted(Omission("T", "nodes"))


@pytest.mark.parametrize("kind", [Slow, Failing, Partial])
@pytest.mark.parametrize("set_", [{}, {"path": ["<-rel- Start[at>=0]"]}], ids=str)
async def test_values_that_could_not_be_counted_are_reported_as_such(kind, set_):
    kind.asked = 0
    async with open_graph(kind(RECORDS), limits=Limits(deadline=5)) as graph:
        for _ in range(2):
            [note] = await notes_of(graph, "T[score>0]", **set_)
            assert 'with "T[score>0]" were not counted, because' in note
    assert kind.asked == 1


@pytest.mark.parametrize(
    "condition", ["at>3", 'score="high"', "flag=true", "name=a", "since>2020-01", "tags=b"]
)
async def test_values_that_can_be_compared_get_no_note_and_no_listing_after_the_first(condition):
    known = {"at": 1, "flag": False, "name": "b", "since": "2020-02-29", "tags": ["a"]}
    known |= {"score": "low"}
    db = Recorded([NodeRecord("a", "A", known)])
    async with open_graph(db) as graph:
        for arguments in ([f"A[{condition}]"], ()), (["A:*"], [condition]):
            assert not await notes_of(graph, *arguments[0], where=arguments[1])
        db.asked.clear()
        await notes_of(graph, f"A[{condition}]")
    assert not any(operator == "unlike" for asked in db.asked for _, operator in asked)


SIZES = [
    NodeRecord("a", "Box", {"width": 3, "height": 2, "made": "2020-01-01", "label": "a"}),
    NodeRecord("b", "Box", {"width": 1, "height": 2, "made": "2021-01-01", "label": "height"}),
    NodeRecord("c", "Ball", {"width": 1, "colour": "red"}),
    EdgeRecord("a", "near", "b", {"least": 1, "most": 2}),
]


@case_table(
    "arguments, ids",
    [
        ({"seeds": ["Box[width>height]"]}, ["a"]),
        ({"seeds": ["*[width >= height]"]}, ["a"]),
        ({"seeds": ["Box.width<height"]}, ["b"]),
        ({"seeds": ["Box[<-near- Box[height<width]]"]}, ["b"]),
        ({"seeds": ["Box:*"], "where": ["width>height"]}, ["a"]),
        ({"seeds": ["Box:*"], "where": ["Box.width<=height"]}, ["b"]),
        ({"seeds": ["a"], "path": ["-near-> Box[width<height]"], "show": "ends"}, ["b"]),
        ({"seeds": ["a"], "path": ["-near->"], "show": "ends", "where": ["1.width<height"]}, ["b"]),
        ({"seeds": ["a"], "path": ["-near[least < .most]->"], "show": "ends"}, ["b"]),
        ({"seeds": ["a"], "path": ["-near->"], "show": "ends", "where": ["near.least>.most"]}, []),
        ({"seeds": ["Box[label=.label]"]}, ["a", "b"]),
    ],
)
async def test_two_properties_are_compared_and_a_word_that_is_taken_for_one_is_noted(
    arguments, ids
):
    async with open_graph(MemoryBackend(SIZES)) as graph:
        await graph.counted()
        answer = await graph.bfs_query(**arguments)
    assert [node["id"] for node in answer.content["nodes"]] == ids
    noted = "as the property of that name" in str(answer.content.get("notes"))
    assert noted == ("." not in str(arguments).replace("Box.", "").replace("1.", ""))


@case_table(
    "arguments, argument",
    [
        ({"seeds": ["a"], "where": ["near.least<most"]}, "where"),
        ({"seeds": ["a"], "where": ["least<most"]}, "where"),
        ({"seeds": ["a"], "path": ["-near[least<most]->"]}, "path"),
    ],
)
async def test_two_properties_of_edges_whose_keys_are_not_known_need_a_dot(arguments, argument):
    async with open_graph(MemoryBackend(SIZES)) as graph:
        await graph.counted()
        with pytest.raises(ToolError, match=r'Write "least < \.most" for the properties') as error:
            await graph.bfs_query(**arguments)
    assert (error.value.argument, error.value.kind) == (argument, "bad_value")


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ('width>"height"', []),
        ("label=height", ["b"]),
        ("width!=height", ["a", "b"]),
        ('label>="height"', ["b"]),
        ("label>=i", []),
        ("width>colour", []),
    ],
)
async def test_a_word_that_is_no_ordered_property_of_the_type_stays_a_value(condition, ids):
    async with open_graph(MemoryBackend(SIZES)) as graph:
        await graph.counted()
        for seed, where in ((f"Box[{condition}]", []), ("Box:*", [f"Box.{condition}"])):
            answer = await graph.bfs_query([seed], where=where)
            assert [one["id"] for one in answer.content["nodes"]] == ids


async def test_a_number_among_codes_that_are_text_is_reported_as_where_does():
    nodes = [NodeRecord(one, "T", {"code": one}) for one in ("77", "A78")]
    async with open_graph(MemoryBackend(nodes)) as graph:
        [of_set] = await notes_of(graph, "T[code=77]")
        [of_where] = await notes_of(graph, "T:*", where=["code=77"])
    assert of_where == "where: " + of_set.replace("T[code=77]", "code=77")
