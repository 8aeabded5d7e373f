"""What goes out to an endpoint: queries and updates, with parameters and logins of the settings.

SPARQLWrapper knows the SPARQL 1.1 protocol: how a query is put into a form, which types it may be
answered in, where further parameters go. Its own transport is not used: it closes the connection
after each request, follows redirects to anywhere with the login, blocks its thread until the
server is done, and takes in whatever comes, however long it is. So it makes the request, and
`bfsql.http` sends it (`endpoint.py`).
"""

from __future__ import annotations

import math
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from SPARQLWrapper import ASK, JSON, POST, SELECT, SPARQLWrapper

from bfsql.errors import ConfigurationError
from bfsql.http import (
    Credentials,
    HttpRequest,
    UnusableCertificate,
    basic,
    header_secret,
    split_setting,
    tls_context,
)

if TYPE_CHECKING:
    import ssl

    from pydantic import SecretStr

    from bfsql_sparql.settings import SparqlSettings

_RESERVED = ("query", "update")
"""Parameters that no setting may fill."""
_DISTRIBUTION = "bfsql-sparql"

TURTLE = "text/turtle"
"""The media type of the one format in which a description is asked for."""


def query_request(query: str, settings: SparqlSettings, url: str, seconds: float) -> HttpRequest:
    """The request that carries one query (chapter 10), as SPARQLWrapper makes it; never an update.

    Args:
        query: The whole text.
        settings: Whose parameters go along.
        url: Of the endpoint.
        seconds: How long it may take, for the endpoint's own parameter.
    """
    wrapper = SPARQLWrapper(url, returnFormat=JSON, agent=agent(settings.contact))
    wrapper.setMethod(POST)
    # Three guesses at the parameter for the format are left out: the header is the standard's way.
    wrapper.setOnlyConneg(True)
    # `setQuery` would search the text for its form, which takes longer than to send it, and could
    # find the form of an update in a text that is searched for.
    wrapper.queryString = query
    wrapper.queryType = ASK if query.lstrip()[:3].upper() == ASK else SELECT
    for name, value in settings.parameter.items():
        wrapper.addParameter(name, value)
    if settings.timeout_parameter is not None:
        wrapper.clearParameter(settings.timeout_parameter)
        wrapper.addParameter(settings.timeout_parameter, _duration(seconds, settings.timeout_unit))
    made = wrapper._createRequest()  # noqa: SLF001 - no public method makes a request unsent
    assert isinstance(made.data, bytes)
    return HttpRequest(made.full_url, POST, made.data, dict(made.header_items()))


def update_request(text: str, settings: SparqlSettings, url: str) -> HttpRequest:
    """The request that carries one update, by POST directly (SPARQL 1.1 Protocol 2.2.2)."""
    headers = {
        "Content-Type": "application/sparql-update; charset=utf-8",
        "User-Agent": agent(settings.contact),
    }
    return HttpRequest(url, POST, text.encode(), headers)


def description_request(settings: SparqlSettings, url: str) -> HttpRequest:
    """The request for what an endpoint publishes of itself (SPARQL 1.1 Service Description)."""
    return HttpRequest(url, "GET", b"", {"Accept": TURTLE, "User-Agent": agent(settings.contact)})


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
        ConfigurationError: One does; the sentence names it.
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
    """What is shown to the endpoint, and to no other server."""

    scheme: str
    """What sentences call it; empty where there is nothing to show."""
    credentials: Credentials

    @classmethod
    def of(cls, settings: SparqlSettings) -> Login:
        """That of the settings.

        Raises:
            ConfigurationError: Parts of it are missing, there twice, or fit no header.
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
        headers, kinds, secrets, digest = {}, [], [key or "", token or ""], None
        if key is not None:
            if not settings.key_header.replace("-", "").replace("_", "").isalnum():
                raise ConfigurationError(
                    f"key_header is {settings.key_header!r}, which is not a valid header name."
                )
            headers[settings.key_header] = key
            kinds.append("key")
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            kinds.append("token")
        if name is not None and password is not None:
            plain = password.get_secret_value()
            login = basic(name, plain)
            if settings.authentication == "digest":
                digest = (name, plain)
            else:
                headers["Authorization"] = login
            kinds.append(f"login by {settings.authentication} authentication")
            secrets += [plain, login.removeprefix("Basic ")]
        return cls(" and ".join(kinds), Credentials(headers, digest=digest, hidden=secrets))


def trust(settings: SparqlSettings) -> ssl.SSLContext:
    """The certificates that are trusted, and the one that is shown.

    Raises:
        ConfigurationError: A file that a setting names is no such thing.
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
    """A secret that goes into a header."""
    if secret is None:
        return None
    value = header_secret(secret)
    if value is None:
        raise ConfigurationError(
            f"The {setting} for the endpoint is empty, or contains characters that are not "
            f"allowed: check {setting}."
        )
    return value


@cache
def _named() -> str:
    """Name and version; they are read from a file."""
    return f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"


def _duration(seconds: float, unit: str) -> str:
    """A time limit as an endpoint takes it; whole, since most take nothing else."""
    number = math.ceil(seconds * 1000) if unit == "ms" else math.ceil(seconds)
    return f"{max(1, number)}{'s' if unit == 'duration' else ''}"
