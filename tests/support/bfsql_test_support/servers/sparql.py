"""Common parts of the SPARQL servers of the test session."""

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import (
    HTTPBasicAuthHandler,
    HTTPDigestAuthHandler,
    HTTPPasswordMgrWithDefaultRealm,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from bfsql_test_support.servers.port import HOST, answers
from bfsql_test_support.servers.process import Server

FORM = "application/x-www-form-urlencoded"
N_TRIPLES = "application/n-triples"
RESULTS = "application/sparql-results+json"
PATIENCE = 120
"""Seconds that a request of the tests themselves may take."""


class Refused(Exception):
    """A server answered with an error; includes its text."""


@dataclass(frozen=True)
class Login:
    """The login that a server requires."""

    scheme: Literal["basic", "digest"]
    user: str
    password: str


class SparqlServer(Server):
    """A SPARQL server, empty at its start, on a port of 127.0.0.1.

    Its own requests, `load` to `clear`, are plain `urllib`: they share nothing with what is tested.

    Attributes:
        name: What BFSQL_REQUIRE calls it.
        query_path: Path of `query_url`.
        update_path: Path of `update_url`.
        store_path: Path of `store_url`.
        auth: The login that `update_url` and `store_url` require; None if they are open.
        query_auth: The login that `query_url` requires; None if it is open.
        graph: The named graph for the tests' data; None is the default graph.
    """

    name: ClassVar[str]
    query_path: ClassVar[str]
    update_path: ClassVar[str]
    store_path: ClassVar[str]
    auth: Login | None = None
    query_auth: Login | None = None
    graph: str | None = None

    @property
    def base_url(self) -> str:
        """The address of the server itself."""
        return f"http://{HOST}:{self.port}"

    @property
    def query_url(self) -> str:
        """The URL for queries."""
        return self.base_url + self.query_path

    @property
    def update_url(self) -> str:
        """The URL for updates."""
        return self.base_url + self.update_path

    @property
    def store_url(self) -> str:
        """The URL of the graph store protocol; it requires `?default` or `?graph=IRI`."""
        return self.base_url + self.store_path

    def clear(self) -> None:
        """Delete all data in all graphs."""
        self.update("CLEAR ALL")

    def load(self, ntriples: str | bytes, graph: str | None = None) -> None:
        """Add N-Triples to a graph, `self.graph` if none is named."""
        graph = graph or self.graph
        where = f"graph={quote(graph, safe='')}" if graph else "default"
        body = ntriples.encode() if isinstance(ntriples, str) else ntriples
        self.send(f"{self.store_url}?{where}", body, N_TRIPLES, self.auth)

    def update(self, text: str) -> None:
        """Run a SPARQL update."""
        self.send(self.update_url, urlencode({"update": text}).encode(), FORM, self.auth)

    def select(self, query: str) -> list[dict[str, str]]:
        """The solutions of a query: the bare value of each bound variable."""
        rows = self._answer(query)["results"]["bindings"]
        return [{name: term["value"] for name, term in row.items()} for row in rows]

    def ask(self, query: str) -> bool:
        """The answer to an ASK, which Virtuoso sends as a solution with 0 or 1."""
        told = self._answer(query)
        if "boolean" in told:
            return bool(told["boolean"])
        solutions = told["results"]["bindings"]
        return any(term["value"] == "1" for row in solutions for term in row.values())

    def count(self, graph: str | None = None) -> int:
        """Number of triples in a graph, `self.graph` if none is named."""
        graph = graph or self.graph
        source = f"FROM <{graph}> " if graph else ""
        return int(self.select(f"SELECT (COUNT(*) AS ?n) {source}WHERE {{ ?s ?p ?o }}")[0]["n"])

    def is_ready(self) -> bool:
        """Whether it answers a query."""
        if not answers(self.port):
            return False
        try:
            self._answer("ASK {}")
        except (Refused, OSError, ValueError):
            return False
        return True

    def send(self, url: str, body: bytes, content_type: str, login: Login | None = None) -> bytes:
        """POST, and return the body of the answer."""
        headers = {"Content-Type": content_type, "Accept": f"{RESULTS}, */*;q=0.1"}
        request = Request(url, body, headers)
        try:
            with opener(url, login).open(request, timeout=PATIENCE) as answer:
                said: bytes = answer.read()
                return said
        except HTTPError as refused:
            with refused:
                words: bytes | str = refused.read(2000)  # text if urllib itself failed
            words = words.decode(errors="replace") if isinstance(words, bytes) else words
            raise Refused(f"{self.name} said {refused.code} to {url}: {words}") from None

    def _answer(self, query: str) -> dict[str, Any]:
        body = urlencode({"query": query}).encode()
        told: dict[str, Any] = json.loads(self.send(self.query_url, body, FORM, self.query_auth))
        return told


def opener(url: str, login: Login | None) -> OpenerDirector:
    """An opener of loopback addresses that bypasses proxies, and sends a login on request."""
    if login is None:
        return build_opener(ProxyHandler({}))
    passwords = HTTPPasswordMgrWithDefaultRealm()
    passwords.add_password(None, url, login.user, login.password)
    digest = login.scheme == "digest"
    handler = HTTPDigestAuthHandler if digest else HTTPBasicAuthHandler
    return build_opener(ProxyHandler({}), handler(passwords))
