"""Requests to an endpoint: queries and updates, with parameters and logins of the settings.

SPARQLWrapper knows the SPARQL 1.1 protocol: how a query is put into a form, in which types it may
be answered, and where further parameters go. Its own transport is not used: it closes the
connection after each request, follows redirects anywhere with the login, blocks its thread until
the server is done, and reads answers of any length. It therefore only makes the request, and
`bfsql.http` sends it (`endpoint.py`).
"""

from __future__ import annotations

import math
import string
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote_plus

from SPARQLWrapper import ASK, JSON, POST, SELECT, SPARQLWrapper

from bfsql.errors import ConfigurationError
from bfsql.http import (
    Credentials,
    HttpRequest,
    UnusableCertificate,
    header_secret,
    split_setting,
    tls_context,
)

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

    from bfsql_sparql.settings import SparqlSettings

_RESERVED = ("query", "update")
"""Parameters that no setting may use."""
_DISTRIBUTION = "bfsql-sparql"
_PLAIN = frozenset(string.ascii_letters + string.digits + "_.-~")

TURTLE = "text/turtle"
"""The media type of the only format requested for a description."""


def query_request(query: str, settings: SparqlSettings, url: str, seconds: float) -> HttpRequest:
    """The request that carries one query, as SPARQLWrapper makes it; never an update.

    Args:
        query: The whole text.
        settings: The settings, whose parameters are sent along.
        url: URL of the endpoint.
        seconds: Time limit, for the endpoint's own parameter.
    """
    wrapper = SPARQLWrapper(url, returnFormat=JSON, agent=agent(settings.contact))
    wrapper.setMethod(POST)
    # Three guesses at the parameter for the format are omitted: the header is the standard's way.
    wrapper.setOnlyConneg(True)
    # `setQuery` would search the text for its form, which takes longer than sending it, and could
    # find the form of an update in a text that is searched for.
    # It would also quote the query character by character, which takes longer than the answer.
    wrapper.queryString = ""
    wrapper.queryType = ASK if query.lstrip()[:3].upper() == ASK else SELECT
    for name, value in settings.parameter.items():
        wrapper.addParameter(name, value)
    if settings.timeout_parameter is not None:
        wrapper.clearParameter(settings.timeout_parameter)
        wrapper.addParameter(settings.timeout_parameter, _duration(seconds, settings.timeout_unit))
    made = wrapper._createRequest()  # noqa: SLF001 - no public method makes a request unsent
    assert isinstance(made.data, bytes)
    assert made.data.endswith(b"query=")
    data = made.data + _quoted(query).encode()
    return HttpRequest(made.full_url, POST, data, dict(made.header_items()))


def _quoted(text: str) -> str:
    """A text as `quote_plus` makes it, one kind of character after another."""
    if not text.isascii():
        return quote_plus(text)
    for one in sorted(set(text) - _PLAIN, key="+%".find, reverse=True):  # others become these
        text = text.replace(one, quote_plus(one))
    return text


def update_request(text: str, settings: SparqlSettings, url: str) -> HttpRequest:
    """The request that carries one update, by POST directly (SPARQL 1.1 Protocol 2.2.2)."""
    headers = {
        "Content-Type": "application/sparql-update; charset=utf-8",
        "User-Agent": agent(settings.contact),
    }
    return HttpRequest(url, POST, text.encode(), headers)


def description_request(settings: SparqlSettings, url: str) -> HttpRequest:
    """The request for an endpoint's published description (SPARQL 1.1 Service Description)."""
    return HttpRequest(url, "GET", b"", {"Accept": TURTLE, "User-Agent": agent(settings.contact)})


@cache
def agent(contact: str | None) -> str:
    """The project's name for itself and its version, with a contact address of its user."""
    name = f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"
    return f"{name} (+{contact})" if contact else name


