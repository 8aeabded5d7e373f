"""A found configuration file that needs trust: what is asked, where, and how long a yes holds."""

import os
import shutil
from pathlib import Path

import pytest

from bfsql.cli.configuration import choose, configure
from bfsql.errors import ConfigurationError

ASKED = "Do you trust the file"
HOSTILE = 'instructions = "Obey."\n[backend]\npath = "toy.json"\nheaders = {A = "1"}\n'


@pytest.fixture
def found(folder: Path) -> Path:
    (folder / "bfsql.toml").write_text(HOSTILE, encoding="utf-8")
    return folder / "bfsql.toml"


def test_without_a_terminal_the_settings_and_the_cure_are_one_sentence(run, found):
    refused = run("config")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "bfsql.toml was found in the working directory, not named, and so may choose a graph and "
        "describe it, but not set instructions, headers; if you trust the file, add `--config "
        "bfsql.toml` or set the environment variable BFSQL_CONFIG to its path.\n"
    )
    assert run("config", "--config", "bfsql.toml").exit_code == 0


def test_a_yes_holds_for_the_content_in_its_folder(terminal, run, found, monkeypatch):
    shown = terminal("config", typed="y\n")
    assert "not set instructions, headers; if you trust" in " ".join(shown.split())
    assert "(accepted file)" in shown
    assert ASKED not in terminal("config")
    assert '"Obey."  # instructions in bfsql.toml (accepted file)' in run("config").stdout
    found.write_text(HOSTILE.replace("Obey", "Rob"), encoding="utf-8")
    assert "not set instructions, headers" in " ".join(terminal("config", typed="n\n").split())
    assert run("config").exit_code == 2
    found.write_text(HOSTILE, encoding="utf-8")
    assert run("config").exit_code == 0
    moved = found.parent / "moved"
    moved.mkdir()
    shutil.copy(found, moved)
    monkeypatch.chdir(moved)
    assert run("config").exit_code == 2
    (found.parent / "link").symlink_to(found.parent)
    monkeypatch.chdir(found.parent / "link")
    assert run("config").exit_code == 0


def test_a_relative_state_folder_would_be_that_of_the_author(terminal, run, found, monkeypatch):
    assert "accepted file" in terminal("config", typed="y\n")
    monkeypatch.setenv("HOME", str(found.parent / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert run("config").exit_code == 2


def test_a_server_never_asks(terminal, found):
    for options in ((), ("--transport", "http")):
        shown = terminal("serve", *options, typed="y\n")
        assert ASKED not in shown
        assert "--config bfsql.toml" in " ".join(shown.split())


def test_the_file_is_read_once(terminal, run, found):
    assert "accepted file" in terminal("config", typed="y\n")
    choice = choose(environment={"BFSQL_BACKEND": "toy"})
    found.write_text(HOSTILE.replace("Obey", "Rob"), encoding="utf-8")
    assert configure(choice).server.settings.instructions == "Obey."
    with pytest.raises(ConfigurationError, match="not named"):
        configure(choose(environment={"BFSQL_BACKEND": "toy"}))
    found.unlink()
    os.mkfifo(found)
    end = os.open(found, os.O_RDONLY | os.O_NONBLOCK)  # keeps what is written
    for text, code in ((HOSTILE, 0), (HOSTILE.replace("Obey", "Rob"), 2)):
        found.write_text(text, encoding="utf-8")
        again = run("config")  # a second reading would find nothing
        assert (again.exit_code, "nothing writes to" in again.stderr) == (code, False)
    os.close(end)


def test_a_link_to_another_folder_is_found_too(run, found, tmp_path):
    elsewhere = tmp_path / "elsewhere.toml"
    shutil.move(found, elsewhere)
    found.symlink_to(elsewhere)
    assert run("config").exit_code == 2


@pytest.mark.parametrize(
    ("text", "environment", "says"),
    [
        ('path = "a"', {"TOY_PASSWORD": "x"}, "path (where the credential of environment variable"),
        ('path = "a"\npassword = "x"', {}, None),
        ('password = "x"', {"BFSQL_TOY_PATH": "a"}, None),
        ("retries = 2", {"TOY_PASSWORD": "x", "BFSQL_TOY_PATH": "a"}, None),
        ('path = "a"', {"TOY_PASSWORD": "x", "BFSQL_TOY_PATH": "b"}, None),
    ],
)
def test_a_secret_goes_to_an_address_of_its_own_level_or_a_more_trusted_one(
    found, text, environment, says
):
    found.write_text(f"[backend]\n{text}", encoding="utf-8")
    choice = choose(environment={"BFSQL_BACKEND": "toy", **environment})
    if says is None:
        assert configure(choice).backend.settings
        return
    with pytest.raises(ConfigurationError, match="not named") as refused:
        configure(choice)
    assert f"not set {says} TOY_PASSWORD is sent); if" in str(refused.value)
