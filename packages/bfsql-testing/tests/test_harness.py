"""Every rule has a test, and every check of the kit is registered as a rule."""

import ast
import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import bfsql_testing.conformance
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql_testing import BackendSuite
from bfsql_testing.conformance import RULES, Broken, comparison, rule, rules
from bfsql_testing.suite import test_name as name_of

ROOM = Path(bfsql_testing.conformance.__file__).parent


class Filling(BackendSuite):
    @asynccontextmanager
    async def backend_with(self, records):
        yield None


class Reading(BackendSuite):
    @asynccontextmanager
    async def backend(self):
        yield None


def rules_of(suite) -> set[str]:
    return {name for name in dir(suite) if name.startswith("test_")} - {
        "test_every_opt_out_names_a_rule"
    }


def test_a_suite_that_fills_has_a_test_for_every_rule_and_no_other():
    assert rules_of(Filling) == {name_of(known) for known in rules()}
    assert len(rules_of(Filling)) == len(RULES), "no two sentences make one name"


def test_a_suite_that_reads_has_the_rules_that_need_no_reference():
    assert rules_of(Reading) == {name_of(known) for known in rules("reading")}


def test_the_base_class_itself_has_no_rule():
    assert not rules_of(BackendSuite)


def checks_of(path: Path) -> set[str]:
    """Names of the functions in a module that take a trial, as checks do."""
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and [arg.arg for arg in node.args.args] == ["trial"]
    }


def test_every_check_that_is_written_is_registered():
    written = {name for path in ROOM.glob("*.py") for name in checks_of(path)}
    assert written == {known.check.__name__ for known in RULES.values()}


def test_every_module_of_checks_is_imported():
    with_checks = {
        f"bfsql_testing.conformance.{path.stem}" for path in ROOM.glob("*.py") if checks_of(path)
    }
    assert with_checks == {known.check.__module__ for known in RULES.values()}


def test_a_rule_has_an_id_a_sentence_a_source_and_says_what_it_looks_at():
    for known in RULES.values():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", known.id)
        assert re.fullmatch(r"[a-z].* .*[^.]", known.behaviour), known
        assert re.search(r"protocol|six tools|backend contract|architecture", known.source), known
        assert known.check.__doc__, known
        assert known.mode in ("filling", "reading")


def test_a_second_rule_of_one_id_is_refused():
    with pytest.raises(ValueError, match="both-directions"):
        rule("both-directions", "another", source="protocol 1", mode="reading")(_check)
    assert RULES["both-directions"].check is not _check


async def _check(trial) -> None:
    raise Broken("never asked")


async def test_the_reference_answers_a_call_over_equal_records_once(monkeypatch):
    def records(name):
        return [NodeRecord("kept", "T", {"name": name})]

    async def described(name):
        async with comparison.Reference(MemoryBackend([]), records(name)) as reference:
            return await reference.outcome("describe_entity", {"id": "kept"})

    one, other = await described("one"), await described("other")
    assert one != other
    monkeypatch.setattr(comparison, "open_graph", None)
    assert (await described("one"), await described("other")) == (one, other)
