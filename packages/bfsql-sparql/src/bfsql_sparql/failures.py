"""Errors of an endpoint: the sentence for the operator, and a type that shows what would help.

`Refused` and `TooSlow`: a smaller query may be answered. `Retryable`: the same query may, in a
moment. `StoreError`: no query will before the operator acts.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.http import Failure, HttpReply, NoReply, Retryable, hide_secrets
from bfsql.masking import shorten
from bfsql_sparql.dataset import Refused, TooSlow
from bfsql_sparql.dialects import TIME_UP, TIME_UP_HEADERS

if TYPE_CHECKING:
    from bfsql_sparql.request import Login
    from bfsql_sparql.settings import SparqlSettings

_NEAR = 0.8
"""Share of the time limit after which a failure is attributed to the limit."""
_HTML = tuple(
    (re.compile(f"(?is).*{end}"), re.compile(f"(?is){begin}.*?{end}"))
    for begin, end in (
        *((rf"<{tag}\b", f"</{tag}>") for tag in ("head", "script", "style")),
        ("<", ">"),
    )
)
"""Everything up to the last end of an element or tag, and one: each that begins there also ends
there, so that none is looked for to the end of the text in vain."""
_ECHO = "SPARQL-QUERY:"
"""Blazegraph repeats the query before the error itself."""
_BUSY = (408, 425, 429, 502, 503, 504, *range(520, 600))
"""Statuses that may pass; from 520 on they are those of gateways."""

_UNUSABLE = "{name} cannot be used: {why}."
_NO_REPLY = {
    Failure.CLOSED: "{name} is closed.",
    Failure.UNTRUSTED: "The certificate of {name} is not trusted ({why}). If it is the right "
    "server, set ca_file to the certificate of its authority.",
    Failure.NO_TLS: "{name} does not support usable TLS ({why}). Is it an http:// address, or "
    "does it require a client_certificate?",
    Failure.NO_HOST: "{name} cannot be found: there is no such host ({why}). Check its address.",
    Failure.CONNECT_TIMEOUT: "{name} did not accept a connection within {waited:g} s "
    "(connect_timeout). Is it running, and is its address right?",
    Failure.UNREACHABLE: "{name} cannot be reached ({why}). Is it running, and is its address "
    "right?",
    Failure.PROXY: "The proxy on the way to {name} refused: {why}. The variables HTTP_PROXY, "
    "HTTPS_PROXY and NO_PROXY determine which proxy is used.",
}
"""Meanings of failures before an answer, except for those that the time explains."""
_LASTING = (Failure.UNTRUSTED, Failure.NO_TLS, Failure.INVALID_URL, Failure.UNUSABLE)
"""Failures that do not pass by themselves."""


class TimedReply(NamedTuple):
    """A reply, and the time it took."""

    reply: HttpReply
    seconds: float
    """Seconds to the last byte."""
    limit: float
    """Time limit in seconds."""


class Failures:
    """The sentences about one endpoint; none of them repeats a secret of its login."""

    def __init__(self, name: str, login: Login, settings: SparqlSettings, endings: str) -> None:
        self.name = name
        self._login = login
        self._settings = settings
        self._endings = endings

    def of(self, timed: TimedReply) -> StoreError | None:
        """The fault of an answer; None if it is complete."""
        reply = timed.reply
        if reply.status == HTTPStatus.OK:
            return self._not_whole(timed)
        line = _error_line(reply.body, self._login.credentials.secrets)
        words = f", {line!r}" if line else ""
        if _gave_up(timed):
            return TooSlow(
                f"{self.name} stopped a query after {timed.seconds:.1f} s: {reply.status}{words}."
            )
        return self._refusal(reply, words)

    def no_reply(self, error: NoReply, seconds: float, limit: float) -> StoreError:
        """There was no whole answer, after `seconds` of `limit`."""
        if error.kind is Failure.INCOMPLETE:
            return self.incomplete(seconds, limit)
        if error.kind is Failure.BROKE_OFF:
            # Usually an idle connection that the server has just closed.
            return Retryable(
                f"{self.name} closed the connection: {error.reason}. Try again.", wait=0.0
            )
        sentence = _NO_REPLY.get(error.kind, _UNUSABLE).format(
            name=self.name, why=error.reason, waited=self._settings.connect_timeout
        )
        return (StoreError if error.kind in _LASTING else StoreUnavailable)(sentence)

    def too_large(self) -> StoreError:
        """The answer exceeded the limit."""
        most = self._settings.max_response_bytes
        return Refused(
            f"{self.name} answered with more than {most:,} bytes (max_response_bytes). Ask for "
            "less, or raise it.",
            HTTPStatus.OK,
        )

    def incomplete(self, seconds: float, limit: float, tail: bytes = b"") -> StoreError:
        """The body was cut off after `seconds` of `limit`; some servers state why in its tail."""
        after = (
            f"{self.name} closed the connection before the end of its answer, after "
            f"{seconds:.1f} s."
        )
        if _late(seconds, limit) or _says_time_up(tail):
            return TooSlow(f"{after} Its time limit for one query was probably exceeded.")
        return Retryable(after)

    def timed_out(self, limit: float) -> StoreError:
        """The endpoint did not answer in the time for one query."""
        return TooSlow(f"{self.name} did not answer a query within {limit:g} s.")

    def rate_limited(self, seconds: float) -> StoreError:
        """The endpoint requested a longer pause than there is time for."""
        return StoreUnavailable(
            f"{self.name} is too busy, and requested no further queries before {seconds:.0f} s "
            "have passed."
        )

    def redirected(self, status: int, to: str, why: str) -> StoreError:
        """The endpoint redirects to an address where no query may go."""
        return StoreError(f"{self.name} redirects queries ({status}, to {to}): {why}")

    def _not_whole(self, timed: TimedReply) -> StoreError | None:
        reply = timed.reply
        state = next(
            (name for name, sign in TIME_UP_HEADERS.items() if reply.headers.get(name) == sign), ""
        )
        if state:
            return TooSlow(
                f"{self.name} returned part of an answer, because its time limit for one query "
                f"was exceeded ({state.title()}: {reply.headers[state]})."
            )
        kind, start = reply.content_type, reply.body.lstrip()[:1]
        if kind == "text/html" or (start == b"<" and "xml" not in kind):
            return StoreError(
                f"{self.name} answered with a web page instead of results. Check its address; the "
                "endpoint often has another address than its web page."
            )
        if start != b"{":
            if not reply.body.strip():
                return self.incomplete(timed.seconds, timed.limit)
            return StoreError(
                f"{self.name} answered in {kind or 'an unnamed type'}, although JSON was "
                "requested. Is it a SPARQL 1.1 endpoint? Some need a request parameter for JSON, "
                "such as parameter format=json."
            )
        if not _is_whole(reply.body):
            # An error is in the last few kB of a broken answer.
            return self.incomplete(timed.seconds, timed.limit, reply.body[-4_096:])
        return None

    def _refusal(self, reply: HttpReply, words: str) -> StoreError:
        """An error without a sign that the time was up."""
        match reply.status:
            case 401 | 403 | 407:
                return StoreError(self._login_refused(reply, words))
            case 404 | 405 | 406 | 410 | 415:
                return StoreError(
                    f"{self.name} is not a SPARQL endpoint: it answered {reply.status}{words}. "
                    f"Check its address, which often ends in {self._endings}."
                )
            case status if status in _BUSY:
                return self._busy(reply, words)
            case status if status < HTTPStatus.BAD_REQUEST:
                return StoreError(
                    f"{self.name} answered {status}, which a SPARQL endpoint does not do. Check "
                    "its address."
                )
            case status:
                return Refused(f"{self.name} refused a query: {status}{words}.", status)

    def _busy(self, reply: HttpReply, words: str) -> StoreError:
        wait = reply.retry_after
        later = "" if wait is None else f", Retry-After: {reply.headers['retry-after'][:40]}"
        return Retryable(
            f"{self.name} is too busy or temporarily unavailable: {reply.status}{later}{words}.",
            wait=wait,
            by_server=wait is not None,
        )

    def _login_refused(self, reply: HttpReply, words: str) -> str:
        scheme = self._login.scheme
        if scheme:
            wants = reply.headers.get("www-authenticate", "").partition(" ")[0].lower()
            cure = (
                "Check the credentials, and the setting authentication, which is basic or digest."
            )
            if wants in ("basic", "digest") and wants not in scheme:
                cure = f"It asks for {wants} authentication: set authentication to {wants}."
            return f"{self.name} did not accept the {scheme} ({reply.status}{words}). {cure}"
        return (
            f"{self.name} requires a login ({reply.status}{words}), but none is set: set username "
            "and password (SPARQL_USERNAME, SPARQL_PASSWORD), token (SPARQL_TOKEN) or key "
            "(SPARQL_KEY)."
        )


def _gave_up(timed: TimedReply) -> bool:
    """Whether an error means that the time for one query was up."""
    status, body = timed.reply.status, timed.reply.body
    if _says_time_up(body):
        return True
    if status in (408, 504):
        return _late(timed.seconds, timed.limit)
    return status == HTTPStatus.SERVICE_UNAVAILABLE and timed.seconds >= _NEAR * timed.limit


def _says_time_up(body: bytes) -> bool:
    words = body.decode("utf-8", errors="replace")
    return any(sign in words for sign in TIME_UP)


def _late(seconds: float, limit: float) -> bool:
    # After 5 s, a gateway that gives up, or an answer that ends in the middle, means that an
    # undisclosed limit of the endpoint was reached.
    return seconds >= min(_NEAR * limit, 5.0)


def _is_whole(body: bytes) -> bool:
    """Whether a body is a complete JSON document.

    Counting brackets is a hundred times as fast as parsing, and right for a whole document except
    for brackets in texts; in that case, and for a broken one, the body is parsed.
    """
    ends = body.rstrip()[-1:] == b"}"
    if ends and all(body.count(a) == body.count(b) for a, b in ((b"{", b"}"), (b"[", b"]"))):
        return True
    try:
        from_json(body)
    except ValueError:
        return False
    return True


def _error_line(body: bytes, secrets: tuple[str, ...]) -> str:
    """The first line of an error's body, or of its JSON's message, without secrets."""
    text = hide_secrets(_message(body.decode("utf-8", errors="replace")), secrets)
    lines = [line for line in map(_clean, text.splitlines()) if line]
    if lines and lines[0].startswith(_ECHO):
        lines = [line for line in lines if "Exception" in line] or lines
    return shorten(lines[0].rstrip("."), 300) if lines else ""


def _message(text: str) -> str:
    if text.lstrip()[:1] == "{":
        try:
            document = from_json(text)
        except ValueError:
            return text
        for name in ("exception", "detailedMessage", "message", "error", "detail", "title"):
            if isinstance(document.get(name), str):
                return str(document[name])
    if text.lstrip()[:1] == "<":
        for whole, one in _HTML:
            if front := whole.match(text):
                text = one.sub("\n", front[0]) + text[front.end() :]
    return text


def _clean(line: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in line).split())
