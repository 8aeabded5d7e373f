import asyncio

from bfsql.embedding import EmbeddingSettings, open_embedder


async def main() -> None:
    embedder = open_embedder(EmbeddingSettings(embedding="my_vectors:embed"))
    print(await embedder.probe(), "dimensions")
    print(await embedder("hormone that stops urination"))
    await embedder.close()


asyncio.run(main())
