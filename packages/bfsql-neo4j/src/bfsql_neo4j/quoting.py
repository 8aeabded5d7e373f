"""Names of labels, relationship types, properties and indexes as parts of a query's text.

They are the only things of a graph that Cypher takes no parameter for.
"""

from __future__ import annotations


def quoted(name: str) -> str:
    r"""A name between backticks, which stands for itself whatever it holds.

    Cypher reads a backslash, a `u` and four digits as a character everywhere, inside of
    backticks too, so that a name could close them by writing \u0060. So every backslash is
    written that way itself.

    Raises:
        ValueError: No name can be empty or hold U+0000.
    """
    if not name or "\0" in name:
        raise ValueError(f"{name!r} is no name in Neo4j: those are not empty and hold no U+0000")
    return "`" + name.replace("\\", "\\u005c").replace("`", "``") + "`"
