"""The content, before a load, of the graph that it fills: whether there is any, and how much.

Only the graph of the settings is read. If none is named, updates fill the default graph; in stores
such as RDF4J and GraphDB queries see the union of all graphs instead, so the default graph has to
be named in the store's own way.
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
"""Name in RDF4J and GraphDB of the graph without a name."""

_EVERYTHING = {
    "statement_graph": False,
    "node_namespace": [],
    "predicate_namespace": [],
    "only_predicate": [],
    "exclude_predicate": [],
    "inverse": {},
    "ontology": True,
}
"""Settings with which the content that readers leave out counts, too."""


class ExistingGraph:
    """The content of the graph that a load fills; its settings leave nothing out."""

    def __init__(self, dataset: Dataset, settings: SparqlSettings) -> None:
        self._dataset = dataset
        self._settings = settings
        self._mapping = RdfMapping.of(settings)

    @classmethod
    async def open(cls, settings: SparqlSettings) -> ExistingGraph:
        """Open the endpoint for queries.

        Raises:
            ConfigurationError: The settings name no endpoint for queries.
        """
        if settings.endpoint is None:
            raise ConfigurationError(
                "The load has to query whether the graph is empty, and no URL for queries is set: "
                "set endpoint, or SPARQL_ENDPOINT_URL."
            )
        whole = settings.model_copy(update=_EVERYTHING)
        return cls(await open_dataset(settings), whole)

    async def close(self) -> None:
        """Close the endpoint."""
        await self._dataset.close()

    async def sees(self, graph: str) -> bool:
        """Whether a query that names no graph sees the content of a named one."""
        return await self._is_true(f"ASK {{ {texts.iri(graph)} ?p ?o }}")

    def unnamed_only(self) -> ExistingGraph:
        """The same graph without named graphs, in a store whose default graph is their union."""
        unnamed = self._settings.model_copy(update={"graph": [UNNAMED]})
        return ExistingGraph(self._dataset, unnamed)

    async def is_empty(self) -> bool:
        """Whether the graph has no statements."""
        return not await self._is_true(f"ASK {{ {texts.within(self._mapping, '?s ?p ?o .')} }}")

    async def size(self) -> tuple[int | None, int | None]:
        """Numbers of nodes and edges; None for a number that the store does not return in time."""
        nodes = await self._number(texts.number_of_nodes(self._mapping))
        return nodes, await self._number(texts.number_of_edges(self._mapping))

    async def _number(self, query: str) -> int | None:
        try:
            return await counted(self._dataset, query)
        except StoreError:
            return None

    async def _is_true(self, query: str) -> bool:
        reply = await self._dataset.reply(query)
        try:
            return truth(reply.body)
        except NoResults as error:
            raise StoreError(f"{self._dataset.name} did not answer {query}: {error}.") from None
