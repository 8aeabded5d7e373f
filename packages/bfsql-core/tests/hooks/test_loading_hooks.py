"""Loading of installed hook plugins; a broken one does not affect the others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import bfsql
from bfsql.cli import bfsql as command
from bfsql.errors import HookPluginUnusable
from bfsql.plugins import hook_states, hookimpl, hookspecs, load_hooks
from bfsql_test_support.distributions import install_hooks
from bfsql_test_support.hooks import HOOKS, Failing

BROKEN = {
    "import no_such_module": "cannot be imported (ModuleNotFoundError: No module named 'no_such_m",
    "raise SystemExit('bye')": "cannot be imported (SystemExit: bye)",
    "plugin = 42": "it implements no hook; mark with hookimpl one of cli_commands, redact_metadata",
    "def plugin(): raise ValueError": "it implements no hook",
    "class plugin:\n    def __init__(self): raise ValueError('no file')": "(ValueError: no file)",
    "class plugin:\n    @hookimpl\n    def watch_cal(self): ...": "there is no hook 'watch_cal'",
    "class plugin:\n    @hookimpl\n    def watch_call(self, colour): ...": "{'colour'} are decla",
    "class plugin:\n    @hookimpl\n    async def watch_call(self): ...": "has to be a plain funct",
}
HEAD = "from bfsql.plugins import hookimpl\n"
OURS = ("federation", "testing")
"""Distributions of the project that add commands as hook plugins."""


@pytest.mark.parametrize("source", BROKEN)
async def test_a_broken_plugin_is_reported_and_stops_no_other(source, site, secretive, caplog):
    name = f"broken_{list(BROKEN).index(source)}"
    (site / f"{name}.py").write_text(HEAD + source, encoding="utf-8")
    install_hooks(site, "bfsql-broken", broken=f"{name}:plugin")
    install_hooks(site, "bfsql-good", good="bfsql_test_support.hooks:Watcher")
    async with bfsql.open_graph(secretive) as graph:
        hooks = [plugin.name for plugin in graph._operations._hooks.plugins]
        assert hooks == sorted(["good", *OURS])
        assert (await graph.describe_entity("n:0")).text
    [sentence] = caplog.messages
    assert sentence.startswith("The hook plugin 'broken' of bfsql-broken is skipped: ")
    assert BROKEN[source] in sentence
    states = {state.name: state for state in hook_states()}
    assert (states["good"].ok, states["good"].hooks) == (True, ("watch_call",))
    assert states["broken"].state == sentence


def test_a_plugin_that_a_program_passes_by_itself_has_to_be_right():
    with pytest.raises(HookPluginUnusable, match=r"'int' cannot be used: it implements no hook"):
        load_hooks([42])


def test_the_plugin_that_fails_everywhere_implements_every_hook():
    (plugin,) = load_hooks([Failing]).plugins
    known = {name for name, found in vars(hookspecs).items() if hasattr(found, "bfsql_spec")}
    assert set(plugin.hooks) == known == set(HOOKS)


def test_pluggy_is_imported_only_where_a_hook_plugin_is_installed(site):
    code = (
        "import asyncio, sys, bfsql\n"
        "from bfsql.plugins import distributions\n"
        "every = distributions.entry_points()\n"
        "class Without:\n"
        "    def select(self, group):\n"
        f"        return [e for e in every.select(group=group) if e.name not in {OURS!r}]\n"
        "distributions.entry_points = Without\n"
        "async def ask():\n"
        "    async with bfsql.open_graph(bfsql.MemoryBackend([])) as graph:\n"
        "        await graph.describe_schema()\n"
        "asyncio.run(ask())\n"
        "print('pluggy' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_hook_plugins_are_listed_beside_the_backends(site):
    install_hooks(site, "bfsql-good", good="bfsql_test_support.hooks:Watcher")
    install_hooks(site, "bfsql-bad", bad="no_such_module:plugin")
    shown = CliRunner().invoke(command, "backends").stdout
    assert "hooks good 1.2.3 bfsql-good watch_call" in " ".join(shown.split())
    found = json.loads(CliRunner().invoke(command, ["backends", "--json"]).stdout)
    assert {one["kind"] for one in found} == {"backend", "hooks"}
    [bad] = [one for one in found if one["name"] == "bad"]
    assert (bad["hooks"], "no_such_module" in bad["state"]) == ([], True)


COMMANDS = """
import click
from bfsql.plugins import CommandDeclaration, hookimpl

@click.command()
def wave():
    click.echo("hello")

class Plugin:
    @hookimpl
    def cli_commands(self):
        places = {"wave": "waving:wave", "nowhere": "waving:nobody", "odd": "waving:Plugin"}
        return [CommandDeclaration(n, f"Help of {n}.", p) for n, p in places.items()] + [
            CommandDeclaration("serve", "Another.", "waving:wave")
        ]
"""


@pytest.fixture
def waving(site: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    (site / "waving.py").write_text(COMMANDS, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "waving", raising=False)
    install_hooks(site, "bfsql-waving", waving="waving:Plugin")
    install_hooks(site, "bfsql-failing", failing="bfsql_test_support.hooks:Failing")
    return CliRunner()


def test_a_declared_command_is_listed_called_and_suggested(waving):
    assert waving.invoke(command, "wave").stdout == "hello\n"
    told = waving.invoke(command, "--help").stdout.partition("Commands of hook plugins:")[2]
    section = told.strip("\n").partition("\n\n")[0]
    listed = [line.split()[0] for line in section.splitlines()]
    assert listed == ["federation", "wave", "nowhere", "odd"]
    assert "Did you mean wave?" in waving.invoke(command, "wafe").stderr


def test_a_name_of_core_stays_cores_and_a_broken_plugin_is_reported(waving, caplog):
    assert "Serve a graph" in waving.invoke(command, ["serve", "--help"]).stdout
    waving.invoke(command, "wave")
    assert "plugin waving failed: ValueError: the name 'serve' belongs to core" in caplog.text
    assert "plugin failing failed: RuntimeError: broken commands" in caplog.text


@pytest.mark.parametrize(("name", "why"), [("nowhere", "AttributeError"), ("odd", "is type, not")])
def test_a_declaration_of_no_command_is_one_sentence(waving, name, why):
    wrong = waving.invoke(command, name)
    assert wrong.exit_code == 2
    assert why in wrong.stderr.splitlines()[-1]


def test_hookimpl_marks_for_this_host_alone():
    assert hookimpl.project_name == "bfsql"
