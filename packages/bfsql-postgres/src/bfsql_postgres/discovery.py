"""Discovery: finds the tables of the graph in a database, or reports everything that is missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfsql.errors import StoreError
from bfsql.plugins import Proposal
from bfsql_postgres import failures, queries
from bfsql_postgres.connection import Pool
from bfsql_postgres.ids import encoded
from bfsql_postgres.metadata import MOST_COLUMNS
from bfsql_postgres.proposal import proposed
from bfsql_postgres.schema import (
    CATALOGUE,
    Catalogue,
    Column,
    Edges,
    Evidence,
    Fields,
    Id,
    Key,
    Layout,
    Mentions,
    Nodes,
    Path,
    Relation,
    Term,
    read,
)
from bfsql_postgres.settings import (
    KGRAPH_TABLES,
    EdgeTable,
    NodeTable,
    PostgresSettings,
    constant,
    id_parts,
    predicate_of,
    quoted,
)

SECONDS = 2.0
"""Time limit of the check for shared ids, in seconds."""

_NEEDED = {
    "entity": ("entity_id", "entity_type"),
    "relationship": ("subject_id", "predicate", "object_id"),
}
"""The columns that kgraph's tables must have to form a graph."""

_LIFTED = ("metadata_", "metadata", "properties")
"""JSON columns of evidence whose keys become keys of the item."""

_ITEM_KEYS = {
    "document_id": "document_id",
    "paper_id": "document_id",
    "confidence_score": "confidence",
}
"""Columns of evidence whose key in an item differs from the column's name."""

log = logging.getLogger("bfsql.postgres")


async def layout_of(database: Any, settings: PostgresSettings) -> Layout:
    """The location of the graph in the database (a `Pool` or a connection); see `find_layout`."""
    return (await proposed_layout(database, settings))[0]


async def proposed_layout(database: Any, settings: PostgresSettings) -> tuple[Layout, Proposal]:
    """As `layout_of`, with the mapping that was chosen if there is no other.

    One is chosen if the settings have none and the database has none of kgraph's tables.
    """
    schemas, names = zip(*expected_tables(settings), strict=True)
    [[text]] = await database.fetch(CATALOGUE, list(schemas), list(names))
    catalogue = read(text)
    is_described = settings.nodes or settings.names or _has_kgraph(settings, catalogue)
    found = None if is_described else await proposed(database, settings)
    mapped, whole, proposal = found or (settings, catalogue, Proposal())
    return find_layout(mapped, whole), proposal


async def propose(settings: PostgresSettings) -> Proposal:
    """The mapping for a database without kgraph's tables, if the settings have none."""
    pool = await Pool.open(settings)
    try:
        return (await proposed_layout(pool, settings))[1]
    finally:
        await pool.close()


def _has_kgraph(settings: PostgresSettings, catalogue: Catalogue) -> bool:
    """Whether one of kgraph's required tables is there, so that errors are about those."""
    return any(
        {*relation.columns, *relation.unreadable}.issuperset(needed)
        for table, needed in _NEEDED.items()
        if (relation := catalogue.relations.get((settings.schema_, table))) is not None
    )


def expected_tables(settings: PostgresSettings) -> list[Path]:
    """All tables to look for."""
    if settings.nodes:
        return [settings.path_of(table) for table in (*settings.nodes, *settings.edges)]
    return [(settings.schema_, settings.name_of(table)) for table in KGRAPH_TABLES]


def find_layout(settings: PostgresSettings, catalogue: Catalogue) -> Layout:
    """The location of nodes, edges and evidence.

    Raises:
        StoreError: Something required does not exist, or may not be read. The
            message names what was expected, what was found, and the GRANT that helps.
    """
    finder = _Finder(settings, catalogue)
    layout = finder.own_tables() if settings.nodes else finder.kgraph()
    if finder.missing or layout is None:
        advice = [failures.advice(own=bool(settings.nodes))] if finder.misnamed else []
        raise StoreError("\n".join([*finder.missing, *advice]))
    return layout


