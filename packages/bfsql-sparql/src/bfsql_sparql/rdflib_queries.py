r"""Queries for rdflib's evaluation: parsed once for each form, and corrected where rdflib errs.

rdflib takes 60 ms to parse a query. The queries of this package differ mostly in their IRIs and
texts, so a query is parsed with a mark for each of them, and the values are then inserted in the
places of the marks.

`Graph.query` would prepare a query too, but resolves `\u0022` inside strings, so that a text could
end its quotes.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import rdflib
from rdflib.compat import decodeUnicodeEscape
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.operators import Builtin_BOUND
from rdflib.plugins.sparql.parser import Query
from rdflib.plugins.sparql.parserutils import CompValue, Expr

from bfsql_sparql.dataset import Refused

_PATTERNS = ("p", "p1", "p2")
_ANSWERED = {"SelectQuery", "AskQuery"}
_ROWS = rdflib.Variable("__rows__")
"""The number of rows of a group, which is bound in every group that has any."""
_SHORT = 4_000
"""Characters up to which a parsed query is cached, since caching takes memory."""
_KEPT = 200
_PARSING = threading.Lock()
"""pyparsing does not promise that threads may share a grammar, and rdflib has only one."""
_VALUE = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>|"(?:[^"\n\r\\]|\\["ntbrf\\])*"(?!")"""  # as rdflib has them
)
_NOT_PLAIN = re.compile(r"""[:'"#\\]""")
"""Characters outside IRIs and texts that mean prefixes, comments, or texts in other quotes."""
_MARK = "x:"


@contextmanager
def prepared(query: str) -> Iterator[Any]:
    """A query for exclusive evaluation, because rdflib writes into it.

    Args:
        query: A SELECT or ASK query.

    Raises:
        Refused: rdflib rejects it, or it is another kind of query.
    """
    text, values = _with_marks(query)
    form = _idle.take(text) or _Form(text, marked=bool(values))
    yield form.filled(values)
    if len(text) <= _SHORT:
        _idle.put(text, form)


def _with_marks(query: str) -> tuple[str, list[str]]:
    """A query with a mark for each IRI and text, and these values as written."""
    if _NOT_PLAIN.search(_VALUE.sub("", query)):
        return query, []
    values: list[str] = []

    def mark(found: re.Match[str]) -> str:
        values.append(found[0])
        name = f"{_MARK}{len(values) - 1}"
        return f"<{name}>" if found[0].startswith("<") else f'"{name}"'

    return _VALUE.sub(mark, query), values


def _parsed(query: str) -> Any:
    try:
        with _PARSING:
            found = translateQuery(Query.parse_string(query, parse_all=True))
    except Exception as error:  # it raises what its parts raise
        raise Refused(f"rdflib rejected the query: {error}") from error
    if found.algebra.name not in _ANSWERED:
        raise Refused("Only SELECT and ASK queries are supported.")
    _tell_variables(found.algebra)
    _drop_empty_groups(found.algebra)
    return found


class _Form:
    """A parsed query, perhaps with marks in the places of its values.

    Args:
        text: The query.
        marked: Whether it has marks.
    """

    def __init__(self, text: str, *, marked: bool) -> None:
        self._query = _parsed(text)
        self._places = list(_places(self._query.algebra)) if marked else []

    def filled(self, values: list[str]) -> Any:
        """The query with the values in the places of their marks."""
        for holder, key, part in self._places:
            holder[key] = _filled(part, values)
        return self._query


def _places(holder: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The places of terms with marks: the container, the key, and the term."""
    for key, part in list(holder.items()) if isinstance(holder, dict) else enumerate(holder):
        if isinstance(part, dict | list):
            yield from _places(part)
        elif _is_marked(part):
            yield holder, key, part
    # The pattern of EXISTS is an attribute of its expression, not an item.
    pattern = getattr(holder, "__dict__", {}).get("graph")
    if isinstance(pattern, dict):
        yield from _places(pattern)


def _is_marked(part: Any) -> bool:
    if isinstance(part, tuple):  # a triple
        return any(map(_is_marked, part))
    return isinstance(part, rdflib.URIRef | rdflib.Literal) and part.startswith(_MARK)


def _filled(part: Any, values: list[str]) -> Any:
    if not _is_marked(part):
        return part
    if isinstance(part, tuple):
        return tuple(_filled(one, values) for one in part)
    value = values[int(part.removeprefix(_MARK))][1:-1]
    if isinstance(part, rdflib.URIRef):
        return rdflib.URIRef(value)
    datatype = part.datatype and _filled(part.datatype, values)
    return rdflib.Literal(decodeUnicodeEscape(value), lang=part.language, datatype=datatype)


class _Idle:
    """Parsed queries not in use, by their text; only the most recently used."""

    def __init__(self) -> None:
        self._forms: OrderedDict[str, list[_Form]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, text: str) -> _Form | None:
        """Take a query with this text; None if there is none."""
        with self._lock:
            forms = self._forms.get(text)
            return forms.pop() if forms else None

    def put(self, text: str, form: _Form) -> None:
        """Store a query."""
        with self._lock:
            self._forms.setdefault(text, []).append(form)
            self._forms.move_to_end(text)
            if len(self._forms) > _KEPT:
                self._forms.popitem(last=False)


_idle = _Idle()


def _tell_variables(part: Any) -> set[Any]:
    """Note the variables that VALUES bind, and let the patterns beside them begin there.

    rdflib does neither: an OPTIONAL after VALUES loses rows, and a join goes through all
    triples of one pattern for each value, or, after two VALUES, compares all with each.
    """
    inner = (part[one] for one in _PATTERNS if one in part)
    found = set().union(*(_tell_variables(one) for one in inner if isinstance(one, CompValue)))
    if part.name == "values":
        found |= {name for solution in part.res for name in solution}
    if part.name == "Join" and part.p2.name == "BGP":
        part["lazy"] = True
        part.p2["triples"] = _in_order(part.p2.triples, part.p1["_vars"])
    if part.name == "Project":
        found &= set(part.PV)
    part["_vars"] = set(part["_vars"]) | found
    return found


def _drop_empty_groups(part: CompValue) -> None:
    """Make GROUP BY return no group if there are no rows.

    rdflib returns one without bindings, and a join with it covers the whole store.
    """
    for name in _PATTERNS:
        inner = part.get(name)
        if isinstance(inner, CompValue):
            _drop_empty_groups(inner)
            if inner.name == "AggregateJoin" and inner.p.expr:
                inner["A"] = [*inner.A, CompValue("Aggregate_Count", vars="*", res=_ROWS)]
                bound = Expr("Builtin_BOUND", Builtin_BOUND, arg=_ROWS)
                part[name] = CompValue("Filter", expr=bound, p=inner, no_isolated_scope=True)


def _in_order(triples: list[Any], bound: Collection[Any]) -> list[Any]:
    """Patterns in an order in which each has as few new variables as possible."""
    left, known, ordered = list(triples), set(bound), []
    while left:
        fewest = min(left, key=lambda one: len(_variables(one) - known))
        left.remove(fewest)
        known |= _variables(fewest)
        ordered.append(fewest)
    return ordered


def _variables(triple: Any) -> set[Any]:
    return {term for term in triple if isinstance(term, rdflib.Variable | rdflib.BNode)}
