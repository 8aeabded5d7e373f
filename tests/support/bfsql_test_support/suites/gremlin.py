"""The kit, agreement with the reference, and medlit, on an engine that speaks Gremlin."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql.models import GraphRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.gremlin import GremlinServer
from bfsql_test_support.suites.agreement import assert_agreed, graphs, values, without_dangling
from bfsql_test_support.suites.conformance import HoldingSuite, WatchedSuite, closing, texts_of
from bfsql_test_support.suites.medlit import MedlitSuite, SameGraph, assert_whole
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind, never
from bfsql_testing.conformance import EVERYTHING

_IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"`", "42", "007", "4.20", "true", "🜁", ""])
_TYPES = st.sampled_from(["drug", "Disease", "two words", "it's", ""])
_PREDICATES = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060", "it's ${1}"])
# JanusGraph allows no quotation marks and braces in labels.
_PLAIN = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060", "it's $1"])
_VALUES = values(null=False)
_OPTIONS: dict[str, Any] = {
    "phases": [Phase.explicit, Phase.reuse, Phase.generate],
    "suppress_health_check": list(HealthCheck),
}


async def agree(server: GremlinServer, records: list[GraphRecord], **options: Any) -> None:
    """Load records, and compare all answers with the reference's."""
    settings = GremlinSettings(uri=[server.uri], **server.login, **options)
    able = without_dangling(records)  # an edge in Gremlin has two vertices
    await load_graph(settings, able)
    async with closing(GremlinBackend.open(settings)) as backend:
        await assert_agreed(backend, able, cleaned=clean_metadata)


def agreement(number: int, *, plain: bool = False, own_id: bool = True, **options: Any) -> Any:
    """A test method for a class with the attribute `server`.

    Args:
        number: How many graphs are drawn.
        plain: Without predicates that JanusGraph does not allow.
        own_id: With metadata under the name of the id property.
    """
    named = {"node": {"entity_id": _VALUES}} if own_id else {}
    drawn = graphs(_IDS, _PLAIN if plain else _PREDICATES, _TYPES, any_value=_VALUES, **named)

    @given(drawn)
    @examples(max_examples=number, **_OPTIONS)
    async def test(self: Any, records: list[GraphRecord]) -> None:
        await agree(self.server, records, **options)

    return test


KEPT = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES, Kind.LONG_IDS, Kind.NUL_CHARACTERS}


class GremlinSuite(LoadedTogether, HoldingSuite, WatchedSuite):
    """The kit on the server of the attribute `server`."""

    keeps = KEPT
    examples = 30 if THOROUGH else 5
    server: GremlinServer

    @property
    def settings(self) -> GremlinSettings:
        """Settings of the server, for a machine that does much else."""
        return GremlinSettings(uri=[self.server.uri], connect_timeout=60.0, **self.server.login)

    def backend_with(
        self, records: Sequence[GraphRecord]
    ) -> AbstractAsyncContextManager[GremlinBackend]:
        return self._opened(records, self.settings)

    def read_only_with(
        self, records: Sequence[GraphRecord]
    ) -> AbstractAsyncContextManager[GremlinBackend]:
        return self._opened(records, self.settings.model_copy(update={"traversal_source": "r"}))

    @asynccontextmanager
    async def _opened(
        self, records: Sequence[GraphRecord], settings: GremlinSettings
    ) -> AsyncIterator[GremlinBackend]:
        await self.load_once(records, lambda: load_graph(self.settings, records))
        async with closing(GremlinBackend.open(settings)) as backend:
            self.texts = watched(backend)
            yield backend


def watched(backend: GremlinBackend) -> list[str]:
    """The list to which the steps of the traversals that a backend sends are appended."""
    return texts_of(backend._client, "stream", lambda traversal: shape(traversal.bytecode))


def shape(bytecode: Any) -> str:
    """The steps of a traversal without arguments, except for traversals in them."""
    return ".".join(
        f"{name}({', '.join(shape(v) for v in values if hasattr(v, 'step_instructions'))})"
        for name, *values in bytecode.step_instructions
    )


HOSTILE_NAMES = (
    *("bfs-bytes", "intersect-bytes", "entity-bytes", "entities-bytes"),
    *("schema-lists", "hostile-ids", "every-node"),
)
"""Rules whose graphs have types and predicates with any characters."""
WITHOUT_QUOTES = never("JanusGraph allows no quotation marks and braces in labels.")


class GremlinMedlit(MedlitSuite, SameGraph):
    """Medlit on the server of a fixture `server`, of class scope."""

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls, medlit_records: list[GraphRecord], server: GremlinServer) -> GremlinSettings:
        """Settings of the server, with medlit loaded."""
        settings = GremlinSettings(uri=[server.uri], **server.login)
        assert_whole(asyncio.run(load_graph(settings, medlit_records)))
        return settings

    @pytest.fixture
    async def backend(self, settings: GremlinSettings) -> AsyncIterator[GremlinBackend]:
        """A backend on it."""
        async with closing(GremlinBackend.open(settings)) as opened:
            yield opened
