"""All kinds of question."""

from bfsql_test_support.questions.kinds import (
    aggregates,
    conditions,
    connections,
    counts,
    finding,
    hierarchies,
    sets,
    shapes,
    walks,
)
from bfsql_test_support.questions.kinds.kind import Kind

KINDS: tuple[Kind, ...] = tuple(
    kind()
    for module in (
        walks,
        hierarchies,
        counts,
        conditions,
        finding,
        connections,
        sets,
        aggregates,
        shapes,
    )
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Kind) and kind is not Kind
)
"""One instance of each kind, in the order of the modules and within them."""
