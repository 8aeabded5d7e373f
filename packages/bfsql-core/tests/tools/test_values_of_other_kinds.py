"""Values that a condition cannot compare are reported, wherever the condition stands."""

from __future__ import annotations

import pytest

from bfsql.abc import ForwardingBackend
from bfsql.errors import ToolError
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord

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


@pytest.mark.parametrize("counted", [True, False], ids=["outline", "no outline yet"])
@pytest.mark.parametrize("kind", [lambda db: db, Inexact], ids=["exact", "inexact"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": ["T:*"], "where": ["score>0"]},
        {"seeds": ["S:*"], "where": ["-rel-> T[score>0]"]},
        {"seeds": ["S[-rel-> T[score>0]]"]},
        {"seeds": ["S:*"], "where": ["-rel[weight>0]-> T"]},
        {"seeds": ["s"], "path": ["-rel-> T"], "where": ["0 -rel-> T[score>0]"]},
        {"seeds": ["s"], "path": ["-rel-> T[score>0]"]},
        {"seeds": ["s"], "along": ["-rel-> T[score>0]"]},
    ],
    ids=str,
)
async def test_a_value_of_another_kind_is_reported_once(arguments, kind, counted):
    async with open_graph(kind(MemoryBackend(RECORDS))) as graph:
        if counted:
            await graph.counted()
        notes = (await graph.bfs_query(**arguments)).content["notes"]
    assert [NOTE in one for one in notes].count(True) == 1, notes


@pytest.mark.parametrize(
    "condition", ["at>3", 'score="high"', "flag=true", "name=a", "since>2020-01", "tags=b"]
)
async def test_values_that_can_be_compared_get_no_note_and_no_further_listing(condition):
    known = {"at": 1, "flag": False, "name": "b", "since": "2020-02-29", "tags": ["a"]}
    known |= {"score": "low"}
    listings = []

    class Counted(MemoryBackend):
        async def nodes_stream(self, **asked):
            listings.append(asked)
            async for nodes in super().nodes_stream(**asked):
                yield nodes

    async with open_graph(Counted([NodeRecord("a", "A", known)])) as graph:
        await graph.counted()
        listings.clear()
        for arguments in ([f"A[{condition}]"], ()), (["A:*"], [condition]):
            notes = (await graph.bfs_query(arguments[0], where=arguments[1])).content.get(
                "notes", []
            )
            assert not any("cannot be compared" in one for one in notes)
    assert not any(c.operator == "has" for asked in listings for c in asked["conditions"])


SIZES = [
    NodeRecord("a", "Box", {"width": 3, "height": 2, "made": "2020-01-01", "label": "a"}),
    NodeRecord("b", "Box", {"width": 1, "height": 2, "made": "2021-01-01", "label": "height"}),
    NodeRecord("c", "Ball", {"width": 1, "colour": "red"}),
    EdgeRecord("a", "near", "b", {"least": 1, "most": 2}),
]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"seeds": ["Box[width>height]"]}, "seeds"),
        ({"seeds": ["*[width >= height]"]}, "seeds"),
        ({"seeds": ["Box.width<height"]}, "seeds"),
        ({"seeds": ["Box[<-near- Box[height<made]]"]}, "seeds"),
        ({"seeds": ["Box:*"], "where": ["width>height"]}, "where"),
        ({"seeds": ["Box:*"], "where": ["Box.width<=height"]}, "where"),
        ({"seeds": ["a"], "where": ["near.least<most"]}, "where"),
        ({"seeds": ["a"], "where": ["least<most"]}, "where"),
        ({"seeds": ["a"], "path": ["-near-> Box[width>height]"]}, "path"),
        ({"seeds": ["a"], "path": ["-near[least<most]->"]}, "path"),
        ({"seeds": ["a"], "path": ["-near->"], "where": ["1.width>height"]}, "where"),
        ({"seeds": ["a"], "to": ["Box[width>height]"]}, "to"),
        ({"seeds": ["a"], "along": ["-near-> [width>height]"]}, "along"),
    ],
    ids=str,
)
async def test_a_comparison_of_two_properties_is_an_error_that_says_so(arguments, argument):
    async with open_graph(MemoryBackend(SIZES)) as graph:
        await graph.counted()
        with pytest.raises(ToolError, match="compares two properties, ") as error:
            await graph.bfs_query(**arguments)
    assert (error.value.argument, error.value.kind) == (argument, "bad_value")


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ('width>"height"', []),
        ("label=height", ["b"]),
        ("width!=height", ["a", "b"]),
        ("label>=height", ["b"]),
        ("width>label", []),
        ("width>colour", []),
    ],
)
async def test_a_word_that_is_no_ordered_property_of_the_type_stays_a_value(condition, ids):
    async with open_graph(MemoryBackend(SIZES)) as graph:
        await graph.counted()
        for seed, where in ((f"Box[{condition}]", []), ("Box:*", [f"Box.{condition}"])):
            answer = await graph.bfs_query([seed], where=where)
            assert [one["id"] for one in answer.content["nodes"]] == ids


async def test_a_number_among_codes_that_are_text_is_looked_up_without_a_note():
    nodes = [NodeRecord(one, "T", {"code": one}) for one in ("77", "A78")]
    async with open_graph(MemoryBackend(nodes)) as graph:
        for _ in range(2):
            assert "notes" not in (await graph.bfs_query(["T[code=77]"])).content
            await graph.counted()


@pytest.mark.parametrize("kind", [lambda db: db, Inexact], ids=["exact", "inexact"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": ["T[score>0]"]},
        {"seeds": ["T[score>0]"], "limit": 0},
        {"seeds": ["*[score<9]"]},
        {"seeds": ["T[score=2]"]},
        {"seeds": ["Start:*"], "path": ["-rel-> T[score>2]"]},
        {"seeds": ["s"], "path": ["-rel->"], "to": ["T[score>0]"]},
        {"seeds": ["s"], "to": ["T[score>2]"]},
    ],
    ids=str,
)
async def test_a_set_read_from_the_store_gets_the_same_notes_whatever_is_known(arguments, kind):
    async with open_graph(kind(MemoryBackend(RECORDS))) as graph:
        cold = (await graph.bfs_query(**arguments)).content
        await graph.counted()
        warm = (await graph.bfs_query(**arguments)).content
    assert cold == warm
    assert not any(NOTE in one for one in cold.get("notes", []))
