"""A graph with a secret in all metadata, and a folder to install hook plugins into."""

from pathlib import Path

import pytest

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def secretive() -> MemoryBackend:
    """Every metadata value contains `xyzzy`; ids, types and predicates do not."""
    evidence = [{"document_id": "xyzzy d", "section": "s", "text_span": "xyzzy t"}]
    return MemoryBackend(
        [
            *(
                NodeRecord(f"n:{i}", "Thing", {"name": f"xyzzy {i}", "deep": [{"a": "xyzzy"}]})
                for i in range(4)
            ),
            *(
                EdgeRecord("n:0", "NEAR", f"n:{i}", {"note": "xyzzy", "provenance": evidence})
                for i in range(1, 4)
            ),
        ]
    )
