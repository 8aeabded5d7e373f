"""Which server a URL means, which hosts are listed, and which addresses are public."""

import asyncio
import socket

import pytest

from bfsql.errors import StoreUnavailable
from bfsql.http import PrivateAddress, hide_login, is_listed, is_unencrypted, same_server, server_of
from bfsql.http.addresses import ascii_host, origin, public_address


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://x.test/b", True),
        ("http://x.test:80/", True),
        ("https://x.test/", True),
        ("http://X.TEST/", True),
        ("http://x.test:81/", False),
        ("https://x.test:444/", False),
        ("http://y.test/", False),
        ("http://x.test.evil.test/", False),
        ("ftp://x.test/", False),
        ("http://x.test:port/", False),
    ],
)
def test_the_same_server_is_that_of_scheme_host_and_port(url, same):
    assert same_server(url, "http://x.test/sparql") is same
    assert not same_server("http://x.test/", "https://x.test/")


@pytest.mark.parametrize(
    ("hosts", "listed"),
    [
        (["x.test"], True),
        (["X.Test"], True),
        ([".test"], True),
        (["*"], True),
        (["y.test", ".x.test"], False),
        ([], False),
    ],
)
def test_a_host_is_listed_by_name_by_domain_or_by_a_star(hosts, listed):
    assert is_listed("https://x.test:81/a", hosts) is listed
    assert not is_listed("file:///x.test", ["*"])


def test_sentences_show_no_login_and_no_parameters():
    assert hide_login("https://me:pw@x.test:81/a?key=1#b") == "https://x.test:81/a"
    assert server_of("https://me:pw@x.test:81/a?key=1") == "https://x.test:81"
    assert server_of("https://[") == "an invalid URL"


def test_only_http_to_another_machine_can_be_read_on_the_way():
    assert is_unencrypted("http://x.test/")
    assert not any(map(is_unencrypted, ("https://x.test/", "http://localhost:1", "http://[::1]/")))


def test_a_host_in_other_letters_has_an_ascii_form():
    assert ascii_host("http://Bücher.test/") == "xn--bcher-kva.test"
    assert ascii_host("http://[::1]/") == "::1"
    assert origin("https://X.test") == ("https", "x.test", 443)
    with pytest.raises(StoreUnavailable, match=r"The host a\.\.b cannot be found"):
        ascii_host("http://a..b/")


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "0.0.0.0", "224.0.0.1", "::1", "fe80::1%lo"),
        *("fec0::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "::10.0.0.1"),
        *("100.64.0.1", "fd00::1", "::127.0.0.1"),
    ],
)
async def test_a_private_address_is_none_however_it_is_written(monkeypatch, address):
    resolve_to(monkeypatch, "93.184.215.14", address)
    with pytest.raises(PrivateAddress) as caught:
        await public_address("http://x.test/")
    assert (caught.value.host, caught.value.address) == ("x.test", address.partition("%")[0])
    assert await public_address("http://x.test/", allow_private=True) == "93.184.215.14"


@pytest.mark.parametrize(
    "address", [*("93.184.215.14", "64:ff9b::5db8:d70e"), "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
)
async def test_a_public_address_is_given(monkeypatch, address):
    resolve_to(monkeypatch, address)
    assert await public_address("https://x.test/") == address


async def test_a_host_without_an_address_is_unavailable():
    with pytest.raises(StoreUnavailable, match=r"The host nowhere\.invalid cannot be found"):
        await public_address("http://nowhere.invalid/")


def resolve_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Make every host name resolve to these addresses."""

    async def found(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 80)) for one in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found)
