"""The graph that a load goes into, as it is before the load: how it is read, and how large it is.

The graph of the settings is read alone. Where none is named, updates fill the default graph; in
stores such as RDF4J and GraphDB queries see the union of all graphs in its place, so that it has
to be called by a name of theirs.
"""

from __future__ import annotations

from bfsql.errors import ConfigurationError, StoreError
from bfsql_sparql.backend import open_dataset
from bfsql_sparql.batches import counted
from bfsql_sparql.dataset import Dataset, NoResults, truth
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.settings import SparqlSettings

UNNAMED = "http://www.openrdf.org/schema/sesame#nil"
"""What RDF4J and GraphDB call the graph without a name."""

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
"""Settings for a graph without what readers of it leave out."""


class PresentGraph:
    """What is in the graph that a load goes into.

    Args:
        dataset: Takes queries; closed with this.
        settings: That read the graph, all of it, and nothing else.
    """

    def __init__(self, dataset: Dataset, settings: SparqlSettings) -> None:
        self.dataset = dataset
        self.settings = settings
        self.mapping = RdfMapping.of(settings, dataset.prefixes)

    @classmethod
    async def open(cls, settings: SparqlSettings) -> PresentGraph:
        """Open the endpoint for queries.

        Raises:
            ConfigurationError: The settings name none.
        """
        if settings.endpoint is None:
            raise ConfigurationError(
                "What the graph holds already has to be asked of the URL that takes queries: set "
                "endpoint, or SPARQL_ENDPOINT_URL. Only a load with --replace asks nothing."
            )
        return cls(await open_dataset(settings), settings.model_copy(update=_EVERYTHING))

    async def aclose(self) -> None:
        """Close the endpoint."""
        await self.dataset.close()

    async def sees(self, graph: str) -> bool:
        """Whether a query that names no graph sees what is in a named one."""
        return await self._asked(f"ASK {{ {texts.iri(graph)} ?p ?o }}")

    def unnamed_only(self) -> PresentGraph:
        """The same without named graphs, in a store whose default graph is their union."""
        return PresentGraph(self.dataset, self.settings.model_copy(update={"graph": [UNNAMED]}))

    async def is_empty(self) -> bool:
        """Whether the graph holds no statement."""
        return not await self._asked(f"ASK {{ {texts.within(self.mapping, '?s ?p ?o .')} }}")

    async def size(self) -> tuple[int | None, int | None]:
        """Numbers of nodes and edges; None for one that the store does not give in time."""
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
            raise StoreError(f"{self.dataset.name} gave no answer to {query}: {error}.") from None
