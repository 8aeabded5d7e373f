"""A kgraph bundle: a folder of entities, relationships, evidence and mentions.

| file | required | becomes |
|---|---|---|
| `manifest.json` | no | the names of the other files; without it they have their usual ones |
| `entities.jsonl` | yes | nodes; entities with the status `merged` are left out |
| `relationships.jsonl` | yes | edges, and evidence from `properties.provenance` |
| `evidence.jsonl` | no | evidence |
| `mentions.jsonl` | no | counts, for entities without counts of their own |

Fields of `properties` are treated like the record's own fields. If both have a field of
the same name, the record's own field retains the name and the other becomes
`properties.NAME`; the `synonyms` of both become one list.

Mentions record in which documents an entity was read. The protocol only needs
`total_mentions` and `supporting_documents` from them, and the pipeline has
usually written both into the entity. Mentions are therefore counted only for entities
that lack one of the two, and not read at all if there are no such entities. The passages
of mentions are also those of the evidence, so nothing is lost.

Memory holds the distinct predicates, the ids of entities without counts, and
up to 10,000 pieces of evidence whose key is ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.load import SourceAccount
from bfsql.models.merge import joined_synonyms
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    GraphStream,
    NodeRecord,
    Refusal,
    Triple,
)
from bfsql.sources.fields import (
    Unusable,
    excerpt,
    identifier,
    optional_identifier,
    records,
    texts,
    without_nulls,
)
from bfsql.sources.files import check_unchanged, stamp
from bfsql.sources.json_records import JsonObject, objects
from bfsql.sources.options import SourceOptions
from bfsql.sources.text import encoding_of

_TRIPLE = ("subject_id", "predicate", "object_id")
_REQUIRED = ("entities", "relationships")
_WAITING = 10_000
"""Maximum number of pieces of evidence with an ambiguous key that are held."""


def open_bundle(folder: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The records of a bundle: nodes, edges with their own evidence, then the rest.

    Raises:
        SourceError: The manifest cannot be read, the entities or relationships are
            missing, or a file is not in the encoding.
    """
    files = _files(folder)
    for part in _REQUIRED:
        if part not in files:
            raise SourceError(
                folder,
                f"this bundle has no {part}.jsonl, and its manifest names no other file for the "
                f"{part}; name a folder that has one",
            )
    encodings = {part: encoding_of(path, options.encoding) for part, path in files.items()}
    account.encoding = ", ".join(dict.fromkeys(encodings.values()))
    account.note(f"the files are {', '.join(path.name for path in files.values())}")
    return _bundle(files, encodings, account)


def _bundle(
    files: dict[str, Path], encodings: dict[str, str], account: SourceAccount
) -> GraphStream:
    def read(
        part: str, make: Callable[[JsonObject], Iterable[GraphRecord | Refusal]]
    ) -> GraphStream:
        return records(files[part], objects(files[part], encodings[part]), make)

    stamps = [(path, stamp(path)) for path in files.values()]
    uncounted, merged = dict[str, _Counts](), [0]
    yield from read("entities", lambda line: _entity(line, uncounted, merged))
    if merged[0]:
        account.note(f"{merged[0]:,} entities with the status 'merged' were left out")
    keys = _RelationshipKeys(files["relationships"], encodings["relationships"])
    yield from read("relationships", lambda line: _relationship(line, keys))
    if "evidence" in files:
        yield from read("evidence", lambda line: _evidence(line, keys))
        yield from keys.settled()
    if "mentions" in files and not uncounted:
        account.note("the mentions were not read, because every entity has its counts")
    elif "mentions" in files:
        yield from read("mentions", lambda line: _mention(line, uncounted))
        yield from (counts.record(id_) for id_, counts in uncounted.items() if counts.mentions)
    check_unchanged(stamps)


# --- which files ------------------------------------------------------------


def _files(folder: Path) -> dict[str, Path]:
    manifest = _manifest(folder / "manifest.json")
    found: dict[str, Path] = {}
    for part in (*_REQUIRED, "evidence", "mentions"):
        entry = manifest.get(part)
        name = entry.get("path") if isinstance(entry, dict) else entry
        path = folder / (name if isinstance(name, str) else f"{part}.jsonl")
        if not path.resolve().is_relative_to(folder.resolve()):
            raise SourceError(
                folder / "manifest.json",
                f"its {part} are in {excerpt(name)}, outside the bundle; move the file into the "
                "bundle",
            )
        packed = path.with_name(path.name + ".gz")
        if path.is_file() or packed.is_file():
            found[part] = path if path.is_file() else packed
    return found


def _manifest(path: Path) -> JsonObject:
    if not path.is_file():
        return {}
    try:
        manifest = from_json(path.read_bytes())
    except ValueError as error:
        raise SourceError(path, f"is not JSON: {error}; correct or remove it") from error
    if not isinstance(manifest, dict):
        raise SourceError(path, "is not a JSON object; correct or remove it")
    return manifest


# --- what a line is ---------------------------------------------------------


def _entity(
    line: JsonObject, uncounted: dict[str, _Counts], merged: list[int]
) -> Iterator[NodeRecord]:
    if line.get("status") == "merged":
        merged[0] += 1
        return
    id_ = identifier(line.pop("entity_id", None), "entity_id")
    entity_type = optional_identifier(line.pop("entity_type", None), "entity_type", "")
    metadata = _lifted(line)
    if not isinstance(metadata.get("name", ""), str):
        raise Unusable(f"name is {excerpt(metadata['name'])}, which is not text")
    if "synonyms" in metadata:
        metadata["synonyms"] = texts(metadata["synonyms"], "synonyms")
    if "properties.synonyms" in metadata:
        more = texts(metadata.pop("properties.synonyms"), "properties.synonyms")
        metadata["synonyms"] = joined_synonyms(metadata["synonyms"], more)
    counts = _Counts("total_mentions" not in metadata, "supporting_documents" not in metadata)
    if counts.number_wanted or counts.documents_wanted:
        uncounted[id_] = counts
    yield NodeRecord(id_, entity_type, metadata)


