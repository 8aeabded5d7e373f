"""Handles a requirement of a test that is missing on this machine."""

import os
from typing import NoReturn

import pytest


def missing(what: str, reason: str) -> NoReturn:
    """Skip if something is missing; fail if `BFSQL_REQUIRE` requires it."""
    if what in os.environ.get("BFSQL_REQUIRE", "").replace(",", " ").split():
        pytest.fail(f"{reason} (and BFSQL_REQUIRE names {what})")
    pytest.skip(reason)
