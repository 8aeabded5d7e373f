"""A Neo4j server to load into and to inspect."""

import asyncio
import logging
from functools import partial

import pytest
from neo4j import AsyncGraphDatabase

from bfsql_neo4j import Neo4jSettings

# A property or a label that is missing from the graph is not the statement's fault.
TOLD = {
    "notifications_min_severity": "WARNING",
    "notifications_disabled_classifications": ["UNRECOGNIZED"],
}


class Notes(logging.Handler):
    """Keeps the server's notifications that the driver logs.

    Warnings by the driver would cost 24 ms a statement, since it inspects the stack each time.
    """

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture(autouse=True)
def notes_are_errors(monkeypatch):
    """Fails the test on notifications about statements, above all about deprecated syntax."""
    make = AsyncGraphDatabase.driver

    def telling(uri, **options):
        return make(uri, **options | TOLD)

    monkeypatch.setattr("bfsql_neo4j.connection.AsyncGraphDatabase.driver", telling)
    notes, log = Notes(), logging.getLogger("neo4j.notifications")
    log.addHandler(notes)
    yield
    log.removeHandler(notes)
    assert not notes.texts


@pytest.fixture(autouse=True, scope="session")
def _indexes_are_looked_at_often():
    """Small indexes are populated sooner than after the pause that suits large ones."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("indexes", "discovery"):
            patch.setattr(f"bfsql_neo4j.{module}.POLL", 0.03)
        yield


@pytest.fixture
def settings(neo4j_server):
    """Settings of the test server, whose database is replaced by every load."""
    return Neo4jSettings(uri=neo4j_server.uri)


@pytest.fixture
async def cypher(neo4j_server):
    """Runs statements on the test server, bypassing the tested code; returns rows."""
    async with AsyncGraphDatabase.driver(
        neo4j_server.uri, auth=neo4j_server.auth, notifications_min_severity="OFF"
    ) as driver:

        async def run(text, **parameters):
            async with driver.session() as session:
                return await (await session.run(text, parameters)).values()

        yield run


@pytest.fixture
def empty_it(neo4j_server):
    """Removes all nodes, indexes and constraints of the test server's database."""
    return partial(asyncio.to_thread, neo4j_server.clear)


@pytest.fixture
async def emptied(empty_it):
    """The test server's database without nodes, indexes and constraints."""
    await empty_it()


@pytest.fixture(scope="session")
def statements():
    """Gives the list to which the texts that a backend sends from now on are appended."""

    from bfsql_test_support.suites.conformance import texts_of

    return lambda backend: texts_of(backend._reader, "_sent")
