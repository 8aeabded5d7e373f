"""From graph files to a filled store: reading, refusing, merging, reporting.

`load` is what `bfsql load` does, `rehearse` what it does with `--dry-run`. The loaders of backends
use the rest: `staged` sorts and merges records in a temporary file, in front of a store that cannot
do that itself.
"""

from bfsql.loading.files import (
    EVERY,
    KEPT,
    Reading,
    RefusalFilter,
    Rehearsal,
    fill,
    load,
    rehearse,
)
from bfsql.loading.intake import batches, check_graph, graph_is_there
from bfsql.loading.staging import (
    Codec,
    EdgeGroup,
    StagedEdge,
    StagedNode,
    Staging,
    StagingError,
    staged,
)

__all__ = [
    "EVERY",
    "KEPT",
    "Codec",
    "EdgeGroup",
    "Reading",
    "RefusalFilter",
    "Rehearsal",
    "StagedEdge",
    "StagedNode",
    "Staging",
    "StagingError",
    "batches",
    "check_graph",
    "fill",
    "graph_is_there",
    "load",
    "rehearse",
    "staged",
]
