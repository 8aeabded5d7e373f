"""The contract between core and a store: the backend methods, and backends that wrap another."""

from bfsql.abc.delegating import Abilities, ForwardingBackend, NormalizedBackend, normalized
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
    "Abilities",
    "BatchGraphDb",
    "ForwardingBackend",
    "GraphDbInterface",
    "NormalizedBackend",
    "chunks",
    "each",
    "normalized",
]
