"""What the environment says of the audit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Where lines go, and what they hold."""

    file: Path | None = None
    """None: nothing is written."""
    values: bool = False
    """Whether arguments are written too, and not their sizes alone."""
    size: int = 10_000_000
    """Bytes at which a file is put aside."""
    keep: int = 5
    """Files put aside that are kept."""

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """From `BFSQL_AUDIT_FILE`, `_VALUES`, `_BYTES` and `_KEEP`.

        Raises:
            ValueError: A number is none.
        """
        file = environment.get("BFSQL_AUDIT_FILE")
        return cls(
            Path(file) if file else None,
            environment.get("BFSQL_AUDIT_VALUES") == "1",
            int(environment.get("BFSQL_AUDIT_BYTES", cls().size)),
            int(environment.get("BFSQL_AUDIT_KEEP", cls().keep)),
        )
