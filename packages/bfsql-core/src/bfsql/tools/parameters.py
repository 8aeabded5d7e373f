"""The arguments of the six tools, written down once.

From this table come the check of raw arguments, the input schemas that a
client lists, the options of the command line, and the help of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bfsql.models import MAX_HOPS, MAX_STEPS
from bfsql.settings.server import LEAST_TOKENS

Kind = Literal["text", "texts", "whole", "flag"]

MAX_SEEDS = 100
"""Seeds a call (`protocol.md` 2)."""
MAX_IDS = 200
"""Ids a call (`protocol.md` 2)."""
MAX_CONDITIONS = 200
"""Conditions a call."""
MAX_TEXT_BYTES = 16_384
"""UTF-8 bytes of an id, a query or a name (`protocol.md` 2)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: Kind
    """`text`, `texts` (a list of them), `whole` (a number) or `flag`."""
    description: str
    required: bool = False
    default: Any = None
    minimum: int | None = None
    """Smallest number."""
    maximum: int | None = None
    """Largest number, or most items of a list."""
    or_zero: bool = False
    """Whether 0 is taken too, below the smallest number; it means no bound."""
    least_items: int = 0
    """Fewest items of a list."""
    repeats: bool = False
    """Whether an item of a list may stand there twice."""

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, as a client lists it."""
        return {**_schema(self), "description": self.description}


def _schema(p: Parameter) -> dict[str, Any]:
    match p.kind:
        case "text":
            return {"type": "string"}
        case "texts":
            items: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
            if p.least_items:
                items["minItems"] = p.least_items
            return items | ({"maxItems": p.maximum} if p.maximum else {})
        case "flag":
            return {"type": "boolean", "default": p.default}
        case "whole":
            bounds: dict[str, Any] = {"type": "integer"}
            if p.minimum is not None:
                bounds["minimum"] = 0 if p.or_zero else p.minimum
            if p.maximum is not None:
                bounds["maximum"] = p.maximum
            return bounds | ({"default": p.default} if p.default is not None else {})


_NODE_TYPES = Parameter(
    "node_types", "texts", "Types to show in full; other nodes stay as stubs {id, entity_type}."
)
_PREDICATES = Parameter(
    "predicates", "texts", "Predicates to show in full; other edges stay as bare triples."
)
_TOPOLOGY_ONLY = Parameter(
    "topology_only",
    "flag",
    "Everything as stubs: the cheap survey. Overrides node_types and predicates.",
    default=False,
)
_EXCLUDE = Parameter(
    "exclude_node_types", "texts", "Types to REMOVE, with all edges that touch them."
)
_MIN_MENTIONS = Parameter(
    "min_mentions",
    "whole",
    "REMOVE nodes whose total_mentions is lower; nodes without it stay.",
    default=1,
    minimum=1,
)
_MAX_TOKENS = Parameter(
    "max_tokens",
    "whole",
    "Budget of this answer, 500 or more (0: none). What does not fit becomes stubs, then is cut; "
    "notes tell.",
    minimum=LEAST_TOKENS,
    or_zero=True,
)

_WHERE = Parameter(
    "where",
    "texts",
    'Conditions that all hold: "Trial.status=terminated", "year>=2010", "name~desmo" (contains), '
    '"inhibits.confidence>0.8", "2.year<2000" (step 2). With a type, predicate or step in front: '
    "REMOVE what does not meet it.",
    maximum=MAX_CONDITIONS,
)
_SORT_BY = Parameter(
    "sort_by",
    "text",
    "A property, degree, or with path: paths, distinct. - in front: descending.",
)
_FIELDS = Parameter(
    "fields", "texts", 'Metadata keys to show; ["name"] is the cheapest readable answer.'
)

_FILTERS = (_NODE_TYPES, _PREDICATES, _TOPOLOGY_ONLY, _EXCLUDE, _MIN_MENTIONS)

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "describe_schema": (
        Parameter(
            "seeds",
            "texts",
            "Ids or names: the relations of their neighbourhood at one hop instead.",
            maximum=MAX_SEEDS,
        ),
    ),
    "search_entities": (
        Parameter("query", "text", "Name, alias, part of a name, or id.", required=True),
        Parameter("node_types", "texts", "Only entities of these types."),
    ),
    "bfs_query": (
        Parameter(
            "seeds",
            "texts",
            "Canonical ids to start from; the answer is the union of their neighbourhoods.",
            required=True,
            least_items=1,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "max_hops",
            "whole",
            "Largest distance from any seed. Start with 1. Left out with path or to.",
            minimum=1,
            maximum=MAX_HOPS,
        ),
        Parameter(
            "path",
            "texts",
            'Relations to follow, one string a step: "-studies-> Disease" (leaving), '
            '"<-tests- Trial" (entering), "-interacts_with-" (either), "-a|b->", "-->" (any), '
            '"-is_a->{1,3}". The answer: what lies on complete walks.',
            maximum=MAX_STEPS,
            repeats=True,
        ),
        Parameter(
            "to",
            "texts",
            "Ids or names where it has to end: with path the walks that end there; without, the "
            "shortest connections of each seed and target.",
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "show",
            "text",
            "With path: all (default), ends (the last step's nodes alone), or a step's number.",
        ),
        Parameter(
            "count_distinct",
            "whole",
            "With path: each shown node counts the different nodes of this step on its walks.",
            minimum=0,
            maximum=MAX_STEPS,
        ),
        *_FILTERS,
        _WHERE,
        _SORT_BY,
        _FIELDS,
        Parameter(
            "limit", "whole", "Nodes a page (0: counts alone); counts tell of the whole.", minimum=0
        ),
        Parameter("offset", "whole", "Nodes to skip before the page.", default=0, minimum=0),
        _MAX_TOKENS,
    ),
    "describe_entity": (
        Parameter("id", "text", "Canonical id, from a search or a stub.", required=True),
    ),
    "describe_entities": (
        Parameter(
            "ids",
            "texts",
            "Canonical ids, from searches or stubs.",
            required=True,
            least_items=1,
            maximum=MAX_IDS,
        ),
    ),
    "intersect_subgraphs": (
        Parameter(
            "seeds",
            "texts",
            "Two or more different canonical ids.",
            required=True,
            least_items=2,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "k",
            "whole",
            "Hop radius: nodes within k hops of EVERY seed are in the answer. Left out: the "
            "smallest that finds one.",
            minimum=1,
            maximum=MAX_HOPS,
        ),
        Parameter(
            "connect",
            "flag",
            "Add the shortest connections of each common node to every seed.",
            default=False,
        ),
        *_FILTERS,
        _WHERE,
        _SORT_BY,
        _FIELDS,
        _MAX_TOKENS,
    ),
}
"""The arguments of each tool, in the order of the protocol's tables."""
