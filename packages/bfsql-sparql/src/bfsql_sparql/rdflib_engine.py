r"""rdflib in process: its memory store, and its evaluation of queries.

The parts are called one by one, where `Graph.query` would do it all: its
preparation resolves `\u0022` inside of strings, so that a text could end its
quotes, and its result holds all solutions as terms at once.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rdflib
from pydantic_core import to_json
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.evaluate import evalQuery
from rdflib.plugins.sparql.operators import Builtin_BOUND
from rdflib.plugins.sparql.parser import Query
from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.plugins.stores.memory import Memory

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal
from bfsql.models.records import Refusal
from bfsql.sources.files import faults_of
from bfsql.sources.rdf_parsers import exact_literal, quads
from bfsql_sparql.dataset import Refused

if TYPE_CHECKING:
    from bfsql_sparql.files import Stop

_PATTERNS = ("p", "p1", "p2")
_ANSWERED = {"SelectQuery", "AskQuery"}
_ROWS = rdflib.Variable("__rows__")
"""The number of rows of a group, which is bound in every group that has any."""
_SHORT = 4_000
"""Characters up to which a query is kept parsed: to parse one takes 60 ms, and memory."""
_KEPT = 200
_PARSING = threading.Lock()
"""pyparsing does not say that threads may share a grammar, and rdflib has one."""


class RdflibEngine:
    """An rdflib dataset in memory, whose joins can be stopped."""

    def __init__(self) -> None:
        self._store = _Memory()
        self.dataset = Graphs(self._store)

    def read(self, path: Path, format_: str, stop: Stop) -> None:
        """See `Engine`."""
        read(path, format_, self.dataset, stop)

    def finish(self) -> bool:
        """See `Engine`."""
        return len(self._store) > 0

    def answer(self, query: str, stop: Stop, most: int) -> bytes:
        """See `Engine`."""
        prepared = _kept.prepared(query) if len(query) <= _SHORT else _prepared(query)
        stop.check()
        with self._store.stopped_by(stop):
            body = to_json(_document(evalQuery(self.dataset, prepared), stop))
        if len(body) > most:
            raise Refused(f"The answer has {len(body)} bytes, and {most} are allowed.")
        return body


def read(path: Path, format_: str, dataset: rdflib.Dataset, stop: Stop) -> None:
    """Add the statements of a file to a dataset, blank nodes and graphs kept.

    Args:
        path: The file, plain or with the ending `.gz`.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        dataset: Where they go; those without a graph into its default graph.
        stop: Checked at each statement.

    Raises:
        SourceError: The file cannot be read, or has a syntax error; with its line
            where the format has lines.
        Stopped: As asked.
    """
    graphs: dict[Any, rdflib.Graph] = {None: dataset.default_graph}
    with faults_of(path):
        for found in quads(path, format_, exact=True):
            stop.check()
            if isinstance(found, Refusal):
                raise SourceError(path, found.reason, found.line)
            subject, predicate, object_, name = map(_rdflib_term, found)
            if name not in graphs:
                graphs[name] = dataset.graph(name)
            graphs[name].add((subject, predicate, object_))


def _rdflib_term(term: Any) -> Any:
    if isinstance(term, Literal):
        language = None if term.datatype else term.language
        return exact_literal(term.text, lang=language, datatype=term.datatype)
    return term if term is None or isinstance(term, rdflib.BNode) else rdflib.URIRef(term)


def _prepared(query: str) -> Any:
    try:
        with _PARSING:
            prepared = translateQuery(Query.parse_string(query, parse_all=True))
    except Exception as error:  # it raises what its parts raise
        raise Refused(f"rdflib does not take the query: {error}") from error
    if prepared.algebra.name not in _ANSWERED:
        raise Refused("Only SELECT and ASK are answered.")
    _tell_variables(prepared.algebra)
    _drop_empty_groups(prepared.algebra)
    return prepared


class _Kept(threading.local):
    """What this thread prepared and may need again; rdflib writes into it as it evaluates."""

    def __init__(self) -> None:
        self.prepared = lru_cache(_KEPT)(_prepared)


_kept = _Kept()


def _tell_variables(part: Any) -> set[Any]:
    """Note which variables VALUES bind, and let the patterns beside them begin there.

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
    """Let GROUP BY give no group where there are no rows.

    rdflib gives one, in which nothing is bound: whatever is joined to it is all of the store.
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
    """Patterns so that each has as few new variables as may be, after those before it."""
    left, known, ordered = list(triples), set(bound), []
    while left:
        fewest = min(left, key=lambda one: len(_variables(one) - known))
        left.remove(fewest)
        known |= _variables(fewest)
        ordered.append(fewest)
    return ordered


def _variables(triple: Any) -> set[Any]:
    return {term for term in triple if isinstance(term, rdflib.Variable | rdflib.BNode)}


def _document(found: Any, stop: Stop) -> dict[str, Any]:
    if found["type_"] == "ASK":
        return {"head": {}, "boolean": bool(found["askAnswer"])}
    bindings = []
    for solution in found["bindings"]:
        stop.check()
        bindings.append({str(name): _term(term) for name, term in solution.items()})
    return {"head": {"vars": list(map(str, found["vars_"]))}, "results": {"bindings": bindings}}


def _term(term: Any) -> dict[str, str]:
    if isinstance(term, rdflib.Literal):
        found = {"type": "literal", "value": str(term)}
        if term.language:
            found["xml:lang"] = term.language
        elif term.datatype is not None:
            found["datatype"] = str(term.datatype)
        return found
    return {"type": "bnode" if isinstance(term, rdflib.BNode) else "uri", "value": str(term)}


class Graphs(rdflib.Dataset):
    """A dataset whose query without a graph sees all of them, each statement once."""

    def __init__(self, store: rdflib.store.Store) -> None:
        super().__init__(store=store, default_union=True)

    # Both are what rdflib's own evaluation and parsers call, and it warns that they are old.

    @property  # type: ignore[misc]  # never set
    def default_context(self) -> Any:
        """The graph of the statements that are in none."""
        return self.default_graph

    def contexts(self, triple: Any = None) -> Generator[rdflib.Graph, None, None]:
        """All graphs, the default one among them."""
        yield from self.graphs(triple)


class _Memory(Memory):
    """rdflib's store; each look into it can be the last of a query."""

    def __init__(self) -> None:
        super().__init__()
        self._asking = threading.local()

    def stopped_by(self, stop: Stop) -> _Asking:
        """The queries of this thread, inside of `with`, end with the flag."""
        return _Asking(self._asking, stop)

    def triples(self, triple_pattern: Any, context: Any = None) -> Generator[Any, None, None]:
        stop = getattr(self._asking, "stop", None)
        if stop is None:
            yield from super().triples(triple_pattern, context)
            return
        stop.check()
        for found in super().triples(triple_pattern, context):
            stop.check()
            yield found


class _Asking:
    """Puts the flag of a query where the store finds it."""

    def __init__(self, place: threading.local, stop: Stop) -> None:
        self._place = place
        self._stop = stop

    def __enter__(self) -> None:
        self._place.stop = self._stop

    def __exit__(self, *_: object) -> None:
        del self._place.stop
