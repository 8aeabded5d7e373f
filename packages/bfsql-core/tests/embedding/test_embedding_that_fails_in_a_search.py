"""Searches whose text cannot be embedded: the note for the model, the log for the operator."""

import json
from typing import Any

from bfsql import open_graph
from bfsql.embedding import (
    Embedder,
    EmbeddingFailed,
    EmbeddingSettings,
    open_embedder,
    searched_by_names,
)
from bfsql.memory import MemoryBackend
from bfsql.models import EntityStub, NodeRecord
from bfsql_test_support.servers.embedding_service import json_body, vector

RECORDS = [
    NodeRecord("drug:1", "Drug", {"name": "vasopressin"}),
    NodeRecord("drug:2", "Drug", {"name": "aspirin"}),
]


class ByMeaning(MemoryBackend):
    """Finds drug:1 for any text with a vector, and searches by names if embedding fails."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(RECORDS)
        self._embedder = embedder

    async def search_entities(self, query: str, *_: Any) -> list[EntityStub]:
        try:
            await self._embedder(query)
        except EmbeddingFailed as failed:
            searched_by_names(query, failed)
            return await super().search_entities(query)
        return [EntityStub("drug:1", "Drug", "vasopressin", 0.9)]

    async def close(self) -> None:
        await self._embedder.close()


async def test_a_search_goes_by_names_says_so_and_is_asked_again(service, caplog):
    service.says(json_body(503, {}), vector(1, 0))
    embedder = open_embedder(EmbeddingSettings(embedding=service.url))
    assert embedder is not None
    backend = ByMeaning(embedder)
    async with open_graph(backend) as graph:
        failed = await graph.search_entities("aspirin")
        again = await graph.search_entities("aspirin")
        cached = await graph.search_entities("aspirin")
    await backend.close()
    assert [hit["id"] for hit in json.loads(failed.text)] == ["drug:2"]
    assert len(failed.notes) == 1
    assert "compared only names" in failed.notes[0]
    assert service.url not in failed.notes[0]
    assert f"{service.url}/embeddings is too busy (503)" in caplog.text
    assert [hit["id"] for hit in json.loads(again.text)] == ["drug:1"]
    assert again.notes == cached.notes == ()
    assert len(service.asked) == 2
