"""Bearer tokens: how they are verified, and the file that holds the hashes of several.

A verifier has the interface of the MCP SDK's `TokenVerifier`, so that a verifier of JWTs works for
MCP and the web API alike. This module imports no web framework.

The file has a line for each token, its name and its hash:

    # who asks
    alice sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
    bob sha256:81b637d8fcd2c6da6359e6963113a1170de795e4b725b84d1e0b4cfd9ec58ce9 expires=2027-01-31

A token is 256 random bits, which cannot be guessed, however fast the hash is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from bfsql.errors import ConfigurationError
from bfsql.settings import UnreadableFile, read_text

log = logging.getLogger(__name__)

TOKEN_PREFIX = "bfsql_"  # noqa: S105 - what tokens begin with
"""Prefix that identifies a token of this server, in a log for instance."""

_HASH = re.compile(r"sha256:([0-9a-f]{64})(?:\s+expires=(\S+))?", re.IGNORECASE)
_NAME = re.compile(r"[^\s#][^\s]{0,63}")


class VerifiedToken(Protocol):
    """The properties of a valid token; the SDK's `AccessToken` has them."""

    @property
    def client_id(self) -> str:
        """To whom the token was issued; empty for a shared token."""

    @property
    def subject(self) -> str | None:
        """The user on whose behalf the client calls, if the token contains it."""

    @property
    def scopes(self) -> Sequence[str]:
        """What the token was issued for; empty for the tokens of a file."""

    @property
    def claims(self) -> Mapping[str, Any] | None:
        """What its issuer says of the user; None for the tokens of a file."""


class TokenVerifier(Protocol):
    """Verifies bearer tokens."""

    async def verify_token(self, token: str) -> VerifiedToken | None:
        """The properties of a token; None if it is not valid."""


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """Whose token it is."""

    client_id: str = ""
    subject: str | None = None
    scopes: Sequence[str] = ()
    claims: Mapping[str, Any] | None = None
    expires: datetime | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the token is refused from now on."""
        return self.expires is not None and self.expires.timestamp() <= time.time()


class KnownTokens:
    """Verifies the tokens of a file, which is reread when it changes, and a shared one.

    If the file is missing or broken after the start, the tokens that were read before stay valid,
    and one warning is logged. A file that has lost all its tokens refuses everyone.

    Args:
        file: The file; None for the shared token alone.
        shared: The token of a caller without a name, if there is one.

    Raises:
        ConfigurationError: The file cannot be read, contains no token, or has a line that is not a
            token.
    """

    def __init__(self, file: Path | None, shared: str = "") -> None:
        self._file, self._shared = file, _digest(shared) if shared else b""
        self._tokens, self._used = dict[bytes, TokenOwner](), dict[str, str]()
        if file is not None:
            self._seen = _state(file)
            self._tokens = read_tokens(file)
            if not self._tokens:
                raise ConfigurationError(
                    f"The file {file} (bearer_tokens) contains no token. `bfsql token NAME` prints "
                    "one, and the line for the file."
                )

    async def verify_token(self, token: str) -> TokenOwner | None:
        """A caller with the name of the token, or None.

        The time of the look-up depends on the token's hash, which reveals nothing about other
        tokens.
        """
        digest = _digest(token)
        if self._file is not None:
            self._follow(self._file)
        known = self._tokens.get(digest)
        if known is None and hmac.compare_digest(digest, self._shared):
            known = TokenOwner()
        if known is None or known.is_expired:
            return None
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        if self._file is not None and self._used.get(known.client_id) != today:
            self._used[known.client_id] = today
            with suppress(OSError):  # the folder may be one that is only read
                used = json.dumps(last_uses(self._file) | self._used, indent=0)
                _used_file(self._file).write_text(used)
        return known

    def _follow(self, file: Path) -> None:
        """Reread the file if it was replaced or changed."""
        state = _state(file)
        if state == self._seen:
            return
        self._seen = state
        try:
            self._tokens = read_tokens(file)
        except ConfigurationError as error:
            log.warning("%s The tokens that were read before stay valid.", error)
        else:
            log.info("%d tokens were read from %s.", len(self._tokens), file)


def new_token() -> str:
    """Make a token: 256 random bits, as text for a header."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_line(name: str, token: str, expires: datetime | None = None) -> str:
    """The file's line for a token."""
    if not _is_name(name):
        raise ConfigurationError(
            f"The name {name[:80]!r} cannot be used: it has to have 1 to 64 visible characters "
            "without blanks, and must not begin with #."
        )
    until = f" expires={expires.isoformat()}" if expires else ""
    return f"{name} sha256:{_digest(token).hex()}{until}"


def last_uses(file: Path) -> dict[str, str]:
    """The day on which each name was used last, as noted beside a file of tokens."""
    try:
        return dict(json.loads(_used_file(file).read_text()))
    except (OSError, ValueError, TypeError):
        return {}


def _used_file(tokens: Path) -> Path:
    return tokens.with_name(f"{tokens.name}.used")


def read_tokens(path: Path) -> dict[bytes, TokenOwner]:
    """The tokens of a file, by hash; a name may have several tokens.

    Raises:
        ConfigurationError: The file cannot be read, or a line is not a token; the error has a
            sentence for each of the first wrong lines, without the text in place of the hash.
    """
    try:
        text = read_text(path, max_bytes=10_000_000)  # about 100,000 tokens
    except UnreadableFile as unreadable:
        raise ConfigurationError(
            f"The file {path} (bearer_tokens) cannot be read: {unreadable}."
        ) from None
    tokens: dict[bytes, TokenOwner] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, *rest = line.split(maxsplit=1) or [""]
        if not name or name.startswith("#"):
            continue
        found = _HASH.fullmatch("".join(rest).rstrip())
        digest = bytes.fromhex(found[1]) if found else b""
        try:
            expires = datetime.fromisoformat(found[2]) if found and found[2] else None
        except ValueError:
            found = None
        if found is None or not _is_name(name):
            wrong.append(
                f"{path}, line {number}: this has to be a name without blanks and the hash of "
                "its token, and may have expires=DATE, as `bfsql token NAME` prints them."
            )
            continue
        if digest in tokens:
            wrong.append(
                f"{path}, line {number}: {name!r} has the same token as "
                f"{tokens[digest].client_id!r}. Create a separate one with `bfsql token NAME`."
            )
        tokens[digest] = TokenOwner(name, expires=expires)
    if wrong:
        raise ConfigurationError("\n".join(wrong[:10]))
    return tokens


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and name.isprintable()


def _state(path: Path) -> tuple[int, ...] | None:
    """A value that changes with the content of a file; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
