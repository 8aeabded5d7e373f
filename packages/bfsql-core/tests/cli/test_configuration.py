"""The configuration file, combined with environment variables and options."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from bfsql.call import Limits
from bfsql.cli.configuration import choose, configure
from bfsql.errors import ConfigurationError, UnknownBackend
from bfsql.settings import BackendSettings, ServeSettings, options, read_config
from bfsql_test_support.distributions import install


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate working directory for the test, where the backend `toy` is installed."""
    install(tmp_path / "site", "bfsql-toy", toy="bfsql_test_support.backends.toy:plugin")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(text: str, path: str = "bfsql.toml") -> Path:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Path(path)


def test_without_a_file_there_are_defaults():
    assert read_config(None, {}).path is None
    settings = ServeSettings()
    assert (settings.transport, settings.host, settings.port) == ("stdio", "127.0.0.1", 8000)
    assert settings.limits == Limits()


def test_the_option_comes_before_the_variable_and_that_before_the_folder():
    _write("port = 1")
    _write("port = 2", "b.toml")
    _write("port = 3", "c.toml")
    variable = {"BFSQL_CONFIG": "b.toml"}
    assert read_config(None, {}).server == {"port": 1}
    assert read_config(None, variable).server == {"port": 2}
    assert read_config("c.toml", variable).server == {"port": 3}


def test_every_layer_reaches_its_setting():
    _write(
        'port = 1\nmax_tokens = 700\n[backend]\nname = "toy"\npath = "x.json"\nretries = 2', "etc/a"
    )
    environment = {
        "BFSQL_CONFIG": "etc/a",
        "BFSQL_PORT": "2",
        "BFSQL_TOY_RETRIES": "4",
        "TOY_PASSWORD": "xyzzy",
    }
    choice = choose(environment=environment)
    found = configure(choice, server={"deadline": "9"}, backend={"headers": ("A=1",)})
    assert (choice.backend, choice.backend_origin) == ("toy", "name in [backend] of etc/a")
    assert (found.server.settings.port, found.server.settings.max_tokens) == (2, 700)
    assert found.server.settings.deadline == 9.0
    assert found.backend.settings.path == Path("etc/x.json")
    assert found.backend.settings.retries == 4
    assert found.backend.settings.password.get_secret_value() == "xyzzy"
    assert found.server.origins["port"] == "environment variable BFSQL_PORT"
    assert found.backend.origins == {
        "path": "path in [backend] of etc/a",
        "password": "environment variable TOY_PASSWORD",
        "retries": "environment variable BFSQL_TOY_RETRIES",
        "port": "default",
        "headers": "option --headers",
        **dict.fromkeys(BackendSettings.model_fields, "default"),
    }


def test_the_backend_is_chosen_by_option_variable_and_file():
    _write('[backend]\nname = "nothing"\nretries = 99')
    choice = choose(backend="toy", environment={"BFSQL_BACKEND": "other"})
    assert configure(choice).backend.settings.retries == 3  # the table belongs to another backend
    assert choose(environment={"BFSQL_BACKEND": "toy"}).backend == "toy"
    with pytest.raises(UnknownBackend, match="'nothing'"):
        choose(environment={})


def test_a_table_without_a_name_is_of_whatever_backend_is_meant():
    _write("[backend]\nretries = 5")
    assert configure(choose(backend="toy", environment={})).backend.settings.retries == 5


def test_a_name_that_the_server_has_too_is_spelled_with_the_backends():
    names = [o.flag for o in choose(backend="toy", environment={}).backend_options({"port"})]
    own = ["--path", "--password-file", "--retries", "--toy-port", "--headers"]
    assert names == [*own, "--valid-from", "--valid-until", "--until-included"]


def test_the_cache_lives_as_long_as_a_stdio_process_and_ten_minutes_over_http():
    assert ServeSettings().cache_lifetime is None
    assert ServeSettings(transport="http").cache_lifetime == 600
    assert ServeSettings(transport="http", cache_ttl=5).cache_lifetime == 5


