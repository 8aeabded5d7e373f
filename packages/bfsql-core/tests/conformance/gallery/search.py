"""Wrong about search."""

from __future__ import annotations

from typing import Any

from conformance.gallery.bases import Eight, wrong

from bfsql.memory import SEARCH_LIMIT
from bfsql.models import EntityStub
from bfsql.models.merge import fold


class Searches(Eight):
    """Matches by any part of a name or an id, as many as there are; best first."""

    def matches(self, query: str) -> list[EntityStub]:
        """Every match."""
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
    """Gives every match."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return [e for e in self.matches(query) if not node_types or e.entity_type in node_types]


@wrong("search-crowd")
class GivesOneHitAName(Eight):
    """Gives an entity once for its name and once for its id."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [*found[:1], *found][:SEARCH_LIMIT]


@wrong("search-types-first")
class IgnoresTypes(Eight):
    """Takes the types and does nothing with them."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return await super().search_entities(query)


@wrong("search-types-first")
class FiltersAfterTheLimit(Eight):
    """Takes the first twenty of all types, and then those of the types asked for."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query)
        return [e for e in found if not node_types or e.entity_type in node_types]


@wrong("search-any-text")
class SearchHasASyntax(Eight):
    """Hands the text to an engine whose syntax gives a meaning to quotes."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        if query.count('"') % 2:
            raise ValueError("unterminated string in the search expression")
        return await super().search_entities(query, node_types)


@wrong("search-any-text")
class SearchOfNothingFails(Eight):
    """Has no answer to a text without words."""

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
    """Looks for the text as it is written."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = [e for e in self.matches(query) if not node_types or e.entity_type in node_types]
        return found[:SEARCH_LIMIT]


@wrong("search-name-before-longer")
class OrdersByName(Searches):
    """Orders by name and cuts: the exact name may come last, or not at all."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = sorted(self.matches(query), key=lambda e: (e.id != query, e.name or ""))
        return [e for e in found if not node_types or e.entity_type in node_types][:SEARCH_LIMIT]


@wrong("search-name-next")
class OrdersTiesAsTheyCome(Eight):
    """Leaves those that match equally well in the order of its table, the last row first."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        found.reverse()
        return sorted(found, key=lambda e: (e.id != query, e.name != query))


@wrong("search-types")
class FindsWhatIsGone(Eight):
    """Has an index that is older than the graph."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [*found[: SEARCH_LIMIT - 1], *(e._replace(id=f"old:{e.id}") for e in found[:1])]


@wrong("search-types")
class FindsAnotherType(Eight):
    """Tells the type by another column than `get_node`."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [e._replace(entity_type="Thing") for e in found]


@wrong("tools-answer")
class ScoresByWords(Eight):
    """Gives the score of its text engine, which is no similarity and has no upper end."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return [e._replace(score=14.2 - place) for place, e in enumerate(found)]


@wrong("search-stable")
class FindsInAnyOrder(Eight):
    """Leaves the order of what it found to its store, which changes it as it likes."""

    _asked = 0

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        self._asked += 1
        return found[:1] + found[:0:-1] if self._asked % 2 else found


@wrong("found-by-name")
class FindsNothing(Eight):
    """Has no index, fails silently, and looks as if nothing matched."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return []


@wrong("search-id-first")
class RanksIdsLast(Eight):
    """Finds an entity by its id too, after those that bear the id as their name."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        found = await super().search_entities(query, node_types)
        return sorted(found, key=lambda e: (e.name != query, e.id == query))


@wrong("search-name-next")
class ForgetsNames(Eight):
    """Says of every hit that its name is its id."""

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        return [e._replace(name=e.id) for e in await super().search_entities(query, node_types)]
