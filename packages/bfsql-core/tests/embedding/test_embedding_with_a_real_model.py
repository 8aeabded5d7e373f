"""A real embedding model, small enough for every test run."""

import math

import pytest

from bfsql.embedding import Embedder

WORDS = ["diuretic pill", "vasopressin", "bone fracture", "pituitary tumour", "aspirin"]


def nearest(vector: list[float], others: list[list[float]]) -> int:
    """The index of the vector at the smallest angle; all vectors have length one."""
    return max(
        range(len(others)), key=lambda i: sum(a * b for a, b in zip(vector, others[i], strict=True))
    )


@pytest.mark.parametrize(("query", "meant"), [("broken leg", 2), ("painkiller", 4)])
async def test_a_description_finds_what_it_describes(minilm, query, meant):
    embedder = Embedder.of(minilm.embed_one)
    assert await embedder.probe() == 384
    vector = await embedder(query)
    assert math.isclose(math.hypot(*vector), 1, abs_tol=1e-5)
    assert nearest(vector, minilm.embed(WORDS)) == meant
    await embedder.close()


def test_the_model_gives_a_text_the_same_vector_alone_and_among_others(minilm):
    alone = minilm.embed_one(WORDS[0])
    minilm.known.clear()
    among = minilm.embed([*WORDS, " ".join(WORDS)])[0]
    assert all(math.isclose(a, b, abs_tol=1e-5) for a, b in zip(alone, among, strict=True))
