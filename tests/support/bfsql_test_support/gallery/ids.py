"""Mistakes in ids, which may be any text and are never altered, and in unknown ids."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from bfsql.memory import MemoryBackend
from bfsql.models import Edge, Metadata, Node, Triple
from bfsql_test_support.gallery.bases import Eight, Keeps, Through, wrong


@wrong("exact-ids")
class LowersIds(Keeps):
    """Keeps ids in lower case."""

    def kept_id(self, text: str) -> str:
        return text.lower()


@wrong("exact-ids")
class StripsIds(Keeps):
    """Strips outer whitespace from ids."""

    def kept_id(self, text: str) -> str:
        return text.strip()


@wrong("exact-ids")
class UnquotesIds(Keeps):
    """Decodes percent-escapes in ids, as if they came from URLs."""

    def kept_id(self, text: str) -> str:
        return unquote(text)


@wrong("exact-ids")
class NormalizesIds(Keeps):
    """Normalizes accents: two ids that look alike become one."""

    def kept_id(self, text: str) -> str:
        return unicodedata.normalize("NFC", text)


@wrong("hostile-ids")
class KeepsNumbersAsNumbers(Keeps):
    """Converts an id that looks like a number to one, so that `4.20` becomes `4.2`."""

    def kept_id(self, text: str) -> str:
        try:
            return str(float(text)).removesuffix(".0")
        except ValueError:
            return text


@wrong("hostile-ids")
class KeepsLatinOnly(Keeps):
    """Uses an encoding that cannot represent every character."""

    def kept_id(self, text: str) -> str:
        return text.encode("latin-1", "replace").decode("latin-1")


@wrong("hostile-ids")
class CutsIds(Keeps):
    """Truncates ids to 255 characters."""

    def kept_id(self, text: str) -> str:
        return text[:255]


@wrong("hostile-ids")
class KeepsOneLine(Keeps):
    """Writes rows as lines, so that no id can contain a line break."""

    def kept_id(self, text: str) -> str:
        return " ".join(text.splitlines())


@wrong("same-errors")
class AnswersInAnyCase(Eight):
    """Compares ids by a collation that ignores case, so that an id in the wrong case is found."""

    async def get_node(self, entity_id: str) -> Node:
        folded = {known.lower(): known for known in self.right._types}
        known = self.right._types
        found = entity_id if entity_id in known else folded.get(entity_id.lower(), entity_id)
        return await super().get_node(found)


@wrong("ids-no-patterns")
class ReadsPatterns(Eight):
    """Compares ids with LIKE, where a percent sign matches any text."""

    async def get_node(self, entity_id: str) -> Node:
        pattern = entity_id.replace("%", "*")
        return await super().get_node(
            next((i for i in sorted(self.right._types) if fnmatchcase(i, pattern)), entity_id)
        )


@wrong("hostile-ids")
class QuotesByHand(Through):
    """Puts values into its query in quotes, and fails on a value that contains one."""

    async def through(self, ask: Any, *asked: Any) -> Any:
        if any("'" in text for text in asked if isinstance(text, str)):
            raise RuntimeError("syntax error in the query")
        return await super().through(ask, *asked)


@wrong("triples-apart")
class JoinsTheTriple(Keeps):
    """Keys its edges by subject, predicate and object joined with a colon."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        joined = {":".join(triple): triple for triple in sorted(self._edge_metadata)}
        known = joined.get(":".join(edge))
        if known is None:
            raise KeyError(edge)
        return await super().metadata_for_edge(Edge(*known))

    async def metadata_for_edges_batch(self, edges: Any) -> Any:
        return {
            e: await self.metadata_for_edge(Edge(*e)) for e in edges if e in self._edge_metadata
        }


@wrong("own-identity")
class GivesRowNumbers(Eight):
    """Returns its own row number as the id."""

    async def get_node(self, entity_id: str) -> Node:
        node = await super().get_node(entity_id)
        return node._replace(id=str(sorted(self.right._types).index(entity_id)))


@wrong("every-node")
class RenamesInBatches(Keeps):
    """Returns ids in lower case from its batch method."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [n._replace(id=n.id.lower()) for n in await super().get_nodes_batch(ids)]


@wrong("unknown-ids")
class UnknownHasNoEdges(Eight):
    """Queries only the edge table: an unknown entity looks like one without edges."""

    async def edges_from(self, entity_id: str) -> list[Edge]:
        try:
            return await super().edges_from(entity_id)
        except KeyError:
            return []

    async def edges_to(self, entity_id: str) -> list[Edge]:
        try:
            return await super().edges_to(entity_id)
        except KeyError:
            return []


@wrong("unknown-ids")
class UnknownIsNone(Eight):
    """Returns None for an unknown entity."""

    async def get_node(self, entity_id: str) -> Any:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            return None


@wrong("unknown-ids")
class UnknownIsAnyNode(Eight):
    """Returns a node for every requested id."""

    async def get_node(self, entity_id: str) -> Node:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            return Node(entity_id, "unknown")


@wrong("unknown-ids")
class RaisesItsOwnError(Eight):
    """Raises an error of its driver instead of KeyError."""

    async def get_node(self, entity_id: str) -> Node:
        try:
            return await super().get_node(entity_id)
        except KeyError:
            raise ValueError(f"no row for {entity_id}") from None


@wrong("unknown-metadata")
class UnknownHasEmptyMetadata(Eight):
    """Returns an empty mapping for an unknown entity."""

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        try:
            return await super().metadata_for_node(entity_id)
        except KeyError:
            return {}


@wrong("unknown-metadata")
class UnknownEdgeHasEmptyMetadata(Eight):
    """Returns an empty mapping for an edge that does not exist."""

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        try:
            return await super().metadata_for_edge(edge)
        except KeyError:
            return {}


@wrong("unknown-in-batches")
class BatchRaisesForOne(MemoryBackend):
    """Fails the whole batch because of one unknown id."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [await self.get_node(entity_id) for entity_id in ids]


@wrong("unknown-in-batches")
class BatchGivesUnknown(MemoryBackend):
    """Returns a node for every requested id in a batch, known or not."""

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        return [Node(i, self._types.get(i, "unknown")) for i in ids]


@wrong("unknown-in-batches")
class BatchGivesEmptyMetadata(MemoryBackend):
    """Returns an entry for every requested id, empty if the id is unknown."""

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        return {i: {} for i in ids} | await super().metadata_for_nodes_batch(ids)


@wrong("unknown-in-batches")
class EdgeBatchRaisesForOne(MemoryBackend):
    """Fails the whole batch because of one unknown edge."""

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        return {edge: await self.metadata_for_edge(Edge(*edge)) for edge in edges}
