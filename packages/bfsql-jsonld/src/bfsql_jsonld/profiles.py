"""Profiles: settings for kinds of APIs, written down once.

A profile is nothing but values of settings. What is set besides wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Profile = Literal["default", "ngsi-ld", "linked-data"]

PROFILES: Mapping[Profile, Mapping[str, Any]] = {
    "default": {},
    "ngsi-ld": {
        "reading": "attributes",
        "relations": "document",
        "entity_path": "/ngsi-ld/v1/entities/{id}",
        "search_path": "/ngsi-ld/v1/entities",
        "query_param": "q",
        "query_text": 'name~="{pattern}"',
        "types_param": "type",
        "incoming_path": "/ngsi-ld/v1/entities",
        "incoming_text": '{predicate}=="{id}"',
        "schema_path": "/ngsi-ld/v1/types",
        "types_field": ["typeList"],
        "attributes_path": "/ngsi-ld/v1/attributes",
        "predicates_field": ["attributeList"],
        "attribute_path": "/ngsi-ld/v1/attributes/{id}",
        "offset_param": "offset",
        "page_size": 100,
        "id_field": ["id", "@id"],
        "type_field": ["type", "@type"],
    },
    "linked-data": {
        "reading": "json-ld",
        "relations": "document",
        "entity_path": "{url}",
        "search_path": "",
        "schema_path": "",
    },
}
"""By name; `default` is what `bfsql serve --rest` offers, the routes of chapter 12."""