@dataclass(slots=True)
class _Finder:
    settings: PostgresSettings
    catalogue: Catalogue
    missing: dict[str, None] = field(default_factory=dict)
    """A sentence for each missing thing, without duplicates."""
    misnamed: bool = False
    """Whether other names in the settings could help."""

    # --- tables of the user's own ---------------------------------------------

    def own_tables(self) -> Layout | None:
        own_ids = {(self.settings.path_of(table), table.id) for table in self.settings.nodes}
        ends = self._columns_of_ends(own_ids)
        nodes = [self._own_nodes(table, ends) for table in self.settings.nodes]
        edges = [self._own_edges(table, own_ids) for table in self.settings.edges]
        return self._layout([n for n in nodes if n], [e for e in edges if e])

    def _columns_of_ends(self, own_ids: Collection[tuple[Path, str]]) -> dict[Path, list[str]]:
        """The columns of each table that are ends of edges with prefixes, other than its rows."""
        found: dict[Path, list[str]] = {}
        for table in self.settings.edges:
            path = self.settings.path_of(table)
            for end in (table.subject, table.object):
                prefix, columns = id_parts(end)
                if prefix is not None and (path, end) not in own_ids:
                    found.setdefault(path, []).extend(columns)
        return found

    def _own_nodes(self, table: NodeTable, ends: Mapping[Path, list[str]]) -> Nodes | None:
        relation = self._relation(self.settings.path_of(table))
        if relation is None:
            return None
        have = relation.columns
        name = table.name or ("name" if "name" in have else None)
        key, used, kind = id_parts(table.id)[1], [name, table.aliases], _column(table.type)
        if not self._has(relation, [*key, *used, *(table.metadata or ()), kind, table.properties]):
            return None
        named = [("name", have[name])] if name else []
        named += [("synonyms", have[table.aliases])] if table.aliases else []
        used += [kind, table.properties, *(key if len(key) == 1 else ())]
        if id_parts(table.id)[0] is not None:
            used += ends.get((relation.schema, relation.name), [])
        return Nodes(
            relation=relation,
            id=_id(relation, table.id),
            type=_term(relation, table.type),
            name=have[name] if name else None,
            aliases=have[table.aliases] if table.aliases else None,
            metadata=_beside(named, _chosen(relation, table.metadata, used)),
            properties=have[table.properties] if table.properties else None,
        )

    def _own_edges(self, table: EdgeTable, own_ids: Collection[tuple[Path, str]]) -> Edges | None:
        relation = self._relation(self.settings.path_of(table))
        if relation is None:
            return None
        prefix, columns = id_parts(table.object)
        used: list[str | None] = [*id_parts(table.subject)[1], *columns]
        used += [_column(table.predicate), table.properties]
        term, metadata = table.predicate, table.metadata
        if prefix and (self.settings.path_of(table), table.subject) in own_ids:
            term = term or quoted(predicate_of(columns, prefix))
            metadata = metadata or ()
        if not self._has(relation, [*used, *(table.metadata or ())]):
            return None
        return Edges(
            relation=relation,
            subject=_id(relation, table.subject),
            predicate=_term(relation, term),
            object=_id(relation, table.object),
            metadata=_chosen(relation, metadata, used),
            properties=relation.columns[table.properties] if table.properties else None,
        )

    # --- kgraph's tables ------------------------------------------------------

    def kgraph(self) -> Layout | None:
        entity = self._needed("entity")
        relationship = self._needed("relationship")
        nodes = [self._entities(entity)] if entity else []
        edges = [self._relationships(relationship)] if relationship else []
        by_key = self._evidence("bundle_evidence", "relationship_key")
        by_row = self._evidence("evidence", "relationship_id")
        evidence = [by_key] if by_key else []
        if by_row and edges and edges[0].row:
            evidence.append(by_row)
        return self._layout(nodes, edges, evidence, self._mentions())

    def _needed(self, table: str) -> Relation | None:
        """One of the two required tables, if it has the required columns."""
        needed = [self.settings.name_of(f"{table}.{column}") for column in _NEEDED[table]]
        relation = self._relation((self.settings.schema_, self.settings.name_of(table)), needed)
        return relation if relation and self._has(relation, needed) else None

    def _known_columns(self, relation: Relation, table: str) -> dict[str, Column]:
        """The meaningful columns that the table has, by kgraph's names."""
        return {
            column: relation.columns[name]
            for column in KGRAPH_TABLES[table]
            if (name := self.settings.name_of(f"{table}.{column}")) in relation.columns
        }

    def _entities(self, relation: Relation) -> Nodes:
        known = self._known_columns(relation, "entity")
        return Nodes(
            relation=relation,
            id=Id((known["entity_id"],)),
            type=known["entity_type"],
            name=known.get("name"),
            aliases=known.get("synonyms"),
            metadata=_metadata(relation, known, ["name", "synonyms", "status", "embedding"]),
            status=known.get("status"),
            properties=known.get("properties"),
            embedding=known.get("embedding"),
        )

    def _relationships(self, relation: Relation) -> Edges:
        known = self._known_columns(relation, "relationship")
        return Edges(
            relation=relation,
            subject=Id((known["subject_id"],)),
            predicate=known["predicate"],
            object=Id((known["object_id"],)),
            metadata=_metadata(relation, known, ["source_documents"]),
            row=known.get("id"),
            documents=known.get("source_documents"),
            properties=known.get("properties"),
        )

    def _evidence(self, table: str, reference: str) -> Evidence | None:
        path = (self.settings.schema_, self.settings.name_of(table))
        relation = self._relation(path) if path in self.catalogue.relations else None
        if relation is None:
            return None
        known = self._known_columns(relation, table)
        column = known.get(reference)
        if column is None:  # a different table of the same name
            return None
        keys = {known[one].name: key for one, key in _ITEM_KEYS.items() if one in known}
        lifted = [c for name in _LIFTED if (c := relation.columns.get(name)) and c.is_json]
        used = [column.name, "id", *(one.name for one in lifted)]
        return Evidence(
            relation=relation,
            reference=column,
            by_row=reference == "relationship_id",
            document=known.get("paper_id") or known.get("document_id"),
            fields=tuple((keys.get(name, name), one) for name, one in _others(relation, used)),
            lifted=tuple(lifted),
        )

    def _mentions(self) -> Mentions | None:
        path = (self.settings.schema_, self.settings.name_of("bundle_mention"))
        relation = self.catalogue.relations.get(path)
        known = self._known_columns(relation, "bundle_mention") if relation else {}
        if relation is None or "entity_id" not in known:
            return None
        return Mentions(relation, known["entity_id"], known.get("document_id"))

    # --- what the database has --------------------------------------------------

    def _layout(
        self,
        nodes: Sequence[Nodes],
        edges: Sequence[Edges],
        evidence: Sequence[Evidence] = (),
        mentions: Mentions | None = None,
    ) -> Layout | None:
        if self.missing:
            return None
        ids = [one.id for one in nodes] + [end for e in edges for end in (e.subject, e.object)]
        parts = tuple(nodes), tuple(edges), tuple(evidence), mentions
        layout = Layout(self.catalogue, _key_of(ids), *parts, uniform=_uniform(ids))
        if layout.key == "prefixed":
            self._check_prefixes(layout)
        else:
            self._check_width([(one.relation, one.metadata) for one in nodes])
            of_edges = [(one.relation, one.metadata) for one in edges]
            self._check_width([*of_edges, *((one.relation, one.fields) for one in evidence)])
        return layout

    def _check_prefixes(self, layout: Layout) -> None:
        """Check that every id has a prefix, and every end of an edge that of a table of nodes."""
        known = sorted(layout.ids)
        for relation, own in layout.id_sources:
            if own.prefix not in known:
                self.missing[failures.no_prefix(relation, own, known or ["TABLE"])] = None

    def _check_width(self, tables: Sequence[tuple[Relation, Fields]]) -> None:
        """Check that one result of the server can have the columns of all these tables."""
        number = sum(len(fields) for _, fields in tables)
        if number > MOST_COLUMNS:
            relations = [relation for relation, _ in tables]
            self.missing[failures.too_wide(relations, number, MOST_COLUMNS)] = None

    def _relation(self, path: Path, columns: Sequence[str] = ()) -> Relation | None:
        """The table, if the role may read it."""
        found = self.catalogue.relations.get(path)
        if not self.catalogue.schemas.get(path[0]):
            sentence = failures.no_schema(self.catalogue, path[0])
        elif found is None:
            self.misnamed = True
            sentence = failures.no_table(self.catalogue, path, columns)
        elif not found.columns:
            sentence = failures.not_readable(self.catalogue, found)
        else:
            return found
        self.missing[sentence] = None
        return None

    def _has(self, relation: Relation, columns: Iterable[str | None]) -> bool:
        absent = [column for column in columns if column and column not in relation.columns]
        denied = [column for column in absent if column in relation.unreadable]
        if denied:
            self.missing[failures.not_readable(self.catalogue, relation, denied)] = None
        elif absent:
            self.misnamed = True
            self.missing[failures.no_column(relation, absent)] = None
        return not absent


