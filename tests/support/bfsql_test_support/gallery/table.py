"""All wrong backends in one table: the rule that has to catch it, its mistake, and the change.

A change replaces methods of a right backend: of `Eight` (the eight methods over `MemoryBackend`, so
that batches have the mistake, too), or of the named one: `MemoryBackend`, `Keeps` (which stores
changed values), `Searches`, `Listing`, `Store`, `TypedStream`, or columns. Changes that take more
than an expression are in the other modules, and those that keep a state are classes there.
"""

from __future__ import annotations

import json
import time
import unicodedata
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial
from statistics import fmean
from typing import Any
from urllib.parse import unquote

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.memory import SEARCH_LIMIT, MemoryBackend
from bfsql.models import Edge, EvidenceRecord, Node
from bfsql.models.merge import fold
from bfsql_test_support.backends.columns import PlainColumns, TypedStream
from bfsql_test_support.gallery import (
    columns,
    edges,
    isolation,
    metadata,
    nodes,
    outlines,
    store_access,
    streams,
)
from bfsql_test_support.gallery.bases import (
    Eight,
    Keeps,
    Listing,
    Searches,
    Store,
    Wrong,
    after,
    around,
    batches,
    classes_of,
    everywhere,
    failing,
    loading,
    meets,
    streaming,
    unknown,
    wrong,
)

OTHER_WAY: dict[Any, Any] = {"in": "out", "out": "in"}


eight, memory, keeps, searches, listing, store, stream, columned = (
    partial(wrong, base)
    for base in (Eight, MemoryBackend, Keeps, Searches, Listing, Store, TypedStream, PlainColumns)
)


def _typed(found: Any, types: Any) -> Any:
    """The hits of some types, or all."""
    return [e for e in found if not types or e.entity_type in types]


