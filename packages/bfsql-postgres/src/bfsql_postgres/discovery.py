"""From what the settings say and the database has to a layout, or one error with all that lacks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bfsql.errors import StoreError
from bfsql_postgres import queries
from bfsql_postgres.connection import Pool
from bfsql_postgres.schema import (
    Catalogue,
    Column,
    Constant,
    Edges,
    Evidence,
    Fields,
    Layout,
    Mentions,
    Nodes,
    Path,
    Relation,
    Term,
    key_of,
)
from bfsql_postgres.settings import (
    NEEDED,
    TABLES,
    EdgeTable,
    Names,
    NodeTable,
    PostgresSettings,
    Table,
    constant,
)
from bfsql_postgres.sql import identifier, relation_name

_LIFTED = ("metadata_", "metadata", "properties")
"""JSON columns of evidence whose keys come up into the item."""
MOST_COLUMNS = 1_600
"""Columns that one statement fetches from all its tables: Postgres takes 1,664, some of which are
not metadata."""
_SHOWN = 30


def wanted(settings: PostgresSettings) -> list[Path]:
    """Every table that is looked for."""
    if settings.nodes:
        own: list[Table] = [*settings.nodes, *settings.edges]
        return [_path(table, settings) for table in own]
    names = Names(settings.names)
    return [(settings.schema_, names.table(table)) for table in TABLES]


def find_layout(settings: PostgresSettings, catalogue: Catalogue) -> Layout:
    """Where nodes, edges and evidence are.

    Raises:
        StoreError: Something needed is not there, or may not be read: what was
            looked for, what was found, and the GRANT that helps.
    """
    finder = _Finder(settings, catalogue)
    layout = finder.own_tables() if settings.nodes else finder.kgraph()
    if finder.lacks or layout is None:
        raise StoreError("\n".join([*finder.lacks, *finder.cures]))
    return layout


def _path(table: Table, settings: PostgresSettings) -> Path:
    schema, name = table.path
    return schema or settings.schema_, name


@dataclass(slots=True)
class _Finder:
    settings: PostgresSettings
    catalogue: Catalogue
    lacks: list[str] = field(default_factory=list)
    """A sentence for each thing that is not there."""
    cures: dict[str, None] = field(default_factory=dict)
    """What helps against them, each once."""

    # --- any tables ---------------------------------------------------------

    def own_tables(self) -> Layout | None:
        nodes = [self._own_nodes(table) for table in self.settings.nodes]
        edges = [self._own_edges(table) for table in self.settings.edges]
        return self._layout([n for n in nodes if n], [e for e in edges if e])

    def _own_nodes(self, table: NodeTable) -> Nodes | None:
        relation = self._relation(_path(table, self.settings))
        if relation is None:
            return None
        have = relation.columns
        name = table.name or ("name" if "name" in have else None)
        needed = [table.id, name, table.aliases, *(table.metadata or ()), _column(table.type)]
        if not self._has(relation, needed):
            return None
        kind = _term(relation, table.type)
        named = [("name", have[name])] if name else []
        named += [("synonyms", have[table.aliases])] if table.aliases else []
        used = {table.id, name, table.aliases, _column(table.type)}
        return Nodes(
            relation=relation,
            id=have[table.id],
            type=kind,
            name=have[name] if name else None,
            aliases=have[table.aliases] if table.aliases else None,
            metadata=(*named, *_rest(relation, table, used)),
        )

    def _own_edges(self, table: EdgeTable) -> Edges | None:
        relation = self._relation(_path(table, self.settings))
        if relation is None:
            return None
        needed = [table.subject, table.object, *(table.metadata or ()), _column(table.predicate)]
        if not self._has(relation, needed):
            return None
        used = {table.subject, table.object, _column(table.predicate)}
        return Edges(
            relation=relation,
            subject=relation.columns[table.subject],
            predicate=_term(relation, table.predicate),
            object=relation.columns[table.object],
            metadata=_rest(relation, table, used),
        )

    # --- kgraph's -----------------------------------------------------------

    def kgraph(self) -> Layout | None:
        entity = self._kgraph("entity")
        relationship = self._kgraph("relationship")
        nodes = [self._entities(entity)] if entity else []
        edges = [self._relationships(relationship)] if relationship else []
        evidence = [
            found
            for table, reference in (
                ("bundle_evidence", "relationship_key"),
                ("evidence", "relationship_id"),
            )
            for found in self._evidence(table, reference, edges)
        ]
        return self._layout(nodes, edges, evidence, self._mentions())

    def _kgraph(self, table: str) -> Relation | None:
        """One of the two needed tables, when it has what it needs."""
        names = Names(self.settings.names)
        needed = [names.column(table, column) for column in NEEDED[table]]
        relation = self._relation((self.settings.schema_, names.table(table)), needed)
        return relation if relation and self._has(relation, needed) else None

    def _entities(self, relation: Relation) -> Nodes:
        names = Names(self.settings.names)
        known = {
            column: relation.columns.get(names.column("entity", column))
            for column in TABLES["entity"]
        }
        kept = [column for column in TABLES["entity"][2:] if column != "properties"]
        id_, kind = known["entity_id"], known["entity_type"]
        assert id_ is not None
        assert kind is not None
        return Nodes(
            relation=relation,
            id=id_,
            type=kind,
            name=known["name"],
            aliases=known["synonyms"],
            metadata=_fields(relation, known, kept),
            status=known["status"],
            properties=known["properties"],
            embedding=known["embedding"],
        )

    def _relationships(self, relation: Relation) -> Edges:
        names = Names(self.settings.names)
        known = {
            column: relation.columns.get(names.column("relationship", column))
            for column in TABLES["relationship"]
        }
        subject, predicate, obj = (known[c] for c in NEEDED["relationship"])
        assert subject is not None
        assert predicate is not None
        assert obj is not None
        return Edges(
            relation=relation,
            subject=subject,
            predicate=predicate,
            object=obj,
            metadata=_fields(relation, known, ["source_documents"]),
            row=known["id"],
            documents=known["source_documents"],
            properties=known["properties"],
        )

    def _evidence(self, table: str, reference: str, edges: Sequence[Edges]) -> list[Evidence]:
        names = Names(self.settings.names)
        path = (self.settings.schema_, names.table(table))
        if path not in self.catalogue.relations:
            return []
        relation = self._relation(path)
        if relation is None:
            return []
        by_row = table == "evidence"
        column = relation.columns.get(names.column(table, reference))
        if column is None or (by_row and not (edges and edges[0].row)):
            return []  # a table of that name that is something else
        document = names.column(table, "paper_id" if by_row else "document_id")
        renamed = {document: "document_id"}
        if by_row:
            renamed[names.column(table, "confidence_score")] = "confidence"
        lifted = [c for name in _LIFTED if (c := relation.columns.get(name)) and c.is_json]
        used = {column.name, "id", *(one.name for one in lifted)}
        return [
            Evidence(
                relation=relation,
                reference=column,
                by_row=by_row,
                document=relation.columns.get(document),
                fields=tuple(
                    (renamed.get(name, name), one)
                    for name, one in relation.columns.items()
                    if name not in used and not one.is_derived
                ),
                lifted=tuple(lifted),
            )
        ]

    def _mentions(self) -> Mentions | None:
        names = Names(self.settings.names)
        path = (self.settings.schema_, names.table("bundle_mention"))
        relation = self.catalogue.relations.get(path)
        if relation is None:
            return None
        entity = relation.columns.get(names.column("bundle_mention", "entity_id"))
        if entity is None:
            return None
        document = relation.columns.get(names.column("bundle_mention", "document_id"))
        return Mentions(relation, entity, document)

    # --- what is there ------------------------------------------------------

    def _layout(
        self,
        nodes: Sequence[Nodes],
        edges: Sequence[Edges],
        evidence: Sequence[Evidence] = (),
        mentions: Mentions | None = None,
    ) -> Layout | None:
        if self.lacks:
            return None
        self._fits([(one.relation, one.metadata) for one in nodes])
        told = [(one.relation, one.metadata) for one in edges]
        self._fits([*told, *((one.relation, one.fields) for one in evidence)])
        ids = [one.id for one in nodes] + [end for e in edges for end in (e.subject, e.object)]
        return Layout(
            self.catalogue, key_of(ids), tuple(nodes), tuple(edges), tuple(evidence), mentions
        )

    def _fits(self, tables: Sequence[tuple[Relation, Fields]]) -> None:
        """Look whether one answer of the server can have the columns of all these tables."""
        number = sum(len(fields) for _, fields in tables)
        if number > MOST_COLUMNS:
            names = _listing(f"{relation.schema}.{relation.name}" for relation, _ in tables)
            self._lack(
                f"{names} have {number} columns for metadata, and Postgres answers with "
                f"{MOST_COLUMNS} at the most. Name those that matter, as metadata=born|died in "
                "--nodes and --edges, or serve views without the others."
            )

    def _relation(self, path: Path, columns: Sequence[str] = ()) -> Relation | None:
        """The table, when the role may read it."""
        schema, name = path
        role = identifier(self.catalogue.role)
        if schema not in self.catalogue.schemas:
            self._lack(
                f"The database {self.catalogue.database!r} has no schema {schema!r}. "
                "Name the right one with --schema."
            )
            return None
        if not self.catalogue.schemas[schema]:
            self._lack(
                f"The role {self.catalogue.role!r} may not look into the schema {schema!r}. Let "
                f"its owner run: GRANT USAGE ON SCHEMA {identifier(schema)} TO {role};"
            )
            return None
        relation = self.catalogue.relations.get(path)
        if relation is None:
            with_columns = f" with the columns {_listing(columns)}" if columns else ""
            self._lack(
                f"The schema {schema!r} of the database {self.catalogue.database!r} has no table "
                f"{name!r}{with_columns}; {self._found(schema)}"
            )
            return None
        unreadable = set(relation.unreadable)
        if not relation.columns or unreadable.intersection(columns):
            self._lack(
                f"The role {self.catalogue.role!r} may not read the table {schema}.{name}. Let its "
                f"owner run: GRANT SELECT ON {relation_name(relation)} TO {role};"
            )
            return None
        return relation

    def _has(self, relation: Relation, columns: Iterable[str | None]) -> bool:
        absent = [column for column in columns if column and column not in relation.columns]
        denied = [column for column in absent if column in relation.unreadable]
        if denied:
            self._lack(
                f"The role {self.catalogue.role!r} may not read {_listing(denied)} of the table "
                f"{relation.schema}.{relation.name}. Let its owner run: GRANT SELECT ON "
                f"{relation_name(relation)} TO {identifier(self.catalogue.role)};"
            )
        elif absent:
            self._advise()
            self._lack(
                f"The table {relation.schema}.{relation.name} has no column {_listing(absent)}; it "
                f"has {_listing(relation.columns)}."
            )
        return not absent

    def _found(self, schema: str) -> str:
        self._advise()
        found = self.catalogue.others.get(schema, ())
        have = f"it has {_listing(found)}" if found else "it has no table at all"
        return f"{have}."

    def _advise(self) -> None:
        own = "Correct --nodes or --edges, or name another schema with --schema."
        kgraph = (
            "Name another schema with --schema, other names with --names, tables of another kind "
            "with --nodes and --edges, or load a graph: bfsql load SOURCE --backend postgres"
        )
        self.cures[own if self.settings.nodes else kgraph] = None

    def _lack(self, sentence: str) -> None:
        if sentence not in self.lacks:
            self.lacks.append(sentence)


def _column(term: str | None) -> str | None:
    """The column that a term names, when it names one."""
    return term if term is not None and constant(term) is None else None


def _term(relation: Relation, term: str | None) -> Term:
    if term is None:
        return Constant(relation.name)
    text = constant(term)
    return relation.columns[term] if text is None else Constant(text)


def _rest(relation: Relation, table: Table, used: set[str | None]) -> Fields:
    """The metadata columns: those that are named, or all that mean nothing else."""
    if table.metadata is not None:
        return tuple((name, relation.columns[name]) for name in table.metadata)
    return tuple(
        (name, column)
        for name, column in relation.columns.items()
        if name not in used and not column.is_derived
    )


def _fields(relation: Relation, known: dict[str, Column | None], kept: Sequence[str]) -> Fields:
    """Metadata of a kgraph table: what it keeps of the known columns, and all others."""
    own = [(key, column) for key in kept if (column := known[key]) is not None]
    taken = {column.name for column in known.values() if column is not None}
    others = [
        (name, column)
        for name, column in relation.columns.items()
        if name not in taken and not column.is_derived
    ]
    return (*own, *others)


def _listing(names: Iterable[str]) -> str:
    shown = [repr(name) for name in names]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


SECONDS = 2.0
"""What the look for them may take."""
NAMED = 3
"""Pairs of tables that are told."""

log = logging.getLogger("bfsql.postgres")


async def told_of_shared_ids(pool: Pool, layout: Layout) -> str:
    """Which tables share ids, with an example and a cure; nothing where none do.

    It is no error, since two tables may tell of the same things. A look at some ids of each table
    finds tables that both count from 1.

    Args:
        pool: Where the statement runs.
        layout: Where the graph is.
    """
    if len(layout.nodes) < 2:  # noqa: PLR2004 - one table shares with none
        return ""
    try:
        rows = await pool.fetch(queries.shared(layout), seconds=SECONDS)
    except TimeoutError:
        log.info("Whether tables of nodes share ids could not be seen within %g s.", SECONDS)
        return ""
    examples = {tuple(sorted((one, other))): entity_id for one, other, entity_id in rows}
    if not examples:
        return ""
    tables = [f"{nodes.relation.schema}.{nodes.relation.name}" for nodes in layout.nodes]
    told = [
        f"the id {entity_id!r} is in {tables[one]} and in {tables[other]}"
        for (one, other), entity_id in sorted(examples.items())[:NAMED]
    ]
    return (
        f"Ids are shared between tables of nodes: {', '.join(told)}. An id is one node, with the "
        f"type of the first table and the edges of both. Where that mixes up different things, "
        "serve views whose ids carry a prefix (SELECT 'person:' || id::text AS id, ...), those of "
        "the edges too."
    )