def _key_of(ids: list[Id]) -> Key:
    if any(own.prefix is not None for own in ids):
        return "prefixed"
    columns = [own.columns[0] for own in ids]
    if all(column.is_text for column in columns):
        return "text"
    if all(column.is_whole for column in columns):
        return "whole"
    if all(column.type == "uuid" for column in columns):
        return "uuid"
    return "mixed"


def _uniform(ids: list[Id]) -> frozenset[str]:
    """The prefixes whose keys are of the same kind wherever they are."""
    kinds: dict[str, set[tuple[str, ...]]] = {}
    for own in ids:
        if own.prefix is not None:
            kinds.setdefault(own.prefix, set()).add(tuple(column.kind for column in own.columns))
    return frozenset(prefix for prefix, found in kinds.items() if len(found) == 1)


def _column(term: str | None) -> str | None:
    """The column that a term names, if it names one."""
    return term if term is not None and constant(term) is None else None


def _id(relation: Relation, described: str) -> Id:
    """The source of ids that the settings describe."""
    prefix, names = id_parts(described)
    columns = tuple(relation.columns[name] for name in names)
    return Id(columns, None if prefix is None else encoded(prefix))


def _term(relation: Relation, term: str | None) -> Term:
    if term is None:
        return relation.name
    text = constant(term)
    return relation.columns[term] if text is None else text


