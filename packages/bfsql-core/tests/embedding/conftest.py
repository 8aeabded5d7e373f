"""A service that the tests tell what to answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bfsql_trials.embedding_service import PlayedService, playing


@pytest.fixture
def service() -> Iterator[PlayedService]:
    """On a free loopback port."""
    with playing() as played:
        yield played
