"""The conformance kit: tests that hold a backend to every rule of the contract.

    from bfsql_testing import BackendSuite, Kind

    class TestMine(BackendSuite): ...

`bfsql_testing.suite` has the rules as pytest classes (`LoaderSuite` those for loaders), and
`bfsql_testing.conformance` those for backends without pytest. The commands `bfsql check` and
`bfsql new-backend` come with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfsql.lazy import lazy_names

if TYPE_CHECKING:
    from bfsql_testing.conformance import EVERYTHING, Kind, OptOut, never, notimpl, notyet
    from bfsql_testing.suite import BackendSuite, LoaderSuite

__all__ = [
    "EVERYTHING",
    "BackendSuite",
    "Kind",
    "LoaderSuite",
    "OptOut",
    "never",
    "notimpl",
    "notyet",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bfsql_testing.conformance": ("EVERYTHING", "Kind", "OptOut", "never", "notimpl", "notyet"),
        "bfsql_testing.suite": ("BackendSuite", "LoaderSuite"),
    },
)
