"""An outline as a model reads it: a text for each relation and property (`protocol.md` 29)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from bfsql.answers.clean import clean_text
from bfsql.answers.notes import Missing, counted
from bfsql.models import Outline, Property, Relation
from bfsql.models.outline import ranked_relations
from bfsql.models.quotation import plain

MOST_RELATIONS = 100
"""Maximum number of relations that an answer lists."""
MOST_PROPERTIES = 20
"""Maximum number of properties of a type or predicate that an answer lists."""
WHOLE = 1000
"""The share of a whole list, in thousandths."""


_DIGITS = 8
"""Maximum number of characters of a float that is written unrounded."""


@dataclass(frozen=True, slots=True)
class SchemaText:
    """The parts of an outline that `describe_schema` shows."""

    node_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of nodes by type; empty if they are not counted."""
    relations: Sequence[str] = ()
    """Texts such as `Trial -studies-> Disease (2087)`, the most frequent first."""
    relations_from: Literal["all", "sample"] | None = None
    """Whether they are those of the whole graph or of a sample; None if they are not known."""
    properties: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Texts such as `phase: 1 | 2 | 3`, by type or predicate."""
    notes: Sequence[str] = ()
    """Notes on parts that are not shown and on samples."""

    def part(self, share: int) -> SchemaText:
        """The texts with a share of their lists, up to `WHOLE`, and a note on the rest."""
        if share >= WHOLE or not (self.relations or self.properties):
            return self
        relations = self.relations[: len(self.relations) * share // WHOLE]
        owners = list(self.properties)[: len(self.properties) * share // WHOLE]
        note = Missing(
            f"{len(relations)} of {counted(len(self.relations), 'relation')} and the properties "
            f"of {len(owners)} of {len(self.properties)} types and predicates fit the token "
            "budget; describe_schema(seeds=[...]) shows the relations around an entity."
        )
        properties = {name: self.properties[name] for name in owners}
        return replace(self, relations=relations, properties=properties, notes=[*self.notes, note])


NO_SCHEMA_TEXT = SchemaText()
"""The texts for a store that has no outline."""


def outline_text(outline: Outline, stripped: Collection[str]) -> SchemaText:
    """Describe an outline in texts, without the keys of edges that traversals leave out."""
    owners = dict(outline.node_properties)
    for predicate, described in outline.edge_properties.items():
        kept = [known for known in described if known.name not in stripped]
        owners[f"-{predicate}->" if predicate in owners else predicate] = kept
    return SchemaText(
        outline.node_counts,
        _texts(outline.relations),
        outline.relations_from,
        {
            name: [property_text(known) for known in described[:MOST_PROPERTIES]]
            for name, described in owners.items()
            if described
        },
        list(_notes(outline, owners)),
    )


def relations_around(counts: Mapping[tuple[str, str, str], int]) -> SchemaText:
    """Describe relations, counted by subject type, predicate and object type, in texts."""
    relations = ranked_relations(counts)
    return SchemaText(relations=_texts(relations), notes=list(_more_relations(len(relations))))


def relation_text(relation: Relation) -> str:
    """A relation as a step of `path`, with the first type in front, and its count if known."""
    subject, predicate, obj, edges, ended = relation
    ends = "" if ended is None else f", {ended} with an end"
    count = "" if edges is None else f" ({edges}{ends})"
    return f"{plain(subject)} -{plain(predicate)}-> {plain(obj)}{count}"


def property_text(known: Property) -> str:
    """A property with its range, or with its most frequent values."""
    name = clean_text(known.name)
    if known.values:
        more = ["..."] if known.further_values else []
        return f"{name}: {' | '.join([*map(clean_text, known.values), *more])}"
    if known.minimum is None:
        return name
    least, most = _bound(known.minimum), _bound(known.maximum)
    return f"{name}: {least}" if least == most else f"{name}: {least}..{most}"


def _bound(value: object) -> str:
    """A bound of a range; a float with many digits is rounded to four digits."""
    text = str(value)
    return f"{value:.4g}" if isinstance(value, float) and len(text) > _DIGITS else text


def _texts(relations: Sequence[Relation]) -> list[str]:
    return [relation_text(relation) for relation in relations[:MOST_RELATIONS]]


def _notes(outline: Outline, owners: Mapping[str, Sequence[Property]]) -> Iterator[str]:
    if outline.sampled:
        yield Missing(
            "relations and properties come from a sample of the graph, so there may be others, "
            "and relations have no counts; bfs_query with a path counts those of one predicate."
        )
    yield from _more_relations(len(outline.relations) + outline.relations_left_out)
    hidden = sum(len(described[MOST_PROPERTIES:]) for described in owners.values())
    if hidden:
        yield Missing(
            f"{hidden} more properties of types or predicates that have more than "
            f"{MOST_PROPERTIES} are not listed."
        )
    cut = [p for p in chain.from_iterable(owners.values()) if p.further_values]
    if cut:
        yield Missing(
            f"... marks properties that have more values than the {len(cut[0].values)} most "
            "frequent ones."
        )


def _more_relations(count: int) -> Iterator[str]:
    if count > MOST_RELATIONS:
        yield Missing(
            f"relations: the {MOST_RELATIONS} most frequent of {count}; "
            "describe_schema(seeds=[...]) shows those around an entity."
        )
