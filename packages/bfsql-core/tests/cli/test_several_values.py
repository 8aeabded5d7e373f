"""Options that take several values, given one after the other or each with the option's name."""

import json

import pytest


@pytest.mark.parametrize(
    "given",
    [
        ("--allowed-hosts", "a", "b", "c"),
        ("--allowed-hosts", "a", "--allowed-hosts", "b", "c"),
        ("--allowed-hosts=a", "--allowed-hosts", "b", "c"),
        ("--allowed-hosts", "a", "b", "c", "--port", "1"),
    ],
)
def test_an_option_takes_all_values_up_to_the_next_option(run, given) -> None:
    told = run("config", *given)
    assert told.exit_code == 0
    [hosts] = [line for line in told.output.splitlines() if line.startswith("allowed_hosts")]
    assert '["a", "b", "c"]' in hosts


def test_a_value_too_many_of_another_option_is_refused(run) -> None:
    told = run("config", "--port", "1", "2")
    assert told.exit_code == 2
    assert "2" in told.output


def test_what_a_command_takes_without_an_option_stays_its_own(loaded) -> None:
    told = loaded("bfs-query", "p:1", "--max-hops", "1", "--predicates", "ACTED_IN", "p:2")
    assert told.exit_code == 0
    assert json.loads(told.output)["seeds"] == ["p:1", "p:2"]
