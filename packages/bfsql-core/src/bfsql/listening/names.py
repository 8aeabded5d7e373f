"""Which names a server over HTTP answers to: loopback's own, and those that the operator allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bfsql.listening.address import is_loopback

ANY = "*"
"""In `allowed_hosts`: clients may call the server by any name."""

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY_PORT = ":*"


@dataclass(frozen=True, slots=True)
class Names:
    """What the headers `Host` and `Origin` may be; each entry with any port ends in `:*`."""

    hosts: tuple[str, ...]
    origins: tuple[str, ...]

    def serve_host(self, host: str | None) -> bool:
        """Whether a request to this `Host` is answered."""
        return host is not None and _among(host, self.hosts)

    def serve_origin(self, origin: str | None) -> bool:
        """Whether a web page of this `Origin` may ask; programs name none."""
        return origin is None or _among(origin, self.origins)


def names(host: str, allowed_hosts: Iterable[str]) -> Names | None:
    """The names of a server, or None for any.

    Args:
        host: What it listens on.
        allowed_hosts: Names beside those of loopback.
    """
    allowed = [*((*_LOOPBACK, host) if is_loopback(host) else ()), *allowed_hosts]
    if ANY in allowed:
        return None
    hosts = [spelt for name in dict.fromkeys(allowed) for spelt in (name, f"{name}{_ANY_PORT}")]
    origins = [f"{scheme}://{spelt}" for spelt in hosts for scheme in ("http", "https")]
    return Names(tuple(hosts), tuple(origins))


def _among(value: str, served: Iterable[str]) -> bool:
    """Whether a value is one of those served, in any case; `:*` is a port."""
    name, _, port = value.lower().rpartition(":")
    known = {one.lower() for one in served}
    return value.lower() in known or (port.isdecimal() and f"{name}{_ANY_PORT}" in known)
