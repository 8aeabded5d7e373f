"""The address of a server over HTTP."""

import pytest

from bfsql.errors import ConfigurationError
from bfsql.serving.address import bind, is_loopback, url


@pytest.mark.parametrize(
    ("host", "port", "says"),
    [
        ("192.0.2.1", 0, "not an address of this machine"),
        ("no-such-host.invalid", 0, "has no address"),
        ("..", 0, "cannot listen"),
        ("127.0.0.1", 70_000, "65535"),
        ("127.0.0.1", -1, "65535"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_refused(host, port, says):
    with pytest.raises(ConfigurationError, match=says):
        bind(host, port)


def test_port_0_takes_a_free_one_and_says_which():
    with bind("localhost", 0) as listening:
        assert url(listening, "/mcp").endswith(f":{listening.getsockname()[1]}/mcp")


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *(("127.0.0.1", True), ("127.0.0.9", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("10.0.0.1", False), ("graph.example.org", False)),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(host, own):
    assert is_loopback(host) is own
