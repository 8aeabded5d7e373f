"""The attributes of LightRAG's GraphML file (`graph_chunk_entity_relation.graphml`).

Older versions, and nano-graphrag, write texts and ids in quotes, and no `entity_id`.

| attribute | of nodes | of edges |
|---|---|---|
| `entity_id`, `entity_type` | name and type | |
| `description` | metadata | metadata, and the passages of the evidence |
| `keywords` | | metadata, a list; edges have the default predicate |
| `source_id` | `total_mentions`: how many chunks name it | `chunk_ids` of the evidence |
| `file_path` | `supporting_documents` | `document_id` of the evidence |

Several values are joined into one text with `<SEP>`. The file does not record which description
comes from which chunk. Therefore only a single file becomes the `document_id` of a passage; several
files all become the `document_ids` of each passage.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bfsql.sources.attributes import ID

NAME = "entity_id"
"""The attribute with the name."""

_OF_NODES = {"entity_type", "description", "source_id"}
_OF_EDGES = {"description", "source_id"}
_SEPARATOR = "<SEP>"
_UNKNOWN = {"UNKNOWN", "unknown_source"}
"""The value that LightRAG writes for a missing value."""


def is_lightrag(of_nodes: Collection[str], of_edges: Collection[str]) -> bool:
    """Whether these declared attributes are those of a LightRAG file."""
    return set(of_nodes) >= _OF_NODES and set(of_edges) >= _OF_EDGES


def refine_node(attributes: dict[str, Any]) -> None:
    """Replace a node's own attributes by their meaning."""
    _unquote(attributes)
    attributes.setdefault(NAME, attributes.get(ID))
    if attributes.get("entity_type") in _UNKNOWN:
        del attributes["entity_type"]
    _put(attributes, "description", _unpacked(_parts(attributes.pop("description", None))))
    _put(attributes, "total_mentions", len(_parts(attributes.pop("source_id", None))))
    _put(attributes, "supporting_documents", _parts(attributes.pop("file_path", None)))


def refine_edge(attributes: dict[str, Any], predicate: str | None) -> list[dict[str, Any]]:
    """Replace an edge's own attributes by their meaning.

    Args:
        attributes: The attributes of the edge.
        predicate: The attribute that becomes the predicate, and remains one text.

    Returns:
        The items of its evidence, one for each description.
    """
    _unquote(attributes)
    descriptions = _parts(attributes.pop("description", None))
    chunks = _parts(attributes.pop("source_id", None))
    files = _parts(attributes.pop("file_path", None))
    keywords = attributes.get("keywords")
    if isinstance(keywords, str) and predicate != "keywords":
        words = (word.strip() for word in keywords.replace(_SEPARATOR, ",").split(","))
        attributes["keywords"] = [word for word in words if word]
    _put(attributes, "description", _unpacked(descriptions))
    common: dict[str, Any] = {}
    _put(common, "document_id", files[0] if len(files) == 1 else None)
    _put(common, "document_ids", files if len(files) > 1 else None)
    _put(common, "chunk_ids", chunks)
    return [common | {"text_span": text} for text in descriptions] or [common] * bool(common)


def _unquote(attributes: dict[str, Any]) -> None:
    """Remove the quotes around texts."""
    for key, value in attributes.items():
        if isinstance(value, str) and _SEPARATOR not in value:
            attributes[key] = _without_quotes(value)


def _without_quotes(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


def _parts(value: Any) -> list[str]:
    parts = [*map(_without_quotes, str(value).split(_SEPARATOR))] if value is not None else []
    return list(
        dict.fromkeys(part for part in map(str.strip, parts) if part not in {"", *_UNKNOWN})
    )


def _unpacked(parts: list[str]) -> Any:
    return parts[0] if len(parts) == 1 else parts


def _put(into: dict[str, Any], key: str, value: Any) -> None:
    if value:
        into[key] = value
