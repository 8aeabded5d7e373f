"""The arguments of the six tools, defined once.

The check of raw arguments, the input schemas that a client lists, the options of the
command line, and the help of both are derived from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bfsql.models import MAX_ALONG, MAX_HOPS, MAX_STEPS
from bfsql.settings.server import LEAST_TOKENS

Kind = Literal["text", "texts", "whole", "flag"]

_JSON_TYPES = {"text": "string", "texts": "array", "whole": "integer", "flag": "boolean"}

MAX_SEEDS = 100
"""Maximum number of seeds per call (`protocol.md` 2)."""
MAX_TEXT_BYTES = 16_384
"""Maximum size of an id, a query or a name, in UTF-8 bytes (`protocol.md` 2)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: Kind
    """`text`, `texts` (a list of texts), `whole` (a number) or `flag`."""
    description: str
    required: bool = False
    default: Any = None
    minimum: int | None = None
    """Smallest accepted number."""
    maximum: int | None = None
    """Largest accepted number, or maximum number of items of a list."""
    or_zero: bool = False
    """Whether 0 is also accepted, below the smallest number; it means no bound."""
    least_items: int = 0
    """Minimum number of items of a list."""
    repeats: bool = False
    """Whether an item may occur twice in a list."""
    alias: str | None = None
    """Another name, which calls may use but no list mentions."""
    is_listed: bool = True
    """Whether clients see it; one that is not listed is a former spelling of another argument."""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the argument, as a client lists it."""
        schema: dict[str, Any] = {"type": _JSON_TYPES[self.kind]}
        if self.kind == "texts":
            schema["items"] = {"type": "string"}
            bounds = {"minItems": self.least_items or None, "maxItems": self.maximum}
        else:
            least = 0 if self.or_zero else self.minimum
            bounds = {"minimum": least, "maximum": self.maximum, "default": self.default}
        schema |= {name: value for name, value in bounds.items() if value is not None}
        return {**schema, "description": self.description}


_NODE_TYPES = Parameter(
    "node_types",
    "texts",
    "DETAIL, no filter: types to show with metadata; other nodes stay as stubs {id, entity_type}.",
)
_PREDICATES = Parameter(
    "predicates",
    "texts",
    "DETAIL, no filter: predicates to show with metadata; other edges stay as bare triples. To "
    "follow only some: path.",
)
_TOPOLOGY_ONLY = Parameter(
    "topology_only",
    "flag",
    "Everything as stubs: the cheap survey. Overrides node_types and predicates.",
    default=False,
)
_EXCLUDE = Parameter(
    "exclude_node_types",
    "texts",
    "REMOVE nodes of these types with their edges. A removed node still bridges, except on path, "
    "to and connect: what lies behind it stays.",
)
_MIN_MENTIONS = Parameter(
    "min_mentions",
    "whole",
    "REMOVE nodes whose total_mentions is lower; nodes without it stay. Bridges likewise.",
    default=1,
    minimum=1,
)
_MAX_TOKENS = Parameter(
    "max_tokens",
    "whole",
    "Budget of this answer, 500 or more (0: all that the server gives). What does not fit "
    "becomes stubs, then is cut; notes tell.",
    minimum=LEAST_TOKENS,
    or_zero=True,
)

_WHERE = Parameter(
    "where",
    "texts",
    'Conditions that all hold, by = != < <= > >= ~ (contains): "year>=2010", "status=a|b"; by '
    'relations: "no <-p- TYPE", "1 -p-> TYPE[x=y] >= 3"; "2 != 0" (not the seed). With a type, '
    "predicate or step in front REMOVE what does not meet it.",
    maximum=200,
)
_SORT_BY = Parameter(
    "sort_by",
    "text",
    'A property, degree, or with path: paths, measure. "-year" descends; walks by "2.year".',
    alias="order_by",
)
_FIELDS = Parameter(
    "fields", "texts", 'Metadata keys to show; ["name"] is the cheapest readable answer.'
)
_FACETS = Parameter(
    "facets",
    "texts",
    'Groups of the whole answer: "year", "TYPE.status", "2.year": values counted, min, max, mean, '
    "sum; with limit=0 only these.",
    maximum=20,
)

_FILTERS = (_NODE_TYPES, _PREDICATES, _TOPOLOGY_ONLY, _EXCLUDE, _MIN_MENTIONS)

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "describe_schema": (
        Parameter(
            "seeds",
            "texts",
            "Ids or names: only the relations around them, at one hop.",
            maximum=MAX_SEEDS,
        ),
    ),
    "search_entities": (
        Parameter("query", "text", "Name, alias, part of a name, or id.", required=True),
        Parameter("node_types", "texts", "FILTER: only entities of these types."),
    ),
    "bfs_query": (
        Parameter(
            "seeds",
            "texts",
            'Ids, exact names ("TYPE: name" for a namesake) or patterns: "TYPE:*" (all of a type), '
            '"TYPE[year>=2010][status=a|b]", "*[surname=Wilson]". Alone: these themselves.',
            required=True,
            least_items=1,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "max_hops",
            "whole",
            f"Largest distance from any seed, 1 (default) to {MAX_HOPS}, with along {MAX_ALONG}. "
            "Leave it out with path and for patterns alone.",
            minimum=1,
            maximum=MAX_ALONG,
        ),
        Parameter(
            "path",
            "texts",
            'Relations to follow, one string a step: "-p-> TYPE" (leaving), "<-p- TYPE" '
            '(entering), "-p-" (either), "-a|b->" (one of two), "-->" (any), "-p->{1,3}" '
            "(repeated); ends may be patterns. The answer: what lies on complete walks.",
            maximum=MAX_STEPS,
            repeats=True,
        ),
        Parameter(
            "along",
            "texts",
            "Without path: follow ONLY these steps, in any order.",
            maximum=MAX_STEPS,
        ),
        Parameter(
            "to",
            "texts",
            "Ids, names or patterns where it has to end: with path its walks that end there, "
            "without path the shortest connections.",
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "show",
            "text",
            "With path: ends (nodes of the last step alone), all (default), a step's number, or "
            "walks (one row a walk; limit counts them).",
        ),
        Parameter(
            "count_distinct",
            "whole",
            "With path: distinct counts the different nodes of this step for each shown node.",
            minimum=0,
            maximum=MAX_STEPS,
            is_listed=False,
        ),
        Parameter(
            "measure",
            "texts",
            'With path: numbers for each shown node over its walks: "count 2" (different nodes of '
            'step 2), "max 2.year", min, sum, mean. sort_by "-measure" ranks.',
            maximum=5,
            repeats=True,
        ),
        *_FILTERS,
        _WHERE,
        _SORT_BY,
        _FIELDS,
        _FACETS,
        Parameter(
            "limit", "whole", "Nodes a page; 0: counts alone. Counts are of the whole.", minimum=0
        ),
        Parameter("offset", "whole", "Nodes to skip before the page.", default=0, minimum=0),
        _MAX_TOKENS,
    ),
    "describe_entity": (Parameter("id", "text", "Id or exact name.", required=True),),
    "describe_entities": (
        Parameter(
            "ids",
            "texts",
            "Ids or exact names.",
            required=True,
            maximum=200,
        ),
    ),
    "intersect_subgraphs": (
        Parameter(
            "seeds",
            "texts",
            "Ids or exact names of two or more entities.",
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
        _FACETS,
        _MAX_TOKENS,
    ),
}
"""The arguments of each tool, in the order of the protocol's tables."""

TRAVERSALS = ("bfs_query", "intersect_subgraphs")
"""The tools whose answers are subgraphs; they write them in their final format, cut to a budget."""
