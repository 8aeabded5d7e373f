"""Loading graph files into a store: reading, refusing, merging, reporting.

`load` implements `bfsql load`, and `rehearse` its `--dry-run`. The loaders of backends use the
rest: `staged` sorts and merges records in a temporary file, for stores that cannot do that
themselves, and `GraphWriter` is the course of a load into a server.
"""

from bfsql.loading.course import GraphWriter, Step
from bfsql.loading.files import EVERY, Reading, RefusalFilter, Rehearsal, fill, load, rehearse
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
    "Codec",
    "EdgeGroup",
    "GraphWriter",
    "Reading",
    "RefusalFilter",
    "Rehearsal",
    "StagedEdge",
    "StagedNode",
    "Staging",
    "StagingError",
    "Step",
    "batches",
    "check_graph",
    "fill",
    "graph_is_there",
    "load",
    "rehearse",
    "staged",
]