def _relationship(line: JsonObject, keys: _RelationshipKeys) -> Iterator[GraphRecord | Refusal]:
    subject, predicate, object_ = (identifier(line.pop(key, None), key) for key in _TRIPLE)
    metadata = _lifted(line)
    has_passages = isinstance(metadata.get("provenance"), list)
    passages: list[Any] = metadata.pop("provenance") if has_passages else []
    documents = metadata.get("source_documents")
    only = documents[0] if isinstance(documents, list) and len(documents) == 1 else None
    items = [_passage(passage, only) for passage in passages]
    keys.add(predicate)
    yield EdgeRecord(subject, predicate, object_, metadata)
    for item in items:
        yield EvidenceRecord(subject, predicate, object_, item)


def _passage(passage: Any, document: Any) -> dict[str, Any]:
    if isinstance(passage, str):
        passage = {"sentence": passage}
    if not isinstance(passage, dict):
        raise Unusable(f"provenance contains {excerpt(passage)}, which is not a passage")
    rest = without_nulls(passage)
    if not rest.get("citation_markers"):
        rest.pop("citation_markers", None)
    return without_nulls({"document_id": document, "text_span": rest.pop("sentence", None), **rest})


def _evidence(line: JsonObject, keys: _RelationshipKeys) -> Iterator[EvidenceRecord]:
    key = identifier(line.pop("relationship_key", None), "relationship_key")
    yield from keys.evidence(key, without_nulls(line))


def _mention(line: JsonObject, uncounted: dict[str, _Counts]) -> tuple[()]:
    counts = uncounted.get(identifier(line.get("entity_id"), "entity_id"))
    if counts is not None:
        counts.mentions += 1
        if isinstance(document := line.get("document_id"), str):
            counts.documents.add(document)
    return ()


def _lifted(line: JsonObject) -> dict[str, Any]:
    properties = line.pop("properties", None)
    metadata = without_nulls(line)
    if not isinstance(properties, dict | None):
        raise Unusable(f"properties is {excerpt(properties)}, which is not an object")
    for key, value in without_nulls(properties or {}).items():
        metadata[f"properties.{key}" if key in metadata else key] = value
    return metadata


@dataclass(slots=True)
class _Counts:
    """The mentions of an entity whose record has no counts."""

    number_wanted: bool
    documents_wanted: bool
    mentions: int = 0
    documents: set[str] = field(default_factory=set)

    def record(self, id_: str) -> NodeRecord:
        metadata: dict[str, Any] = {}
        if self.number_wanted:
            metadata["total_mentions"] = self.mentions
        if self.documents_wanted and self.documents:
            metadata["supporting_documents"] = sorted(self.documents)
        return NodeRecord(id_, "", metadata)


# --- the keys of evidence ---------------------------------------------------


class _RelationshipKeys:
    """Splits the keys `subject:predicate:object` of evidence at known predicates.

    Ids may contain colons (`RxNorm:3251:TREATS:DBPedia:Cushing's_disease`), and so may
    predicates. A key is split at a known predicate between two colons. If there are several
    such places, the right one yields the triple of an existing relationship; to find it, the
    relationships are read a second time. This is rare, so only ambiguous keys are stored
    for the second pass.
    """

    def __init__(self, relationships: Path, encoding: str) -> None:
        self._relationships = relationships
        self._encoding = encoding
        self._predicates: set[str] = set()
        self._lengths: set[int] = set()
        self._waiting: list[tuple[str, list[Triple], dict[str, Any]]] = []

    def add(self, predicate: str) -> None:
        """Register a predicate."""
        if predicate not in self._predicates:
            self._predicates.add(predicate)
            self._lengths.add(predicate.count(":") + 1)

    def evidence(self, key: str, item: dict[str, Any]) -> Iterator[EvidenceRecord]:
        """The record of a passage, unless its key has to wait for `settled`.

        Raises:
            Unusable: The key contains no known predicate.
        """
        ways = self.ways(key)
        if not ways:
            raise Unusable(
                f"relationship_key {excerpt(key)} is not subject:predicate:object with a predicate "
                "of the relationships"
            )
        if len(ways) == 1:
            yield EvidenceRecord(*ways[0], item)
            return
        self._waiting.append((key, ways, item))
        if len(self._waiting) >= _WAITING:
            yield from self.settled()

    def ways(self, key: str) -> list[Triple]:
        """Every triple that the key can mean, the shortest subject first."""
        parts = key.split(":")
        spans = (
            (start, start + length)
            for start in range(1, len(parts) - 1)
            for length in sorted(self._lengths)
            if start + length < len(parts)
        )
        triples = (
            (":".join(parts[:i]), ":".join(parts[i:j]), ":".join(parts[j:])) for i, j in spans
        )
        return [t for t in triples if t[0] and t[1] in self._predicates and t[2]]

    def settled(self) -> Iterator[EvidenceRecord]:
        """The passages that waited; one without a relationship takes its first possible triple."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        asked = {triple for _, ways, _ in waiting for triple in ways}
        found = objects(self._relationships, self._encoding)
        lines = (line for _, line in found if isinstance(line, dict))
        there = asked.intersection(tuple(str(x.get(key)) for key in _TRIPLE) for x in lines)
        for _, ways, item in waiting:
            right = next((triple for triple in ways if triple in there), ways[0])
            yield EvidenceRecord(*right, item)
