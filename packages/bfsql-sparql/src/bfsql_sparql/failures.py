"""What an endpoint did in place of answering, as a sentence and as an error that says what helps.

`Refused` and `TooSlow`: a smaller query may be answered. `Passing`: the same
one may, in a moment. `StoreError`: none will before somebody acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.settings import HIDDEN
from bfsql_sparql.dataset import Refused, TooSlow
from bfsql_sparql.politeness import retry_after
from bfsql_sparql.signs import TIME_UP, TIME_UP_HEADERS, is_whole, said

if TYPE_CHECKING:
    from collections.abc import Mapping

_NEAR = 0.8
"""Of the time that there was: whatever breaks after so much of it, breaks because of it."""
_LONG = 5.0
"""Seconds after which a gateway that gives up, or an answer that ends in the middle, means that
a limit was met which the endpoint does not tell."""
_TAIL = 4_096
"""Bytes at the end of a broken answer in which an error is looked for."""
_BUSY = (408, 425, 429, 502, 503, 504, *range(520, 600))
"""What may pass; from 520 on they are those of gateways."""


class Passing(StoreUnavailable):
    """The endpoint may answer the same query in a moment.

    Args:
        message: The sentence for the operator.
        wait: Seconds that it asks to wait, or 0 where there is nothing to wait for; None where
            nobody knows.
        asked: Whether the endpoint itself named that time.
    """

    def __init__(self, message: str, *, wait: float | None = None, asked: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.asked = asked


class Heard(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By name, of any case."""
    body: bytes
    seconds: float
    """How long it took, to the last byte."""
    limit: float
    """How long it might take."""

    @property
    def kind(self) -> str:
        """The media type, bare."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True)
class Failures:
    """The sentences about one endpoint.

    Args:
        name: What they call it.
        scheme: What it is shown to log in; empty for nothing.
        secrets: What none of them repeats.
        most_bytes: The bound of an answer.
        endings: How addresses of its kind often end, in words.
    """

    name: str
    scheme: str
    secrets: tuple[str, ...]
    most_bytes: int
    endings: str

    def of(self, heard: Heard) -> StoreError | None:
        """What was wrong with an answer; None where it is a whole one."""
        if heard.status == HTTPStatus.OK:
            return self._not_whole(heard)
        words = self._quoted(heard.body)
        if _gave_up(heard):
            return TooSlow(
                f"{self.name} gave up on a query after {heard.seconds:.1f} s: "
                f"{heard.status}{words}."
            )
        return self._refusal(heard, words)

    def too_large(self) -> StoreError:
        """The answer went beyond the bound."""
        return Refused(
            f"{self.name} answered with more than {self.most_bytes:,} bytes, and was stopped there "
            "(max_response_bytes).",
            HTTPStatus.OK,
        )

    def broke_off(self, seconds: float, limit: float, tail: bytes = b"") -> StoreError:
        """The body ended before its end.

        Args:
            seconds: After how long.
            limit: How long it might have taken.
            tail: What came last; some servers write there what happened.
        """
        after = f"{self.name} broke off before the end of its answer, after {seconds:.1f} s."
        if _late(seconds, limit) or _says_time_up(tail):
            return TooSlow(f"{after} Its time for one query was probably up.")
        return Passing(after)

    def too_late(self, limit: float) -> StoreError:
        """It did not answer in the time for one query."""
        return TooSlow(f"{self.name} did not answer a query within {limit:g} s.")

    def held(self, seconds: float) -> StoreError:
        """It wants no request for longer than there is time."""
        return StoreUnavailable(
            f"{self.name} is too busy, and asked not to be asked again before {seconds:.0f} s "
            "have passed."
        )

    def elsewhere(self, status: int, to: str, why: str) -> StoreError:
        """It sends to another place, where no query goes."""
        return StoreError(f"{self.name} sends queries elsewhere ({status}, to {to}): {why}")

    def _not_whole(self, heard: Heard) -> StoreError | None:
        state = next(
            (name for name, sign in TIME_UP_HEADERS.items() if heard.headers.get(name) == sign), ""
        )
        if state:
            return TooSlow(
                f"{self.name} gave a part of an answer, since its time for one query was up "
                f"({state.title()}: {heard.headers[state]})."
            )
        start = heard.body.lstrip()[:1]
        if heard.kind == "text/html" or (start == b"<" and "xml" not in heard.kind):
            return StoreError(
                f"{self.name} answered with a web page, not with results. Look at its address; a "
                "page for people and the endpoint itself are often two."
            )
        if start != b"{":
            if not heard.body.strip():
                return self.broke_off(heard.seconds, heard.limit)
            return StoreError(
                f"{self.name} answered in {heard.kind or 'no named type'}, not in JSON as it was "
                "asked to. Is it a SPARQL 1.1 endpoint? Some want a request parameter for it, as "
                "in parameter format=json."
            )
        if not is_whole(heard.body):
            return self.broke_off(heard.seconds, heard.limit, heard.body[-_TAIL:])
        return None

    def _refusal(self, heard: Heard, words: str) -> StoreError:
        """An error of which nothing says that the time was up."""
        match heard.status:
            case 401 | 403 | 407:
                return StoreError(self._login(heard, words))
            case 404 | 405 | 406 | 410 | 415:
                return StoreError(
                    f"{self.name} is no SPARQL endpoint: it answered {heard.status}{words}. Look "
                    f"at its address; it is often one that ends in {self.endings}."
                )
            case status if status in _BUSY:
                return self._busy(heard, words)
            case status if status < HTTPStatus.BAD_REQUEST:
                return StoreError(
                    f"{self.name} answered {status}, which is nothing that a SPARQL endpoint "
                    "says to a query. Look at its address."
                )
            case status:
                return Refused(f"{self.name} refused a query: {status}{words}.", status)

    def _busy(self, heard: Heard, words: str) -> StoreError:
        wait = retry_after(heard.headers.get("retry-after"))
        later = "" if wait is None else f", Retry-After: {heard.headers['retry-after'][:40]}"
        return Passing(
            f"{self.name} is too busy, or not there at the moment: {heard.status}{later}{words}.",
            wait=wait,
            asked=wait is not None,
        )

    def _login(self, heard: Heard, words: str) -> str:
        if self.scheme:
            wants = heard.headers.get("www-authenticate", "").partition(" ")[0].lower()
            cure = "Look at what is set, and at authentication, which is basic or digest."
            if wants in ("basic", "digest") and wants not in self.scheme:
                cure = f"It asks for {wants} authentication: set authentication to {wants}."
            return f"{self.name} did not accept the {self.scheme} ({heard.status}{words}). {cure}"
        return (
            f"{self.name} wants a login ({heard.status}{words}), and none is set: give username "
            "and password (SPARQL_USERNAME, SPARQL_PASSWORD), token (SPARQL_TOKEN) or key "
            "(SPARQL_KEY)."
        )

    def _quoted(self, body: bytes) -> str:
        words = said(body, self.secrets, HIDDEN)
        return f", {words!r}" if words else ""


def _gave_up(heard: Heard) -> bool:
    """Whether an error means that the time for one query was up."""
    if _says_time_up(heard.body):
        return True
    if heard.status in (408, 504):
        return _late(heard.seconds, heard.limit)
    return heard.status == HTTPStatus.SERVICE_UNAVAILABLE and heard.seconds >= _NEAR * heard.limit


def _says_time_up(body: bytes) -> bool:
    words = body.decode("utf-8", errors="replace")
    return any(sign in words for sign in TIME_UP)


def _late(seconds: float, limit: float) -> bool:
    return seconds >= min(_NEAR * limit, _LONG)
