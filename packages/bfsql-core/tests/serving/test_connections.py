"""The bound on the number of connections."""

import logging
import resource
from collections.abc import Iterator

import pytest

from bfsql.serving.connections import MAX_CONNECTIONS, most_connections


@pytest.fixture
def files() -> Iterator[None]:
    """Restores the limit of open files, which a test may lower."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("limit", "wanted", "expected"),
    [(2_000, None, MAX_CONNECTIONS), (1_024, None, 768), (256, None, 192), (2_000, 5, 5)],
)
def test_connections_leave_files_for_the_store(limit, wanted, expected):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    assert most_connections(wanted) == expected


@pytest.mark.usefixtures("files")
def test_more_connections_than_files_is_a_warning(caplog):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    with caplog.at_level(logging.WARNING):
        assert most_connections(500) == 192
    assert "ulimit -n" in caplog.text
