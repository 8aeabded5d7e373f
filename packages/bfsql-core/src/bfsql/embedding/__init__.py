"""Text to vector, for backends whose store can search by meaning.

    embedder = open_embedder(settings)          # None where nothing is configured
    if embedder is not None:
        await embedder.probe()
    vector = await embedder("hormone that stops urination")

The loader that fills the store and the search over it have to use the same model: distances
between vectors of different models mean nothing.
"""

from bfsql.embedding.embedder import Embed, Embedder, searched_by_names
from bfsql.embedding.settings import EmbeddingSettings, open_embedder
from bfsql.errors import EmbeddingFailed

__all__ = [
    "Embed",
    "Embedder",
    "EmbeddingFailed",
    "EmbeddingSettings",
    "open_embedder",
    "searched_by_names",
]
