"""A real graph, loaded, with the figures published by the protocol's author."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bfsql.models import GraphRecord
from bfsql_sparql import SparqlBackend
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.medlit import MedlitSuite, SameMetadata

STORES = ["files", "oxigraph", *(("fuseki", "virtuoso", "rdf4j") if THOROUGH else ())]
"""In a graph of plain values, further engines show nothing beyond the kit and drawn graphs."""


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, place: Callable[..., Any]) -> Any:
    return place(request.param)


@pytest.fixture
async def backend(store: Any, medlit_records: list[GraphRecord]) -> AsyncIterator[SparqlBackend]:
    async with store.filled(medlit_records) as opened:
        yield opened


class TestMedlit(MedlitSuite, SameMetadata):
    async def test_the_graph_is_comprehensive(self, backend: SparqlBackend) -> None:
        assert await backend.comprehensive()
