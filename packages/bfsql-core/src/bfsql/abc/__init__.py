"""The contract between core and a store: the backend methods, and backends that wrap another."""

from bfsql.abc.delegating import (
    ForwardingBackend,
    NormalizedBackend,
    PassThroughBackend,
    accepts,
    implements,
    normalized,
)
from bfsql.abc.interface import (
    CONTRACT,
    DEFAULT_NEXT_STEPS,
    FAN_OUT,
    PROVENANCE_EDGES,
    BatchGraphDb,
    GraphDbInterface,
    chunks,
    each,
)

__all__ = [
    "CONTRACT",
    "DEFAULT_NEXT_STEPS",
    "FAN_OUT",
    "PROVENANCE_EDGES",
    "BatchGraphDb",
    "ForwardingBackend",
    "GraphDbInterface",
    "NormalizedBackend",
    "PassThroughBackend",
    "accepts",
    "chunks",
    "each",
    "implements",
    "normalized",
]
