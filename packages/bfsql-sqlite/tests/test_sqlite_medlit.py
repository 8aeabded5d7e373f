"""A real graph, with the figures published by the protocol's author."""

import asyncio

import pytest

from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.suites.medlit import (
    MedlitSuite,
    MisspelledNames,
    NoMatches,
    SameGraph,
    assert_whole,
)


@pytest.fixture(scope="module")
def loaded(medlit_records, tmp_path_factory):
    """A file that holds the graph."""
    path = tmp_path_factory.mktemp("medlit") / "medlit.db"
    assert_whole(asyncio.run(load_graph(SqliteSettings(path=path), medlit_records)))
    return path


@pytest.fixture
async def backend(loaded):
    opened = await SqliteBackend.create(path=loaded)
    yield opened
    await opened.close()


class TestMedlit(MedlitSuite, SameGraph, MisspelledNames, NoMatches):
    async def test_the_advice_is_short(self, backend):
        assert len(await backend.next_steps()) < 500
