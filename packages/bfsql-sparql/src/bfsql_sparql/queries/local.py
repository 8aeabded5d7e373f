"""Queries of files in process: what may be asked, and how their graphs become one.

Both engines would fetch documents for a query that says so: `SERVICE` asks
another endpoint, `FROM` makes rdflib load what it names. No query of this
package says either; here it is made sure of.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>"""  # an IRI
    r'''|"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*"{3}|"(?:[^"\\\n\r]|\\.)*"'''
    r"""|'{3}(?:[^'\\]|\\.|'{1,2}(?!'))*'{3}|'(?:[^'\\\n\r]|\\.)*'"""
    r"""|\#[^\n\r]*|[?$@]\w+|\w*:[^\s<>"'{}()|^`;,]*"""  # comments, variables, short names
    r"""|(?P<escape>\\[uU])|(?P<word>\w+)""",
    re.DOTALL,
)
_FETCHING = {"service", "from", "load"}
_SUSPECT = re.compile(r"service|from|load|\\u", re.IGNORECASE)

UNITE = "INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"
"""Update by which a query that names no graph sees the triples of all graphs, each once."""


def fetching(query: str) -> str | None:
    """The word by which a query would have something fetched, or None where there is none.

    Args:
        query: The whole text. Escapes outside of strings and IRIs count, for they could
            spell such a word.
    """
    if _SUSPECT.search(query) is None:
        return None
    for token in _TOKEN.finditer(query):
        if token["escape"]:
            return token["escape"]
        word = token["word"]
        if word and word.casefold() in _FETCHING:
            return word
        # A processor that resolves \u0022 first ends the string there.
        if re.search(r"(?<!\\)(?:\\\\)*\\[uU]", token[0]):
            return "\\u"
    return None
