"""The state before a load of the graph that it writes into: how it is read, and its size.

Only the graph of the settings is read. If none is named, updates fill the default graph; in stores
such as RDF4J and GraphDB queries see the union of all graphs instead, so the default graph has to
be named in the store's own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bfsql.errors import ConfigurationError, StoreError
from bfsql_sparql.backend import open_dataset
from bfsql_sparql.batches import Batches, counted
from bfsql_sparql.dataset import Dataset, NoResults, truth
from bfsql_sparql.edge_metadata import EdgeMetadata
from bfsql_sparql.edges import Edges
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.nodes import Nodes
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.settings import SparqlSettings
from bfsql_sparql.store import Store

UNNAMED = "http://www.openrdf.org/schema/sesame#nil"
"""Name in RDF4J and GraphDB of the graph without a name."""

_EVERYTHING = {
    "statement_graph": False,
    "node_namespace": [],
    "predicate_namespace": [],
    "only_predicate": [],
    "exclude_predicate": [],
    "inverse": {},
    "ontology": True,
    "search": "contains",
}
"""Settings for a graph that includes everything readers leave out."""


class PresentGraph:
    """The content of the graph that a load writes into.

    Args:
        dataset: Answers queries; closed with this object.
        settings: Settings that read the whole graph, and nothing else.
    """

    def __init__(self, dataset: Dataset, settings: SparqlSettings) -> None:
        self.dataset = dataset
        self.settings = settings
        self.mapping = RdfMapping.of(settings, dataset.prefixes)
        self._queried = self.mapping

    @classmethod
    async def open(cls, settings: SparqlSettings) -> PresentGraph:
        """Open the endpoint for queries.

        Raises:
            ConfigurationError: The settings name no endpoint for queries.
        """
        if settings.endpoint is None:
            raise ConfigurationError(
                "The load has to query the existing content of the graph, and no URL for queries "
                "is set: set endpoint, or SPARQL_ENDPOINT_URL. Only a load with --replace needs "
                "no queries."
            )
        whole = settings.model_copy(update=_EVERYTHING)
        if whole.statements == "none":
            whole = whole.model_copy(update={"statements": "auto"})
        return cls(await open_dataset(settings), whole)

    async def close(self) -> None:
        """Close the endpoint."""
        await self.dataset.close()

    async def sees(self, graph: str) -> bool:
        """Whether a query that names no graph sees the content of a named one."""
        return await self._asked(f"ASK {{ {texts.iri(graph)} ?p ?o }}")

    def unnamed_only(self) -> PresentGraph:
        """The same graph without named graphs, in a store whose default graph is their union."""
        unnamed = PresentGraph(self.dataset, self.settings.model_copy(update={"graph": [UNNAMED]}))
        unnamed._queried = self.mapping
        return unnamed

    async def looked_at(self) -> Store:
        """The graph as a store whose capabilities are known.

        The capabilities are those of the union if the graph is a part of it: in a named graph,
        RDF4J takes the square of the time to search for quoted triples.
        """
        store = await Store.open(self.dataset, self._queried, self.settings)
        return replace(store, mapping=self.mapping)

    async def is_empty(self) -> bool:
        """Whether the graph has no statements."""
        return not await self._asked(f"ASK {{ {texts.within(self.mapping, '?s ?p ?o .')} }}")

    async def size(self) -> tuple[int | None, int | None]:
        """Numbers of nodes and edges; None for a number that the store does not return in time."""
        nodes = await self._number(texts.number_of_nodes(self.mapping))
        return nodes, await self._number(texts.number_of_edges(self.mapping))

    async def _number(self, query: str) -> int | None:
        try:
            return await counted(self.dataset, query)
        except StoreError:
            return None

    async def _asked(self, query: str) -> bool:
        reply = await self.dataset.reply(query)
        try:
            return truth(reply.body)
        except NoResults as error:
            raise StoreError(f"{self.dataset.name} did not answer {query}: {error}.") from None


class GraphReader:
    """Reads nodes and edges of a graph that a load adds to, by their IRIs.

    Args:
        store: The graph.
        written: The form in which the load writes statements about edges.
    """

    def __init__(self, store: Store, written: str) -> None:
        batches = Batches(store.dataset, store.settings)
        self.mapping = store.mapping
        self.nodes = Nodes(store, batches)
        self.edges = Edges(store, batches)
        self.forms: Sequence[str] = EdgeMetadata(store, batches).forms
        """Forms of statements about edges in the graph."""
        # Quoted triples are an abbreviation of reifiers in stores that have these.
        also = {"rdf-1.2"} if written == "rdf-star" else set()
        self.rewritten = frozenset(self.forms) & {written, *also}
        """The form among them that the load writes."""
        own = replace(store.capabilities, statements=self.rewritten)
        self.metadata = EdgeMetadata(replace(store, capabilities=own), batches)

    @classmethod
    async def of(cls, present: PresentGraph, written: str) -> GraphReader:
        """Look at the graph, and make its reader; arguments as of the class."""
        return cls(await present.looked_at(), written)

    def iri(self, id_: str) -> str:
        """The IRI that an id means; the id is valid text."""
        found = self.mapping.ids.iri(id_)
        assert found is not None  # a staging contains only valid text
        return found
