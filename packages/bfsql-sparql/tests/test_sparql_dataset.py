"""Answers as complete documents, and documents that are no results."""

import json
import threading
from typing import Any

import pytest

from bfsql.errors import StoreUnavailable
from bfsql_sparql.batches import Windows, counted, read_windows
from bfsql_sparql.dataset import Dataset, NoResults, Reply, links, rows, truth


class Says(Dataset):
    """A store that returns given documents in turn, and then repeats the last one."""

    name = "the store of the test"

    def __init__(self, *documents):
        self._bodies = [json.dumps(document).encode() for document in documents]

    async def reply(self, query, seconds=None):
        return Reply(self._bodies.pop(0) if len(self._bodies) > 1 else self._bodies[0])

    async def close(self):
        """Do nothing."""


def solutions(*bindings):
    """A result document with the variable `s`."""
    return {"head": {"vars": ["s"]}, "results": {"bindings": list(bindings)}}


NUMBER = solutions({"s": {"type": "literal", "value": "3"}})


def test_a_document_that_is_no_results_is_reported(each):
    for document in [
        [],
        {},
        {"head": {}, "results": {}},
        {"head": {"vars": "s"}, "results": {"bindings": []}},
        {"head": {"vars": ["s"]}, "results": {"bindings": {}}},
        {"head": None, "results": None},
    ]:
        for decode in [rows, links, truth]:
            refused = pytest.raises(NoResults, match="not SPARQL results")
            with each(document, decode), refused:
                decode(json.dumps(document).encode())


def test_a_row_that_is_none_is_reported(each):
    for row in [{"s": "plain"}, {"s": {"type": "uri"}}, "s", {"s": 1}, None]:
        for decode in [rows, links, truth]:
            with each(row, decode), pytest.raises(NoResults, match="a row"):
                decode(json.dumps(solutions(row)).encode())


async def test_a_number_that_is_none_is_the_stores_fault(each):
    for document in [
        {"odd": True},
        solutions(),
        solutions({}),
        solutions({"s": {"type": "literal", "value": "many"}}),
    ]:
        with (
            each(document),
            pytest.raises(
                StoreUnavailable, match="the store of the test sent an answer that is not valid"
            ),
        ):
            await counted(Says(document), "how many?")


async def test_a_window_that_is_none_is_the_stores_fault():
    windows: Windows[Any] = Windows(
        number="how many?",
        text=lambda after, size: f"{size} after {after}",
        decode=rows,
        end=lambda row: str(row[0]),
    )
    with pytest.raises(
        StoreUnavailable, match="the store of the test sent an answer that is not valid"
    ):
        await read_windows(Says(NUMBER, {"odd": True}), windows, 10, lambda _: None)


async def test_a_large_answer_is_parsed_in_a_thread_and_a_number_that_is_none_is_no_answer():
    def thread(_):
        return threading.get_ident()

    small, large = Says(NUMBER), Says(["x" * Dataset.large])
    assert await small.read("SELECT", 1, thread) == threading.get_ident()
    assert await large.read("SELECT", 1, thread) != threading.get_ident()
    assert await small.read("SELECT", 1, lambda _: int("many")) is None