BACKENDS: dict[str, type[GraphDbInterface]] = {
    # --- which edges there are, their direction and their ends
    "both-directions: Follows edges in one direction only, since its graph is directed.": eight(
        edges_to=after(lambda *_: [])
    ),
    "both-directions: Returns the entering edges for both directions.": eight(
        edges_from=around(lambda _, db, entity_id: db.edges_to(entity_id))
    ),
    "own-edges: Returns the requested id as subject, so entering edges seem to leave.": eight(
        edges_to=after(lambda edges, *_: [Edge(o, p, s) for s, p, o in edges])
    ),
    "every-edge: Omits edges with low confidence without reporting it.": eight(
        edges=around(edges.relevant)
    ),
    "whole-hub: Has a LIMIT in its query, and does not report the edges beyond it.": eight(
        edges=after(lambda edges, *_: edges[:100])
    ),
    "every-edge: Keeps edges by neighbour: a second predicate between two nodes is lost.": eight(
        edges_from=after(lambda edges, *_: list({e.object: e for e in edges}.values())),
        edges_to=after(lambda edges, *_: list({e.subject: e for e in edges}.values())),
    ),
    "every-edge: Excludes the node itself when it joins a node with its neighbours.": eight(
        edges=after(lambda edges, *_: [e for e in edges if e.object != e.subject])
    ),
    "own-edges: Returns the driver's rows, which unpack to the names of their columns.": eight(
        edges=after(lambda edges, *_: [edge._asdict() for edge in edges])
    ),
    "own-edges: Implements the method as an async generator, which cannot be awaited.": eight(
        edges_from=edges.yielded
    ),
    "alone-is-known: Returns None for an entity without edges.": eight(
        edges=after(lambda edges, *_: edges or None)
    ),
    "alone-is-known: Looks entities up among ends of edges: one without edges is unknown.": eight(
        edges=around(edges.of_an_end)
    ),
    "dangling-ends: Lets its library create a node for every end of an edge.": memory(
        __init__=loading(edges.with_ends)
    ),
    "intersect-bytes: Finds ends of edges as nodes that it hides elsewhere.": eight(
        get_node=around(edges.node_or_end)
    ),
    "edges-batch: Reads a ring in one direction only, unlike the single methods.": memory(
        edges_batch=after(lambda ring, _, ids: [t for t in ring if t[0] in set(ids)])
    ),
    "edges-batch: Requires both ends of the edges in a ring to be among the requested ids.": memory(
        edges_batch=after(
            lambda ring, _, ids: [t for t in ring if set(ids).issuperset((t[0], t[2]))]
        )
    ),
    "dangling-ends: Returns edges for an id that is no node but in its edge table.": memory(
        edges_batch=after(
            lambda _, db, ids: [
                t for t in db._edge_metadata if not set(ids).isdisjoint((t[0], t[2]))
            ]
        )
    ),
    "edges-part: Filters by predicate, but ignores the requested direction.": memory(
        edges_batch=around(
            lambda right, _, ids, *, predicates=None, direction=None: right(
                ids, predicates=predicates
            )
        )
    ),
    "asking-bytes: Joins nodes with others when it filters by predicate: no self-loops.": memory(
        edges_batch=around(edges.without_loops)
    ),
    "edges-part: Confuses the edges that leave the nodes with those that enter.": memory(
        edges_batch=around(
            lambda right, _, ids, direction=None, **part: right(
                ids, direction=OTHER_WAY.get(direction), **part
            )
        )
    ),
    "edges-part: Treats an empty list of predicates as no filter.": memory(
        edges_batch=around(
            lambda right, _, ids, predicates=None, **part: right(
                ids, predicates=predicates or None, **part
            )
        )
    ),
    # --- types, and the lists of types and predicates
    "return-types: Returns a list of labels as the type.": eight(
        get_node=after(lambda node, *_: node._replace(entity_type=[node.entity_type]))
    ),
    "return-types: Returns the driver's rows instead of nodes.": eight(
        get_node=after(lambda node, *_: tuple(node))
    ),
    "return-types: Returns the numbers by which its store identifies nodes.": eight(
        search_entities=after(
            lambda found, *_: [stub._replace(id=n) for n, stub in enumerate(found)]
        )
    ),
    "bytes-of-values: Returns the beginning of a long text, and nothing that says so.": eight(
        metadata_for_node=after(
            lambda metadata, *_: {
                k: v[:100_000] if isinstance(v, str) else v for k, v in metadata.items()
            }
        )
    ),
    "return-types: Returns metadata as the JSON text that is in its store.": eight(
        metadata_for_node=after(lambda metadata, *_: json.dumps(dict(metadata), default=str))
    ),
    "return-types: Returns None instead of a list of predicates.": eight(
        predicates=after(lambda *_: None)
    ),
    "return-types: Returns one name, not a list of names.": eight(
        entity_types=after(lambda types, *_: types[0])
    ),
    "every-node: Returns the last type of a node instead of the first.": memory(
        get_node=after(
            lambda node, db, i: node._replace(
                entity_type=(db._node_metadata[i].get("other_types") or [node.entity_type])[-1]
            )
        ),
        get_nodes_batch=around(metadata.nodes_one_by_one),
    ),
    "schema-lists: Lists types only in `other_types`, or that no node has any longer.": eight(
        entity_types=after(lambda types, _: sorted([*types, "Retired"]))
    ),
    "types-match: Has a LIMIT on its list of types.": eight(
        entity_types=after(lambda types, _: types[:1])
    ),
    "predicates-match: Has a LIMIT on its list of predicates.": eight(
        predicates=after(lambda names, _: names[:1])
    ),
    "keys-match: Lists the keys of a sample.": memory(
        keys=after(lambda keys, _: set(sorted(keys)[:1]))
    ),
    "schema-lists: Lists predicates in lower case, but returns edges as stored.": eight(
        predicates=after(lambda names, _: sorted({name.lower() for name in names}))
    ),
    "schema-lists: Lists the predicates that its schema allows, not those that occur.": eight(
        predicates=after(lambda names, _: sorted([*names, "reserved"]))
    ),
    "types-sorted: Lists types in the order of its table.": eight(
        entity_types=after(lambda types, _: types[::-1])
    ),
    "predicates-sorted: Lists predicates in the order of its table.": eight(
        predicates=after(lambda names, _: names[::-1])
    ),
    "hostile-ids: Sorts like a dictionary, ignoring case.": eight(
        predicates=after(lambda names, _: sorted(names, key=str.casefold))
    ),
    "types-sorted: Lists a type once for every node that has it.": eight(
        entity_types=after(lambda _, db: sorted(db.right._types.values()))
    ),
    "predicates-sorted: Returns a set instead of a sorted list.": eight(
        predicates=after(lambda names, _: frozenset(names))
    ),
    "predicates-match: Lists the predicates that it has read so far: the list grows.": eight(
        edges_from=after(edges.learned),
        predicates=after(lambda _, db: sorted(vars(db).get("learned", ()))),
    ),
    "bfs-bytes: Returns nodes with metadata that contradicts `metadata_for_node`.": eight(
        get_node=after(lambda node, _, i: node._replace(metadata={"name": i, "row": 7}))
    ),
    "nodes-batch: Reads the type from another column than the single method.": memory(
        get_nodes_batch=after(
            lambda nodes, *_: [n._replace(entity_type=n.entity_type.upper()) for n in nodes]
        )
    ),
    "ends-exist: Hides merged entities in `get_node`, but not in the batch.": memory(
        get_node=after(lambda n, _, i: failing(KeyError(i)) if n.entity_type == "Gene" else n)
    ),
    # --- ids, which may be any text and are never altered, and unknown ids
    "exact-ids: Keeps ids in lower case.": keeps(kept_id=lambda _, text: text.lower()),
    "exact-ids: Strips outer whitespace from ids.": keeps(kept_id=lambda _, text: text.strip()),
    "exact-ids: Decodes percent-escapes in ids, as if they came from URLs.": keeps(
        kept_id=lambda _, text: unquote(text)
    ),
    "exact-ids: Normalizes accents: two ids that look alike become one.": keeps(
        kept_id=lambda _, text: unicodedata.normalize("NFC", text)
    ),
    "hostile-ids: Converts an id that looks like a number: `4.20` becomes `4.2`.": keeps(
        kept_id=metadata.as_number
    ),
    "hostile-ids: Uses an encoding that cannot represent every character.": keeps(
        kept_id=lambda _, text: text.encode("latin-1", "replace").decode("latin-1")
    ),
    "hostile-ids: Truncates ids to 255 characters.": keeps(kept_id=lambda _, text: text[:255]),
    "hostile-ids: Writes rows as lines, so that no id can contain a line break.": keeps(
        kept_id=lambda _, text: " ".join(text.splitlines())
    ),
    "same-errors: Compares ids by a collation that ignores case.": eight(
        get_node=around(
            lambda right, db, i: right(
                i
                if i in db.right._types
                else {known.lower(): known for known in db.right._types}.get(i.lower(), i)
            )
        )
    ),
    "ids-no-patterns: Compares ids with LIKE, where a percent sign matches any text.": eight(
        get_node=around(
            lambda right, db, i: right(
                next((k for k in sorted(db.right._types) if fnmatchcase(k, i.replace("%", "*"))), i)
            )
        )
    ),
    "hostile-ids: Puts values into its query in quotes, and fails on one with a quote.": eight(
        through=around(
            lambda right, _, ask, *asked: (
                failing(RuntimeError("syntax error in the query"))
                if any("'" in text for text in asked if isinstance(text, str))
                else right(ask, *asked)
            )
        )
    ),
    "triples-apart: Keys its edges by subject, predicate and object joined with a colon.": keeps(
        metadata_for_edge=around(edges.by_joined_triple),
        metadata_for_edges_batch=around(edges.metadata_one_by_one),
    ),
    "own-identity: Returns its own row number as the id.": eight(
        get_node=after(lambda node, db, i: node._replace(id=str(sorted(db.right._types).index(i))))
    ),
    "every-node: Returns ids in lower case from its batch method.": keeps(
        get_nodes_batch=after(lambda nodes, *_: [n._replace(id=n.id.lower()) for n in nodes])
    ),
    "unknown-ids: Queries only the edge table: unknown entities have no edges.": eight(
        edges=unknown(lambda _: [])
    ),
    "unknown-ids: Returns None for an unknown entity.": eight(get_node=unknown(lambda _: None)),
    "unknown-ids: Returns a node for every requested id.": eight(
        get_node=unknown(lambda entity_id: Node(entity_id, "unknown"))
    ),
    "unknown-ids: Raises an error of its driver instead of KeyError.": eight(
        get_node=unknown(lambda entity_id: failing(ValueError(f"no row for {entity_id}")))
    ),
    "unknown-metadata: Returns an empty mapping for an unknown entity.": eight(
        metadata_for_node=unknown(lambda _: {})
    ),
    "unknown-metadata: Returns an empty mapping for an edge that does not exist.": eight(
        metadata_for_edge=unknown(lambda _: {})
    ),
    "unknown-in-batches: Fails the whole batch because of one unknown id.": memory(
        get_nodes_batch=around(metadata.nodes_one_by_one_known_or_not)
    ),
    "unknown-in-batches: Returns a node for every id in a batch, known or not.": memory(
        get_nodes_batch=after(
            lambda _, db, ids: [Node(i, db._types.get(i, "unknown")) for i in ids]
        )
    ),
    "unknown-in-batches: Returns an entry for every id, empty if it is unknown.": memory(
        metadata_for_nodes_batch=after(lambda found, _, ids, *__: {i: {} for i in ids} | found)
    ),
    "unknown-in-batches: Fails the whole batch because of one unknown edge.": memory(
        metadata_for_edges_batch=around(edges.metadata_one_by_one_known_or_not)
    ),
    # --- metadata and evidence: missing, misplaced or shared values
    "edge-evidence: Reads the edge table, but not the evidence table.": memory(
        __init__=loading(lambda records: [r for r in records if not isinstance(r, EvidenceRecord)])
    ),
    "edge-evidence: Returns evidence under a key of its own, where core does not strip it.": eight(
        metadata_for_edge=after(
            lambda known, *_: {"evidence" if k == "provenance" else k: known[k] for k in known}
        )
    ),
    "evidence-counted: Reports the number of returned items as the total.": memory(
        provenance_for_node=after(lambda given, *_: {**given, "total": len(given["items"])})
    ),
    "evidence-counted: Ignores the limit.": memory(
        provenance_for_node=around(lambda right, _, entity_id, __: right(entity_id, 1_000_000))
    ),
    "edge-metadata-batch: Returns evidence for a single edge, but not in the batch.": memory(
        metadata_for_edges_batch=after(
            lambda found, *_: {
                e: {k: v for k, v in m.items() if k != "provenance"} for e, m in found.items()
            }
        )
    ),
    "node-metadata-batch: Returns only the name in the batch for nodes.": memory(
        metadata_for_nodes_batch=after(
            lambda found, *_: {i: {k: m[k] for k in m if k == "name"} for i, m in found.items()}
        )
    ),
    "node-metadata-batch: Returns its batch as pairs instead of a mapping.": memory(
        metadata_for_nodes_batch=after(lambda found, *_: list(found.items()))
    ),
    "node-metadata-keys: Selects one column, however many keys are requested.": memory(
        metadata_for_nodes_batch=around(
            lambda right, _, ids, keys=None: right(ids, keys and sorted(keys)[:1])
        )
    ),
    "valid-time: Leaves out one of several properties of an edge that are requested.": memory(
        metadata_for_edges_batch=around(
            lambda right, _, edges, keys=None: right(edges, keys and sorted(keys)[:1])
        )
    ),
    "edge-metadata-keys: Returns the values of single keys as text.": memory(
        metadata_for_edges_batch=around(metadata.as_text)
    ),
    "whole-hub: Puts at most 999 values into a query, and ignores the others.": memory(
        get_nodes_batch=around(lambda right, _, ids: right(ids[:999])),
        edges_batch=around(lambda right, _, ids, **part: right(ids[:999], **part)),
    ),
    "unknown-in-batches: Fails on an empty list of ids, as its query syntax does.": memory(
        get_nodes_batch=around(
            lambda right, _, ids: right(ids) if ids else failing(ValueError("error near ')'"))
        )
    ),
    "every-value: Omits long values in order to save tokens, which is core's task.": eight(
        metadata_for_node=after(
            lambda known, *_: {k: v for k, v in known.items() if len(str(v)) < 60}
        )
    ),
    "entities-bytes: Returns all columns of the row, including the id and the type.": eight(
        metadata_for_node=after(
            lambda known, db, i: {**known, "id": i, "entity_type": db.right._types[i]}
        )
    ),
    "every-value: Returns no metadata for edges.": eight(metadata_for_edge=after(lambda *_: {})),
    "every-value: Replaces the record of an edge with a later one instead of merging them.": memory(
        __init__=loading(metadata.last_record_of_each_edge)
    ),
    "every-value: Returns the mean of an edge's confidences instead of the maximum.": eight(
        metadata_for_edge=after(
            lambda known, *_: (
                {**known, "confidence": fmean(known["confidences"])}
                if "confidences" in known
                else known
            )
        )
    ),
    "every-value: Ignores further records of a node, and so their names and types.": memory(
        __init__=loading(metadata.first_record_of_each_node)
    ),
    "fresh-answers: Returns its own mapping, which a caller can modify.": memory(
        metadata_for_node=after(lambda _, db, i: db._node_metadata[i]),
        metadata_for_edge=after(lambda _, db, edge: db._edge_metadata[tuple(edge)]),
    ),
    "fresh-answers: Returns a shallow copy of its own mapping.": memory(
        metadata_for_node=after(lambda _, db, i: dict(db._node_metadata[i]))
    ),
    "fresh-answers: Returns its own list of edges, which a caller can modify.": eight(
        edges_from=after(lambda edges, db, i: vars(db).setdefault("lists", {}).setdefault(i, edges))
    ),
    "cached-as-direct: Clears the caller's list of ids.": memory(
        get_nodes_batch=after(metadata.emptied)
    ),
    "every-value: Drops non-ASCII characters from its values.": keeps(
        storable=lambda _, v: v.encode("ascii", "ignore").decode() if isinstance(v, str) else v
    ),
    "entity-bytes: Returns the evidence of a node's edges, not what it supplied itself.": memory(
        provenance_for_node=around(metadata.without_documents)
    ),
    "drawn-graphs: Drops evidence that comes before its edge while loading.": memory(
        __init__=loading(metadata.without_early_evidence)
    ),
    # --- values: one is returned differently from how it was stored
    "every-value: Stores every value as text.": keeps(
        storable=lambda _, v: (
            str(v) if isinstance(v, int | float) and not isinstance(v, bool) else v
        )
    ),
    "every-value: Converts text that looks like a number to one.": keeps(
        storable=lambda _, v: int(v) if isinstance(v, str) and v.isdecimal() else v
    ),
    "every-value: Stores booleans as numbers.": keeps(storable=everywhere(bool, int)),
    "every-value: Stores every number as a double, with 53 bits of precision.": keeps(
        storable=everywhere(int, lambda v: float(v) if abs(v) > 2**53 else v)
    ),
    "every-value: Stores floats in four bytes.": keeps(
        storable=lambda _, v: metadata.in_four_bytes(v) if isinstance(v, float) else v
    ),
    "every-value: Rounds exact decimals to the nearest double.": keeps(
        storable=everywhere(Decimal, float)
    ),
    "every-value: Returns dates in the format of its driver instead of ISO 8601.": keeps(
        storable=everywhere(date, lambda v: v.strftime("%d/%m/%Y"))
    ),
    "every-value: Converts every date to a datetime.": keeps(
        storable=everywhere(
            date,
            lambda v: v if isinstance(v, datetime) else datetime(v.year, v.month, v.day),  # noqa: DTZ001
        )
    ),
    "every-value: Flattens nested maps into dotted keys.": keeps(kept_all=metadata.flattened),
    "every-value: Stores nested maps as JSON text, and returns the text.": keeps(
        storable=lambda _, v: json.dumps(v, default=str) if isinstance(v, dict) else v
    ),
    "every-value: Stores lists as sets.": keeps(
        storable=lambda _, v: (
            sorted(set(v)) if isinstance(v, list) and all(isinstance(one, str) for one in v) else v
        )
    ),
    "every-value: Replaces a list of one value with the value.": keeps(
        storable=lambda _, v: v[0] if isinstance(v, list) and len(v) == 1 else v
    ),
    "every-value: Treats an empty string as a missing value.": keeps(
        kept_all=lambda _, known: {k: v for k, v in known.items() if v != ""}
    ),
    "every-value: Tests whether a value is truthy instead of whether it is present.": keeps(
        kept_all=lambda _, known: {k: v for k, v in known.items() if v or v is None}
    ),
    "every-value: Truncates text to 255 characters.": keeps(
        storable=lambda _, v: v[:255] if isinstance(v, str) else v
    ),
    "every-value: Ends text at the first NUL, as strings in its driver's language do.": keeps(
        storable=lambda _, v: v.split("\0")[0] if isinstance(v, str) else v
    ),
    "every-value: Stores at most three bytes per character, and so loses emoji.": keeps(
        storable=everywhere(str, lambda v: "".join(c for c in v if c <= "\uffff"))
    ),
    "every-value: Writes rows as lines, so that no value can contain a line break.": keeps(
        storable=lambda _, v: " ".join(v.splitlines()) if isinstance(v, str) else v
    ),
    "every-value: Stores keys as case-insensitive column names, in lower case.": keeps(
        kept_all=lambda _, known: {k.lower(): v for k, v in known.items()}
    ),
    # --- search
    "search-bounds: Returns all matches.": searches(
        search_entities=after(lambda _, db, query, types=None: _typed(db.matches(query), types))
    ),
    "search-crowd: Returns an entity twice, for its name and for its id.": eight(
        search_entities=after(lambda found, *_: [*found[:1], *found][:SEARCH_LIMIT])
    ),
    "search-types-first: Accepts `node_types` but ignores it.": eight(
        search_entities=around(lambda right, _, query, node_types=None: right(query))
    ),
    "search-types-first: Filters by type after it has limited the results to twenty.": eight(
        search_entities=around(edges.filtered_after)
    ),
    "search-any-text: Passes the text to a search engine whose syntax has quotes.": eight(
        search_entities=after(
            lambda found, _, query, *__: (
                failing(ValueError("unterminated string")) if query.count('"') % 2 else found
            )
        )
    ),
    "search-any-text: Fails on a text without words.": eight(
        search_entities=after(
            lambda found, _, query, *__: (
                found if query.split() else failing(ValueError("empty search expression"))
            )
        )
    ),
    "search-any-text: Raises KeyError when nothing matches.": eight(
        search_entities=after(lambda found, _, query, *__: found or failing(KeyError(query)))
    ),
    "search-any-text: Returns None when nothing matches.": eight(
        search_entities=after(lambda found, *_: found or None)
    ),
    "found-by-id: Does not look at ids.": searches(
        search_entities=after(
            lambda found, _, query, *__: [e for e in found if fold(query) in fold(e.name or "")]
        )
    ),
    "search-misspelt: Finds only the exact spelling.": searches(
        search_entities=after(
            lambda _, db, query, node_types=None: _typed(db.matches(query), node_types)[
                :SEARCH_LIMIT
            ]
        )
    ),
    "search-name-before-longer: Sorts by name before it cuts, and loses exact matches.": searches(
        search_entities=after(
            lambda _, db, query, node_types=None: _typed(
                sorted(db.matches(query), key=lambda e: (e.id != query, e.name or "")), node_types
            )[:SEARCH_LIMIT]
        )
    ),
    "search-name-next: Leaves equally good matches in the order of its table.": eight(
        search_entities=after(
            lambda found, _, query, *__: sorted(  # noqa: C414 - reversed ties stay reversed
                reversed(found), key=lambda e: (e.id != query, e.name != query)
            )
        )
    ),
    "search-types: Searches an index that is older than the graph.": eight(
        search_entities=after(
            lambda found, *_: [
                *found[: SEARCH_LIMIT - 1],
                *(e._replace(id=f"old:{e.id}") for e in found[:1]),
            ]
        )
    ),
    "search-types: Reads the type from a different column than `get_node`.": eight(
        search_entities=after(lambda found, *_: [e._replace(entity_type="Thing") for e in found])
    ),
    "tools-answer: Returns the score of its search engine, which is unbounded.": eight(
        search_entities=after(
            lambda found, *_: [e._replace(score=14.2 - n) for n, e in enumerate(found)]
        )
    ),
    "search-stable: Leaves the order of results to its store, which may change it.": eight(
        search_entities=after(edges.in_another_order)
    ),
    "found-by-name: Has no index, and silently returns no results.": eight(
        search_entities=after(lambda *_: [])
    ),
    "search-id-first: Ranks the entity with the id below those named by it.": eight(
        search_entities=after(
            lambda found, _, query, *__: sorted(
                found, key=lambda e: (e.name != query, e.id == query)
            )
        )
    ),
    "search-name-next: Returns the id of every hit as its name.": eight(
        search_entities=after(lambda found, *_: [e._replace(name=e.id) for e in found])
    ),
    # --- columns
    "columns-order: Numbers ids in the order of its records.": columned(
        ordered_ids=lambda _, ids: list(ids)[::-1]
    ),
    "columns-order: Sorts ids like a dictionary, ignoring case.": columned(
        ordered_ids=lambda _, ids: sorted(ids, key=lambda text: (text.casefold(), text))
    ),
    "columns-order: Sorts ids by UTF-16 code units, as its language compares strings.": columned(
        ordered_ids=lambda _, ids: sorted(
            ids, key=lambda text: text.encode("utf-16-be", "surrogatepass")
        )
    ),
    "columns-order: Returns handles in the order in which they were requested.": columned(
        ordered=around(lambda _, __, handles: handles)
    ),
    "columns-nodes: Returns only the ids that exist, so that positions no longer match.": columned(
        find=after(lambda found, *_: [one for one in found if one is not None])
    ),
    "columns-nodes: Finds an id only once, even if it is requested twice.": columned(
        find=after(
            lambda found, _, ids: [
                one if ids.index(i) == n else None
                for n, (i, one) in enumerate(zip(ids, found, strict=True))
            ]
        )
    ),
    "columns-nodes: Ignores case when it looks up an id.": columned(
        find=around(
            lambda right, db, ids: right(
                [{known.casefold(): known for known in db._ids}.get(i.casefold(), i) for i in ids]
            )
        )
    ),
    "columns-nodes: Sorts the names of types after numbering them.": columned(
        type_names=property(lambda db: sorted(db._types.names, reverse=True))
    ),
    "columns-nodes: Returns ids in the order of its table, not in that of the handles.": columned(
        ids=around(lambda right, _, handles: right(np.sort(handles)))
    ),
    "columns-ends: Finds an id that occurs only in edges.": columned(find=around(columns.ends_too)),
    "columns-ends: Gives an end that is not a node the type with number 0.": columned(
        types=after(lambda types, *_: np.maximum(types, 0))
    ),
    "columns-ends: Returns edges for a handle that is no node but in its edge table.": columned(
        asked=lambda _, handles: handles
    ),
    "columns-names: Lists types that no node has any longer.": columned(
        type_names=property(lambda db: [*db._types.names, "Retired"])
    ),
    "columns-names: Numbers each predicate twice, once per direction.": columned(
        predicate_names=property(lambda db: [*db._predicates.names] * 2)
    ),
    "columns-rings: Finds edges only by subject.": columned(
        touching=lambda db, asked: asked[db._edges[:, 0]]
    ),
    "columns-rings: Finds edges only by object.": columned(
        touching=lambda db, asked: asked[db._edges[:, 2]]
    ),
    "columns-rings: Returns an edge between two requested nodes twice, once for each.": columned(
        rings=batches(columns.with_each_end)
    ),
    "columns-rings: Returns a self-loop twice, as it leaves and enters.": columned(
        rings=batches(lambda ring, *_: columns.with_again(ring, ring.subjects == ring.objects))
    ),
    "columns-rings: Excludes self-loops so as not to return them twice.": columned(
        touching=lambda db, asked: (
            PlainColumns.touching(db, asked) & (db._edges[:, 0] != db._edges[:, 2])
        )
    ),
    "columns-rings: Keeps one edge per pair of nodes: a second predicate is lost.": columned(
        touching=lambda db, asked: (
            PlainColumns.touching(db, asked)
            & np.isin(
                np.arange(len(db._edges)),
                np.unique(db._edges[:, ::2], axis=0, return_index=True)[1],
            )
        )
    ),
    "columns-rings: Returns rows instead of three columns.": columned(
        rings=batches(lambda ring, *_: np.array(ring).T)
    ),
    "columns-rings: Returns only full batches, and never the rest.": columned(
        rings=streaming(columns.without_the_last)
    ),
    "columns-batches: Reads the whole ring before it returns any of it.": columned(
        __init__=lambda db, types, triples, _: PlainColumns.__init__(db, types, triples, 10**9)
    ),
    "columns-part: Filters the edges that leave the nodes, not those that enter.": columned(
        rings=streaming(columns.parts_by_one_end)
    ),
    # --- lists of nodes
    "nodes-list: Has a LIMIT in its query, and does not report the entities beyond it.": memory(
        nodes_stream=batches(lambda found, *_: found[:100])
    ),
    "nodes-list: Treats an empty list of types as no filter.": memory(
        nodes_stream=streaming(
            lambda right, _, entity_types=None, **asked: right(
                entity_types=entity_types or None, **asked
            )
        )
    ),
    "nodes-conditions: Compares text with its case and accents.": listing(
        met=meets(
            lambda one, known, right: (
                known[one.key] in one.values
                if one.operator == "=" and isinstance(known.get(one.key), str)
                else right
            )
        )
    ),
    "nodes-conditions: Compares a number only with numbers, not with text that is one.": listing(
        met=meets(
            lambda one, known, right: (
                right
                and not (
                    one.operator == "="
                    and isinstance(known.get(one.key), str)
                    and any(of.number is not None for of in one.literals)
                )
            )
        )
    ),
    "nodes-conditions: Compares large numbers as doubles, in which neighbours are equal.": listing(
        met=meets(nodes.as_doubles)
    ),
    "nodes-conditions: Takes a list as a value that meets nothing.": listing(
        met=meets(
            lambda one, known, right: (
                right and not (isinstance(known.get(one.key), list) and one.values)
            )
        )
    ),
    "nodes-conditions: Reads only entities that have the properties of all conditions.": listing(
        met=meets(lambda one, known, _: one.key in known)
    ),
    "nodes-conditions: Writes values into the text of its query, where a quote ends them.": listing(
        met=meets(
            lambda one, _, right: (
                failing(ValueError("unterminated string")) if "'" in "".join(one.values) else right
            )
        )
    ),
    "nodes-conditions: Declares every comparison exact, and narrows by presence alone.": listing(
        met=meets(lambda one, known, _: one.operator == "lacks" or one.key in known)
    ),
    "nodes-metadata: Returns only the property of the last condition with a node.": memory(
        filters_exactly=lambda *_: False, nodes_stream=streaming(nodes.with_one_property)
    ),
    "nodes-bytes: Uses only the first of the types where there are conditions.": memory(
        nodes_stream=streaming(
            lambda right, _, *, entity_types=None, conditions=(): right(
                entity_types=sorted(entity_types)[:1]
                if entity_types and conditions
                else entity_types,
                conditions=conditions,
            )
        )
    ),
    "nodes-unlike: Reads no text in a property whose values are numbers elsewhere.": memory(
        metadata_for_nodes_batch=after(
            lambda read, *_: {
                one: {k: v for k, v in known.items() if k != "score" or not isinstance(v, str)}
                for one, known in read.items()
            }
        )
    ),
    "nodes-unlike: Takes an operator that it does not know as one that no entity meets.": listing(
        met=meets(lambda one, _, right: one.operator != "unlike" and right)
    ),
    "nodes-columns: Lists each node once per index.": columned(nodes=streaming(nodes.each_twice)),
    "nodes-columns: Does not filter by type.": columned(
        nodes=streaming(lambda right, _, __=None, conditions=(): right(None, conditions))
    ),
    # --- streams
    "stream-edges: Reads edges only by subject.": stream(
        edges_stream=batches(lambda rows, _, ids: [row for row in rows if row[0] in ids])
    ),
    "stream-edges: Fetches only one batch from its cursor.": stream(
        __init__=lambda db, records=(): TypedStream.__init__(db, records, batch=50),
        edges_stream=streaming(streams.first_of),
    ),
    "stream-edges: Returns edges for an id that is no node but occurs in its edge table.": stream(
        edges_stream=streaming(streams.of_ends)
    ),
    "stream-types: Omits the types from a row if an end is not a node.": stream(
        edges_stream=batches(lambda rows, *_: [row if None not in row else row[:3] for row in rows])
    ),
    "stream-types: Knows only the types of requested nodes, and takes others for no nodes.": stream(
        edges_stream=batches(
            lambda rows, _, ids: [
                (s, p, o, t if s in ids[:1] else None, u if o in ids[:1] else None)
                for s, p, o, t, u in rows
            ]
        )
    ),
    "stream-types: Returns an empty type for an end that is not a node, like a default.": stream(
        edges_stream=batches(
            lambda rows, *_: [tuple("" if one is None else one for one in row) for row in rows]
        )
    ),
    "stream-types: Returns the type of the object before that of the subject.": stream(
        edges_stream=batches(lambda rows, *_: [(s, p, o, u, t) for s, p, o, t, u in rows])
    ),
    "stream-part: Reads only edges with the first of the requested predicates.": stream(
        edges_stream=streaming(
            lambda right, _, ids, predicates=None, **part: right(
                ids, predicates=predicates and list(predicates)[:1], **part
            )
        )
    ),
    # --- how the store is used
    "query-text: Puts values into the text of its queries, escaped or not.": store(
        query=lambda _, name, *values: f"{name} {values!r}"
    ),
    "query-text: Sends values as parameters, except in the query for a search.": store(
        query=lambda _, name, *values: (
            f"{name} '%{values[0]}%'" if name == "search_entities" else f"{name} $1"
        )
    ),
    "round-trips: Implements a batch as a loop of single requests.": store(
        get_nodes_batch=around(store_access.one_by_one)
    ),
    "round-trips: Reads a ring node by node.": store(edges_batch=around(store_access.one_by_one)),
    "read-rights: Creates an index before the first request, which writes.": store(
        through=around(
            lambda right, db, *asked: (
                right(*asked)
                if db.writable
                else failing(PermissionError("attempt to write a read-only database"))
            )
        )
    ),
    "store-returns: Does not reconnect after the store has closed the connection.": store(
        gone=store_access.gone_for_good
    ),
    "store-returns: Has no edges after the store was unreachable.": store(
        gone=store_access.gone_with_edges
    ),
    "store-returns: Raises the error of its driver when the store is unreachable.": store(
        through=around(
            lambda right, db, *asked: (
                right(*asked) if db.there else failing(RuntimeError("[Errno 111] connect failed"))
            )
        )
    ),
    "store-returns: Reports an entity as unknown when the store is unreachable.": store(
        through=around(
            lambda right, db, *asked: right(*asked) if db.there else failing(KeyError(*asked[1:]))
        )
    ),
    "store-returns: Has its own cache, which answers while the store is unreachable.": store(
        through=around(store_access.from_its_cache)
    ),
    "omissions-said: Has a limit, and does not report what it omits.": store(
        leave_out=lambda *_: None
    ),
    "omissions-said: Reports an omission under an id that is not the node's.": store(
        leave_out=lambda db, ids, number: Store.leave_out(db, [f"node/{i}" for i in ids], number)
    ),
    "omissions-said: Reports the number of rows that it has read, not of those omitted.": store(
        leave_out=lambda db, ids, number: Store.leave_out(db, ids, number + 1_000)
    ),
    "omissions-said: Reports an omission only the first time, then answers from memory.": store(
        leave_out=store_access.said_once
    ),
    # --- the store as a whole: whether it has changed, answers, and is writable
    "changed-steady: Returns the current time as the state of the store.": memory(
        changed=lambda _: time.monotonic()
    ),
    "changed-steady: Reports a change of the store after merely reading it.": memory(
        entity_types=after(lambda types, db: vars(db).update(asked=1) or types),
        changed=lambda db: vars(db).get("asked"),
    ),
    "changed-steady: Implements `changed` as a coroutine function.": memory(
        changed=around(lambda *_: None)
    ),
    "changed-steady: Raises an error when the state of the store cannot be determined.": memory(
        changed=lambda _: failing(FileNotFoundError("graph.db"))
    ),
    "changed-steady: Makes a round trip to find out whether the store has changed.": memory(
        changed=lambda _: time.sleep(0.011)
    ),
    "ping-answered: Requests a node that does not exist, and does not handle the error.": memory(
        ping=around(lambda _, db: db.get_node("no such node"))
    ),
    "ping-asks: Returns without a request to the store.": store(ping=around(lambda *_: None)),
    "ping-asks: Raises the error of its driver when the store is unreachable.": store(
        ping=around(
            lambda _, db: None if db.there else failing(RuntimeError("[Errno 111] connect failed"))
        )
    ),
    "may-write-said: Returns a boolean instead of a sentence.": memory(
        may_write=around(lambda *_: True)
    ),
    "may-write-said: Raises an error when the account may not read its own privileges.": memory(
        may_write=around(lambda *_: failing(PermissionError("permission denied for pg_authid")))
    ),
    "may-write-not: Reports that every account may write.": store(
        may_write=around(lambda *_: "The account may write.")
    ),
    # --- the outline
    "outline-counts: Counts all rows of its edge table, also with ends that are not nodes.": memory(
        outline=after(outlines.with_dangling_edges)
    ),
    "outline-counts: Takes counts from old statistics without marking them as a sample.": memory(
        outline=after(
            lambda right, _: replace(
                right, node_counts={t: n + 5 for t, n in right.node_counts.items()}
            )
        )
    ),
    "outline-counts: Gives the numbers of nodes in a sample as numbers of nodes.": memory(
        outline=after(
            lambda right, _: replace(
                right,
                node_counts={t: -(-n // 2) for t, n in right.node_counts.items()},
                sampled=True,
            )
        )
    ),
    "outline-names: Spells the predicates of its relations differently from its edges.": memory(
        outline=after(
            lambda right, _: replace(
                right,
                relations=[one._replace(predicate=f":{one.predicate}") for one in right.relations],
            )
        )
    ),
    "outline-properties: Lists the properties of all types under every type.": memory(
        outline=after(outlines.of_all_types)
    ),
    "outline-properties: Rounds the bounds of a range outwards.": memory(
        outline=after(outlines.rounded)
    ),
    "columns-fresh: Sorts the requested handles in place, in the caller's array.": columned(
        types=after(lambda types, _, handles: handles.sort() or types),
        rings=streaming(columns.in_its_order),
    ),
    **classes_of(columns, isolation, nodes, streams),
}
"""The table: by rule and mistake."""

GALLERY = [Wrong(backend, *text.split(": ", 1)) for text, backend in BACKENDS.items()]
