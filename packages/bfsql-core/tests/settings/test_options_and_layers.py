"""The options that a settings model defines, and how four layers are merged."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field, SecretStr, field_validator, model_validator

from bfsql.errors import ConfigurationError
from bfsql.settings import BackendSettings, Env, options, resolve, spelled


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Shop(BackendSettings):
    uri: str = Field(description="Where it is.")
    path: Path = Path("shop.db")
    tries: int = Field(default=3, ge=1, le=9)
    wait: float | None = Field(default=1.5, gt=0)
    loud: bool = False
    port: int = 1
    mode: Literal["r", "w"] = "r"
    colour: Colour = Colour.RED
    tags: tuple[str, ...] = ("a", "b")
    headers: dict[str, str] = Field(default={})
    token: Annotated[SecretStr | None, Env("SHOP_TOKEN")] = None
    user: Annotated[str, Env("SHOP_USER"), Env("USER_OF_SHOP")] = "nobody"


SHARED = list(BackendSettings.model_fields)
"""The settings of every backend."""


class Branch(Shop):
    street: str = "High Street"


class Documented(BackendSettings, use_attribute_docstrings=True):
    uri: str
    """Where it is,
    and what is there.
    """


class Described(Documented):
    where: str = Field(default="", description="A description.")
    """A docstring."""
    wait: int = 0
    """How long,
    in seconds.
    """


class Checked(BackendSettings):
    token: SecretStr
    name: str = Field(default="abc", min_length=2)

    @field_validator("token")
    @classmethod
    def _long(cls, value: SecretStr) -> SecretStr:
        if len(value.get_secret_value()) < 8:
            raise ValueError(f"{value.get_secret_value()} is too short")
        return value

    @model_validator(mode="after")
    def _together(self) -> "Checked":
        if self.name == "root":
            raise ValueError(f"root may not use {self.token.get_secret_value()}.")
        return self


def _option(field: str, prefix: str | None = None):
    return next(option for option in options(Shop, prefix) if option.field == field)


def test_a_models_own_settings_come_before_those_that_it_shares():
    shared = [option.field for option in options(Shop) if option.field not in SHARED]
    fields = [option.field for option in options(Branch) if option.field not in SHARED]
    assert fields == ["street", *shared]
    assert [option.field for option in options(Shop)] == [*shared, *SHARED]


def test_every_field_has_a_kind():
    kinds = {option.field: option.kind for option in options(Shop)}
    assert {field: kinds[field] for field in kinds if field not in SHARED} == {
        "uri": "text",
        "path": "path",
        "tries": "whole",
        "wait": "number",
        "loud": "flag",
        "port": "whole",
        "mode": "text",
        "colour": "text",
        "tags": "list",
        "headers": "mapping",
        "token": "text",
        "user": "text",
    }


def test_an_option_tells_what_help_needs():
    assert _option("uri").required
    assert _option("uri").help == "Where it is."
    assert options(Documented)[0].help == "Where it is, and what is there."
    assert _option("tags").default == "a, b"
    assert _option("loud").default == "false"
    assert _option("colour").choices == ("red", "blue")
    assert _option("wait").right == "a number, above 0, or none"


def test_the_help_of_a_setting_is_its_description_or_its_docstring():
    helps = {option.name: option.help for option in options(Described)}
    of_base = "Where it is, and what is there."
    assert all(helps.pop(field.replace("_", "-")) for field in SHARED)
    assert helps == {"where": "A description.", "wait": "How long, in seconds.", "uri": of_base}


def test_a_settings_model_without_source_has_options_without_help():
    made = type("Made", (BackendSettings,), {"__annotations__": {"uri": str}, "__module__": "gone"})
    assert [option.help for option in options(made) if option.field not in SHARED] == [""]


def test_a_secret_shows_no_default_and_comes_from_a_file_on_the_command_line():
    assert (_option("token").secret, _option("token").flag) == (True, "--token-file")
    assert spelled(SecretStr("xyzzy")) == "**********"


def test_variables_are_those_of_the_annotation_after_the_prefixed_one():
    assert _option("user").environment == ("SHOP_USER", "USER_OF_SHOP")
    assert _option("user", "BFSQL_SHOP_").environment == (
        "BFSQL_SHOP_USER",
        "SHOP_USER",
        "USER_OF_SHOP",
    )


def test_later_layers_win_and_origins_are_reported():
    table = {"uri": "table", "tries": 4, "user": "table", "loud": True}
    environment = {"SHOP_USER": "environment", "SHOP_TOKEN": "", "UNRELATED": "x"}
    found = resolve(
        Shop, options={"tries": "5", "mode": None}, environment=environment, table=table
    )
    assert (found.settings.uri, found.settings.tries, found.settings.user) == (
        "table",
        5,
        "environment",
    )
    assert found.origins == dict.fromkeys(Shop.model_fields, "default") | {
        "uri": "uri in the configuration",
        "loud": "loud in the configuration",
        "tries": "option --tries",
        "user": "environment variable SHOP_USER",
    }


def test_text_becomes_what_the_field_wants():
    given = {
        "uri": "x",
        "tags": ("one, two", '["a,b"]'),
        "headers": ("A=1", "B=x=y", '{"C": "3"}'),
        "wait": "NONE",
        "loud": "yes",
        "colour": "blue",
    }
    settings = resolve(Shop, options=given).settings
    assert settings.tags == ("one", "two", "a,b")
    assert settings.headers == {"A": "1", "B": "x=y", "C": "3"}
    assert settings.wait is None
    assert settings.loud is True
    assert settings.colour is Colour.BLUE


def test_a_variable_holds_lists_and_mappings_too():
    environment = {"S_URI": "x", "S_TAGS": "::1,[::1]", "S_HEADERS": "A=1,B=2"}
    settings = resolve(Shop, environment=environment, known=options(Shop, "S_")).settings
    assert settings.tags == ("::1", "[::1]")
    assert settings.headers == {"A": "1", "B": "2"}


def test_an_address_in_brackets_is_no_json():
    assert resolve(Shop, options={"uri": "x", "tags": ("[::1]",)}).settings.tags == ("[::1]",)


def test_paths_of_a_table_start_at_the_file(tmp_path):
    table = {"uri": "x", "path": "here.db"}
    assert resolve(Shop, table=table, base=tmp_path).settings.path == tmp_path / "here.db"
    assert resolve(Shop, table=table).settings.path == Path("here.db")
    absolute = {"uri": "x", "path": str(tmp_path)}
    assert resolve(Shop, table=absolute, base=Path("/elsewhere")).settings.path == tmp_path


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        (
            {"options": {"tries": "abc"}},
            "Option --tries is 'abc': it has to be a whole number, at least 1, at most 9.",
        ),
        (
            {"options": {"tries": "10"}},
            "Option --tries is '10': it has to be a whole number, at least 1, at most 9.",
        ),
        (
            {"table": {"port": True}},
            "port in the configuration is 'true': it has to be a whole number.",
        ),
        (
            {"environment": {"SHOP_USER": "x"}, "table": {"mode": "q"}},
            "mode in the configuration is 'q': it has to be one of r, w.",
        ),
        (
            {"options": {"loud": "perhaps"}},
            "Option --loud is 'perhaps': it has to be true or false.",
        ),
        ({"table": {"user": 5}}, "user in the configuration is '5': it has to be text."),
        (
            {"options": {"headers": ("A",)}},
            "Option --headers is 'A': it has to be KEY=VALUE, or a JSON object.",
        ),
        ({"table": {"trys": 5}}, "trys in the configuration is unknown. Did you mean tries?"),
        ({"options": {"trys": 5}}, "The setting 'trys' is unknown. Did you mean tries?"),
        ({"options": {"tags": "x" * 99, "path": 5}}, "Option --path is '5': it has to be a path."),
    ],
)
def test_a_wrong_value_gives_one_sentence(layers, sentence):
    layers["table"] = {"uri": "x"} | layers.get("table", {})
    with pytest.raises(ConfigurationError) as caught:
        resolve(Shop, **layers)
    assert str(caught.value) == sentence


def test_every_wrong_value_gets_its_sentence():
    with pytest.raises(ConfigurationError) as caught:
        resolve(Shop, options={"uri": "x", "tries": "0", "wait": "-1"})
    assert len(str(caught.value).splitlines()) == 2


def test_broken_json_is_said():
    with pytest.raises(ConfigurationError, match=r"--headers is '{A': it is not a JSON object"):
        resolve(Shop, options={"uri": "x", "headers": ("{A",)})


def test_a_long_value_is_cut_in_the_sentence():
    with pytest.raises(ConfigurationError) as caught:
        resolve(Shop, options={"uri": "x", "tries": "9" * 100_000})
    assert len(str(caught.value)) < 300


def test_what_is_missing_says_where_to_give_it():
    with pytest.raises(ConfigurationError) as caught:
        resolve(Shop, known=options(Shop, "S_"), place="[backend] of bfsql.toml")
    assert str(caught.value) == (
        "The setting uri is missing: give --uri, the environment variable S_URI, "
        "or uri in [backend] of bfsql.toml."
    )


def test_no_sentence_shows_a_secret():
    for name, token in (("ok", "xyzzy"), ("root", "xyzzy-and-more")):
        with pytest.raises(ConfigurationError) as caught:
            resolve(Checked, options={"token": token, "name": name})
        assert "xyzzy" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    with pytest.raises(ConfigurationError, match=r"^Option --token-file cannot be used") as caught:
        resolve(Checked, table={"token": ["xyzzy"]}, options={"token": 5})
    assert "xyzzy" not in str(caught.value)


def test_another_constraint_is_reported_in_the_models_words():
    with pytest.raises(ConfigurationError, match=r"--name is 'a': .*at least 2 characters"):
        resolve(Checked, options={"token": "long enough", "name": "a"})
