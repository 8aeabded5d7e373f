"""Bearer tokens: how they are verified, and the file that holds the hashes of several.

A verifier has the shape of the MCP SDK's `TokenVerifier`, so that one of JWTs serves MCP and
the web API alike. This module imports no web framework.

The file has a line for each token, its name and its hash:

    # who asks
    alice sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824

A token is 256 random bits, so SHA-256 is enough: nobody can guess one, however fast the hash is.
A slow hash, which passwords need, would cost the server its time for every request, and for
everything that a stranger sends as a token.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bfsql.errors import ConfigurationError
from bfsql.settings import UnreadableFile, read_text

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

log = logging.getLogger(__name__)

MAX_BYTES = 10_000_000
"""Largest file of tokens: some 100,000 of them."""

TOKEN_PREFIX = "bfsql_"  # noqa: S105 - what tokens begin with
"""Shows what a token is for where one is found, in a log for instance."""

_SHOWN = 10
"""Wrong lines that one error names."""

_HASH = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)
_NAME = re.compile(r"[^\s#][^\s]{0,63}")


class VerifiedToken(Protocol):
    """What is known of a token that is good; the SDK's `AccessToken` is one."""

    @property
    def client_id(self) -> str:
        """Whom the token was issued to; empty where it is a token that several share."""

    @property
    def subject(self) -> str | None:
        """For whom that client asks, where the token says so."""


class TokenVerifier(Protocol):
    """Decides about bearer tokens."""

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """What is known of a token; None where it is not good."""


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token of the file, or the shared one."""

    client_id: str = ""
    subject: str | None = None


class SharedToken:
    """Verifies the one token of the setting `bearer_token`, in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> KnownToken | None:
        """A caller without a name, or None."""
        same = hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)
        return KnownToken() if same else None


class TokenFile:
    """Verifies the tokens of a file, which is read again when it changes.

    A file that is missing or broken after the start leaves the tokens in force that were read
    before; a warning in the log says so, once. A file without tokens refuses everyone.

    Args:
        path: The file.

    Raises:
        ConfigurationError: It cannot be read, holds no token, or a line of it is no token.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _state(path)
        self._names = read_tokens(path)
        if not self._names:
            raise ConfigurationError(
                f"The file {path} (bearer_tokens) holds no token. `bfsql token NAME` prints one, "
                "and the line for the file."
            )

    async def verify_token(self, token: str) -> KnownToken | None:
        """A caller of the name that the token has in the file, or None.

        The look-up takes a time that depends on the token's hash, from which nobody can
        conclude what another token is.
        """
        self._follow()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        name = self._names.get(digest)
        return None if name is None else KnownToken(name)

    def _follow(self) -> None:
        """Read the file again where it is another one, or was written."""
        state = _state(self._path)
        if state == self._seen:
            return
        self._seen = state
        try:
            self._names = read_tokens(self._path)
        except ConfigurationError as error:
            log.warning("%s The tokens that were read before stay in force.", error)
        else:
            log.info("%d tokens are read from %s.", len(self._names), self._path)


class _AnyOf:
    """Verifies what one of several verifiers does."""

    def __init__(self, verifiers: Sequence[TokenVerifier]) -> None:
        self._verifiers = verifiers

    async def verify_token(self, token: str) -> VerifiedToken | None:
        for verifier in self._verifiers:
            if (known := await verifier.verify_token(token)) is not None:
                return known
        return None


def verifier_of(settings: ServeSettings) -> TokenVerifier | None:
    """The verifier that the settings ask for; None where they have no token.

    Raises:
        ConfigurationError: As for `TokenFile`.
    """
    verifiers: list[TokenVerifier] = []
    if settings.bearer_tokens is not None:
        verifiers.append(TokenFile(settings.bearer_tokens))
    if settings.bearer_token is not None:
        verifiers.append(SharedToken(settings.bearer_token.get_secret_value()))
    return _AnyOf(verifiers) if verifiers else None


def new_token() -> str:
    """A token: 256 random bits, as text that a header can carry."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_line(name: str, token: str) -> str:
    """The line of the file for a token.

    Raises:
        ConfigurationError: The name is none that a line can have.
    """
    if not _is_name(name):
        raise ConfigurationError(
            f"The name {name[:80]!r} cannot be used: it has to be 1 to 64 visible characters "
            "without blanks, and may not begin with #."
        )
    return f"{name} sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def read_tokens(path: Path) -> dict[bytes, str]:
    """The names of a file's tokens, by the hash.

    Args:
        path: The file. Empty lines are ignored, and those that begin with `#`; a name may
            have several tokens.

    Raises:
        ConfigurationError: It cannot be read, or a line is no token; a sentence for each of the
            first lines that are wrong. None repeats what stands in place of a hash.
    """
    try:
        text = read_text(path, MAX_BYTES)
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            f"The file {path} (bearer_tokens) cannot be read: {unreadable}."
        ) from None
    names: dict[bytes, str] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, *rest = line.split(maxsplit=1) or [""]
        if not name or name.startswith("#"):
            continue
        found = _HASH.fullmatch("".join(rest).rstrip())
        digest = bytes.fromhex(found[1]) if found else b""
        if found is None or not _is_name(name):
            wrong.append(
                f"{path}, line {number}: this has to be a name without blanks and the hash of "
                "its token, as `bfsql token NAME` prints them."
            )
        elif digest in names:
            wrong.append(
                f"{path}, line {number}: {name!r} has the token that {names[digest]!r} has. "
                "Make one of its own with `bfsql token NAME`."
            )
        names[digest] = name
    if wrong:
        raise ConfigurationError("\n".join(wrong[:_SHOWN]))
    return names


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name.isprintable()


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes with the content of a file; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
