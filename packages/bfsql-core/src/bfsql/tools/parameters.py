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
    help="Show the properties of these types only.",
)
_PREDICATES = Parameter(
    "predicates",
    "texts",
    "DETAIL, no filter: predicates to show with metadata; other edges stay as bare triples. To "
    "follow only some: path.",
    help="Show the properties of these relations only.",
)
_TOPOLOGY_ONLY = Parameter(
    "topology_only",
    "flag",
    "Everything as stubs: the cheap survey. Overrides node_types and predicates.",
    help="Show ids and types only, without names and properties.",
    default=False,
)
_EXCLUDE = Parameter(
    "exclude_node_types",
    "texts",
    "REMOVE nodes of these types with their edges. A removed node still bridges, except on path, "
    "to and connect: what lies behind it stays.",
    help="Leave out entities of these types, and their relations.",
)
_MIN_MENTIONS = Parameter(
    "min_mentions",
    "whole",
    "REMOVE nodes whose total_mentions is lower; nodes without it stay. Bridges likewise.",
    help="Leave out entities with fewer mentions (total_mentions).",
    default=1,
    minimum=1,
)
_MAX_TOKENS = Parameter(
    "max_tokens",
    "whole",
    "Budget of this answer, 500 or more (0: all that the server gives). What does not fit "
    "becomes stubs, then is cut; notes tell.",
    help="Size of the answer in tokens, from 500; 0 for all.",
    minimum=LEAST_TOKENS,
    or_zero=True,
)

_SIGNS = " ".join(f"{sign} ({one.note})" if one.note else sign for sign, one in OPERATORS.items())
_WHERE = Parameter(
    "where",
    "texts",
    f'Conditions that all hold, by {_SIGNS}: "year>=2010", "status=a|b"; by relations: '
    '"no <-p- TYPE", "1 -p-> TYPE[x=y] >= 3"; "2 != 0" (not the seed). With a type, predicate or '
    "step in front REMOVE what does not meet it.",
    help="Condition: 'year>=2010', 'status=a|b', 'name~war' (contains), 'no <-WROTE-'.",
    maximum=200,
)
_SORT_BY = Parameter(
    "sort_by",
    "text",
    'A property, degree, or with path: paths, measure. "-year" descends; walks by "2.year".',
    help="Sort by a property, degree, paths or measure; -year descends.",
    alias="order_by",
)
_FIELDS = Parameter(
    "fields",
    "texts",
    'Metadata keys to show; ["name"] is the cheapest readable answer.',
    help="Properties to show.",
)
_FACETS = Parameter(
    "facets",
    "texts",
    'Groups of the whole answer: "year", "TYPE.status", "2.year": values counted, min, max, mean, '
    "sum; with limit=0 only these.",
    help="Count the values of a property over the whole answer: year, Movie.year.",
    maximum=20,
)

_FILTERS = (_NODE_TYPES, _PREDICATES, _TOPOLOGY_ONLY, _EXCLUDE, _MIN_MENTIONS)
_OF_TRAVERSALS = (*_FILTERS, _WHERE, _SORT_BY, _FIELDS, _FACETS)

PARAMETERS: dict[str, tuple[Parameter, ...]] = {
    "describe_schema": (
        Parameter(
            "seeds",
            "texts",
            "Ids or names: only the relations around them, at one hop.",
            help="Only the relations of these entities.",
            maximum=MAX_SEEDS,
        ),
    ),
    "search_entities": (
        Parameter(
            "query",
            "text",
            "Name, alias, part of a name, or id.",
            help="Name, part of a name, or id.",
            required=True,
        ),
        Parameter(
            "node_types",
            "texts",
            "FILTER: only entities of these types.",
            help="Only entities of these types.",
        ),
    ),
    "bfs_query": (
        Parameter(
            "seeds",
            "texts",
            'Ids, exact names ("TYPE: name" for a namesake) or patterns: "TYPE:*" (all of a type), '
            '"TYPE[year>=2010][status=a|b]", "*[surname=Wilson]". Alone: these themselves.',
            help="Name, id or pattern: 'Movie:*' (all), 'Movie[year>=2010]'.",
            required=True,
            least_items=1,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "max_hops",
            "whole",
            f"Largest distance from any seed, 1 (default) to {MAX_HOPS}, with along {MAX_ALONG}. "
            "Leave it out with path and for patterns alone.",
            help="Largest number of relations from an entity, 1 to 5.  [default: 1]",
            minimum=1,
            maximum=MAX_ALONG,
        ),
        Parameter(
            "path",
            "texts",
            'Relations to follow, one string a step: "-p-> TYPE" (leaving), "<-p- TYPE" '
            '(entering), "-p-" (either), "-a|b->" (one of two), "-->" (any), "-p->{1,3}" '
            "(repeated); ends may be patterns. The answer: what lies on complete walks.",
            help="Step of a path, one option a step: '-ACTED_IN-> Movie', '<-DIRECTED- Person', "
            "'--' (any relation).",
            maximum=MAX_STEPS,
            repeats=True,
        ),
        Parameter(
            "along",
            "texts",
            "Without path: follow ONLY these steps, in any order.",
            help="Follow only these relations, in any order: '-PART_OF->'.",
            maximum=MAX_STEPS,
        ),
        Parameter(
            "to",
            "texts",
            "Ids, names or patterns where it has to end: with path its walks that end there, "
            "without path the shortest connections.",
            help="Show the shortest connections to these entities; with --step, where it ends.",
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "show",
            "text",
            "With path: ends (nodes of the last step alone), all (default), a step's number, or "
            "walks (one row a walk; limit counts them).",
            help="What to show of a path: ends, all, walks, or the number of a step.",
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
            help="Number for each entity at the end of a path: 'count 1', 'max 1.year', 'mean "
            "1.rating'.",
            maximum=5,
            repeats=True,
        ),
        *_OF_TRAVERSALS,
        Parameter(
            "limit",
            "whole",
            "Nodes a page; 0: counts alone. Counts are of the whole.",
            help="Number of entities to show; 0 for the counts alone.",
            minimum=0,
        ),
        Parameter(
            "offset",
            "whole",
            "Nodes to skip before the page.",
            help="Number of entities to skip.",
            default=0,
            minimum=0,
        ),
        _MAX_TOKENS,
    ),
    "describe_entity": (
        Parameter(
            "id", "text", "Id or exact name.", help="Name or id of the entity.", required=True
        ),
    ),
    "describe_entities": (
        Parameter(
            "ids",
            "texts",
            "Ids or exact names.",
            help="Names or ids of the entities.",
            required=True,
            maximum=200,
        ),
    ),
    "intersect_subgraphs": (
        Parameter(
            "seeds",
            "texts",
            "Ids or exact names of two or more entities.",
            help="Names or ids of two or more entities.",
            required=True,
            least_items=2,
            maximum=MAX_SEEDS,
        ),
        Parameter(
            "k",
            "whole",
            "Hop radius: nodes within k hops of EVERY seed are in the answer. Left out: the "
            "smallest that finds one.",
            help="Largest number of relations from each entity.  [default: the smallest that finds "
            "something]",
            minimum=1,
            maximum=MAX_HOPS,
        ),
        Parameter(
            "connect",
            "flag",
            "Add the shortest connections of each common node to every seed.",
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
