"""Which store is tested by which rule of the kit, from the declarations of its suite.

`python -m bfsql_test_support.stores_matrix` writes the tables of `docs/reference/stores.md` anew.
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from bfsql.abc import GraphDbInterface
from bfsql_testing.conformance import EVERYTHING, RULES
from bfsql_testing.suite import BackendSuite

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "stores.md"
STORES = {
    "SQLite": ("sqlite", "TestSqlite"),
    "Postgres": ("postgres", "TestBundleEvidence"),
    "Neo4j": ("neo4j", "TestNeo4j"),
    "TinkerGraph": ("gremlin", "TestTinkerGraph"),
    "JanusGraph": ("gremlin", "TestJanusGraph"),
    "ArcadeDB": ("gremlin", "TestArcadeDB"),
    "Oxigraph": ("sparql", "TestOxigraph"),
    "Fuseki": ("sparql", "TestFuseki"),
    "Virtuoso": ("sparql", "TestVirtuoso"),
    "RDF4J": ("sparql", "TestRDF4J"),
    "JSON-LD": ("jsonld", "TestOverTheEmbeddedStore"),
}
"""The package and the suite of each store."""
_ABILITIES = {"columns-": "columns", "nodes-columns": "columns", "stream-": "edges_stream"}
"""What a backend has to override for the rules whose ids begin so."""
_WAYS = {"read-rights": "read_only_with", "omissions-said": "omitting_with"} | {
    "store-returns": "store_gone",
    "ping-asks": "store_gone",
    "query-text": "queries_of",
    "round-trips": "round_trips_of",
}
"""What a suite has to define for a rule."""


def _module(package: str) -> ModuleType:
    name = f"_conformance_of_{package}"
    if name not in sys.modules:
        path = ROOT / f"packages/bfsql-{package}/tests/test_{package}_conformance.py"
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def suites() -> dict[str, type[BackendSuite]]:
    """The suite of each store."""
    return {store: getattr(_module(package), name) for store, (package, name) in STORES.items()}


def _backend(store: str) -> type[GraphDbInterface]:
    module = import_module(f"bfsql_{STORES[store][0]}")
    [found] = [getattr(module, name) for name in module.__all__ if name.endswith("Backend")]
    return found  # type: ignore[no-any-return]


def _can_be_tried(store: str, suite: type[BackendSuite], rule: str) -> bool:
    ability = next((name for start, name in _ABILITIES.items() if rule.startswith(start)), None)
    if ability and getattr(_backend(store), ability) is getattr(GraphDbInterface, ability):
        return False
    way = _WAYS.get(rule)
    return way is None or getattr(suite, way) is not getattr(BackendSuite, way)


def matrix() -> str:
    """The tables: rules and stores, the reasons, and the kinds of values that a store lacks."""
    found, reasons = suites(), dict[str, int]()
    lines = [f"| rule | {' | '.join(found)} |", f"|---|{':-:|' * len(found)}"]
    for rule in RULES:
        cells = []
        for store, suite in found.items():
            if not _can_be_tried(store, suite, rule):
                cells.append("")
            elif rule in suite.optouts:
                number = reasons.setdefault(str(suite.optouts[rule]), len(reasons) + 1)
                cells.append(f"no ({number})")
            else:
                everyday = getattr(suite, "everyday", RULES.keys())
                cells.append("yes" if rule in everyday else "weekly")
        lines.append(f"| `{rule}` | {' | '.join(cells)} |")
    listed = [f"{number}. {reason}" for reason, number in reasons.items()]
    return "\n".join([*lines, "", *listed, "", *_lacks(found)])


def _lacks(found: dict[str, type[BackendSuite]]) -> Iterator[str]:
    yield "| store | values that it does not keep |"
    yield "|---|---|"
    for store, suite in found.items():
        kinds = sorted(f"`{kind.name}`" for kind in EVERYTHING - suite.keeps)
        yield f"| {store} | {', '.join(kinds)} |"


def written(text: str) -> str:
    """The page with the tables of today between its two marks."""
    marks = r"(?s)(<!-- matrix -->\n\n).*?(\n\n<!-- end of the matrix -->)"
    return re.sub(marks, lambda m: f"{m[1]}{matrix()}{m[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