def _others(relation: Relation, used: Iterable[str | None]) -> Fields:
    """The columns that are not used otherwise; the vectors of a text search repeat others."""
    return tuple(
        (name, column)
        for name, column in relation.columns.items()
        if name not in used and column.type != "tsvector"
    )


def _chosen(
    relation: Relation, columns: Sequence[str] | None, used: Sequence[str | None]
) -> Fields:
    """The columns of metadata that the settings name, or all others."""
    if columns is None:
        return _others(relation, used)
    return tuple((name, relation.columns[name]) for name in columns)


def _metadata(relation: Relation, known: dict[str, Column], keys: Sequence[str]) -> Fields:
    """Metadata of a kgraph table: some of the known columns, by kgraph's names, and all others."""
    own = [(key, known[key]) for key in keys if key in known]
    return _beside(own, _others(relation, [column.name for column in known.values()]))


def _beside(named: Sequence[tuple[str, Column]], others: Fields) -> Fields:
    """Metadata under fixed keys and that of other columns, which are `columns.KEY` if it is taken.

    Two columns of `synonyms` have one key, since their values are joined.
    """
    taken = {key for key, _ in named} - {"synonyms"}
    own = [one for one in others if one not in named]
    return (*named, *((f"columns.{key}" if key in taken else key, one) for key, one in own))


async def warning_of_shared_ids(pool: Pool, layout: Layout) -> str:
    """Name the tables of nodes that share ids, with an example and a cure; empty if there are none.

    This is not an error, since two tables may describe the same things. Checking some ids of each
    table finds tables that both count from 1.
    """
    if len(layout.nodes) < 2 or layout.ids:  # one table shares with none
        return ""
    try:
        rows = await pool.fetch(queries.shared_ids(layout), seconds=SECONDS)
    except TimeoutError:
        log.info("Whether tables of nodes share ids could not be determined within %g s.", SECONDS)
        return ""
    examples = {tuple(sorted((one, other))): entity_id for one, other, entity_id in rows}
    return failures.shared_ids(
        [
            (entity_id, layout.nodes[one].relation, layout.nodes[other].relation)
            for (one, other), entity_id in sorted(examples.items())[:3]
        ]
    )
