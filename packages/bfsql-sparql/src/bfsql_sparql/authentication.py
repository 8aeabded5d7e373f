"""Who logs in, and how it is known whom one talks to."""

from __future__ import annotations

import base64
import logging
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from bfsql.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import SecretStr

    from bfsql_sparql.settings import SparqlSettings

log = logging.getLogger("bfsql")

_HERE = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Credentials:
    """What is shown to the endpoint, and to no other host."""

    scheme: str = ""
    """What sentences call it; empty where there is nothing to show."""
    auth: httpx2.Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    """What no sentence may repeat."""

    @classmethod
    def of(cls, settings: SparqlSettings) -> Credentials:
        """Those of the settings.

        Raises:
            ConfigurationError: Some are half there, there twice, or fit no header.
        """
        token, key = _plain(settings.token, "token"), _plain(settings.key, "key")
        name, password = settings.username, settings.password
        if (name is None) != (password is None):
            has, lacks = ("password", "username") if name is None else ("username", "password")
            raise ConfigurationError(
                f"There is a {has} for the endpoint, but no {lacks}: set both or neither."
            )
        if name is not None and token is not None:
            raise ConfigurationError(
                "There are both a username and a token for the endpoint: set one of them."
            )
        headers, kinds, secrets = {}, [], []
        if key is not None:
            if not settings.key_header.replace("-", "").replace("_", "").isalnum():
                raise ConfigurationError(
                    f"key_header is {settings.key_header!r}, no header's name."
                )
            headers[settings.key_header] = key
            kinds.append("key")
            secrets.append(key)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
            kinds.append("token")
            secrets.append(token)
        auth: httpx2.Auth | None = None
        if name is not None and password is not None:
            shown = password.get_secret_value()
            digest = settings.authentication == "digest"
            auth = httpx2.DigestAuth(name, shown) if digest else httpx2.BasicAuth(name, shown)
            kinds.append(f"login by {settings.authentication} authentication")
            secrets += [shown, base64.b64encode(f"{name}:{shown}".encode()).decode()]
        return cls(" and ".join(kinds), auth, headers, tuple(filter(None, secrets)))

    def warn(self, url: str, name: str) -> None:
        """Say where they would be read by whoever listens."""
        parts = urlsplit(url)
        if self.scheme and parts.scheme == "http" and parts.hostname not in _HERE:
            log.warning("%s gets its %s unencrypted; an https URL hides it.", name, self.scheme)


def own(url: str, other: str) -> bool:
    """Whether what is meant for one address may go to another: the same server, or its TLS."""
    first, second = urlsplit(url), urlsplit(other)
    if first.hostname != second.hostname:
        return False
    ports = [parts.port or _PORTS[parts.scheme] for parts in (first, second)]
    if first.scheme == second.scheme:
        return ports[0] == ports[1]
    return first.scheme == "http" and ports == [80, 443]


def trust(settings: SparqlSettings) -> ssl.SSLContext | bool:
    """Which certificates are believed, and which one is shown.

    Raises:
        ConfigurationError: A file that a setting names is no such thing.
    """
    if settings.ca_file is None and settings.client_certificate is None:
        return True
    context = httpx2.create_ssl_context()
    setting, path = "ca_file", settings.ca_file
    try:
        if path is not None:
            context = ssl.create_default_context(cafile=path)
        if settings.client_certificate is not None:
            setting, path = "client_certificate", settings.client_certificate
            # A password that is given, even an empty one, keeps OpenSSL from asking the terminal.
            context.load_cert_chain(path, password="")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"{setting} is {path}, which cannot be used ({why}). It has to be a PEM file"
            + (" with a certificate and its unencrypted key." if setting != "ca_file" else ".")
        ) from None
    return context


def _plain(secret: SecretStr | None, setting: str) -> str | None:
    """A secret that goes into a header."""
    if secret is None:
        return None
    value = secret.get_secret_value().strip()
    if not value or not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"The {setting} for the endpoint is empty, or has characters that none has: look at "
            f"{setting}."
        )
    return value
