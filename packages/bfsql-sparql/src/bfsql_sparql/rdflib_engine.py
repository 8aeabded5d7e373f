"""rdflib in process: its memory store, and its evaluation of queries.

The steps of `Graph.query` are called one by one, because its result holds all solutions
as terms at once.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rdflib
from pydantic_core import to_json
from rdflib.plugins.sparql.evaluate import evalQuery
from rdflib.plugins.stores.memory import Memory

from bfsql.errors import SourceError
from bfsql.models.rdf import Literal
from bfsql.models.records import Refusal
from bfsql.sources.files import faults_of
from bfsql.sources.rdf_parsers import BlankNode, quads
from bfsql_sparql.dataset import Refused
from bfsql_sparql.rdflib_queries import prepared

if TYPE_CHECKING:
    from bfsql_sparql.files import Stop

# rdflib writes a traceback to stderr for every literal that is invalid for its datatype.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)


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
        with prepared(query) as algebra, self._store.stopped_by(stop):
            stop.check()
            body = to_json(_document(evalQuery(self.dataset, algebra), stop))
        if len(body) > most:
            raise Refused(f"The answer has {len(body)} bytes; at most {most} are allowed.")
        return body


def read(path: Path, format_: str, dataset: Graphs, stop: Stop) -> None:
    """Add the statements of a file to a dataset, blank nodes and graphs kept.

    Args:
        path: The file, plain or with the ending `.gz`.
        format_: `turtle`, `ntriples`, `nquads`, `trig`, `rdfxml` or `jsonld`.
        dataset: Receives them; statements without a graph go into its default graph.
        stop: Checked at each statement.

    Raises:
        SourceError: The file cannot be read, or has a syntax error; with its line
            where the format has lines.
        Stopped: The flag was set.
    """
    graphs: dict[Any, rdflib.Graph] = {None: dataset.default_graph}
    with faults_of(path):
        for found in quads(path, format_, blank_numbers=dataset.blank_numbers):
            stop.check()
            if isinstance(found, Refusal):
                raise SourceError(path, found.reason, found.line)
            subject, predicate, object_, name = map(_rdflib_term, found)
            if name not in graphs:
                graphs[name] = dataset.graph(name)
            graphs[name].add((subject, predicate, object_))


def _rdflib_term(term: Any) -> Any:
    if isinstance(term, Literal):
        # Without `normalize`, `0042` would become `42`.
        return rdflib.Literal(
            term.text, lang=term.language, datatype=term.datatype, normalize=False
        )
    if isinstance(term, BlankNode):
        return rdflib.BNode(f"b{term.number}")
    return None if term is None else rdflib.URIRef(term)


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
    """A dataset whose queries without a graph see all graphs, each statement once."""

    def __init__(self, store: rdflib.store.Store) -> None:
        super().__init__(store=store, default_union=True)
        self.blank_numbers = itertools.count(1)
        """Numbers of the next blank nodes, in the order of the files."""

    # rdflib's own evaluation and parsers call both, and it warns that they are deprecated.

    @property  # type: ignore[misc]  # never set
    def default_context(self) -> Any:
        """The graph of the statements that are in no named graph."""
        return self.default_graph

    def contexts(self, triple: Any = None) -> Generator[rdflib.Graph, None, None]:
        """All graphs, including the default one."""
        yield from self.graphs(triple)


class _Memory(Memory):
    """rdflib's store; any access to it can end a query."""

    def __init__(self) -> None:
        super().__init__()
        self._asking = threading.local()

    def stopped_by(self, stop: Stop) -> _Asking:
        """Within `with`, the queries of this thread end when the flag is set."""
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
    """Stores the flag of a query where the store finds it."""

    def __init__(self, place: threading.local, stop: Stop) -> None:
        self._place = place
        self._stop = stop

    def __enter__(self) -> None:
        self._place.stop = self._stop

    def __exit__(self, *_: object) -> None:
        del self._place.stop
