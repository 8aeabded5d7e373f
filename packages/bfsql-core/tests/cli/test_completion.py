"""`bfsql completion` completes commands and options."""

import os
import subprocess
import sys

import pytest


def test_a_shell_completes_a_command():
    def completed(words: str) -> str:
        env = {"COMP_WORDS": words, "COMP_CWORD": "1", "_BFSQL_COMPLETE": "bash_complete"}
        done = subprocess.run(
            [sys.executable, "-c", "from bfsql.cli import main; main()"],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **env},
        )
        return done.stdout

    assert completed("bfsql ind").split() == ["plain,index"]
    assert "plain,--version" in completed("bfsql --v")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_the_shell(run, shell):
    told = run("completion", shell)
    assert told.exit_code == 0
    assert f"_BFSQL_COMPLETE={shell}_complete" in told.stdout
