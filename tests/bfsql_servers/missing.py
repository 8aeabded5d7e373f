"""What a test does when something that it needs is not here."""

import os
from typing import NoReturn

import pytest


def missing(what: str, reason: str) -> NoReturn:
    """Skip where something is not here; fail where `BFSQL_REQUIRE` says that it must be."""
    if what in os.environ.get("BFSQL_REQUIRE", "").replace(",", " ").split():
        pytest.fail(f"{reason} (and BFSQL_REQUIRE names {what})")
    pytest.skip(reason)