def test_a_token_loses_the_line_end_that_a_file_or_variable_gave_it():
    token = ServeSettings(bearer_token=SecretStr("open-sesame\n")).bearer_token
    assert token is not None
    assert token.get_secret_value() == "open-sesame"


def test_every_server_setting_is_described():
    assert all(option.help for option in options(ServeSettings))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("port = \n", "bfsql.toml, line 1: this is not TOML (invalid value)."),
        ("port = 1\n[backend", "bfsql.toml, line 2: this is not TOML (expected ']' at"),
        ("prot = 1", "prot in bfsql.toml is unknown. Did you mean port?"),
        ("port = 1.5", "port in bfsql.toml is '1.5': it has to be a whole number, at least 0,"),
        ("max_tokens = 100", "max_tokens in bfsql.toml is '100': it has to be 0 (no bound) or at"),
        ("bearer_token = ' '", "bearer_token in bfsql.toml"),
        (
            "backend = 'toy'",
            "backend in bfsql.toml is 'toy': it has to be a table, as in [backend]",
        ),
        ("[backend]\nname = 5", "name in [backend] of bfsql.toml is 5; it has to be text."),
        (
            "[backend]\npath = 'a'\nnmae = 'toyy'",
            "nmae in [backend] of bfsql.toml is unknown. Did you mean name, which names the",
        ),
        ("[backend]\nname='toy'\nretrys=1", "retrys in [backend] of bfsql.toml is unknown. Did"),
    ],
)
def test_a_bad_file_gives_one_sentence(text, sentence):
    file, backend = _write(text), "toy" if "name" not in text else None
    with pytest.raises(ConfigurationError) as caught:
        configure(choose(config=file, backend=backend, environment={}))
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_misspelt_backend_in_the_file_is_named_with_its_place_and_the_nearest_one():
    _write('[backend]\nname = "tyo"')
    sentence = r"named 'tyo' \(name in \[backend\] of bfsql\.toml\); installed are: toy, "
    with pytest.raises(UnknownBackend, match=sentence):
        choose(environment={})


def test_a_misspelt_variable_of_the_backend_is_reported_without_its_value(caplog):
    environment = {"BFSQL_TOY_PASWORD": "xyzzy", "BFSQL_SQLITE_PTH": "a", "BFSQL_TOY_RETRIES": "2"}
    configure(choose(backend="toy", environment=environment))
    [message] = caplog.messages
    assert message.startswith("BFSQL_TOY_PASWORD is ignored: no setting has this environment var")
    assert message.endswith("Did you mean BFSQL_TOY_PASSWORD?")


def test_a_file_that_is_not_there_says_who_named_it():
    with pytest.raises(
        ConfigurationError, match=r"no configuration file a\.toml \(option --config"
    ):
        read_config("a.toml", {})
    with pytest.raises(ConfigurationError, match=r"b\.toml \(environment variable BFSQL_CONFIG"):
        read_config(None, {"BFSQL_CONFIG": "b.toml"})


def test_a_file_that_cannot_be_read_says_why(folder):
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_config(folder, {})
    (folder / "latin.toml").write_bytes(b'instructions = "caf\xe9"')
    with pytest.raises(ConfigurationError, match=r"latin\.toml.* it is not UTF-8 text"):
        read_config("latin.toml", {})


def test_the_log_level_is_taken_in_any_case():
    assert ServeSettings(log_level="DEBUG").log_level == "debug"


@pytest.mark.parametrize("value", ["", "  "])
def test_a_variable_for_the_token_that_is_empty_is_refused(value):
    with pytest.raises(ConfigurationError, match=r"BFSQL_BEARER_TOKEN.*empty"):
        configure(choose(environment={"BFSQL_BEARER_TOKEN": value}))
