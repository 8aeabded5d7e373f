"""A backend class without a plugin: its signature becomes the settings."""

from pathlib import Path
from typing import Any

import pytest

from bfsql.errors import NotABackend
from bfsql.memory import MemoryBackend
from bfsql.plugins import BackendPlugin
from bfsql.plugins.registry import plugin_for
from bfsql.settings import BackendSettings, Option, options, resolve


class ByInit(MemoryBackend):
    """A graph somewhere.

    More about it.
    """

    def __init__(
        self, path: Path, *, timeout: float = 5.0, password: str = "", schema: str = "public"
    ) -> None:
        super().__init__()
        self.given = (path, timeout, password, schema)


class ByCreate(MemoryBackend):
    @classmethod
    async def create(cls, uri: str, limit=10, api_key: str | None = None, extra=None, **_: Any):
        made = cls()
        made.given = (uri, limit, api_key, extra)
        return made


class ByKeywords(MemoryBackend):
    def __init__(self, uri: str, *, retries: int = 3, token=None) -> None:
        super().__init__()
        self.given = (uri, retries, token)

    @classmethod
    async def create(cls, **settings: Any):
        return cls(**{"uri": "at home", **settings})


class ByPosition(MemoryBackend):
    def __init__(self, path: str, _hidden: int = 1, /) -> None:
        super().__init__()
        self.given = path


class Unseen(MemoryBackend):
    def __init__(self, pool: "NotImported | None" = None) -> None:  # noqa: F821
        super().__init__()
        self.given = pool


class Forgetful(MemoryBackend):
    @classmethod
    def create(cls) -> None:
        return None


async def _opened(backend: type[MemoryBackend], **given: Any) -> Any:
    plugin = plugin_for("bare", "somewhere", backend)
    return await plugin.open(resolve(plugin.settings, options=given).settings)


def own(plugin: BackendPlugin) -> list[Option]:
    """The options that not every backend has."""
    shared = BackendSettings.model_fields
    return [one for one in options(plugin.settings) if one.field not in shared]


def test_parameters_become_options_of_their_kind() -> None:
    plugin = plugin_for("bare", "somewhere", ByInit)
    found = {o.name: (o.kind, o.required, o.secret) for o in own(plugin)}
    assert found == {
        "path": ("path", True, False),
        "timeout": ("number", False, False),
        "password": ("text", False, True),
        "schema": ("text", False, False),
    }
    assert plugin.summary == "A graph somewhere."


async def test_a_constructor_gets_what_was_said_and_its_own_defaults() -> None:
    opened = await _opened(ByInit, path="g.db", password="xyzzy", schema="other")
    assert opened.given == (Path("g.db"), 5.0, "xyzzy", "other")


async def test_an_awaitable_create_is_awaited() -> None:
    assert (await _opened(ByCreate, uri="x", limit="7")).given == ("x", 7, None, None)
    assert (await _opened(ByCreate, uri="x", api_key="k")).given == ("x", 10, "k", None)


async def test_behind_keywords_stand_the_parameters_of_the_class() -> None:
    plugin = plugin_for("bare", "somewhere", ByKeywords)
    found = {o.name: o.required for o in own(plugin)}
    assert found == {"uri": False, "retries": False, "token": False}
    assert (await _opened(ByKeywords)).given == ("at home", 3, None)
    assert (await _opened(ByKeywords, uri="x", retries="7")).given == ("x", 7, None)


async def test_positional_parameters_are_passed_by_position() -> None:
    assert (await _opened(ByPosition, path="here")).given == "here"


async def test_an_annotation_that_cannot_be_read_is_anything() -> None:
    assert (await _opened(Unseen)).given is None


async def test_a_create_that_gives_no_backend_is_refused() -> None:
    with pytest.raises(NotABackend, match="NoneType"):
        await _opened(Forgetful)
