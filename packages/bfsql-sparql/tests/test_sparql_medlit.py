"""A real graph, loaded, with the figures published by the protocol's author."""

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.medlit import MedlitSuite, SameGraph

STORES = ["oxigraph", *(("fuseki", "virtuoso", "rdf4j") if THOROUGH else ())]
"""In a graph of plain values, further engines show nothing beyond the kit and drawn graphs."""


@pytest.fixture(scope="module", params=STORES)
def store(request, place):
    return place(request.param)


@pytest.fixture
async def backend(store, medlit_records):
    async with store.filled(medlit_records) as opened:
        yield opened


class TestMedlit(MedlitSuite, SameGraph):
    async def test_the_graph_is_comprehensive(self, backend):
        assert await backend.comprehensive()
