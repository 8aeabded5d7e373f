"""`at` in calls: what it may be, what an answer says of it, and where it is listed."""

import re

import pytest

from bfsql.errors import ToolError
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.valid_time import TimeKeys
from bfsql.plugins import hookimpl
from bfsql.tools import Limits
from bfsql_test_support.case_table import case_table

KEYS = TimeKeys(("since", "OWNS.bought"), ("until",))
RECORDS = [
    NodeRecord("a", "P", {"name": "Ann", "at": "home", "note": "x" * 900}),
    NodeRecord("b", "P", {"name": "Bob", "since": "2015"}),
    NodeRecord("c", "C", {"name": "Corp"}),
    EdgeRecord("a", "KNOWS", "c", {"since": "2010", "until": "2020"}),
    EdgeRecord("a", "OWNS", "c", {"bought": 2018}),
    EdgeRecord("a", "SOLD", "c", {"bought": 2018}),
    EdgeRecord("a", "HAD", "c", {"since": "2020", "until": "2000"}),
    EdgeRecord("a", "HAS", "c", {"since": "24/08/2017", "until": ["2011", "2012"]}),
]


def graph(keys=KEYS, **more):
    return open_graph(MemoryBackend(RECORDS, keys), **more)


@case_table(
    "at, part",
    [
        ("soon", 'must be a date ("2024-05-01"'),
        ("0000", "must be a date"),
        ("0000..2020", "must be a date"),
        ("2024-02-30", "must be a date"),
        ("..", "must be a date"),
        ("2019..2020..2021", "must be a date"),
        ("2023..2020", "ends before it begins"),
        ("2012-06-15T25:00Z", "must be a date"),
    ],
)
async def test_what_is_no_time_is_an_error_that_says_what_is(at: str, part: str) -> None:
    async with graph() as opened:
        with pytest.raises(ToolError, match=re.escape(part)) as wrong:
            await opened.bfs_query(["a"], at=at)
    assert wrong.value.argument == "at"


@case_table(
    "at, predicates",
    [
        ("2019", {"KNOWS", "OWNS", "SOLD", "HAS"}),
        (2017, {"KNOWS", "SOLD", "HAS"}),
        ("2009-12-31", {"SOLD", "HAS"}),
        ("today", {"OWNS", "SOLD", "HAS"}),
        ("2019-12-31T23:30:00-01:00", {"OWNS", "SOLD", "HAS"}),
    ],
)
async def test_a_time_shows_what_held_then(at: str, predicates: set[str]) -> None:
    async with graph() as opened:
        answer = (await opened.bfs_query(["a"], at=at)).content
    assert {edge["predicate"] for edge in answer["edges"]} == predicates
    assert f"; 1 of {len(predicates)} edges have no dates" in answer["at"]
    assert f"; 1 of {len(predicates)} edges have a date that cannot be read" in answer["at"]
    assert answer["at"].endswith(
        "; 1 of the edges read end before they start, or when, and never hold"
    )


async def test_errors_say_what_is_missing_and_when_an_entity_held() -> None:
    async with graph() as opened, graph(TimeKeys()) as plain:
        for call, part in (
            (opened.describe_entity("Bob", at="2014"), 'does not hold at 2014, but in "2015.."'),
            (opened.intersect_subgraphs(["a", "b"], at="2014"), "does not hold at 2014"),
            (opened.describe_schema(at="2014"), "with seeds"),
            (plain.bfs_query(["a"], at="2014"), "--valid-from since"),
        ):
            with pytest.raises(ToolError, match=part):
                await call
        assert "at" not in plain.definitions()[2].input_schema["properties"]
        listed = [d.name for d in opened.definitions() if "\nat: " in d.description]
        assert listed == ["describe_schema", "bfs_query", "describe_entity"]


async def test_the_line_comes_first_and_within_the_budget() -> None:
    async with graph() as opened:
        record = (await opened.describe_entity("a", at="2019")).content
        assert list(record)[:2] == ["at", "id"]
        assert record["metadata.at"] == "home"
        small = await opened.bfs_query(["a"], at="2019", max_tokens=500)
    assert len(small.text) <= 1_500
    assert small.text.startswith('{"at":"2019; ')
    async with graph(limits=Limits(answer_format="lines")) as opened:
        for call in (opened.bfs_query(["a"], at="2019"), opened.describe_entity("a", at="2019")):
            assert (await call).text.startswith("at: 2019; ")


async def test_what_hooks_remove_is_no_date() -> None:
    class Hider:
        @hookimpl
        def redact_metadata(self, metadata):
            return {key: value for key, value in metadata.items() if key != "until"}

    async with graph(hooks=[Hider()]) as opened:
        answer = (await opened.bfs_query(["a"], at="2022")).content
    assert "KNOWS" in {edge["predicate"] for edge in answer["edges"]}
