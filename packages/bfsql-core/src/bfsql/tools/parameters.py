"""The arguments of the six tools, defined once.

The check of raw arguments, the input schemas that a client lists, the options of the
command line, and the help of both are derived from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bfsql.models import MAX_ALONG, MAX_HOPS, MAX_STEPS
from bfsql.models.condition import OPERATORS
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
    help: str = ""
    """The description for people, who use it as an option of the command line."""
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
        """The JSON Schema of the argument, as a client lists it: its type alone.

        The bounds are in the error of a call that exceeds them, the purpose in the tool's
        description: what every model reads before its first call is short.
        """
        items = {"items": {"type": "string"}} if self.kind == "texts" else {}
        return {"type": _JSON_TYPES[self.kind], **items}


_NODE_TYPES = Parameter(
    "node_types",
    "texts",
    "types that show metadata; all others stay, as stubs",
    help="Show the properties of these types only.",
)
_PREDICATES = Parameter(
    "predicates", "texts", "likewise, of edges", help="Show the properties of these relations only."
)
_TOPOLOGY_ONLY = Parameter(
    "topology_only",
    "flag",
    "everything as stubs",
    help="Show ids and types only, without names and properties.",
    default=False,
)
_EXCLUDE = Parameter(
    "exclude_node_types",
    "texts",
    "types to REMOVE; what lies behind them stays, except on path and to",
    help="Leave out entities of these types, and their relations.",
)
_MIN_MENTIONS = Parameter(
    "min_mentions",
    "whole",
    "REMOVE nodes with fewer total_mentions",
    help="Leave out entities with fewer mentions (total_mentions).",
    default=1,
    minimum=1,
)
_MAX_TOKENS = Parameter(
    "max_tokens",
    "whole",
    "size of the answer, from 500 (0: as much as the server gives)",
    help="Size of the answer in tokens, from 500; 0 for all.",
    minimum=LEAST_TOKENS,
    or_zero=True,
)

_SIGNS = " ".join(f"{sign} ({one.note})" if one.note else sign for sign, one in OPERATORS.items())
_WHERE = Parameter(
    "where",
    "texts",
    f'conditions that all hold, by {_SIGNS}: "year>=2010", "status=a|b", "2.year<2000", '
    '"Paper.year=2004", "p.weight>=0.9" (edges); relations "no <-p- TYPE", "no -p-> TYPE -q-> '
    'TYPE[x=y]", "1 -p-> TYPE >= 3"; steps "2 != 0" (step 2 is not the seed), "3 = 0" (it is); '
    'arithmetic "w * h > d", "2.x - 1.x > 10"; a measure "total > 600". Without a step it holds '
    "for the shown nodes",
    help="Condition: 'year>=2010', 'status=a|b', 'name~war' (contains), 'no <-WROTE-'.",
    maximum=200,
)
_SORT_BY = Parameter(
    "sort_by",
    "text",
    'a property, degree, paths or a measure ("-count 1"); "-" descends',
    help="Sort by a property, degree, paths or measure; -year descends.",
    alias="order_by",
)
_FIELDS = Parameter(
    "fields",
    "texts",
    'properties of nodes and edges; ["name"] is cheapest; "area = w * h", of walks "d = 2.w - 1.w"',
    help="Properties to show.",
)
_FACETS = Parameter(
    "facets",
    "texts",
    '"year", "2.year", "TYPE.status", "p.weight": counts of values, min, max, mean, sum',
    help="Count the values of a property over the whole answer: year, Movie.year.",
    maximum=20,
)

_AT = Parameter(
    "at",
    "text",
    'only facts that hold then: "2024-05-01", "today", "2020..2023"',
    help="Only facts that hold at a time: 2024-05-01, today, 2020..2023.",
)

_FILTERS = (_NODE_TYPES, _PREDICATES, _TOPOLOGY_ONLY, _EXCLUDE, _MIN_MENTIONS)
_OF_TRAVERSALS = (*_FILTERS, _WHERE, _SORT_BY, _FIELDS, _FACETS, _AT)

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "describe_schema": (
        Parameter(
            "seeds",
            "texts",
            "ids or names: only the relations around these",
            help="Only the relations of these entities.",
            maximum=MAX_SEEDS,
        ),
        _AT,
    ),
    "search_entities": (
        Parameter(
            "query",
            "text",
            "a name, a part of it, or an id",
            help="Name, part of a name, or id.",
            required=True,
        ),
        Parameter(
            "node_types",
            "texts",
            "only entities of these types",
            help="Only entities of these types.",
        ),
    ),
    "bfs_query": (
        Parameter(
            "seeds",
            "texts",
            'names ("TYPE: name" where several share one), ids, or sets: "TYPE:*", '
            '"TYPE[year>=2010][status=a|b]", "*[surname=W]", "TYPE[no -p-> TYPE2]". Without path, '
            "to, along and max_hops a set itself is the answer; names go one hop",
            help="Name, id or pattern: 'Movie:*' (all), 'Movie[year>=2010]'.",
            required=True,
            least_items=1,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "max_hops",
            "whole",
            f"without path: largest distance, 1 to {MAX_HOPS} (along: {MAX_ALONG})",
            help="Largest number of relations from an entity, 1 to 5.  [default: 1]",
            minimum=1,
            maximum=MAX_ALONG,
        ),
        Parameter(
            "path",
            "texts",
            f'at most {MAX_STEPS} steps: "-p-> TYPE" leaving, "<-p- TYPE" entering, "-p-" either, '
            '"-p|q->" one of two, "-->" any, "-p->{1,3}" repeated; TYPE and p may have conditions. '
            "Only complete walks count. A walk may return to a node, but never takes the same edge "
            "twice in a row",
            help="Step of a path, one option a step: '-ACTED_IN-> Movie', '<-DIRECTED- Person', "
            "'--' (any relation).",
            maximum=MAX_STEPS,
            repeats=True,
        ),
        Parameter(
            "along",
            "texts",
            "without path: follow only these steps, in any order",
            help="Follow only these relations, in any order: '-PART_OF->'.",
            maximum=MAX_STEPS,
        ),
        Parameter(
            "to",
            "texts",
            "where walks end; without path: the shortest connections to these",
            help="Show the shortest connections to these entities; with --step, where it ends.",
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "show",
            "text",
            '"ends", a step\'s number, "walks" (a row each) or "all" (default)',
            help="What to show of a path: ends, all, walks, or the number of a step.",
        ),
        Parameter(
            "count_distinct",
            "whole",
            "with path: distinct counts the different nodes of this step for each shown node",
            minimum=0,
            maximum=MAX_STEPS,
            is_listed=False,
        ),
        Parameter(
            "measure",
            "texts",
            'numbers per shown node over its walks: "count 2" (different nodes), "count 2[3 = 0]", '
            '"max 2.year", min, sum, mean; "total = sum 1.p.amount * 1.price", "share = a / b"',
            help="Number for each entity at the end of a path: 'count 1', 'max 1.year', 'mean "
            "1.rating'.",
            maximum=5,
            repeats=True,
        ),
        *_OF_TRAVERSALS,
        Parameter(
            "limit",
            "whole",
            "nodes of a page; 0: counts alone",
            help="Number of entities to show; 0 for the counts alone.",
            minimum=0,
        ),
        Parameter(
            "offset",
            "whole",
            "nodes to skip",
            help="Number of entities to skip.",
            default=0,
            minimum=0,
        ),
        _MAX_TOKENS,
    ),
    "describe_entity": (
        Parameter(
            "id", "text", "id or exact name", help="Name or id of the entity.", required=True
        ),
        _AT,
    ),
    "describe_entities": (
        Parameter(
            "ids",
            "texts",
            "ids or exact names",
            help="Names or ids of the entities.",
            required=True,
            maximum=200,
        ),
    ),
    "intersect_subgraphs": (
        Parameter(
            "seeds",
            "texts",
            "two or more ids or exact names",
            help="Names or ids of two or more entities.",
            required=True,
            least_items=2,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "k",
            "whole",
            f"1 to {MAX_HOPS}; left out: the smallest that finds a node",
            help="Largest number of relations from each entity.  [default: the smallest that finds "
            "something]",
            minimum=1,
            maximum=MAX_HOPS,
        ),
        Parameter(
            "connect",
            "flag",
            "adds the shortest connections to every seed",
            help="Show how the results are connected with the entities.",
            default=False,
        ),
        *_OF_TRAVERSALS,
        _MAX_TOKENS,
    ),
}
"""The arguments of each tool, in the order of the protocol's tables."""

TRAVERSALS = ("bfs_query", "intersect_subgraphs")
"""The tools whose answers are subgraphs; they write them in their final format, cut to a budget."""
