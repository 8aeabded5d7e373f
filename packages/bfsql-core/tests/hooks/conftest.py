"""A graph with a secret in every place that metadata can leave from, and a site to install into."""

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
    """Every value that could leave holds `xyzzy`; ids, types and predicates do not."""
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
