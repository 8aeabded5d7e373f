"""Bearer tokens: how they are verified, and the file that holds the hashes of several.

A verifier has the interface of the MCP SDK's `TokenVerifier`, so that a verifier of JWTs works for
MCP and the web API alike. This module imports no web framework.

The file has a line for each token, its name and its hash:

    # who asks
    alice sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824

A token is 256 random bits, so SHA-256 is enough: it cannot be guessed, however fast the hash is. A
slow hash, which passwords need, would cost the server time for every request, including invalid
ones.
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
"""Largest size of a token file: about 100,000 tokens."""

TOKEN_PREFIX = "bfsql_"  # noqa: S105 - what tokens begin with
"""Prefix that identifies a token of this server, in a log for instance."""

_SHOWN = 10
"""Most wrong lines that one error reports."""

_HASH = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)
_NAME = re.compile(r"[^\s#][^\s]{0,63}")


class VerifiedToken(Protocol):
    """The properties of a valid token; the SDK's `AccessToken` has them."""

    @property
    def client_id(self) -> str:
        """To whom the token was issued; empty for a shared token."""

    @property
    def subject(self) -> str | None:
        """The user on whose behalf the client calls, if the token contains it."""


class TokenVerifier(Protocol):
    """Verifies bearer tokens."""

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """The properties of a token; None if it is not valid."""


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token from the file, or the shared one."""

    client_id: str = ""
    subject: str | None = None


class SharedToken:
    """Verifies the token of the setting `bearer_token`, in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> KnownToken | None:
        """A caller without a name, or None."""
        same = hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)
        return KnownToken() if same else None


class TokenFile:
    """Verifies the tokens of a file, which is reread when it changes.

    If the file is missing or broken after the start, the tokens that were read before stay valid,
    and one warning is logged. A file without tokens refuses everyone.

    Args:
        path: The file.

    Raises:
        ConfigurationError: The file cannot be read, contains no token, or has a line that is not a
            token.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _state(path)
        self._names = read_tokens(path)
        if not self._names:
            raise ConfigurationError(
                f"The file {path} (bearer_tokens) contains no token. `bfsql token NAME` prints "
                "one, and the line for the file."
            )

    async def verify_token(self, token: str) -> KnownToken | None:
        """A caller with the name of the token in the file, or None.

        The time of the look-up depends on the token's hash, which reveals nothing about other
        tokens.
        """
        self._follow()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        name = self._names.get(digest)
        return None if name is None else KnownToken(name)

    def _follow(self) -> None:
        """Reread the file if it was replaced or changed."""
        state = _state(self._path)
        if state == self._seen:
            return
        self._seen = state
        try:
            self._names = read_tokens(self._path)
        except ConfigurationError as error:
            log.warning("%s The tokens that were read before stay valid.", error)
        else:
            log.info("%d tokens were read from %s.", len(self._names), self._path)


class _AnyOf:
    """Accepts what one of several verifiers accepts."""

    def __init__(self, verifiers: Sequence[TokenVerifier]) -> None:
        self._verifiers = verifiers

    async def verify_token(self, token: str) -> VerifiedToken | None:
        for verifier in self._verifiers:
            if (known := await verifier.verify_token(token)) is not None:
                return known
        return None


def verifier_of(settings: ServeSettings) -> TokenVerifier | None:
    """The verifier for the settings; None if they have no token.

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
    """Make a token: 256 random bits, as text for a header."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_line(name: str, token: str) -> str:
    """The file's line for a token.

    Raises:
        ConfigurationError: The name cannot be used in a line.
    """
    if not _is_name(name):
        raise ConfigurationError(
            f"The name {name[:80]!r} cannot be used: it has to have 1 to 64 visible characters "
            "without blanks, and must not begin with #."
        )
    return f"{name} sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def read_tokens(path: Path) -> dict[bytes, str]:
    """The names of a file's tokens, by hash.

    Args:
        path: The file. Empty lines are ignored, and those that begin with `#`; a name may
            have several tokens.

    Raises:
        ConfigurationError: The file cannot be read, or a line is not a token; the error has a
            sentence for each of the first wrong lines, without the text in place of the hash.
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
                f"{path}, line {number}: {name!r} has the same token as {names[digest]!r}. Create "
                "a separate one with `bfsql token NAME`."
            )
        names[digest] = name
    if wrong:
        raise ConfigurationError("\n".join(wrong[:_SHOWN]))
    return names


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name.isprintable()


def _state(path: Path) -> tuple[int, ...] | None:
    """A value that changes with the content of a file; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
