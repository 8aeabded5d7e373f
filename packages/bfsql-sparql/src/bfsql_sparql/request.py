"""The request that carries a query, as SPARQLWrapper makes it.

SPARQLWrapper knows the SPARQL 1.1 protocol: how a query is put into a form,
which types it may be answered in, where further parameters go. Its own
transport is not used: it closes the connection after each request, follows
redirects to anywhere with the login, blocks its thread until the server is
done, and takes in whatever comes, however long it is. So it makes the request,
and an HTTP client that can be bounded and cancelled sends it (`endpoint.py`).
"""

from __future__ import annotations

import math
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from SPARQLWrapper import ASK, JSON, POST, SELECT, SPARQLWrapper

from bfsql.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.request import Request as MadeRequest

    from bfsql_sparql.settings import SparqlSettings

_OURS = ("query", "update")
"""Parameters that no setting may fill."""
_DISTRIBUTION = "bfsql-sparql"

TURTLE = "text/turtle"
"""The media type of the one format in which a description is asked for."""


class Request(NamedTuple):
    """What is sent."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    method: str = "POST"


class _Wrapper(SPARQLWrapper):
    """One query, and never an update.

    The query is not looked through for its form, which would take longer than to send it, and
    could find a form in a text that was searched for.
    """

    def _parseQueryType(self, query: str) -> str:  # noqa: N802 - SPARQLWrapper's name
        return str(ASK if query.lstrip()[:3].upper() == ASK else SELECT)

    def made(self) -> MadeRequest:
        """The request that SPARQLWrapper would send."""
        request: MadeRequest = self._createRequest()
        return request


def request_of(query: str, settings: SparqlSettings, url: str, seconds: float) -> Request:
    """The request that carries one query (chapter 10).

    Args:
        query: The whole text.
        settings: Whose parameters go along.
        url: Of the endpoint.
        seconds: How long it may take, for the endpoint's own parameter.
    """
    wrapper = _Wrapper(url, returnFormat=JSON, agent=agent(settings.contact))
    wrapper.setMethod(POST)
    # Three guesses at the parameter for the format are left out: the header is the standard's way.
    wrapper.setOnlyConneg(True)
    wrapper.setQuery(query)
    for name, value in settings.parameter.items():
        wrapper.addParameter(name, value)
    if settings.timeout_parameter is not None:
        wrapper.clearParameter(settings.timeout_parameter)
        wrapper.addParameter(settings.timeout_parameter, _duration(seconds, settings.timeout_unit))
    made = wrapper.made()
    assert isinstance(made.data, bytes)
    return Request(made.full_url, made.data, dict(made.header_items()))


def request_for_description(settings: SparqlSettings, url: str) -> Request:
    """The request for what an endpoint publishes of itself (SPARQL 1.1 Service Description).

    Args:
        settings: Whose contact goes along.
        url: Of the endpoint.
    """
    headers = {"Accept": TURTLE, "User-Agent": agent(settings.contact)}
    return Request(url, b"", headers, "GET")


def agent(contact: str | None) -> str:
    """What the project calls itself, with where its user can be reached."""
    return f"{_named()} (+{contact})" if contact else _named()


def address(url: str, setting: str) -> str:
    """A URL that can be asked, without its fragment.

    Args:
        url: As it was set.
        setting: What it is called there.

    Raises:
        ConfigurationError: It is none, or has a password in it, which would be shown
            wherever settings are.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"{setting} is no URL that can be asked: {error}.") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"{setting} is a URL with a user or a password in it, for the host {host}: leave them "
            "out, and give them in username and password, or in SPARQL_USERNAME and "
            "SPARQL_PASSWORD."
        )
    if not host or parts.scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{setting} is {url!r}, which is no address that begins with http:// or https:// and "
            "has a host."
        )
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError(
            f"{setting} is {url!r}: spaces and letters beyond ASCII have to be percent-encoded."
        )
    return parts._replace(fragment="").geturl()


def shown(url: str) -> str:
    """An address as sentences show it: no login, and no parameters, which may be keys."""
    parts: SplitResult = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def check_parameters(settings: SparqlSettings) -> None:
    """See that no parameter takes the place of the query, and that the contact fits a header.

    Raises:
        ConfigurationError: One does; the sentence names it.
    """
    names = [*settings.parameter, *filter(None, [settings.timeout_parameter])]
    for name in names:
        if name.strip().lower() in _OURS or not name.strip():
            raise ConfigurationError(
                f"{name!r} cannot be a parameter of requests: query and update are what the "
                "backend itself sends. Take it out of parameter and timeout_parameter."
            )
    contact = settings.contact or ""
    if not (contact.isascii() and contact.isprintable()):
        raise ConfigurationError(
            f"contact is {contact!r}, which cannot stand in a header: give a mail address or a URL "
            "in ASCII, on one line."
        )


@cache
def _named() -> str:
    """Name and version; they are read from a file."""
    return f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"


def _duration(seconds: float, unit: str) -> str:
    """A time limit as an endpoint takes it; whole, since most take nothing else."""
    number = math.ceil(seconds * 1000) if unit == "ms" else math.ceil(seconds)
    return f"{max(1, number)}{'s' if unit == 'duration' else ''}"
