"""Which addresses may be asked: hosts by a list, and no private ones behind their names.

What a document names is not to lead into the network that the server stands
in. The address that was looked at is the one that is connected to, so that a
name cannot mean another one a moment later.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import urljoin, urlsplit

from bfsql.errors import StoreError, StoreUnavailable

_PORTS = {"http": 80, "https": 443}
_ENDS_WITH_IPV4 = (
    ipaddress.IPv6Network("64:ff9b::/96"),  # NAT64 (RFC 6052)
    ipaddress.IPv6Network("::/96"),
)
_SHOWN = 200


class NotAsked(StoreError):
    """A URL leads where nothing may be asked."""


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL.

    Raises:
        ValueError: It has none that can be asked.
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is no http or https URL")
    return parts.scheme, parts.hostname.lower(), parts.port or _PORTS[parts.scheme]


def same_host(url: str, base: str) -> bool:
    """Whether a URL is of the host and port of the base, and no less encrypted."""
    try:
        (scheme, host, port), (scheme_of_base, host_of_base, port_of_base) = (
            origin(url),
            origin(base),
        )
    except ValueError:
        return False
    upgraded = (scheme_of_base, port_of_base, scheme, port) == ("http", 80, "https", 443)
    same = (scheme, port) == (scheme_of_base, port_of_base) or upgraded
    return host == host_of_base and same


def joined(base: str, target: str) -> str:
    """Where a link in the document at `base` leads.

    Raises:
        StoreError: The API gives something that is no URL.
    """
    try:
        return urljoin(base, target)
    except ValueError as error:
        raise StoreError(
            f"{base[:_SHOWN]} leads to {target[:_SHOWN]!r}, which is no URL ({error})."
        ) from None


def ascii_host(url: str) -> str:
    """The host as a server is called by it: names in other letters have such a form, too.

    Raises:
        StoreUnavailable: It is no name that any host could have.
    """
    host = origin(url)[1]
    try:
        return host if ":" in host else host.encode("idna").decode()
    except UnicodeError as error:
        raise StoreUnavailable(f"The host {host[:_SHOWN]} cannot be found ({error}).") from None


def listed(url: str, hosts: Collection[str]) -> bool:
    """Whether the host of a URL is in a list; `*` is any, `.example.org` those below it."""
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


async def public_address(url: str, *, allow_private: bool) -> str:
    """The address to connect to for a host that is not the API's own.

    Raises:
        NotAsked: One of its addresses is private.
        StoreUnavailable: It has none.
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
        raise NotAsked(
            f"The host {host} has the private address {private[0]}, where nothing is fetched from; "
            "allow_private allows it."
        )
    return addresses[0]


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.is_site_local:
            return False
        parsed = _translated(parsed)
    return parsed.is_global and not parsed.is_multicast


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of the older protocol where a gateway would make one of this."""
    if any(address in network for network in _ENDS_WITH_IPV4):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address
