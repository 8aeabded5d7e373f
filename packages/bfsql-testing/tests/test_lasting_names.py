"""Names that stay importable with their meaning, whatever moves behind them."""

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest

import bfsql
from bfsql import abc, engine, models
from bfsql_testing import conformance

LISTED = [bfsql, abc, models, conformance]
KIT_IN_CORE = {"bfsql.testing": "bfsql_testing.suite", "bfsql.conformance": conformance.__name__}
NAMES_BEFORE = {
    "asking": "query_language",
    "elements": "topology",
    "operating": "health",
    "stores": "store_access",
}
MODULES = {one.name: one.name for one in iter_modules(conformance.__path__)} | NAMES_BEFORE
EDGES = [models.EdgeRecord("a", "knows", "b"), models.EdgeRecord("c", "knows", "b")]
RECORDS = [*map(models.NodeRecord, "abc", "TTT"), *EDGES]


def test_each_listed_name_is_importable():
    for module in LISTED:
        names: dict[str, object] = {}
        exec(f"from {module.__name__} import *", names)
        assert set(module.__all__) <= names.keys()


async def test_the_two_traversals_take_a_query_and_return_a_result():
    db = bfsql.CachedGraphDb(abc.ForwardingBackend(bfsql.MemoryBackend(RECORDS)))
    assert isinstance(db, bfsql.GraphDbInterface)
    near = await engine.bfs_query(db, models.BfsQuery(seeds=["a"], max_hops=1))
    query = models.IntersectionQuery(seeds=["a", "c"], k=1)
    shared = await engine.neighborhood_intersection(db, query)
    assert isinstance(near, models.BfsResult)
    assert isinstance(shared, models.IntersectionResult)
    assert [node.id for node in near.nodes] == ["a", "b"]
    assert [node.id for node in shared.nodes] == ["b"]


async def test_a_forwarding_backend_answers_what_is_not_overridden_as_the_one_behind_it():
    class Shouting(abc.ForwardingBackend):
        async def get_node(self, entity_id, *args, **kwargs):
            node = await super().get_node(entity_id, *args, **kwargs)
            return node and node._replace(entity_type=node.entity_type + "!")

    over = Shouting(bfsql.MemoryBackend(RECORDS))
    assert (await over.get_node("a")).entity_type == "T!"
    assert await over.predicates() == ["knows"]


def test_a_module_of_the_kit_is_the_same_one_under_its_name_in_core():
    names = {
        f"bfsql.conformance.{one}": f"{conformance.__name__}.{MODULES[one]}" for one in MODULES
    }
    for name, today in (KIT_IN_CORE | names).items():
        assert import_module(name) is import_module(today)
        assert import_module(name).__name__ == today


@pytest.mark.parametrize("first", ["bfsql.conformance.records", "bfsql.testing"])
def test_the_kit_is_imported_with_the_first_of_its_names_in_core(first: str):
    code = (
        "import sys; importers = list(sys.meta_path)\n"
        "import bfsql\n"
        "assert sys.meta_path == importers\n"
        "assert not [name for name in sys.modules if name.startswith('bfsql_testing')]\n"
        f"import {first}\n"
        "from bfsql.testing import BackendSuite, Kind, never, notimpl, notyet\n"
        "from bfsql.conformance import RULES, Trial, asking, graphs, judge_all, stores\n"
        "import bfsql_testing\n"
        "assert BackendSuite is bfsql_testing.BackendSuite and Kind is bfsql_testing.Kind\n"
        "assert graphs.village is bfsql_testing.conformance.graphs.village\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("name", ["bfsql.conformance.no_such", "bfsql.no_such"])
def test_a_name_that_never_existed_is_an_ordinary_import_error(name: str):
    with pytest.raises(ModuleNotFoundError, match=r"No module named .*no_such"):
        import_module(name)
