"""Backends and their tests may import the kit by its former names, in `bfsql`."""

import subprocess
import sys
from importlib import import_module

import pytest

from bfsql.moved import KIT, RENAMED


@pytest.mark.parametrize("name", [*KIT, "bfsql.conformance.graphs", "bfsql.conformance.harness"])
def test_a_former_name_is_the_module_of_today(name: str):
    module = import_module(name)
    assert module is import_module(module.__name__)
    assert module.__name__ != name
    assert module.__spec__.name == module.__name__


def test_former_names_are_imported_first_use_and_without_a_warning():
    code = (
        "import sys, bfsql\n"
        "assert not [name for name in sys.modules if name.startswith('bfsql_testing')]\n"
        "from bfsql.testing import BackendSuite, Kind, never, notimpl, notyet\n"
        "from bfsql.conformance import RULES, Trial, asking, graphs, judge_all, stores\n"
        "import bfsql_testing\n"
        "assert BackendSuite is bfsql_testing.BackendSuite and Kind is bfsql_testing.Kind\n"
        "assert graphs.village is bfsql_testing.conformance.graphs.village\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_name_that_never_existed_is_an_ordinary_import_error():
    with pytest.raises(ModuleNotFoundError, match=r"bfsql_testing\.conformance\.no_such"):
        import_module("bfsql.conformance.no_such")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'bfsql\.no_such'"):
        import_module("bfsql.no_such")


RENAMED_NAMES = [
    ("bfsql.abc", "DelegatingGraphDb", "ForwardingBackend"),
    ("bfsql.abc", "adapted", "normalized"),
    ("bfsql.cache", "GuardedGraphDb", "CircuitBreakerBackend"),
    ("bfsql.call", "begun", "start_in_call"),
    ("bfsql.integers", "Columns", "IntegerGraph"),
    ("bfsql.integers", "Handles", "bfsql.arrays.Handles"),
    ("bfsql.models", "Part", "EdgeFilter"),
]


@pytest.mark.parametrize(("module", "former", "today"), RENAMED_NAMES)
def test_a_name_that_has_changed_works_with_a_warning_that_gives_the_new_one(
    module: str, former: str, today: str
):
    with pytest.warns(DeprecationWarning, match=f"{module}.{former} is now {today}"):
        found = getattr(import_module(module), former)
    home, _, name = today.rpartition(".")
    assert found is getattr(import_module(home or module), name)


@pytest.mark.parametrize("name", RENAMED)
def test_a_module_that_has_been_renamed_works_with_a_warning_that_gives_the_new_name(name: str):
    sys.modules.pop(name, None)
    with pytest.warns(DeprecationWarning, match=f"{name} is now {RENAMED[name]}"):
        assert import_module(name) is import_module(RENAMED[name])
