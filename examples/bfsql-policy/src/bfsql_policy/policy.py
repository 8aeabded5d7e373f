"""The hook plugin: each hook is one setting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bfsql.models import EntityStub
from bfsql.plugins import hookimpl


class Policy:
    """What may be asked, what may leave, and what comes first.

    Args:
        environment: Holds `BFSQL_POLICY_REFUSE` (tools), `BFSQL_POLICY_REDACT`
            (metadata keys) and `BFSQL_POLICY_PREFER` (entity types), each a list
            separated by commas.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._refused = _listed(environment, "BFSQL_POLICY_REFUSE")
        self._hidden = frozenset(_listed(environment, "BFSQL_POLICY_REDACT"))
        self._preferred = _listed(environment, "BFSQL_POLICY_PREFER")

    @hookimpl
    def refuse_call(self, tool: str) -> str | None:
        """Refuse the tools that are named."""
        if tool not in self._refused:
            return None
        return f"The operator of this server does not allow {tool}. Use the other tools."

    @hookimpl
    def redact_metadata(self, kind: str, metadata: dict[str, Any]) -> dict[str, Any]:
        """Leave out the keys that are named, at every level."""
        if kind == "evidence" and "provenance" in self._hidden:
            return {}  # the same evidence stands under this key of an edge
        return {k: self._shown(v) for k, v in metadata.items() if k not in self._hidden}

    @hookimpl
    def rerank_candidates(self, candidates: list[EntityStub]) -> list[EntityStub]:
        """Put the types that are named first, in that order."""
        places = {entity_type: place for place, entity_type in enumerate(self._preferred)}
        return sorted(candidates, key=lambda stub: places.get(stub.entity_type, len(places)))

    def _shown(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: self._shown(v) for k, v in value.items() if k not in self._hidden}
        return [self._shown(item) for item in value] if isinstance(value, list) else value


def _listed(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in environment.get(name, "").split(",") if part.strip())
