"""Finding and loading backends from distributions that each test installs."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bfsql.abc import CONTRACT
from bfsql.errors import (
    AmbiguousBackend,
    BackendImportFailed,
    BackendOpenFailed,
    ContractMismatch,
    NotABackend,
    UnknownBackend,
)
from bfsql.plugins import installed, load, states
from bfsql.plugins.distributions import BACKENDS, plugins_of
from bfsql.plugins.registry import open_backend
from bfsql.settings import BackendSettings
from bfsql_test_support.backends import toy
from bfsql_test_support.backends.author_style import RestBackend
from bfsql_test_support.distributions import install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_backend_is_found_with_its_distribution_and_version(site):
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    (found,) = [one for one in installed() if one.name == "toy"]
    assert (found.distribution, found.version) == ("bfsql-toy", "1.2.3")
    assert load("toy") is toy.plugin


def test_finding_imports_no_backend(site):
    install(site, "bfsql-broken", broken="bfsql_that_is_not_there:plugin")
    assert "broken" in [one.name for one in installed()]


def test_loading_one_imports_no_other(site):
    (site / "loud_backend.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    install(site, "bfsql-loud", loud="loud_backend:plugin")
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    assert load("toy") is toy.plugin
    assert "loud_backend" not in sys.modules


def test_an_unknown_backend_names_the_installed_ones(site):
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    with pytest.raises(
        UnknownBackend, match=r"no backend named 'tyo'; installed are: .*toy.*spelling"
    ):
        load("tyo")


@pytest.mark.parametrize("name", ["postgres", "sparql", "neo4j", "gremlin", "jsonld"])
def test_a_known_backend_that_is_missing_names_what_to_install(name, monkeypatch):
    monkeypatch.setattr("bfsql.plugins.distributions._declared", lambda group, folders: [])
    both = f"pip install bfsql-{name}, or in a clone pip install ./packages/bfsql-{name}$"
    with pytest.raises(UnknownBackend, match=f"none is installed. Run {both}"):
        load(name)


def test_what_is_installed_or_removed_meanwhile_is_noticed(site):
    names = lambda: {one.name for one in plugins_of(BACKENDS)}
    before = names()
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    assert names() == before | {"toy"}
    install(site, "bfsql-games", game="bfsql_test_support.backends.toy:plugin")
    assert names() == before | {"toy", "game"}
    shutil.rmtree(site / "bfsql_toy-1.2.3.dist-info")
    assert names() == before | {"game"}


def test_two_claims_on_a_name_are_refused(site):
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    install(site, "toys-galore", toy="bfsql_test_support.backends.toy:plugin")
    with pytest.raises(AmbiguousBackend, match="claimed by bfsql-toy and toys-galore"):
        load("toy")


def test_a_missing_driver_is_named_with_its_cure_and_its_cause(site):
    (site / "half_backend.py").write_text("import no_such_driver", encoding="utf-8")
    install(site, "bfsql-half", half="half_backend:plugin")
    with pytest.raises(
        BackendImportFailed,
        match=r"module 'no_such_driver' is missing.*--force-reinstall bfsql-half",
    ) as caught:
        load("half")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize(
    ("value", "lack"),
    [
        ("bfsql_test_support.backends.toy:plugn", "has no attribute 'plugn'"),
        ("bfsql_test_support.backends.toi:plugin", "No module named 'bfsql_test_support."),
        ("bfsql_toi.plugin:plugin", "No module named 'bfsql_toi'"),
    ],
)
def test_a_misspelt_entry_point_is_given_with_what_it_lacks(site, value, lack):
    install(site, "bfsql-toy", toy=value)
    with pytest.raises(BackendImportFailed) as caught:
        load("toy")
    assert f"its entry point is toy = '{value}': " in str(caught.value)
    assert lack in str(caught.value)
    assert "Correct it in the group 'bfsql.backends'" in str(caught.value)


def test_an_error_inside_a_module_is_not_one_of_the_entry_point(site):
    (site / "faulty_backend.py").write_text("plugin = [].missing", encoding="utf-8")
    install(site, "bfsql-faulty", faulty="faulty_backend:plugin")
    with pytest.raises(BackendImportFailed, match=r"AttributeError: .*Reinstall it"):
        load("faulty")


def test_an_unknown_backend_is_answered_with_the_most_similar_one_first(site):
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    with pytest.raises(UnknownBackend, match="installed are: toy, "):
        load("toyy")


def test_something_else_is_not_a_backend(site):
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:nonsense")
    with pytest.raises(NotABackend, match=r"is int 42, not a bfsql\.plugins\.BackendPlugin"):
        load("toy")


async def test_a_bare_class_is_a_backend_without_options(site):
    install(site, "bfsql-bare", bare="bfsql_test_support.backends.author_style:RestBackend")
    plugin = load("bare")
    assert set(plugin.settings.model_fields) == set(BackendSettings.model_fields)
    assert isinstance(await open_backend("bare", plugin, plugin.settings()), RestBackend)


async def test_a_class_that_needs_arguments_is_opened_by_a_plugin(site):
    (site / "odd_backend.py").write_text(
        "from bfsql.memory import MemoryBackend\n"
        "class Odd(MemoryBackend):\n"
        "    def __init__(self, path): ...\n",
        encoding="utf-8",
    )
    install(site, "bfsql-odd", odd="odd_backend:Odd")
    plugin = load("odd")
    with pytest.raises(BackendOpenFailed, match="missing 1 required positional argument: 'path'"):
        await open_backend("odd", plugin, plugin.settings())


def test_another_contract_says_which_side_is_older(site):
    install(
        site,
        "bfsql-toy",
        newer="bfsql_test_support.backends.toy:newer",
        older="bfsql_test_support.backends.toy:older",
    )
    newer = rf"contract 99, which is newer than the {CONTRACT} of this.*--upgrade bfsql-core$"
    with pytest.raises(ContractMismatch, match=newer):
        load("newer")
    older = rf"contract 0, whose major number is older than .* {CONTRACT} of .*--upgrade bfsql-toy$"
    with pytest.raises(ContractMismatch, match=older):
        load("older")


def test_a_contract_that_is_no_number_is_its_authors_to_correct(site):
    install(site, "bfsql-toy", worded="bfsql_test_support.backends.toy:worded")
    with pytest.raises(ContractMismatch, match="states the contract 'one', which is not a number"):
        load("worded")


@pytest.mark.parametrize(
    ("stated", "own", "served"),
    [
        (1, "1.0", True),
        ("1", "1.1", True),
        ("1.0", "1.10", True),
        ("1.9", "1.10", True),
        ("1.1", "1.1", True),
        ("1.10", "1.9", False),
        (2, "1.1", False),
        (1, "2.0", False),
        ("1.9", "2.0", False),
        (1.1, "1.1", False),
        ("1.", "1.1", False),
        ("-1", "1.1", False),
        ((1, 1), "1.1", False),
    ],
)
def test_an_older_number_of_the_same_major_is_served(stated, own, served, site, monkeypatch):
    """An older version was once refused although the contract had only gained additions."""
    install(site, "bfsql-toy", stated="bfsql_test_support.backends.toy:plugin")
    monkeypatch.setattr("bfsql.plugins.registry.CONTRACT", own)
    monkeypatch.setattr(toy, "plugin", replace(toy.plugin, contract=stated))
    if served:
        assert load("stated").contract == stated
    else:
        with pytest.raises(ContractMismatch):
            load("stated")


def test_a_plugin_that_states_no_contract_was_written_for_the_first():
    assert toy.plugin.contract == 1


def test_a_broken_backend_stops_no_other_in_the_list(site):
    install(site, "bfsql-broken", broken="bfsql_that_is_not_there:plugin")
    install(site, "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    found = {state.name: state for state in states()}
    assert found["toy"].ok
    assert found["toy"].summary == "a toy"
    assert "bfsql_that_is_not_there" in found["broken"].state
    assert not found["broken"].ok


def test_the_package_is_cheap_to_import():
    code = (
        "import sys, bfsql; assert bfsql.__version__;"
        "print({'pydantic', 'mcp', 'click', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_public_names_are_there_and_others_are_not():
    import bfsql

    assert bfsql.GraphDbInterface.__name__ == "GraphDbInterface"
    assert "open_graph" in dir(bfsql)
    with pytest.raises(AttributeError, match="no attribute 'opn_graph'"):
        bfsql.opn_graph  # noqa: B018
    import bfsql.plugins

    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        bfsql.plugins.lod  # noqa: B018
