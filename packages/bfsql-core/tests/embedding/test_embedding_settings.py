"""The embedding model in a backend's settings, and where its settings are read from."""

import sys
from typing import Any

import pytest

from bfsql import settings
from bfsql.embedding import EmbeddingSettings, open_embedder
from bfsql.errors import ConfigurationError


class Mine(EmbeddingSettings):
    """A backend's settings."""

    path: str = "here"


def resolved(**given: Any) -> Mine:
    return settings.resolve(Mine, **given).settings


def test_nothing_configured_is_no_embedder():
    assert open_embedder(resolved()) is None


def test_the_settings_of_a_backend_have_the_embeddings_too():
    known = {option.key: option for option in settings.options(Mine, prefix="BFSQL_MINE_")}
    assert next(iter(known)) == "path"
    assert known["embedding"].environment == ("BFSQL_MINE_EMBEDDING", "BFSQL_EMBEDDING")
    assert known["embedding_key"].secret
    assert known["embedding_key"].environment == (
        "BFSQL_MINE_EMBEDDING_KEY",
        "BFSQL_EMBEDDING_KEY",
        "OPENAI_API_KEY",
    )


def test_the_environment_alone_configures_a_service():
    environment = {"BFSQL_EMBEDDING": "https://host/v1", "OPENAI_API_KEY": "sk-secret"}
    mine = resolved(environment=environment)
    assert mine.embedding_key is not None
    assert mine.embedding_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(mine)
    embedder = open_embedder(mine)
    assert embedder is not None
    assert embedder.name == "The embedding service at https://host/v1/embeddings"


def test_an_empty_key_of_ours_keeps_that_of_the_environment_from_being_sent():
    mine = resolved(environment={"BFSQL_EMBEDDING_KEY": "", "OPENAI_API_KEY": "sk-secret"})
    assert mine.embedding_key is not None
    assert mine.embedding_key.get_secret_value() == ""


@pytest.mark.parametrize(
    "wrong", ["", "openai", "package.module.function", "sentence-transformers:", "ftp://host/v1"]
)
def test_what_is_none_of_the_three_is_refused_with_what_would_be_right(wrong):
    with pytest.raises(ConfigurationError, match=r"package\.module:function") as refused:
        resolved(options={"embedding": wrong})
    assert str(refused.value).startswith(f"Option --embedding is '{wrong}': it has to be the URL")


@pytest.mark.parametrize("embedding", [None, "a.b:c", "sentence-transformers:all-MiniLM-L6-v2"])
def test_a_model_without_a_service_is_refused(embedding):
    with pytest.raises(ConfigurationError, match="only a service is asked for a model"):
        resolved(options={"embedding": embedding, "embedding_model": "small"})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("embedding_timeout", 0), ("embedding_timeout", "inf"), ("embedding_dimensions", 0)],
)
def test_numbers_have_bounds(name, wrong):
    with pytest.raises(ConfigurationError, match=name.replace("_", "-")):
        resolved(options={name: wrong})


async def test_a_local_model_without_the_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedder = open_embedder(Mine(embedding="sentence-transformers:all-MiniLM-L6-v2"))
    assert embedder is not None
    with pytest.raises(ConfigurationError, match=r'pip install "bfsql-core\[sentence-transf'):
        await embedder.probe()
    await embedder.close()
