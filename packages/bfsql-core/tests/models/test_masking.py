"""Secrets inside texts are hidden; text that only resembles a secret is not."""

import pickle
import time

import pytest

from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql.masking import HIDDEN, hide_secrets, is_secret_name, secrets_in


@pytest.mark.parametrize(
    "text",
    [
        "bolt://u:PW@h:7687",
        "bolt://u:a/PW@h:7687",
        "bolt://u:a@PW@h:7687",
        "bolt://u:a PW@h",
        "redis://:PW@h",
        "u:PW@h:7687",
        "https//u:PW@h",
        "https://PW@h/x",
        "https://h/s?apikey=PW",
        "https://h/s?apikey=a'PW",
        "https://h/s?a=1&key=PW&b=2",
        "https://h/s#access_token=PW",
        "postgresql://u:PW@h/db?password=PW&sslmode=x",
        "host=h password=PW dbname=x",
        "host=h password='a PW' dbname=x",
        "cannot reach 'bolt://u:PW@h:7687' (refused)",
        "There is no graph at https:/u:PW@h/x.db.",
        '{"password": "PW", "a": 1}',
        "{'apiKey': 'PW'}",
        "Authorization: Bearer PW",
        "Cookie: PW",
        "headers [(b'authorization', b'Bearer PW')]",
        f"the token bfsql_{'PW' * 21}x is good",
    ],
)
def test_a_secret_is_hidden(text):
    assert "PW" not in hide_secrets(text)
    assert HIDDEN in hide_secrets(text)
    assert hide_secrets(hide_secrets(text)) == hide_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Set NEO4J_USERNAME and NEO4J_PASSWORD.", "max_tokens=20000 tokens=5 token count"),
        *("https://graph.example.org:8443/a?b=c, from me@example.org", "https://h:8000/a@b"),
        *("mailto:me@example.org", "http://dbpedia.org/resource/Berlin"),
        *("The endpoint did not accept the basic authentication.", ""),
    ],
)
def test_what_is_no_secret_is_shown(text):
    assert hide_secrets(text) == text


def test_known_secrets_are_hidden_wherever_they_stand():
    assert hide_secrets("ab abc b", ["", "ab", "abc"]) == f"{HIDDEN} {HIDDEN} b"
    assert "PWD" in secrets_in("https://u:PWD#b@h")
    assert secrets_in("https://h/x?a=1") == []


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(("apikey", True), ("X-API-Key", True), ("Authorization", True), ("client_secret", True)),
        *(("format", False), ("key_header", False), ("max_tokens", False)),
    ],
)
def test_a_name_tells_that_its_value_is_a_secret(name, secret):
    assert is_secret_name(name) is secret


@pytest.mark.parametrize("kind", [ConfigurationError, StoreError, StoreUnavailable])
def test_errors_for_the_operator_hide_secrets(kind):
    error = kind("bolt://u:PW@h is gone.")
    assert str(error) == f"bolt://u:{HIDDEN}@h is gone."
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(kind()) == ""


@pytest.mark.parametrize("part", ["a://b:", "password=", "authorization, ", "a:b@", "/:", "?key"])
def test_no_text_is_expensive(part):
    text = part * (30_000 // len(part)) + "@://="
    begun = time.process_time()
    hide_secrets(text)
    assert time.process_time() - begun < 2


def test_the_form_of_a_url_is_shown():
    form = "It has to be postgresql://user:password@host:port/name, not postgres://me:sesame@db/x."
    assert hide_secrets(form) == form.replace("sesame", HIDDEN)
