"""Mistakes in search."""

from __future__ import annotations

from typing import Any

from bfsql.memory import SEARCH_LIMIT
from bfsql.models import EntityStub
from bfsql.models.merge import fold
from bfsql_test_support.gallery.bases import Eight, wrong


class Searches(Eight):
    """Returns all entities that match by part of the name or by id, best first."""

    def matches(self, query: str) -> list[EntityStub]:
        """All matches."""
        known, types = self.right._node_metadata, self.right._types
        found = [
            EntityStub(i, types[i], _name(metadata))
            for i, metadata in known.items()
            if fold(query) in fold(_name(metadata)) or query == i
        ]
        return sorted(found, key=lambda e: (e.id != query, e.name != query, e.name or "", e.id))


def _name(metadata: Any) -> str:
    name = metadata.get("name")
    return name if isinstance(name, str) else ""


@wrong("search-bounds")
class ForgetsTheLimit(Searches):
    """Returns all matches."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return [e for e in self.matches(query) if not node_types or e.entity_type in node_types]


@wrong("search-crowd")
class GivesOneHitAName(Eight):
    """Returns an entity twice, for its name and for its id."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [*found[:1], *found][:SEARCH_LIMIT]


@wrong("search-types-first")
class IgnoresTypes(Eight):
    """Accepts `node_types` but ignores it."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return await super().search_entities(query)


@wrong("search-types-first")
class FiltersAfterTheLimit(Eight):
    """Filters by type after it has limited the results to twenty."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query)
        return [e for e in found if not node_types or e.entity_type in node_types]


@wrong("search-any-text")
class SearchHasASyntax(Eight):
    """Passes the text to a search engine in whose syntax quotes have a meaning."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        if query.count('"') % 2:
            raise ValueError("unterminated string in the search expression")
        return await super().search_entities(query, node_types)


@wrong("search-any-text")
class SearchOfNothingFails(Eight):
    """Fails on a text without words."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        if not query.split():
            raise ValueError("empty search expression")
        return await super().search_entities(query, node_types)


@wrong("search-any-text")
class NoMatchIsAnError(Eight):
    """Raises KeyError when nothing matches."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        if not found:
            raise KeyError(query)
        return found


@wrong("search-any-text")
class NoMatchIsNone(Eight):
    """Returns None when nothing matches."""

    async def search_entities(self, query: str, node_types: list[str] | None = None) -> Any:
        return await super().search_entities(query, node_types) or None


@wrong("found-by-id")
class FindsNamesOnly(Searches):
    """Does not look at ids."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [e for e in found if fold(query) in fold(e.name or "")]


@wrong("search-misspelt")
class TakesSpellingLiterally(Searches):
    """Finds only the exact spelling."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = [e for e in self.matches(query) if not node_types or e.entity_type in node_types]
        return found[:SEARCH_LIMIT]


@wrong("search-name-before-longer")
class OrdersByName(Searches):
    """Sorts by name before it cuts: an exact match may come last, or not at all."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = sorted(self.matches(query), key=lambda e: (e.id != query, e.name or ""))
        return [e for e in found if not node_types or e.entity_type in node_types][:SEARCH_LIMIT]


@wrong("search-name-next")
class OrdersTiesAsTheyCome(Eight):
    """Leaves equally good matches in the order of its table, last row first."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        found.reverse()
        return sorted(found, key=lambda e: (e.id != query, e.name != query))


@wrong("search-types")
class FindsWhatIsGone(Eight):
    """Searches an index that is older than the graph."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [*found[: SEARCH_LIMIT - 1], *(e._replace(id=f"old:{e.id}") for e in found[:1])]


@wrong("search-types")
class FindsAnotherType(Eight):
    """Reads the type from a different column than `get_node`."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [e._replace(entity_type="Thing") for e in found]


@wrong("tools-answer")
class ScoresByWords(Eight):
    """Returns the score of its search engine, which is unbounded and not a similarity."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [e._replace(score=14.2 - place) for place, e in enumerate(found)]


@wrong("search-stable")
class FindsInAnyOrder(Eight):
    """Leaves the order of results to its store, which may change it at any time."""

    _asked = 0

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        self._asked += 1
        return found[:1] + found[:0:-1] if self._asked % 2 else found


@wrong("found-by-name")
class FindsNothing(Eight):
    """Has no index, and silently returns no results."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return []


@wrong("search-id-first")
class RanksIdsLast(Eight):
    """Ranks the entity with the id below those that have the id as their name."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return sorted(found, key=lambda e: (e.name != query, e.id == query))


@wrong("search-name-next")
class ForgetsNames(Eight):
    """Returns the id of every hit as its name."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return [e._replace(name=e.id) for e in await super().search_entities(query, node_types)]
