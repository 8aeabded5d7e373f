"""Former import names of modules that have moved, such as `bfsql.testing`.

A backend that imports a former name gets the module of today, not a copy, so that classes are the
same under both names. A module is imported when its former name is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast
from warnings import warn

if TYPE_CHECKING:
    from importlib.abc import Loader

KIT = {
    "bfsql.conformance": "bfsql_testing.conformance",
    "bfsql.conformance.asking": "bfsql_testing.conformance.query_language",
    "bfsql.conformance.elements": "bfsql_testing.conformance.topology",
    "bfsql.conformance.operating": "bfsql_testing.conformance.health",
    "bfsql.conformance.stores": "bfsql_testing.conformance.store_access",
    "bfsql.testing": "bfsql_testing.suite",
}
"""Former names of modules of the conformance kit and today's, which both stay."""

RENAMED = {"bfsql.columns": "bfsql.integers", "bfsql.outlining": "bfsql.schema_statistics"}
"""Former names whose use is a DeprecationWarning."""

INSTALL_KIT = "pip install bfsql-testing, or in a clone pip install ./packages/bfsql-testing"
"""How to install the conformance kit, for messages."""


class MovedModules:
    """An importer of former names, first in `sys.meta_path`.

    The importer of files would find a submodule of a moved package, too, and make a copy of it.
    """

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG004 - the interface of importers
        target: ModuleType | None = None,  # noqa: ARG004 - likewise
    ) -> ModuleSpec | None:
        """The specification of a module under its former name; None for any other name."""
        package, _, module = name.rpartition(".")
        today = KIT.get(name) or (package in KIT and f"{KIT[package]}.{module}")
        if name in RENAMED:
            today = RENAMED[name]
            warn(f"{name} is now {today}", DeprecationWarning, stacklevel=2)
        return ModuleSpec(name, cast("Loader", _Alias(today))) if today else None


class _Alias:
    """Loads the module of today in place of the one that moved."""

    def __init__(self, today: str) -> None:
        self._today = today
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        try:
            module = import_module(self._today)
        except ModuleNotFoundError as error:
            if error.name != "bfsql_testing":
                raise
            sentence = f"{spec.name} is in the conformance kit, which is missing: {INSTALL_KIT}"
            raise ModuleNotFoundError(sentence, name=spec.name) from error
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has just set that of the former name


def install() -> None:
    """Make former names importable; called when `bfsql` is imported."""
    if not any(isinstance(importer, MovedModules) for importer in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
