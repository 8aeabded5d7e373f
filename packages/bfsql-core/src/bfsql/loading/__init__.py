"""From graph files to a filled store: reading, refusing, merging, reporting.

`load` is what `bfsql load` does. The rest is for the loaders of backends:
`staged` sorts and merges records in a temporary file, in front of a store that
cannot; `Worker` and `accepted` serve a store that can.
"""

from bfsql.loading.files import EVERY, KEPT, Progress, RefusalFilter, load
from bfsql.loading.intake import NOT_TEXT, Stopped, Worker, accepted
from bfsql.loading.merging import EdgeGroup, edge_groups, merge_edge_group
from bfsql.loading.staging import (
    JSON,
    Codec,
    StagedEdge,
    StagedNode,
    Staging,
    StagingError,
    batches,
    staged,
)

__all__ = [
    "EVERY",
    "JSON",
    "KEPT",
    "NOT_TEXT",
    "Codec",
    "EdgeGroup",
    "Progress",
    "RefusalFilter",
    "StagedEdge",
    "StagedNode",
    "Staging",
    "StagingError",
    "Stopped",
    "Worker",
    "accepted",
    "batches",
    "edge_groups",
    "load",
    "merge_edge_group",
    "staged",
]
