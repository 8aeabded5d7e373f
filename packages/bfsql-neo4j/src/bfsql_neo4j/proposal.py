"""Proposes ids and names for a graph as it is, from its constraints, indexes and a sample.

The proposal depends on the definitions of the database and on the first nodes of each label, so
the same database has the same ids. Its settings spell out every choice, so that ids stay the same
when the database changes, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bfsql.abc import chunks
from bfsql.errors import listing
from bfsql.plugins import Proposal, ProposedSetting, display_name
from bfsql_neo4j import indexes, schema_queries
from bfsql_neo4j.connection import Reader
from bfsql_neo4j.cypher import quoted
from bfsql_neo4j.discovery import existing_counts, listed_indexes
from bfsql_neo4j.id_templates import IdTemplate
from bfsql_neo4j.indexes import Index
from bfsql_neo4j.schema import Dialect
from bfsql_neo4j.settings import Neo4jSettings

SAMPLE = 200
"""Most labels that are read, the most frequent ones; and most nodes of each if they are few."""

_KINDS = ("unique constraint", "key of several properties", "index, unique in a sample")

OWN = "entity_id"
"""The property that `bfsql load` writes; where nodes have it, it is the id."""
_LIKE_AN_ID = re.compile(r"id|uuid|guid|[iu]ri|.*(_id|Id|ID)")
_LIKE_A_NAME = re.compile("name|title|label", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d")
_NOT_IN_A_SETTING = re.compile("[{}=|,]")
_NOT_IN_A_PREFIX = re.compile("[%:{}=|,]")


class Key(NamedTuple):
    """Properties that identify the nodes of a label; the least key is the best one."""

    is_partial: bool  # whether sampled nodes lack it
    kind: int
    is_unusual: bool  # whether it is not called like an id
    names: tuple[str, ...]


class Sample:
    """The first nodes of a label: their labels, and values with a text of up to 200 characters.

    A value is its text, and whether it is itself text.
    """

    def __init__(self, rows: Iterable[Any]) -> None:
        self.nodes: list[tuple[frozenset[str], dict[str, tuple[str, bool]]]] = [
            (frozenset(labels), {key: (text, is_text) for key, text, is_text in values})
            for labels, values in rows
        ]

    def having(self, *names: str) -> int:
        """The number of nodes that have all of these properties."""
        return sum(node.keys() >= set(names) for _, node in self.nodes)

    def values(self, name: str) -> dict[str, bool]:
        """The different values of a property."""
        return dict(node[name] for _, node in self.nodes if name in node)

    def is_unique(self, name: str) -> bool:
        """Whether each of the nodes, at least two, has a different value."""
        return len(self.values(name)) == len(self.nodes) > 1

    def different_texts(self) -> dict[str, int]:
        """The number of different texts of each property that holds text."""
        names = {name for _, node in self.nodes for name in node}
        found = {n: sum(b and bool(t.strip()) for t, b in self.values(n).items()) for n in names}
        return {name: number for name, number in found.items() if number}


async def propose(settings: Neo4jSettings) -> Proposal:
    """The settings that `Neo4jBackend.open` chooses for the ones not given; raises as `open`."""
    reader = Reader(settings)
    try:
        return await proposal(reader, settings)
    finally:
        await reader.close()


async def prepare(settings: Neo4jSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """`indexes.prepare` for the ids and names that `Neo4jBackend.open` would choose."""
    return await indexes.prepare(with_proposal(settings, await propose(settings)), apply)


def with_proposal(settings: Neo4jSettings, proposed: Proposal) -> Neo4jSettings:
    """The settings with those proposed."""
    return settings.model_copy(update={one.field: one.value for one in proposed.settings})


async def proposal(reader: Reader, settings: Neo4jSettings) -> Proposal:
    """The proposal of an open database; empty if ids are given, or on a server other than Neo4j."""
    if "id_property" in settings.model_fields_set:
        return Proposal()
    dialect = Dialect.of(await reader.agent())
    if not dialect.procedures:
        return Proposal()
    names = await reader.one(schema_queries.labels(procedures=True))
    counts = await existing_counts(reader, dialect, names, schema_queries.nodes_of)
    kept = sorted(set(counts) - set(settings.exclude_labels), key=lambda one: (-counts[one], one))
    labels, listed = kept[:SAMPLE], await listed_indexes(reader, dialect)
    known = [index for index in listed or () if index.type == "RANGE"]
    having = {label for label in labels if any(index.covers(label, (OWN,)) for index in known)}
    samples = {} if having.issuperset(labels) else await _samples(reader, labels)
    having |= {label for label, sample in samples.items() if sample.having(OWN)}
    if having.issuperset(labels):
        return Proposal()
    keys = {
        label: key
        for label in sorted(set(labels) - having)
        if (key := _key(label, samples[label], known)) is not None
    }
    prefixed = await _prefixed(reader, keys, samples)
    chosen = [_id_setting(keys, prefixed, owned=bool(having))]
    nameless: list[str] = []
    if "name_property" not in settings.model_fields_set:
        called = {label: _name(samples[label], keys.get(label)) for label in sorted(labels)}
        nameless = [label for label, name in called.items() if name is None]
        if setting := _name_setting(settings.name_property, called, samples):
            chosen.append(setting)
    lacking = [label for label in sorted(labels) if _lacks_id(samples[label], keys)]
    left_out = _sentences(lacking, nameless, samples, kept[SAMPLE:], listed=listed is not None)
    return Proposal(tuple(chosen), tuple(left_out), tuple(nameless))


async def _samples(reader: Reader, labels: Sequence[str]) -> dict[str, Sample]:
    samples: dict[str, Sample] = {}
    most = min(SAMPLE, 20 * SAMPLE // len(labels))
    for some in chunks(labels, SAMPLE // 10):
        for place, rows in await reader.rows(schema_queries.samples(some, most)):
            samples[some[place]] = Sample(rows)
    return samples


# --- ids ------------------------------------------------------------------------


def _key(label: str, sample: Sample, known: Iterable[Index]) -> Key | None:
    """The best key of a label."""
    keys = []
    for index in known:
        names = index.properties
        usable = index.covers(label, names) and not any(map(_NOT_IN_A_SETTING.search, names))
        if not usable or not sample.having(*names):
            continue
        partial = sample.having(*names) < len(sample.nodes)
        kind = int(len(names) > 1) if index.owned else 2
        if index.owned or (len(names) == 1 and sample.is_unique(names[0])):
            keys.append(Key(partial, kind, not _LIKE_AN_ID.fullmatch(names[0]), names))
    return min(keys, default=None)


async def _prefixed(
    reader: Reader, keys: Mapping[str, Key], samples: Mapping[str, Sample]
) -> set[str]:
    """The labels whose ids begin with the label: those of several properties, and equal ones."""
    composite = {label for label, key in keys.items() if len(key.names) > 1}
    single = {label: key.names[0] for label, key in keys.items() if label not in composite}
    numeric = {
        label
        for label, name in single.items()
        if any(not b and _NUMBER.match(text) for text, b in samples[label].values(name).items())
    }
    prefixed = composite | (numeric if len(numeric) > 1 else set())
    plain = [label for label in single if label not in prefixed]
    values = [
        [label, text]
        for label in plain
        for text in [*samples[label].values(single[label])][: SAMPLE // 2]
    ]
    for some in chunks(plain if len(plain) > 1 else [], SAMPLE // 10):
        text = schema_queries.equal_ids([(label, single[label]) for label in some])
        for place, others in await reader.rows(text, values=values):
            prefixed |= {some[place], *others} if others else set()
    return prefixed


def _id_setting(keys: Mapping[str, Key], prefixed: Collection[str], *, owned: bool) -> Any:
    """Labels with a key that no sampled node lacks come first: nodes may have several labels."""
    order = sorted(keys, key=lambda label: (keys[label].is_partial, label))
    items, reasons = [], dict[str, list[str]]()
    for label in order:
        key, name = keys[label], keys[label].names[0]
        if label in prefixed:
            prefix = _NOT_IN_A_PREFIX.sub(lambda match: f"%{ord(match[0]):02X}", label)
            name = IdTemplate.over(f"{prefix}:", key.names)
        items.append(f"{label}={name}")
        reasons.setdefault(_KINDS[key.kind], []).append(label)
    parts = [f"{reason}: {', '.join(labels)}" for reason, labels in reasons.items()]
    if prefixed:
        parts.append("the label is in front where labels may have equal ids")
    if owned or not keys:
        items.append(OWN)
        parts.append(f"{OWN} for the others" if owned else "no constraint, so element ids")
    return ProposedSetting("id_property", items, "; ".join(parts))


def _lacks_id(sample: Sample, keys: Mapping[str, Key]) -> bool:
    return any(
        OWN not in node
        and not any(label in keys and node.keys() >= set(keys[label].names) for label in labels)
        for labels, node in sample.nodes
    )


# --- names ----------------------------------------------------------------------


def _name(sample: Sample, key: Key | None) -> str | None:
    """The property that names the nodes: an id only if it is called so, or nothing else is text."""
    different = {
        name: number
        for name, number in sorted(sample.different_texts().items(), reverse=True)
        if not _NOT_IN_A_SETTING.search(name)
    }
    ids = set(key.names) if key else set()
    others = {
        name: number
        for name, number in different.items()
        if not _LIKE_AN_ID.fullmatch(name) and (name not in ids or _LIKE_A_NAME.search(name))
    }
    nodes = len(sample.nodes)
    return display_name(others, nodes) or display_name(different, nodes)


def _name_setting(
    usual: Sequence[str], names: Mapping[str, str | None], samples: Mapping[str, Sample]
) -> ProposedSetting | None:
    """The names of labels for which the first of the usual properties is not the best one."""
    own = [
        f"{label}={name}"
        for label, name in names.items()
        if name not in (None, next((one for one in usual if samples[label].values(one)), None))
    ]
    if not own:
        return None
    reason = "the text that differs most, where no name, title or label tells nodes apart"
    return ProposedSetting("name_property", [*usual, *own], reason)


# --- what is left out -----------------------------------------------------------


def _sentences(
    lacking: Sequence[str],
    nameless: Sequence[str],
    samples: Mapping[str, Sample],
    beyond: Sequence[str],
    *,
    listed: bool,
) -> Iterator[str]:
    if not listed:
        yield (
            "This role may not list constraints and indexes, so ids are element ids, which do not "
            "outlive a dump. Ask for the privilege SHOW INDEX, or name the properties with "
            "--id-property, as in Person=name."
        )
    elif lacking:
        label = lacking[0]
        names = {name for _, node in samples[label].nodes for name in node}
        order = sorted(names, key=lambda one: (not _LIKE_AN_ID.fullmatch(one), one))
        name = next((one for one in order if samples[label].is_unique(one)), "PROPERTY")
        yield (
            f"Some nodes of {listing(lacking, 5)} have no property with a constraint, or an index "
            "in which all differ. Their ids are element ids, which do not outlive a dump. For "
            f"others, run CREATE CONSTRAINT FOR (n:{quoted(label)}) REQUIRE "
            f"n.{quoted(name)} IS UNIQUE, or add --id-property {label}={name}."
        )
    if nameless:
        yield (
            f"Nodes of {listing(nameless, 5)} have no text that tells most of them apart, so "
            "search finds them only by id. Choose one with --name-property "
            f"{nameless[0]}=PROPERTY."
        )
    if beyond:
        yield (
            f"The graph has more than {SAMPLE} labels: ids and names of {listing(beyond, 5)} "
            "were not looked for. Add them with --id-property Label=property."
        )
