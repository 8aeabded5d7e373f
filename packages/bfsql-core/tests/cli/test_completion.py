"""`bfsql completion` completes commands and options."""

import os
import sys

import pytest

from bfsql_test_support.commands import run


def test_a_shell_completes_a_command():
    def completed(words: str) -> str:
        env = {"COMP_WORDS": words, "COMP_CWORD": "1", "_BFSQL_COMPLETE": "bash_complete"}
        code = "from bfsql.cli import main; main()"
        return run(sys.executable, "-c", code, env={**os.environ, **env}).stdout

    assert completed("bfsql ind").split() == ["plain,index"]
    assert "plain,--version" in completed("bfsql --v")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(run, shell):
    told = run("completion", shell)
    assert told.exit_code == 0
    assert f"_BFSQL_COMPLETE={shell}_complete" in told.stdout
