"""The replies of the bad endpoint: each a value, made by the function of the same name."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from bfsql_test_support.servers.sparql import FORM, RESULTS, SparqlServer

QUERY = "application/sparql-query"


@dataclass(frozen=True)
class Asked:
    """A request as it came in.

    Attributes:
        target: Path and query string, as they were sent.
        headers: Of any case.
        when: `time.monotonic()` when the request was complete.
    """

    method: str
    target: str
    headers: Message
    body: bytes
    when: float

    @property
    def path(self) -> str:
        """The target without its query string."""
        return urlsplit(self.target).path

    @property
    def fields(self) -> dict[str, list[str]]:
        """The fields of the query string and of a form, in this order."""
        found = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        if self.headers.get_content_type() == FORM:
            for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items():
                found.setdefault(name, []).extend(values)
        return found

    @property
    def query(self) -> str:
        """The SPARQL query, however it was sent; empty if there is none."""
        if self.headers.get_content_type() == QUERY:
            return self.body.decode()
        return self.fields.get("query", [""])[0]


@dataclass(frozen=True)
class Reply:
    """The content of a reply, and the way it ends.

    Attributes:
        status: The status; None sends nothing, and only `ending` happens.
        content_type: None leaves the header out.
        headers: In addition to the type and the length.
        silence: Seconds without data before it.
        declared: The Content-Length it claims; None is the true one.
        pause: Seconds between any two bytes of the body.
        endless: The body goes out again and again, with no length.
        ending: What happens to the connection afterwards.
    """

    status: int | None = 200
    body: bytes = b""
    content_type: str | None = RESULTS
    headers: Mapping[str, str] = field(default_factory=dict)
    silence: float = 0
    declared: int | None = None
    pause: float = 0
    endless: bool = False
    ending: Literal["keep", "close", "reset"] = "keep"


Behaviour = Reply | Callable[[Asked], Reply]
"""A reply, or a function that makes one for a request."""
Term = dict[str, str]
"""An RDF term of the SPARQL JSON results."""


def iri(value: str) -> Term:
    """An IRI in a solution."""
    return {"type": "uri", "value": value}


def literal(value: str, language: str = "") -> Term:
    """A literal in a solution."""
    return {"type": "literal", "value": value} | ({"xml:lang": language} if language else {})


def results(*solutions: Mapping[str, Term], variables: Sequence[str] = ()) -> Reply:
    """A complete and correct answer; its variables are by default those of the solutions."""
    names = list(variables or dict.fromkeys(name for row in solutions for name in row))
    told = {"head": {"vars": names}, "results": {"bindings": list(solutions)}}
    return Reply(body=json.dumps(told).encode())


def boolean(answer: bool) -> Reply:
    """A correct answer to an ASK."""
    return Reply(body=json.dumps({"head": {}, "boolean": answer}).encode())


def some(number: int, *variables: str) -> Reply:
    """A number of solutions for any query: a silent row limit, if more were requested."""
    names = variables or ("s", "p", "o")
    rows = [{name: iri(f"http://x.test/{name}{row}") for name in names} for row in range(number)]
    return results(*rows, variables=names)


def refused(status: int, words: str = "", **headers: str) -> Reply:
    """An error; `retry_after="3"` becomes the header Retry-After."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Reply(status, words.encode(), "text/plain; charset=utf-8", named)


def page() -> Reply:
    """A web page with status 200, as proxies and landing pages send it."""
    return Reply(body=b"<!DOCTYPE html><html><body>Hello.</body></html>", content_type="text/html")


def redirect(url: str, status: int = 307) -> Reply:
    """A redirect to another URL."""
    return Reply(status, content_type=None, headers={"Location": url})


def half(reply: Reply) -> Reply:
    """The first half of a body, presented as the whole."""
    return replace(reply, body=reply.body[: len(reply.body) // 2])


def short(reply: Reply) -> Reply:
    """The first half of a body under the length of the whole; then the connection closes."""
    return replace(half(reply), declared=len(reply.body), ending="close")


def zipped(reply: Reply) -> Reply:
    """The body compressed by gzip, whether or not that was asked for."""
    headers = {**reply.headers, "Content-Encoding": "gzip"}
    return replace(reply, body=gzip.compress(reply.body), headers=headers)


def endless(reply: Reply | None = None) -> Reply:
    """A body that does not end: that of a reply repeated, or an answer that continues."""
    if reply is not None:
        return replace(reply, endless=True)
    row = json.dumps({"s": iri("http://x.test/s")}).encode()
    return Reply(body=(row + b",") * 1000, endless=True)


def silence(seconds: float = 30, then: Reply | None = None) -> Reply:
    """Silence for a number of seconds, then the answer or the end of the connection."""
    return replace(then or Reply(None, ending="close"), silence=seconds)


def slow(reply: Reply, pause: float = 0.05) -> Reply:
    """A body that is sent byte by byte: no single wait is long, but the total is."""
    return replace(reply, pause=pause)


def reset() -> Reply:
    """The connection is reset without a reply."""
    return Reply(None, ending="reset")


def through(
    server: SparqlServer, *, at_most: int | None = None, **headers: str
) -> Callable[[Asked], Reply]:
    """The answers of a real server.

    Args:
        server: The server that answers; it receives only the query, in a form.
        at_most: Most solutions to pass on; the others are dropped silently.
        **headers: Headers of the reply, `x_sql_state="S1TAT"` for X-Sql-State.
    """
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}

    def answered(asked: Asked) -> Reply:
        form = urlencode({"query": asked.query}).encode()
        said = server.send(server.query_url, form, FORM, server.query_auth)
        told: dict[str, Any] = json.loads(said)
        if "results" in told:
            told["results"]["bindings"] = told["results"]["bindings"][:at_most]
        return Reply(body=json.dumps(told).encode(), headers=named)

    return answered
