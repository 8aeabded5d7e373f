"""Where a request may be sent: the server of a URL, listed hosts, and no private addresses.

URLs named in a document must not lead into the network of this machine (server-side
request forgery). `public_address` returns the address that was checked, and
`HttpClient.send_public` connects to exactly that address, so that a name cannot
resolve to another one a moment later.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bfsql.errors import ConfigurationError, StoreUnavailable
from bfsql.masking import hide_secrets, secrets_in

_PORTS = {"http": 80, "https": 443}
_LOCAL = ("localhost", "127.0.0.1", "::1")
_ENDS_WITH_IPV4 = (
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
    ipaddress.IPv6Network("::/96"),
)


@dataclass(eq=False)
class PrivateAddress(Exception):
    """A host with a private address."""

    host: str
    """The name of the host."""
    address: str
    """The first of its addresses that is not public."""


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, lower-case host and port of a URL.

    Raises:
        ValueError: It is not an http or https URL, or has no host.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https URL")
    return parts.scheme, parts.hostname.lower(), parts.port or _PORTS[parts.scheme]


def same_server(url: str, base: str) -> bool:
    """Whether data meant for `base` may be sent to `url`: the same scheme, host and port.

    A change from http on port 80 to https on port 443 of the same host also counts as the same
    server, but never one from https to http. False if either is not an http or https URL.
    """
    try:
        (scheme, host, port), (base_scheme, base_host, base_port) = origin(url), origin(base)
    except ValueError:
        return False
    upgraded = (base_scheme, base_port, scheme, port) == ("http", 80, "https", 443)
    return host == base_host and ((scheme, port) == (base_scheme, base_port) or upgraded)


def is_listed(url: str, hosts: Collection[str]) -> bool:
    """Whether a URL's host is in a list; `*` matches any host, `.example.org` its subdomains."""
    try:
        _, host, _ = origin(url)
    except ValueError:
        return False
    return any(
        name == "*"
        or host == name.lower()
        or (name.startswith(".") and host.endswith(name.lower()))
        for name in hosts
    )


def is_unencrypted(url: str) -> bool:
    """Whether data sent to a URL can be read in transit: http to another machine."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in _LOCAL


def split_setting(url: str, setting: str, login: str) -> SplitResult:
    """The parts of a URL from the settings.

    Args:
        url: The URL as it was set.
        setting: The setting's name.
        login: Where user and password belong instead, for the error message.

    Raises:
        ConfigurationError: It is not a URL, or contains a password, which would be shown wherever
            settings are.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        why = hide_secrets(str(error), secrets_in(url))
        raise ConfigurationError(f"{setting} is not a usable URL: {why}.") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"{setting} is a URL that contains a user name or a password, for the host {host}: "
            f"leave them out, and {login}."
        )
    return parts


def hide_login(url: str) -> str:
    """A URL for messages: without user, password, and the query, which may hold keys."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def server_of(url: str) -> str:
    """Scheme, host and port of any text as messages show them: `https://host:8080`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def ascii_host(url: str) -> str:
    """The host of a URL in ASCII, as used in DNS and the `Host` header (IDNA).

    Raises:
        ValueError: It is not an http or https URL.
        StoreUnavailable: The name is not a valid host name.
    """
    host = origin(url)[1]
    try:
        return host if ":" in host else host.encode("idna").decode()
    except UnicodeError as error:
        raise StoreUnavailable(f"The host {host[:200]} cannot be found ({error}).") from None


async def public_address(url: str, *, allow_private: bool = False) -> str:
    """The IP address to connect to for a URL that comes from a document.

    Args:
        url: An http or https URL.
        allow_private: Whether addresses that are not public are allowed.

    Raises:
        PrivateAddress: One of the host's addresses is not public, or becomes such an address
            behind a gateway (NAT64, 6to4).
        StoreUnavailable: The host has no address.
    """
    host, port = ascii_host(url), origin(url)[2]
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise StoreUnavailable(f"The host {host} cannot be found ({error}).") from None
    addresses = [str(address[0]).partition("%")[0] for *_, address in found]
    private = [one for one in addresses if not _is_public(one)]
    if private and not allow_private:
        raise PrivateAddress(host, private[0])
    return addresses[0]


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.is_site_local:
            return False
        parsed = _translated(parsed)
    return parsed.is_global and not parsed.is_multicast


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address to which a gateway would translate an IPv6 address."""
    if any(address in network for network in _ENDS_WITH_IPV4):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
