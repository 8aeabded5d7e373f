"""The answers of BFS-QL to drawn calls, as lines of JSON: all that a client could see of them.

    python -m bfsql_test_support.drawn_answers

answers requests on standard input, each a line: `{"open": {"form", "limits", "records"}}` serves
a graph, `{"call": [tool, arguments]}` calls a tool of it. The module imports only what programs of
others import too, since it also runs over the BFS-QL of an older commit.
"""

import asyncio
import json
import logging
import re
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from bfsql import Graph, GraphDbInterface, Limits, MemoryBackend, ToolError, open_graph
from bfsql.abc import ForwardingBackend
from bfsql.call import omitted
from bfsql.models import EdgeRecord, EntityStub, EvidenceRecord, Node, NodeRecord, Omission, Outline
from bfsql.plugins import hookimpl
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.backends.author_style import RestBackend, Service

KINDS: dict[str, Any] = {"node": NodeRecord, "edge": EdgeRecord, "evidence": EvidenceRecord}
INCIDENT = re.compile(r"incident [0-9a-zA-Z-]+")
"""The number of an error of the server, which is another one each time."""


class Strings(ForwardingBackend):
    """Hides a backend's columns and stream of edges."""

    edges_stream = GraphDbInterface.edges_stream
    columns = GraphDbInterface.columns


class Lossy(MemoryBackend):
    """A store that leaves things out and says so, and whose schema is a sample.

    What it leaves out of a node depends on the last digit of its id.
    """

    async def comprehensive(self) -> bool:
        return False

    async def entity_types(self) -> list[str]:
        return (await super().entity_types())[:3]

    async def outline(self) -> Outline:
        whole = await super().outline()
        return Outline(relations=whole.relations, sampled=True)

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        if len(query) % 4 < 2:
            omitted(Omission(query, "search", reason="a time limit" if len(query) % 4 else None))
            first = next(iter(self._types.items()), None)
            found += [EntityStub(*first)] if first and first[0] not in {s.id for s in found} else []
        return found

    async def edges_batch(self, ids: Sequence[str], **part: Any) -> list[Any]:  # type: ignore[override]
        for entity_id in sorted(ids):
            if entity_id[-1:] in "369":
                omitted(Omission(entity_id, "in", at_least=7, reason="the row limit"))
            elif entity_id.endswith("4"):
                omitted(Omission(entity_id, "both", at_least=1, reason="no id", lasting=True))
        edges = await super().edges_batch(ids, **part)
        return [edge for edge in edges if edge[2][-1:] not in "3469"]

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Any]:
        large = [i for i in ids if i.endswith("5") and (keys is None or "note" in keys)]
        omitted(*(Omission(i, "values", 5_000_000, "note") for i in sorted(large)))
        return await super().metadata_for_nodes_batch(ids, keys)

    async def nodes_stream(self, **part: Any) -> AsyncGenerator[list[Node]]:
        if part.get("entity_types") and "Person" in part["entity_types"]:
            omitted(Omission("Person", "nodes", reason="the row limit"))
        async for nodes in super().nodes_stream(**part):
            yield nodes


class Redaction:
    """Hides two keys, the names of some nodes, and fails for others."""

    @hookimpl
    def redact_metadata(self, kind: str, key: Any, metadata: dict[str, Any]) -> Mapping[str, Any]:
        end = key[-1:] if isinstance(key, str) else ""
        if end == "7":
            raise ValueError("this record cannot be redacted")
        hidden = {"year", "share", *(("name",) if end == "8" else ())}
        return {name: value for name, value in metadata.items() if name not in hidden}


@asynccontextmanager
async def stored(form: str, records: Sequence[Any]) -> AsyncIterator[GraphDbInterface]:
    """The store of a graph of `drawn_graphs`."""
    made = [KINDS[kind](*values) for kind, *values in records]
    if form not in ("columns", "strings", "redacted"):
        db = Lossy(made) if form == "lossy" else MemoryBackend(made)
        yield RestBackend(Service(made)) if form == "eight" else db
        return
    with tempfile.TemporaryDirectory() as folder:
        place = SqliteSettings(path=Path(folder) / "graph.db", connections=1)
        await load_graph(place, made)
        file = await SqliteBackend.open(place)
        try:
            yield Strings(file) if form == "strings" else file
        finally:
            await file.close()


@asynccontextmanager
async def opened(
    db: GraphDbInterface, form: str, limits: Mapping[str, Any], **options: Any
) -> AsyncIterator[Graph]:
    """A graph over a store, counted, with nothing held yet; `options` are of `open_graph`."""
    hooks = [Redaction()] if form in ("redacted", "hidden") else []
    # Without a deadline, no answer depends on the time.
    bounds = Limits(**{"deadline": None, **limits})
    async with open_graph(db, limits=bounds, hooks=hooks, **options) as graph:
        await graph.counted()
        yield graph


@asynccontextmanager
async def served(
    form: str, limits: Mapping[str, Any], records: Sequence[Any]
) -> AsyncIterator[Graph]:
    """A graph of `drawn_graphs`, counted."""
    async with stored(form, records) as db, opened(db, form, limits) as graph:
        yield graph


async def answer(graph: Graph, tool: str, arguments: Any, *, twice: bool = False) -> str:
    """All that a client sees of an answer, as a line: text, content and notes, or the error.

    Args:
        twice: Whether to ask again; a second answer that differs follows the first.
    """
    try:
        found = await graph.call(tool, arguments)
    except ToolError as error:
        seen: dict[str, Any] = {
            "error": [error.kind, error.argument, INCIDENT.sub("incident", str(error))]
        }
    else:
        seen = {"blocks": found.blocks, "content": found.content, "notes": found.notes}
    line = json.dumps(seen)
    if twice and (again := await answer(graph, tool, arguments)) != line:
        return json.dumps({**seen, "asked again": json.loads(again)})
    return line


async def main() -> None:
    """Answer the requests on standard input, until it ends."""
    logging.disable(logging.CRITICAL)
    async with AsyncExitStack() as stack:
        graph: Any = None
        number = 0
        for line in sys.stdin:
            request = json.loads(line)
            if "open" in request:
                await stack.aclose()
                graph = await stack.enter_async_context(served(**request["open"]))
                said, number = "{}", 0
            else:
                said = await answer(graph, *request["call"], twice=number % 3 == 0)
                number += 1
            sys.stdout.write(f"{said}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
