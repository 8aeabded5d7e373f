"""Embedding functions in Python: sync or async, given directly or by their dotted names."""

import asyncio
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bfsql.embedding import Embedder, EmbeddingFailed, EmbeddingSettings, open_embedder
from bfsql.errors import BfsqlError, ConfigurationError, StoreUnavailable

MODULE = """
import threading
threads = []

def embed(text):
    threads.append(threading.current_thread())
    return [float(len(text)), 1.0]

async def embed_later(text):
    return (float(len(text)), 2.0)

class Model:
    def encode(self, text):
        return [3.0]

    async def __call__(self, text):
        return [4.0]

model = Model()
number = 7

def of_two(text, other):
    return [1.0]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The dotted name of a module of functions, in a package made for each test."""
    package = f"mine_{abs(hash(tmp_path))}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "vectors.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / package / "broken.py").write_text("import surely_not_installed", encoding="utf-8")
    (tmp_path / package / "worse.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return f"{package}.vectors"


async def embedded(dotted: str, text: str = "abc") -> list[float]:
    embedder = open_embedder(EmbeddingSettings(embedding=dotted))
    assert embedder is not None
    try:
        await embedder.probe()
        return await embedder(text)
    finally:
        await embedder.close()


@pytest.mark.parametrize(
    ("function", "vector"),
    [("embed", [3, 1]), ("embed_later", [3, 2]), ("model.encode", [3]), ("model", [4])],
)
async def test_a_dotted_name_is_a_function_that_is_called(module, function, vector):
    assert await embedded(f"{module}:{function}") == vector


async def test_a_plain_function_runs_in_a_thread(module):
    await embedded(f"{module}:embed")
    threads = __import__(module, fromlist=["threads"]).threads
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    ("dotted", "says"),
    [
        ("no_such_package.vectors:embed", "No module named 'no_such_package'"),
        ("{package}.vector:embed", "No module named"),
        ("{module}:embedd", "has no attribute 'embedd'.* Correct the name"),
        ("{module}:number", "is a value of the type int, not a function"),
        ("{module}:Model", "is a class, not a function"),
        ("{module}:of_two", "cannot be called with one text: missing a required argument: 'other'"),
        ("{package}.broken:embed", "cannot be imported: .*surely_not_installed"),
        ("{package}.worse:embed", "cannot be imported: ZeroDivisionError"),
    ],
)
async def test_a_wrong_dotted_name_is_a_sentence_about_the_wrong_part(module, dotted, says):
    name = dotted.format(module=module, package=module.partition(".")[0])
    with pytest.raises(ConfigurationError, match=says) as refused:
        await embedded(name)
    assert name in str(refused.value)


@pytest.mark.parametrize(
    "value", [[1, 2.5], (1, 2.5), np.array([1, 2.5], dtype=np.float32), array("d", [1, 2.5])]
)
async def test_whatever_is_a_list_of_numbers_is_a_vector(value):
    async def later(_: str) -> Any:
        return value

    def in_the_end(text: str) -> Any:
        return later(text)

    functions: list[Callable[[str], Any]] = [later, in_the_end, lambda _: value]
    for function in functions:
        embedder = Embedder.of(function)
        assert await embedder("a") == [1.0, 2.5]
        assert embedder.dimensions == 2
        await embedder.close()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, r"nothing \(None\) instead of a list"),
        ("text", "type str"),
        ({"a": 1}, "type dict"),
        ([], "empty"),
        ([1, "2"], "contains a value of the type str"),
        (np.ones((1, 3)), "contains a value of the type list of length 3"),
        (np.float32(7), "type float32 instead of a list"),
        ([1, float("inf")], "not finite"),
        ([10**400], "too large"),
    ],
)
async def test_what_is_no_vector_is_a_sentence(value, says):
    embedder = Embedder.of(lambda _: value)
    with pytest.raises(EmbeddingFailed, match=says) as failed:
        await embedder("a")
    assert failed.value.lasting
    with pytest.raises(ConfigurationError, match=says):
        await embedder.probe()
    await embedder.close()


async def test_a_function_that_fails_is_a_sentence_with_its_own_words():
    def embed(text: str) -> list[float]:
        raise RuntimeError("the model\nis gone.")

    embedder = Embedder.of(embed)
    with pytest.raises(EmbeddingFailed, match=r"embed failed: RuntimeError: the model is gone\.$"):
        await embedder.probe()
    await embedder.close()


async def test_a_failure_to_embed_is_a_store_that_does_not_answer():
    failed = EmbeddingFailed("x")
    assert isinstance(failed, StoreUnavailable)
    assert isinstance(failed, BfsqlError)
    assert (str(failed), failed.lasting) == ("x", False)


async def test_a_function_that_takes_too_long_is_given_up():
    done = threading.Event()
    embedder = Embedder.of(lambda _: done.wait(30), timeout=0.1)
    with pytest.raises(EmbeddingFailed, match=r"a vector within 0\.1 s"):
        await embedder("a")
    done.set()
    await embedder.close()


async def test_texts_are_embedded_side_by_side():
    together = threading.Barrier(3, timeout=10)

    def embed(text: str) -> list[float]:
        together.wait()
        return [float(text)]

    embedder = Embedder.of(embed)
    assert await asyncio.gather(*map(embedder, "123")) == [[1.0], [2.0], [3.0]]
    await embedder.close()


async def test_an_embedder_is_a_function_that_another_takes():
    inner = Embedder.of(lambda _: [1.0])
    outer = Embedder.of(inner)
    assert await outer("a") == [1.0]
    await outer.close()
    await inner.close()
