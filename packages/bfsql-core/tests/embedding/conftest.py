"""An embedding service with answers scripted by the tests."""

from collections.abc import Iterator

import pytest

from bfsql_test_support.servers.embedding_service import PlayedService, playing


@pytest.fixture
def service() -> Iterator[PlayedService]:
    """The service, on a free loopback port."""
    with playing() as played:
        yield played
