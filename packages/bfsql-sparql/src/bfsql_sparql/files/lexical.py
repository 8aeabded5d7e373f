"""rdflib's modules with literals that keep their text.

rdflib rewrites each literal when it makes it: `0042` becomes `42`, and the date
`2020-01-01T00:00:00Z` ends in `+00:00`. What would prevent it is one switch for
the whole process, which is not ours to turn. So those of its parsers that make
literals inside themselves are loaded a second time, with a maker of our own.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from types import ModuleType

import rdflib

# It writes a traceback to stderr for every literal that is no value of its datatype.
logging.getLogger("rdflib.term").setLevel(logging.ERROR)

literal = functools.partial(rdflib.Literal, normalize=False)
"""Makes a literal whose text stays as it is."""


@functools.cache
def keeping(name: str) -> ModuleType:
    """A copy of a module in which `Literal` makes literals that keep their text.

    Args:
        name: Full name of one of rdflib's modules; it only makes literals, and never
            asks whether something is one.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"this rdflib has no module {name}", name=name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Literal = literal  # type: ignore[attr-defined]
    return module
