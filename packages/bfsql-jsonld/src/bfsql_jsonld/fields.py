"""Fields: the keys of an answer that contain id, type, name, results and relations.

Nothing is interpreted here: values are those of the API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from bfsql.masking import shorten
from bfsql.models.json_values import is_text
from bfsql.models.merge import UNTYPED
from bfsql.models.records import Direction, EntityStub, Node, Omission, Triple
from bfsql_jsonld.replies import Unreadable
from bfsql_jsonld.settings import JsonLdSettings

ESCAPED = "metadata."
"""Prefix of a metadata key that would otherwise be taken for a field of the protocol."""

_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


class Fields:
    """Reads answers by the fields that the settings name, best first; `a.b` is the field b of a.

    Methods raise `Unreadable` if a field that is required is missing, or has another form.
    """

    def __init__(self, settings: JsonLdSettings) -> None:
        self._settings = settings

    def by_fields(self, there: bool) -> bool:  # noqa: FBT001
        """Whether an answer is read by its fields, given whether they are there."""
        reading = self._settings.reading
        return reading == "fields" or (reading == "auto" and there)

    def is_entity(self, document: Any) -> bool:
        """Whether an answer has the fields of an entity."""
        if not isinstance(document, Mapping) or "@graph" in document:
            return False
        is_reference = document.keys() <= {"@id", "@context"}  # it only names a node, in JSON-LD
        return not is_reference and _is_id(_first(document, self._settings.id_field)[1])

    def node(self, document: Any) -> Node:
        """An entity with its metadata."""
        s = self._settings
        entry = _object(document, "the entity")
        id_key, entity_id = _first(entry, s.id_field)
        type_key, kind = _first(entry, s.type_field)
        types = _types(kind)
        reserved = {id_key, type_key, *(("omissions",) if any(omissions(entry)) else ())}
        metadata = {
            key.removeprefix(ESCAPED): value
            for key, value in entry.items()
            if key not in reserved and not key.startswith("@")
        }
        if len(types) > 1:
            metadata.setdefault("other_types", types[1:])
        return Node(_id(entity_id, "the id", s.id_field), types[0], metadata)

    def stub(self, document: Any) -> EntityStub:
        """A search hit."""
        node = self.node(document)
        name = _first(document, self._settings.name_field)[1]
        score = document.get("score")
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        return EntityStub(
            node.id,
            node.entity_type,
            name if isinstance(name, str) else None,
            score if is_number else None,
        )

    def hits(self, document: Any) -> list[Any] | None:
        """The entries of a search, or None if there is no list of them."""
        return _listed(document, self._settings.results_field)

    def relations(self, document: Any) -> list[Any] | None:
        """The entries of a list of relations, or None if there is none."""
        return _listed(document, self._settings.relations_field)

    def is_relation(self, entry: Any) -> bool:
        """Whether an entry has a field of a relation."""
        s = self._settings
        fields = (*s.subject_field, *s.predicate_field, *s.object_field)
        return not isinstance(entry, Mapping) or _first(entry, fields)[0] is not None

    def triple(self, entry: Any, entity_id: str, direction: str) -> Triple:
        """The triple of an entry; an end that it does not name is the requested entity."""
        s = self._settings
        entry = _object(entry, "a relation")
        subject, predicate, object_ = (
            _end(_first(entry, fields)[1])
            for fields in (s.subject_field, s.predicate_field, s.object_field)
        )
        if subject is None and direction == "out":
            subject = entity_id
        if object_ is None and direction == "in":
            object_ = entity_id
        return (
            _id(subject, "the subject of a relation", s.subject_field),
            _id(predicate, "the predicate of a relation", s.predicate_field),
            _id(object_, "the object of a relation", s.object_field),
        )

    def edge_metadata(self, document: Any) -> dict[str, Any]:
        """The metadata of a relation; empty without any."""
        found = _first(_object(document, "the relation"), self._settings.metadata_field)[1]
        return {} if found is None else dict(_object(found, "the metadata"))

    def next_page(self, document: Any) -> Any:
        """The reference to the next page, or None."""
        if not isinstance(document, Mapping):
            return None
        found = _first(document, self._settings.next_field)[1]
        return found.get("href", found.get("@id", found)) if isinstance(found, Mapping) else found

    def names(self, document: Any, fields: Sequence[str], what: str) -> list[str] | None:
        """A list of names in the schema, or None if there is none."""
        found = _listed(document, fields)
        return None if found is None else [_id(_end(name), what, fields) for name in found]


def omissions(document: Any) -> Iterator[Omission]:
    """The omissions that the API reports."""
    listed = document.get("omissions") if isinstance(document, Mapping) else None
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, Mapping) or not isinstance(one.get("id"), str):
            continue
        direction, at_least, reason = (one.get(k) for k in ("direction", "at_least", "reason"))
        yield Omission(
            one["id"],
            direction if direction in _DIRECTIONS else "both",
            at_least if isinstance(at_least, int) and at_least is not True else None,
            reason if isinstance(reason, str) else None,
            lasting=one.get("lasting") is True,
        )


def triple_of(row: Any) -> Triple:
    """A row of a batch: subject, predicate and object; Unreadable if it is anything else."""
    if isinstance(row, list) and [type(part) for part in row] == [str, str, str]:
        return row[0], row[1], row[2]
    raise Unreadable(
        f"a relation of the batch is {_excerpt(row)}; it has to be a list of three texts"
    )


def _first(entry: Mapping[str, Any], fields: Sequence[str]) -> tuple[str | None, Any]:
    """The first of the fields that exists, and its value."""
    for field in fields:
        if entry.get(field) is not None:
            return field, entry[field]
        if "." in field:
            found: Any = entry
            for part in field.split("."):
                found = found.get(part) if isinstance(found, Mapping) else None
            if found is not None:
                return field.partition(".")[0], found
    return None, None


def _listed(document: Any, fields: Sequence[str]) -> list[Any] | None:
    found = _first(document, fields)[1] if isinstance(document, Mapping) else document
    return found if isinstance(found, list) else None


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise Unreadable(f"{what} is {_excerpt(value)}; it has to be a JSON object")


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return is_text(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _id(value: Any, what: str, fields: Sequence[str]) -> str:
    if _is_id(value):
        return str(value)
    named = " or ".join(fields)
    if value is None:
        raise Unreadable(f"{what} is missing: it has no field {named}")
    raise Unreadable(f"{what} (the field {named}) is {_excerpt(value)}; it has to be text")


def _end(value: Any) -> Any:
    """The id of an end, which may be in a nested node."""
    return value.get("@id", value.get("id")) if isinstance(value, Mapping) else value


def _types(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [] if value is None else [value]
    for one in listed:
        if not isinstance(one, str):
            raise Unreadable(f"its type is {_excerpt(value)}; it has to be text or a list of texts")
    return list(dict.fromkeys(listed)) or [UNTYPED]


def _excerpt(value: Any) -> str:
    return shorten(repr(value), 80)
