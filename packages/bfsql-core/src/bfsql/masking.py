"""Secrets inside texts: passwords in URLs, keys in their queries, and values that names give away.

    hide_secrets("bolt://neo4j:sesame@db:7687")         # bolt://neo4j:**********@db:7687
    hide_secrets("https://host/sparql?apikey=sesame")   # https://host/sparql?apikey=**********

Every text for an operator passes here: settings that are shown, errors and log records. What is
hidden by mistake costs a reader a word; what is not hidden costs a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

HIDDEN = "**********"
"""Shown in place of a secret."""

EXAMPLE = "user:password@host"
"""How sentences show the form of a URL with a login; it is not hidden."""

_DELIMITERS = re.compile(r"[/?#@:&\[\]\s]+")
_SHORTEST = 3  # characters of a part of a secret that is hidden wherever it stands

_Patterns: TypeAlias = list[tuple[re.Pattern[str], str]]


def _compiled(*patterns: tuple[str, str]) -> _Patterns:
    """Patterns, and what stands in the place of a match behind its first group."""
    flags = re.IGNORECASE | re.DOTALL
    return [(re.compile(pattern, flags), rf"\g<1>{instead}") for pattern, instead in patterns]


_NAMES = (
    "(?:password|passwd|passphrase|passcode|pass|pwd|secret|token|jwt|credentials|credential"
    "|signature|cookie|apikey|api[-_ ]key|accesskey|access[-_ ]key|accountkey|privatekey"
    "|private[-_ ]key|authkey|subscription-key|authorization|auth)"
)
_SECRET_NAME = re.compile(rf"(?i).*{_NAMES}|key|sig")
_NAMED = re.compile(rf"{_NAMES}[\"']?\s{{0,3}}[=:,]")

_SCHEME = r"[a-z][a-z0-9+.-]{0,30}+://"
_NO_PORT = r"(?![0-9]{1,5}(?:[/?#\s\"']|$))"  # host:80 is no user and password

# Bounds and possessive quantifiers keep texts cheap that are made to be expensive.
_IN_URLS = _compiled(
    # scheme://user:SECRET@host, where the secret may hold @ and / itself; with one slash, as of
    # a path, and without a colon, too
    (
        rf"(/[^\s/?#@:\"'<>]{{0,400}}+:){_NO_PORT}(?:[^\s\"'<>@]{{0,2000}}+@){{1,8}}",
        f"{HIDDEN}@",
    ),
    # https://SECRET@host
    (r"(https?://)[^\s/?#@:\"'<>]{1,2000}+@", f"{HIDDEN}@"),
)
_AFTER_NAMES = _compiled(
    # password='SECRET', "password": "SECRET", password=SECRET
    (rf"({_NAMES}[\"']?\s{{0,3}}[=:]\s{{0,3}}b?\")[^\"]+", HIDDEN),
    (rf"({_NAMES}[\"']?\s{{0,3}}[=:]\s{{0,3}}b?')[^'\"]+", HIDDEN),
    (rf"({_NAMES}=)[^\s&\"'<>]+", HIDDEN),
    # Authorization: Bearer SECRET, as a header or as a pair
    (
        (
            r"(\b(?:authorization|cookie|x-api-key)[\"']?\s{0,3}[:,]\s{0,3}(?:b?[\"'])?"
            r"(?:(?:bearer|basic|digest|token)\s{1,3})?+)[^\s\"'<>]+"
        ),
        HIDDEN,
    ),
)
_OTHER = _compiled(
    (r"([?&](?:key|sig|code)=)[^\s&\"'<>]+", HIDDEN),
    (r"(bfsql_)[A-Za-z0-9_-]{43}", HIDDEN),  # which `bfsql token` made
    # a word with a digit in it, since bearer authentication is none
    (r"(\b(?:bearer|basic)\s{1,3})(?=[a-z._~+/=-]{0,200}[0-9])[\w.~+/=-]{12,}", HIDDEN),
)
_SIGNS_OF_OTHER = ("?", "&", "bfsql_", "bearer", "basic")
"""What a text has at least one of where one of these patterns matches, in lower case."""


# A text that is one URL, or what should have been one, has no words around it to be spared.
_ONE_URL = re.compile(rf"(?i)\s*+(?:{_SCHEME}|[^\s@]+:\S*@)")
_WHOLE = _compiled(
    (rf"^(\s*+{_SCHEME}[^/?#@:]*+:){_NO_PORT}.*@", f"{HIDDEN}@"),
    (r"^(\s*+(?!mailto:|urn:|acct:)[^\s/?#@:]++:(?!//))\S+@(?=[^@\s]+\s*$)", f"{HIDDEN}@"),
    (rf"((?<=[?&;])(?:[\w.-]*{_NAMES}|key|sig|code)=)[^&]+", HIDDEN),
)


def hide_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """A text with `**********` in the place of every secret in it.

    Args:
        text: Of any origin: a setting, an error of a driver, what a server has answered.
        secrets: Secrets that are known; empty ones are ignored, and of two that overlap the
            longer is hidden.
    """
    if EXAMPLE in text:
        return EXAMPLE.join(hide_secrets(part, secrets) for part in text.split(EXAMPLE))
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    lowered = text.lower()  # looking for what is not there has to cost a line of a log little
    if _ONE_URL.match(text):
        text = _each(_WHOLE, text)
    if "@" in text and "/" in text:
        text = _each(_IN_URLS, text)
    if _NAMED.search(lowered):
        text = _each(_AFTER_NAMES, text)
    return _each(_OTHER, text) if any(word in lowered for word in _SIGNS_OF_OTHER) else text


def secrets_in(text: str) -> list[str]:
    """What `hide_secrets` hides in a setting's value, and the parts that a parser may make of it.

    A library that cannot read a URL may quote a part of the password, where nothing around it
    tells what it is.
    """
    shown = hide_secrets(text).split(HIDDEN)
    pattern = "(.+)".join(re.escape(part) for part in shown)
    found = re.fullmatch(pattern, text, re.DOTALL)
    secrets = found.groups() if found else ()
    parts = [part for secret in secrets for part in (secret, *_DELIMITERS.split(secret))]
    return [part for part in parts if len(part) >= _SHORTEST]


def is_secret_name(name: str) -> bool:
    """Whether a name, of a header or a parameter for instance, is one that secrets have."""
    return _SECRET_NAME.fullmatch(name) is not None


def _each(patterns: _Patterns, text: str) -> str:
    for pattern, replacement in patterns:
        text = pattern.sub(replacement, text)
    return text
