"""Ids that are made from several properties, or begin with a word: `Product:{productID}`.

The values of several properties are joined by slashes, and a slash or percent sign within one is
percent-encoded. The text before the first property keeps labels apart that use the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from bfsql_neo4j.values import candidates

_TEMPLATE = re.compile(r"([^{}]*)\{([^{}]+(?:\}/\{[^{}]+)*)\}")


class IdTemplate(NamedTuple):
    """How an id is made: the text with which it begins, and properties in order."""

    prefix: str
    names: tuple[str, ...]
    is_property: bool = False
    """Whether it is the value of the only property, whatever its type."""

    @classmethod
    def over(cls, prefix: str, names: tuple[str, ...]) -> str:
        """The text of a template."""
        return prefix + "/".join(f"{{{name}}}" for name in names)

    def keys(self, entity_id: str) -> Iterator[list[Any]]:
        """The values that the properties may have; a hit counts only if it has the same id."""
        if not entity_id.startswith(self.prefix):
            return
        parts = [entity_id[len(self.prefix) :]]
        if len(self.names) > 1:
            parts = [one.replace("%2F", "/").replace("%25", "%") for one in parts[0].split("/")]
        if len(parts) == len(self.names):
            yield from map(list, product(*map(candidates, parts)))


@lru_cache(maxsize=1_000)
def id_template(item: str) -> IdTemplate:
    """The template that an item of `id_property` is, without its label: often just a property."""
    if match := _TEMPLATE.fullmatch(item):
        return IdTemplate(match[1], tuple(match[2].split("}/{")))
    return IdTemplate("", (item,), is_property=True)
