"""What servers say in their own ways: that the time was up, that rows are missing.

The standard has no word for either. Each sign stands here once, with whose it
is; what is said in headers goes with a body that looks like a whole answer.
"""

from __future__ import annotations

import re

from pydantic_core import from_json

from bfsql.http import hide_secrets

TIME_UP = (
    "java.util.concurrent.TimeoutException",  # Blazegraph, the Wikidata Query Service: 500
    "QueryTimeoutException",  # Blazegraph
    "TimeLimitExceededException",  # Amazon Neptune: 500, `code` of its JSON
    "exceeded query timeout",  # Stardog: 500, "QEQOE2: Query execution cancelled: ..."
    "QueryInterruptedException",  # RDF4J, GraphDB: 503
    "Query evaluation took too long",  # RDF4J, GraphDB
    "Query timed out",  # Fuseki: 503
    "QueryCancelledException",  # Fuseki, in the middle of a body
    "Operation timed out",  # QLever: 429, `exception` of its JSON
    "cancelled due to timeout",  # QLever
    "S1T00",  # Virtuoso: 500, "Transaction timed out"
)
"""In the text of an error, with whatever status: the server's time for one query was up."""

TIME_UP_HEADERS = {"x-sql-state": "S1TAT"}
"""On an answer with status 200 that holds what was found so far (Virtuoso, with `timeout`)."""

ROW_LIMIT_HEADERS = ("x-sparql-maxrows",)
"""The number of rows that any answer has at most (Virtuoso).

It is sent along as soon as an answer has so many, whether or not there were more.
"""

_SHOWN = 300  # characters
_LIMIT = re.compile(r"\bLIMIT\s+(\d+)(?:\s+OFFSET\s+\d+)?\s*$", re.IGNORECASE)
_HTML = re.compile(r"(?is)<(script|style|head)\b.*?</\1>|<[^>]*>")
_ECHO = "SPARQL-QUERY:"
"""Blazegraph repeats the query before it tells what was wrong."""


def is_whole(body: bytes) -> bool:
    """Whether a body is a JSON document to its end.

    Counting brackets is a hundred times as fast as parsing, and right for a whole document but
    for brackets in texts; then, and for a broken one, it is parsed.
    """
    ends = body.rstrip()[-1:] == b"}"
    if ends and all(body.count(a) == body.count(b) for a, b in ((b"{", b"}"), (b"[", b"]"))):
        return True
    try:
        from_json(body)
    except ValueError:
        return False
    return True


def cut_at(limit: int, query: str, body: bytes) -> bool:
    """Whether an answer ends where the server's row limit is, and not where the query's is.

    Args:
        limit: The number of rows that the server gives at most.
        query: What was asked.
        body: A whole document.
    """
    own = _LIMIT.search(query)
    if own is not None and int(own[1]) <= limit:
        return False
    try:
        return len(from_json(body)["results"]["bindings"]) >= limit
    except (ValueError, LookupError, TypeError):
        return False


def said(body: bytes, secrets: tuple[str, ...]) -> str:
    """The first line of what a server says, or of its JSON's message; at most 300 characters.

    Args:
        body: Of its error, of any type.
        secrets: What must not be repeated.
    """
    text = hide_secrets(_message(body.decode("utf-8", errors="replace")), secrets)
    lines = [line for line in map(_clean, text.splitlines()) if line]
    if lines and lines[0].startswith(_ECHO):
        lines = [line for line in lines if "Exception" in line] or lines
    first = lines[0] if lines else ""
    return f"{first[:_SHOWN]}..." if len(first) > _SHOWN else first.rstrip(".")


def _message(text: str) -> str:
    if text.lstrip()[:1] == "{":
        try:
            told = from_json(text)
        except ValueError:
            return text
        for name in ("exception", "detailedMessage", "message", "error", "detail", "title"):
            if isinstance(told.get(name), str):
                return str(told[name])
    if text.lstrip()[:1] == "<":
        return _HTML.sub("\n", text)
    return text


def _clean(line: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in line).split())