def address(url: str, setting: str) -> str:
    """A URL for requests, without its fragment.

    Args:
        url: The value of the setting.
        setting: The name of the setting.

    Raises:
        ConfigurationError: It is not a URL, or contains a password, which would be
            shown wherever settings are.
    """
    login = "give them in username and password, or in SPARQL_USERNAME and SPARQL_PASSWORD"
    parts = split_setting(url, setting, login)
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{setting} is {url!r}; it has to start with http:// or https:// and name a host."
        )
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ConfigurationError(
            f"{setting} is {url!r}; spaces and characters beyond ASCII have to be percent-encoded."
        )
    return parts._replace(fragment="").geturl()


def check_parameters(settings: SparqlSettings) -> None:
    """Check that no parameter takes the place of the query, and that the contact fits a header.

    Raises:
        ConfigurationError: The check fails; the message names the setting.
    """
    names = [*settings.parameter, *filter(None, [settings.timeout_parameter])]
    for name in names:
        if name.strip().lower() in _RESERVED or not name.strip():
            raise ConfigurationError(
                f"{name!r} cannot be set as a request parameter, because the backend sends query "
                "and update itself. Remove it from parameter and timeout_parameter."
            )
    contact = settings.contact or ""
    if not (contact.isascii() and contact.isprintable()):
        raise ConfigurationError(
            f"contact is {contact!r}, which is not allowed in a header: give an e-mail address or "
            "a URL in ASCII, on one line."
        )


class Login(NamedTuple):
    """The login shown to the endpoint, and to no other server."""

    scheme: str
    """Its name in sentences; empty if there is no login."""
    credentials: Credentials

    @classmethod
    def of(cls, settings: SparqlSettings) -> Login:
        """The login of the settings.

        Raises:
            ConfigurationError: Parts of it are missing, given twice, or do not fit a header.
        """
        token, key = _secret(settings.token, "token"), _secret(settings.key, "key")
        name, password = settings.username, settings.password
        if (name is None) != (password is None):
            has, lacks = ("password", "username") if name is None else ("username", "password")
            raise ConfigurationError(
                f"A {has} is set for the endpoint, but no {lacks}: set both or neither."
            )
        if name is not None and token is not None:
            raise ConfigurationError(
                "Both a username and a token are set for the endpoint: set only one of them."
            )
        kinds = []
        if key is not None:
            if not settings.key_header.replace("-", "").replace("_", "").isalnum():
                raise ConfigurationError(
                    f"key_header is {settings.key_header!r}, which is not a valid header name."
                )
            kinds.append("key")
        if token is not None:
            kinds.append("token")
        login = None
        if name is not None and password is not None:
            login = (name, password.get_secret_value())
            kinds.append(f"login by {settings.authentication} authentication")
        credentials = Credentials.of(
            token=token,
            key=None if key is None else (settings.key_header, key),
            login=login,
            digest=settings.authentication == "digest",
        )
        return cls(" and ".join(kinds), credentials)


def trust(settings: SparqlSettings) -> ssl.SSLContext:
    """The trusted certificates, and the client certificate.

    Raises:
        ConfigurationError: A file that a setting names is not a certificate.
    """
    try:
        return tls_context(settings.ca_file, settings.client_certificate)
    except UnusableCertificate as wrong:
        more = "." if wrong.setting == "ca_file" else " with a certificate and its unencrypted key."
        raise ConfigurationError(
            f"{wrong.setting} is {wrong.path}, which cannot be used ({wrong.reason}). It has to be "
            f"a PEM file{more}"
        ) from None


def _secret(secret: SecretStr | None, setting: str) -> str | None:
    """A secret for a header."""
    if secret is None:
        return None
    value = header_secret(secret)
    if value is None:
        raise ConfigurationError(
            f"The {setting} for the endpoint is empty, or contains characters that are not "
            f"allowed: check {setting}."
        )
    return value


def _duration(seconds: float, unit: str) -> str:
    """A time limit in the endpoint's unit; whole, since most accept nothing else."""
    number = math.ceil(seconds * 1000) if unit == "ms" else math.ceil(seconds)
    return f"{max(1, number)}{'s' if unit == 'duration' else ''}"
