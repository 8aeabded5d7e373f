"""From settings to a store that answers."""

from __future__ import annotations

from bfsql.errors import ConfigurationError, StoreError
from bfsql_sparql.dataset import Dataset, Refused
from bfsql_sparql.results import NoResults, truth
from bfsql_sparql.settings import SparqlSettings

FIRST = "ASK { }"
"""A query that every SPARQL endpoint answers at once, whatever it holds."""


async def open_dataset(settings: SparqlSettings) -> Dataset:
    """Open the endpoint or the files, and see that they answer a query.

    Args:
        settings: With their preset applied.

    Raises:
        ConfigurationError: Neither an endpoint nor files are named, or both are.
        StoreError: It is no SPARQL endpoint, or wants a login; a file cannot be read.
        StoreUnavailable: It does not answer.
    """
    if settings.endpoint and settings.data:
        raise ConfigurationError(
            f"Both an endpoint ({settings.endpoint}) and files ({settings.data[0]}, ...) are named "
            "to be served; name one of the two: --endpoint URL, which the variable "
            "SPARQL_ENDPOINT_URL may have set, or --data FILE..."
        )
    if settings.data:
        from bfsql_sparql.files import open_files

        return await open_files(settings)
    if not settings.endpoint:
        raise ConfigurationError(
            "Nothing is named to be served. Name a SPARQL endpoint with --endpoint URL (or the "
            "variable SPARQL_ENDPOINT_URL), or RDF files with --data FILE..."
        )
    from bfsql_sparql.endpoint import Endpoint

    dataset = await Endpoint.open(settings)
    try:
        await _answers(dataset, settings)
    except BaseException:
        await dataset.close()
        raise
    return dataset


async def _answers(dataset: Dataset, settings: SparqlSettings) -> None:
    try:
        reply = await dataset.reply(FIRST, settings.connect_timeout + settings.query_timeout)
        truth(reply.body)
    except Refused as error:
        raise StoreError(
            f"{error} That was the simplest query there is ({FIRST}); is {dataset.name} the "
            "address for SPARQL queries?"
        ) from error
    except NoResults as error:
        raise StoreError(
            f"{dataset.name} answered the simplest query there is ({FIRST}) with something else "
            f"than SPARQL results: {error}. Is it the address for SPARQL queries?"
        ) from None
