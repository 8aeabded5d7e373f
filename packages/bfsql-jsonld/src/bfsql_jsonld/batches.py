"""Many ids in one request, where the API announces a route for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic_core import to_json

from bfsql import call
from bfsql.models.json_values import is_text
from bfsql.models.records import Metadata, Node, Triple
from bfsql_jsonld.fields import omissions, triple_of
from bfsql_jsonld.replies import Request, Unreadable, short
from bfsql_jsonld.routes import Api
from bfsql_jsonld.schema import Schema

_ENVELOPE = 100  # bytes of a request beside its keys

Key = TypeVar("Key", str, Triple)


class Batches:
    """Asks the batch routes.

    Args:
        api: Where they are, and what their fields are called.
    """

    def __init__(self, api: Api) -> None:
        self._session = api.session
        self._routes = api.routes
        self._fields = api.fields

    async def nodes(self, schema: Schema, ids: Sequence[str], *, metadata: bool) -> list[Node]:
        """The entities that exist, with their metadata if that is asked for."""
        found: list[Node] = []
        for chunk in _chunks(ids, schema):
            results = await self._ask(
                schema.entities_batch, {"ids": chunk, "metadata": metadata}, "results"
            )
            with results.reply.read():
                found += [self._fields.node(entry) for entry in results.entries]
        return found

    async def ring(self, schema: Schema, ids: Sequence[str]) -> list[Triple]:
        """Every relation that touches one of the ids."""
        found: list[Triple] = []
        for chunk in _chunks(ids, schema):
            results = await self._ask(schema.relations_batch, {"ids": chunk}, "relations")
            asked = frozenset(chunk)
            with results.reply.read():
                for row in results.entries:
                    triple = triple_of(row)
                    if triple[0] not in asked and triple[2] not in asked:
                        raise Unreadable(
                            f"it holds the relation {short(' '.join(triple))}, which touches "
                            "nothing that was asked for"
                        )
                    found.append(triple)
        return found

    async def edges(self, schema: Schema, edges: Sequence[Triple]) -> dict[Triple, Metadata]:
        """Metadata of the relations that exist."""
        found: dict[Triple, Metadata] = {}
        for chunk in _chunks(edges, schema):
            results = await self._ask(schema.relations_batch, {"relations": chunk}, "results")
            with results.reply.read():
                for entry in results.entries:
                    triple = self._fields.triple(entry, "", "")
                    found[triple] = self._fields.edge_metadata(entry)
        return found

    async def _ask(self, route: str | None, question: dict[str, Any], field: str) -> _Results:
        assert route is not None
        url = self._routes.at(route)
        reply = await self._session.ask(Request(url, "POST", to_json(question)))
        document = reply.json()
        with reply.read():
            entries = document.get(field) if isinstance(document, dict) else None
            if not isinstance(entries, list):
                raise Unreadable(f"there is no list in the field {field}")
        call.omitted(*omissions(document))
        return _Results(reply, entries)


class _Results:
    """The entries of an answer."""

    __slots__ = ("entries", "reply")

    def __init__(self, reply: Any, entries: list[Any]) -> None:
        self.reply = reply
        self.entries = entries


def _chunks(keys: Sequence[Key], schema: Schema) -> Iterator[list[Key]]:
    """Distinct keys that JSON can hold, as many at once as a request takes."""
    chunk: list[Key] = []
    held = _ENVELOPE
    for key in dict.fromkeys(keys):
        if not is_text("".join(key)):
            continue
        size = len(to_json(key)) + 1
        if chunk and (len(chunk) == schema.limit or held + size > schema.most_bytes):
            yield chunk
            chunk, held = [], _ENVELOPE
        chunk.append(key)
        held += size
    if chunk:
        yield chunk
