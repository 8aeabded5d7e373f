"""The same failure has the same exit code in every command."""

import re

import click
import pytest

from bfsql.cli import bfsql
from bfsql.cli.command import COMMANDS, KIT_COMMANDS
from bfsql.cli.configured import ConfiguredCommand

OPENING = {
    "serve": ["serve", "--transport", "http", "--port", "0"],
    "check": ["check"],
    "describe-schema": ["describe-schema"],
    "search-entities": ["search-entities", "a"],
    "bfs-query": ["bfs-query", "a"],
    "describe-entity": ["describe-entity", "a"],
    "describe-entities": ["describe-entities", "a"],
    "intersect-subgraphs": ["intersect-subgraphs", "a", "b"],
    "verify": ["verify", "-"],
    "bundle": ["bundle"],
    "skill": ["skill"],
}
"""A call of each command that opens the store and exits at the first failure."""

OTHERS = {"index": ["index"], "load": ["load", "edges.csv"]}
"""Commands that use the store without opening a graph in it."""


def test_a_usage_error_is_2(run):
    for name in (*COMMANDS, *KIT_COMMANDS):
        wrong = run(name, "--no-such-option")
        assert (wrong.exit_code, wrong.stdout) == (2, ""), name
        assert "No such option" in wrong.stderr


def test_a_configuration_error_is_2(run):
    for args in OTHERS.values():
        assert run(*args, "--config", "missing.toml").exit_code == 2


@pytest.mark.parametrize("args", OPENING.values(), ids=OPENING)
def test_a_file_or_a_graph_that_does_not_exist_is_2(args, run):
    wrong = run(*args, "--config", "missing.toml")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "missing.toml" in wrong.stderr
    wrong = run(*args)
    assert wrong.exit_code == 2
    assert re.search("There is no (toy )?graph", wrong.stderr)


@pytest.mark.parametrize("args", {**OPENING, **OTHERS}.values(), ids={**OPENING, **OTHERS})
def test_a_failure_of_the_store_has_one_code(args, run, monkeypatch):
    for fault, code in {"damaged": 2, "away": 1, "interrupted": 130, "faulty": 1}.items():
        monkeypatch.setenv("TOY_FAULT", fault)
        assert run(*args, "--backend", "failing").exit_code == code, fault


def test_doctor_reports_a_failure_of_the_store_as_1(run, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "damaged")
    assert run("doctor", "--backend", "failing").exit_code == 1


def test_every_command_that_opens_a_store_is_tried():
    context = click.Context(bfsql)
    every = (*COMMANDS, *KIT_COMMANDS)
    found = {n for n in every if isinstance(bfsql.get_command(context, n), ConfiguredCommand)}
    assert found - {"doctor", "graphs", "config", "install", "explore"} == {*OPENING, *OTHERS}


@pytest.mark.parametrize("args", OPENING.values(), ids=OPENING)
def test_an_unexpected_error_of_a_backend_is_a_sentence_and_with_v_a_traceback(
    args, run, monkeypatch
):
    monkeypatch.setenv("TOY_FAULT", "faulty")
    wrong = run(*args, "--backend", "failing")
    assert wrong.stderr.startswith("The backend 'failing' of bfsql-toy could not be opened: ")
    assert wrong.stderr.count("\n") == 1
    assert "Traceback (most recent call last)" in run(*args, "--backend", "failing", "-v").stderr
