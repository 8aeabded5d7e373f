"""The contract between core and a store: the backend methods, and backends that wrap another."""

from bfsql.abc.delegating import (
    AdaptedGraphDb,
    DelegatingGraphDb,
    TransparentGraphDb,
    accepts,
    adapted,
    implements,
)
from bfsql.abc.interface import (
    CONTRACT,
    DEFAULT_NEXT_STEPS,
    FAN_OUT,
    PROVENANCE_EDGES,
    BatchGraphDb,
    GraphDbInterface,
    each,
)

__all__ = [
    "CONTRACT",
    "DEFAULT_NEXT_STEPS",
    "FAN_OUT",
    "PROVENANCE_EDGES",
    "AdaptedGraphDb",
    "BatchGraphDb",
    "DelegatingGraphDb",
    "GraphDbInterface",
    "TransparentGraphDb",
    "accepts",
    "adapted",
    "each",
    "implements",
]
