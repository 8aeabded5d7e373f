"""The suite of questions: true answers, and the plans on real stores."""

from pathlib import Path

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.kinds.kind import Question
from bfsql_test_support.questions.stores import Side, in_neo4j, in_postgres, in_sparql, in_sqlite
from bfsql_test_support.questions.suite import Report, Sum, questions_about
from bfsql_test_support.questions.worlds import Size, World
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.postgres import PostgresServer

SOME = 4
"""Where a question takes long, one of this many kinds is asked."""


@pytest.fixture(scope="module")
def world() -> World:
    """A small world."""
    return World("small", Size.of(1), 11)


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    """One question of every kind."""
    return questions_about(world)


def test_a_world_is_the_same_each_time(world: World) -> None:
    again = World("again", Size.of(1), 11)
    other = World("other", Size.of(1), 12)
    assert [*again.records()] == [*world.records()]
    assert [*other.records()] != [*world.records()]


def test_every_kind_has_a_question_about_the_smallest_world(questions: list[Question]) -> None:
    assert [question.kind.name for question in questions] == [kind.name for kind in KINDS]
    assert len({question.text for question in questions}) == len(KINDS) >= 30


async def test_plans_are_right_in_the_embedded_store(
    world: World, questions: list[Question], tmp_path: Path
) -> None:
    async with in_sqlite(world, tmp_path) as [side, lines]:
        json_answers = await plans_are_right(side, questions)
        in_lines = await plans_are_right(lines, questions)
    assert in_lines.calls == json_answers.calls
    assert in_lines.answers < json_answers.answers / 2


async def test_plans_are_right_in_postgres(
    world: World, questions: list[Question], postgres: PostgresServer
) -> None:
    async with in_postgres(world, postgres) as [side, _]:
        await plans_are_right(side, questions)


async def test_plans_are_right_in_neo4j_and_ours_take_no_more_calls_than_cyphers(
    world: World, questions: list[Question], neo4j_server: Neo4jServer, tmp_path: Path
) -> None:
    # This server takes 0.1 s for each new query, and a question takes several.
    some = questions if THOROUGH else questions[:: 2 * SOME]
    others = questions[::SOME] if THOROUGH else questions[SOME :: 2 * SOME]
    async with in_neo4j(world, neo4j_server) as [ours, _, cypher]:
        cyphers = await plans_are_right(cypher, some)
        await plans_are_right(ours, others)
    async with in_sqlite(world, tmp_path) as [embedded, _]:
        assert (await plans_are_right(embedded, some)).calls <= cyphers.calls


async def test_plans_are_right_in_oxigraph(
    world: World, questions: list[Question], oxigraph: OxigraphServer
) -> None:
    async with in_sparql(world, oxigraph) as [ours, _, sparql]:
        await plans_are_right(sparql, questions)
        await plans_are_right(ours, questions[1::SOME])


async def plans_are_right(side: Side, questions: list[Question]) -> Sum:
    report = Report()
    await report.add(side, questions)
    assert report.wrong() == []
    [outcomes] = report.outcomes.values()
    found = Sum.of(outcomes)
    assert found.right == len(questions) + 1  # the schema
    return found
