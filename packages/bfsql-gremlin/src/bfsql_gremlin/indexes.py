"""Indexes of JanusGraph: finds those that a graph lacks, and makes them by its management scripts.

Other engines have no common language for indexes; Neptune and most embedded engines need none.
"""

from __future__ import annotations

from collections.abc import Iterable

from bfsql.errors import StoreError
from bfsql.models.json_properties import SUFFIX
from bfsql_gremlin.connection import Client, place
from bfsql_gremlin.discovery import JanusGraphSchema, janusgraph
from bfsql_gremlin.settings import OWN_ID, GremlinSettings

PREFIX = "bfsql_"
"""How the names of indexes of equal values begin."""
NAMES = "bfsqlNames"
"""The mixed index on names; Lucene takes only letters and digits."""


async def prepare(settings: GremlinSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Find the indexes that a JanusGraph lacks for fast lookups by id, and for search by name.

    Args:
        settings: The servers, and the properties that are ids and names.
        apply: Whether to create them, and to add the existing vertices to them.

    Returns:
        The statements in Groovy, one script for each index.

    Raises:
        StoreError: The server is not JanusGraph, takes no scripts, or refuses.
        StoreUnavailable: No server answers.
    """
    client = Client(settings)
    try:
        schema = await janusgraph(client)
        if schema is None:
            raise StoreError(
                f"{place(settings)} is not JanusGraph, or takes no scripts, so that its indexes "
                "cannot be listed. Amazon Neptune needs none; elsewhere create an index on the "
                f"property {settings.id_property!r} by means of the engine."
            )
        scripts = lacking(settings, schema)
        for script in scripts if apply else ():
            await client.script(script)
    finally:
        await client.close()
    return scripts


def lacking(settings: GremlinSettings, schema: JanusGraphSchema) -> list[str]:
    """The scripts that create missing indexes."""
    scripts = []
    if settings.id_property != OWN_ID and not schema.finds(settings.id_property):
        scripts.append(_script(PREFIX + settings.id_property, [settings.id_property], None, schema))
    names = searched(settings)
    if settings.search == "index" and schema.backend and not schema.text_keys():
        found = [name for name in names if schema.keys.get(name, "String") == "String"]
        scripts.append(_script(NAMES, found, schema.backend, schema))
    return scripts


def searched(settings: GremlinSettings) -> list[str]:
    """Properties with names, also those in which the loader writes lists of names."""
    lists = [name + SUFFIX for name in settings.alias_property]
    return [*dict.fromkeys([*settings.name_property, *settings.alias_property, *lists])]


def _script(index: str, keys: Iterable[str], backend: str | None, schema: JanusGraphSchema) -> str:
    """The script that creates an index of some properties, which are made if they are missing.

    Without the backend of a mixed index, it is one of equal values. Vertices that have one of the
    properties already are added.
    """
    found = list(keys)
    lines = ["graph = g.getGraph(); graph.tx().rollback(); m = graph.openManagement()"]
    for n, name in enumerate(map(quoted, found)):
        made = f"m.makePropertyKey({name}).dataType(String.class).make()"
        lines.append(f"k{n} = m.getPropertyKey({name}) ?: {made}")
    mapping = ", org.janusgraph.core.schema.Mapping.TEXTSTRING.asParameter()" if backend else ""
    added = "".join(f".addKey(k{n}{mapping})" for n in range(len(found)))
    end = f".buildMixedIndex({quoted(backend)})" if backend else ".buildCompositeIndex()"
    vertex = "org.apache.tinkerpop.gremlin.structure.Vertex"
    lines.append(f"m.buildIndex({quoted(index)}, {vertex}){added}{end}")
    lines.append("m.commit()")
    if any(key in schema.keys for key in found):
        status = "org.janusgraph.core.schema.SchemaStatus"
        awaited = f"awaitGraphIndexStatus(graph, {quoted(index)})"
        lines += [
            "manager = org.janusgraph.graphdb.database.management.ManagementSystem",
            f"manager.{awaited}.status({status}.REGISTERED, {status}.ENABLED).call()",
            "m = graph.openManagement(); reindex = org.janusgraph.core.schema.SchemaAction.REINDEX",
            f"m.updateIndex(m.getGraphIndex({quoted(index)}), reindex).get()",
            "m.commit()",
        ]
    return "\n".join([*lines, "true"])


def quoted(text: str) -> str:
    """A text as a literal of Groovy, which is not searched for `$`."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
