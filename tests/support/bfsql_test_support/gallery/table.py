"""All wrong backends in one table: name, rule that has to catch it, mistake, change.

A change replaces methods of a right backend: of `Eight` (the eight methods over `MemoryBackend`, so
that batches have the mistake, too), or of the named one: `MemoryBackend`, `Keeps` (which stores
changed values), `Searches` or `Store`. Mistakes that take more than an expression are classes of
their own, in the modules that are named after them.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any
from urllib.parse import unquote

from bfsql.memory import SEARCH_LIMIT, MemoryBackend
from bfsql.models import Edge, EvidenceRecord, Node
from bfsql.models.merge import fold
from bfsql_test_support.gallery import (
    columns,
    edges,
    health,
    isolation,
    metadata,
    nodes,
    outlines,
    store_access,
    streams,
)
from bfsql_test_support.gallery.bases import (
    Keeps,
    Searches,
    after,
    around,
    as_class,
    everywhere,
    failing,
    loading,
    unknown,
    with_columns,
    wrong,
)

OTHER_WAY: dict[Any, Any] = {"in": "out", "out": "in"}


def _typed(found: Any, types: Any) -> Any:
    """The hits of some types, or all."""
    return [e for e in found if not types or e.entity_type in types]


GALLERY = [
    # --- which edges there are, their direction and their ends
    wrong(
        "ForgetsIncoming",
        "both-directions",
        "Follows edges in one direction only, because its author's graph is directed.",
        edges_to=after(lambda *_: []),
    ),
    wrong(
        "ForgetsOutgoing",
        "both-directions",
        "Returns the entering edges for both directions.",
        edges_from=around(lambda _, db, entity_id: db.edges_to(entity_id)),
    ),
    wrong(
        "TurnsEdgesRound",
        "own-edges",
        "Returns the requested id as subject in both directions, so entering edges seem to leave.",
        edges_to=after(lambda edges, *_: [Edge(o, p, s) for s, p, o in edges]),
    ),
    wrong(
        "FiltersByRelevance",
        "every-edge",
        "Omits edges with low confidence without reporting it.",
        edges=around(edges.relevant),
    ),
    wrong(
        "LimitsEdges",
        "whole-hub",
        "Has a LIMIT in its query, and does not report the edges beyond it.",
        edges=after(lambda edges, *_: edges[:100]),
    ),
    wrong(
        "OneEdgeANeighbour",
        "every-edge",
        "Keeps edges in a dictionary by neighbour: a second predicate between two nodes is lost.",
        edges_from=after(lambda edges, *_: list({e.object: e for e in edges}.values())),
        edges_to=after(lambda edges, *_: list({e.subject: e for e in edges}.values())),
    ),
    wrong(
        "DropsSelfLoops",
        "every-edge",
        "Excludes the node itself when it joins a node with its neighbours.",
        edges=after(lambda edges, *_: [e for e in edges if e.object != e.subject]),
    ),
    wrong(
        "GivesRowsAsMappings",
        "own-edges",
        "Returns the driver's rows, which unpack to the names of their columns.",
        edges=after(lambda edges, *_: [edge._asdict() for edge in edges]),
    ),
    wrong(
        "YieldsEdges",
        "own-edges",
        "Implements the method as an async generator, which cannot be awaited.",
        edges_from=edges.yielded,
    ),
    wrong(
        "GivesNothingAtAll",
        "alone-is-known",
        "Returns None for an entity without edges.",
        edges=after(lambda edges, *_: edges or None),
    ),
    wrong(
        "IsolatedAreUnknown",
        "alone-is-known",
        "Looks entities up among the ends of edges: one without edges is unknown to it.",
        edges=around(edges.of_an_end),
    ),
    wrong(
        "MakesNodesOfDanglingEnds",
        "dangling-ends",
        "Lets its library create a node for every end of an edge, described or not.",
        MemoryBackend,
        __init__=loading(edges.with_ends),
    ),
    wrong(
        "EndsAreNotNodes",
        "intersect-bytes",
        "Finds ends of edges as nodes that it hides elsewhere.",
        get_node=around(edges.node_or_end),
    ),
    wrong(
        "RingInOneDirection",
        "edges-batch",
        "Reads a ring in one direction only, whereas the single methods cover both.",
        MemoryBackend,
        edges_batch=after(lambda ring, _, ids: [t for t in ring if t[0] in set(ids)]),
    ),
    wrong(
        "RingWithinTheAsked",
        "edges-batch",
        "Requires both ends of the edges in a ring to be among the requested ids.",
        MemoryBackend,
        edges_batch=after(
            lambda ring, _, ids: [t for t in ring if set(ids).issuperset((t[0], t[2]))]
        ),
    ),
    wrong(
        "RingOfNoNode",
        "dangling-ends",
        "Returns edges for an id that is not a node but occurs in its edge table.",
        MemoryBackend,
        edges_batch=after(
            lambda _, db, ids: [
                t for t in db._edge_metadata if not set(ids).isdisjoint((t[0], t[2]))
            ]
        ),
    ),
    wrong(
        "PartsWithoutDirection",
        "edges-part",
        "Filters by predicate, but ignores the requested direction.",
        MemoryBackend,
        edges_batch=around(
            lambda right, _, ids, *, predicates=None, direction=None: right(
                ids, predicates=predicates
            )
        ),
    ),
    wrong(
        "PartsWithoutLoops",
        "asking-bytes",
        "Joins nodes with other nodes when it filters by predicate, which loses self-loops.",
        MemoryBackend,
        edges_batch=around(edges.without_loops),
    ),
    wrong(
        "PartsTheOtherWay",
        "edges-part",
        "Confuses the edges that leave the requested nodes with those that enter them.",
        MemoryBackend,
        edges_batch=around(
            lambda right, _, ids, *, predicates=None, direction=None: right(
                ids, predicates=predicates, direction=OTHER_WAY.get(direction)
            )
        ),
    ),
    wrong(
        "NoPredicatesAreAll",
        "edges-part",
        "Treats an empty list of predicates as no filter.",
        MemoryBackend,
        edges_batch=around(
            lambda right, _, ids, *, predicates=None, direction=None: right(
                ids, predicates=predicates or None, direction=direction
            )
        ),
    ),
    # --- types, and the lists of types and predicates
    wrong(
        "GivesEveryLabel",
        "return-types",
        "Returns a list of labels as the type.",
        get_node=after(lambda node, *_: node._replace(entity_type=[node.entity_type])),
    ),
    wrong(
        "NodesAreRows",
        "return-types",
        "Returns the driver's rows instead of nodes.",
        get_node=after(lambda node, *_: tuple(node)),
    ),
    wrong(
        "FindsNumbers",
        "return-types",
        "Returns the numbers by which its store identifies nodes.",
        search_entities=after(
            lambda found, *_: [stub._replace(id=n) for n, stub in enumerate(found)]
        ),
    ),
    wrong(
        "CutsLongTexts",
        "bytes-of-values",
        "Returns the beginning of a long text, and nothing that says so.",
        metadata_for_node=after(
            lambda metadata, *_: {
                k: v[:100_000] if isinstance(v, str) else v for k, v in metadata.items()
            }
        ),
    ),
    wrong(
        "MetadataIsJson",
        "return-types",
        "Returns metadata as the JSON text that is in its store.",
        metadata_for_node=after(lambda metadata, *_: json.dumps(dict(metadata), default=str)),
    ),
    wrong(
        "ListsNothing",
        "return-types",
        "Returns None instead of a list of predicates.",
        predicates=after(lambda *_: None),
    ),
    wrong(
        "ListsOneName",
        "return-types",
        "Returns one name, not a list of names.",
        entity_types=after(lambda types, *_: types[0]),
    ),
    wrong(
        "LastTypeWins",
        "every-node",
        "Returns the last type of a node instead of the first.",
        MemoryBackend,
        get_node=after(
            lambda node, db, i: node._replace(
                entity_type=(db._node_metadata[i].get("other_types") or [node.entity_type])[-1]
            )
        ),
        get_nodes_batch=around(metadata.nodes_one_by_one),
    ),
    wrong(
        "ListsOtherTypesToo",
        "schema-lists",
        "Lists types that occur only in `other_types`, or that no node has any longer.",
        entity_types=after(lambda types, _: sorted([*types, "Retired"])),
    ),
    wrong(
        "ListsSomeTypes",
        "types-match",
        "Has a LIMIT on its list of types.",
        entity_types=after(lambda types, _: types[:1]),
    ),
    wrong(
        "ListsSomePredicates",
        "predicates-match",
        "Has a LIMIT on its list of predicates.",
        predicates=after(lambda names, _: names[:1]),
    ),
    wrong(
        "SpellsPredicatesTwice",
        "schema-lists",
        "Lists predicates in lower case, but returns edges as stored.",
        predicates=after(lambda names, _: sorted({name.lower() for name in names})),
    ),
    wrong(
        "ListsPredicatesOfNoEdge",
        "schema-lists",
        "Lists the predicates that its schema allows, not those that occur.",
        predicates=after(lambda names, _: sorted([*names, "reserved"])),
    ),
    wrong(
        "ListsTypesAsTheyCome",
        "types-sorted",
        "Lists types in the order of its table.",
        entity_types=after(lambda types, _: types[::-1]),
    ),
    wrong(
        "ListsPredicatesAsTheyCome",
        "predicates-sorted",
        "Lists predicates in the order of its table.",
        predicates=after(lambda names, _: names[::-1]),
    ),
    wrong(
        "SortsByTheLocale",
        "hostile-ids",
        "Sorts like a dictionary, ignoring case.",
        predicates=after(lambda names, _: sorted(names, key=str.casefold)),
    ),
    wrong(
        "ListsTypesTwice",
        "types-sorted",
        "Lists a type once for every node that has it.",
        entity_types=after(lambda _, db: sorted(db.right._types.values())),
    ),
    wrong(
        "ListsInAnyOrder",
        "predicates-sorted",
        "Returns a set instead of a sorted list.",
        predicates=after(lambda names, _: frozenset(names)),
    ),
    wrong(
        "LearnsPredicates",
        "predicates-match",
        "Lists the predicates that it has read so far, so that the list grows during a session.",
        edges_from=after(edges.learned),
        predicates=after(lambda _, db: sorted(vars(db).get("learned", ()))),
    ),
    wrong(
        "BringsOtherDetail",
        "bfs-bytes",
        "Returns nodes with metadata that contradicts `metadata_for_node`.",
        get_node=after(lambda node, _, i: node._replace(metadata={"name": i, "row": 7})),
    ),
    wrong(
        "TypesByAnotherColumn",
        "nodes-batch",
        "Reads the type from different columns in the batch and in the single method.",
        MemoryBackend,
        get_nodes_batch=after(
            lambda nodes, *_: [n._replace(entity_type=n.entity_type.upper()) for n in nodes]
        ),
    ),
    wrong(
        "HidesFromOneQuestion",
        "ends-exist",
        "Hides merged entities in `get_node`, but not in the batch.",
        MemoryBackend,
        get_node=after(lambda n, _, i: failing(KeyError(i)) if n.entity_type == "Gene" else n),
    ),
    # --- ids, which may be any text and are never altered, and unknown ids
    wrong(
        "LowersIds",
        "exact-ids",
        "Keeps ids in lower case.",
        Keeps,
        kept_id=lambda _, text: text.lower(),
    ),
    wrong(
        "StripsIds",
        "exact-ids",
        "Strips outer whitespace from ids.",
        Keeps,
        kept_id=lambda _, text: text.strip(),
    ),
    wrong(
        "UnquotesIds",
        "exact-ids",
        "Decodes percent-escapes in ids, as if they came from URLs.",
        Keeps,
        kept_id=lambda _, text: unquote(text),
    ),
    wrong(
        "NormalizesIds",
        "exact-ids",
        "Normalizes accents: two ids that look alike become one.",
        Keeps,
        kept_id=lambda _, text: unicodedata.normalize("NFC", text),
    ),
    wrong(
        "KeepsNumbersAsNumbers",
        "hostile-ids",
        "Converts an id that looks like a number to one, so that `4.20` becomes `4.2`.",
        Keeps,
        kept_id=metadata.as_number,
    ),
    wrong(
        "KeepsLatinOnly",
        "hostile-ids",
        "Uses an encoding that cannot represent every character.",
        Keeps,
        kept_id=lambda _, text: text.encode("latin-1", "replace").decode("latin-1"),
    ),
    wrong(
        "CutsIds",
        "hostile-ids",
        "Truncates ids to 255 characters.",
        Keeps,
        kept_id=lambda _, text: text[:255],
    ),
    wrong(
        "KeepsOneLine",
        "hostile-ids",
        "Writes rows as lines, so that no id can contain a line break.",
        Keeps,
        kept_id=lambda _, text: " ".join(text.splitlines()),
    ),
    wrong(
        "AnswersInAnyCase",
        "same-errors",
        "Compares ids by a collation that ignores case, so that an id in the wrong case is found.",
        get_node=around(
            lambda right, db, i: right(
                i
                if i in db.right._types
                else {known.lower(): known for known in db.right._types}.get(i.lower(), i)
            )
        ),
    ),
    wrong(
        "ReadsPatterns",
        "ids-no-patterns",
        "Compares ids with LIKE, where a percent sign matches any text.",
        get_node=around(
            lambda right, db, i: right(
                next((k for k in sorted(db.right._types) if fnmatchcase(k, i.replace("%", "*"))), i)
            )
        ),
    ),
    wrong(
        "QuotesByHand",
        "hostile-ids",
        "Puts values into its query in quotes, and fails on a value that contains one.",
        through=around(
            lambda right, _, ask, *asked: (
                failing(RuntimeError("syntax error in the query"))
                if any("'" in text for text in asked if isinstance(text, str))
                else right(ask, *asked)
            )
        ),
    ),
    wrong(
        "JoinsTheTriple",
        "triples-apart",
        "Keys its edges by subject, predicate and object joined with a colon.",
        Keeps,
        metadata_for_edge=around(edges.by_joined_triple),
        metadata_for_edges_batch=around(edges.metadata_one_by_one),
    ),
    wrong(
        "GivesRowNumbers",
        "own-identity",
        "Returns its own row number as the id.",
        get_node=after(lambda node, db, i: node._replace(id=str(sorted(db.right._types).index(i)))),
    ),
    wrong(
        "RenamesInBatches",
        "every-node",
        "Returns ids in lower case from its batch method.",
        Keeps,
        get_nodes_batch=after(lambda nodes, *_: [n._replace(id=n.id.lower()) for n in nodes]),
    ),
    wrong(
        "UnknownHasNoEdges",
        "unknown-ids",
        "Queries only the edge table: an unknown entity looks like one without edges.",
        edges=unknown(lambda _: []),
    ),
    wrong(
        "UnknownIsNone",
        "unknown-ids",
        "Returns None for an unknown entity.",
        get_node=unknown(lambda _: None),
    ),
    wrong(
        "UnknownIsAnyNode",
        "unknown-ids",
        "Returns a node for every requested id.",
        get_node=unknown(lambda entity_id: Node(entity_id, "unknown")),
    ),
    wrong(
        "RaisesItsOwnError",
        "unknown-ids",
        "Raises an error of its driver instead of KeyError.",
        get_node=unknown(lambda entity_id: failing(ValueError(f"no row for {entity_id}"))),
    ),
    wrong(
        "UnknownHasEmptyMetadata",
        "unknown-metadata",
        "Returns an empty mapping for an unknown entity.",
        metadata_for_node=unknown(lambda _: {}),
    ),
    wrong(
        "UnknownEdgeHasEmptyMetadata",
        "unknown-metadata",
        "Returns an empty mapping for an edge that does not exist.",
        metadata_for_edge=unknown(lambda _: {}),
    ),
    wrong(
        "BatchRaisesForOne",
        "unknown-in-batches",
        "Fails the whole batch because of one unknown id.",
        MemoryBackend,
        get_nodes_batch=around(metadata.nodes_one_by_one_known_or_not),
    ),
    wrong(
        "BatchGivesUnknown",
        "unknown-in-batches",
        "Returns a node for every requested id in a batch, known or not.",
        MemoryBackend,
        get_nodes_batch=after(
            lambda _, db, ids: [Node(i, db._types.get(i, "unknown")) for i in ids]
        ),
    ),
    wrong(
        "BatchGivesEmptyMetadata",
        "unknown-in-batches",
        "Returns an entry for every requested id, empty if the id is unknown.",
        MemoryBackend,
        metadata_for_nodes_batch=after(lambda found, _, ids, *__: {i: {} for i in ids} | found),
    ),
    wrong(
        "EdgeBatchRaisesForOne",
        "unknown-in-batches",
        "Fails the whole batch because of one unknown edge.",
        MemoryBackend,
        metadata_for_edges_batch=around(edges.metadata_one_by_one_known_or_not),
    ),
    # --- metadata and evidence: missing, misplaced or shared values
    wrong(
        "ForgetsEvidence",
        "edge-evidence",
        "Reads the edge table, but not the evidence table.",
        MemoryBackend,
        __init__=loading(lambda records: [r for r in records if not isinstance(r, EvidenceRecord)]),
    ),
    wrong(
        "PutsEvidenceElsewhere",
        "edge-evidence",
        "Returns evidence under a key of its own, where core does not strip it.",
        metadata_for_edge=after(
            lambda known, *_: {"evidence" if k == "provenance" else k: known[k] for k in known}
        ),
    ),
    wrong(
        "CountsWhatItGives",
        "evidence-counted",
        "Reports the number of returned items as the total.",
        MemoryBackend,
        provenance_for_node=after(lambda given, *_: {**given, "total": len(given["items"])}),
    ),
    wrong(
        "GivesAllEvidence",
        "evidence-counted",
        "Ignores the limit.",
        MemoryBackend,
        provenance_for_node=around(lambda right, _, entity_id, __: right(entity_id, 1_000_000)),
    ),
    wrong(
        "BatchWithoutEvidence",
        "edge-metadata-batch",
        "Returns evidence for a single edge, but not in the batch.",
        MemoryBackend,
        metadata_for_edges_batch=after(
            lambda found, *_: {
                e: {k: v for k, v in m.items() if k != "provenance"} for e, m in found.items()
            }
        ),
    ),
    wrong(
        "BatchInBrief",
        "node-metadata-batch",
        "Returns only the name in the batch for nodes.",
        MemoryBackend,
        metadata_for_nodes_batch=after(
            lambda found, *_: {i: {k: m[k] for k in m if k == "name"} for i, m in found.items()}
        ),
    ),
    wrong(
        "BatchOfPairs",
        "node-metadata-batch",
        "Returns its batch as pairs instead of a mapping.",
        MemoryBackend,
        metadata_for_nodes_batch=after(lambda found, *_: list(found.items())),
    ),
    wrong(
        "GivesTheFirstKey",
        "node-metadata-keys",
        "Selects one column, however many keys are requested.",
        MemoryBackend,
        metadata_for_nodes_batch=around(
            lambda right, _, ids, keys=None: right(ids, keys and sorted(keys)[:1])
        ),
    ),
    wrong(
        "KeysAsText",
        "edge-metadata-keys",
        "Returns the values of single keys as text.",
        MemoryBackend,
        metadata_for_edges_batch=around(metadata.as_text),
    ),
    wrong(
        "CutsLargeBatches",
        "whole-hub",
        "Puts at most 999 values into a query, and ignores the others.",
        MemoryBackend,
        get_nodes_batch=around(lambda right, _, ids: right(ids[:999])),
        edges_batch=around(lambda right, _, ids, **part: right(ids[:999], **part)),
    ),
    wrong(
        "FailsOnNothing",
        "unknown-in-batches",
        "Fails on an empty list of ids, as its query syntax does.",
        MemoryBackend,
        get_nodes_batch=around(
            lambda right, _, ids: right(ids) if ids else failing(ValueError("error near ')'"))
        ),
    ),
    wrong(
        "SavesSpace",
        "every-value",
        "Omits long values in order to save tokens, which is core's task.",
        metadata_for_node=after(
            lambda known, *_: {k: v for k, v in known.items() if len(str(v)) < 60}
        ),
    ),
    wrong(
        "RepeatsTheIdentity",
        "entities-bytes",
        "Returns all columns of the row, including the id and the type.",
        metadata_for_node=after(
            lambda known, db, i: {**known, "id": i, "entity_type": db.right._types[i]}
        ),
    ),
    wrong(
        "EdgesHaveNoDetail",
        "every-value",
        "Returns no metadata for edges.",
        metadata_for_edge=after(lambda *_: {}),
    ),
    wrong(
        "LastRecordWins",
        "every-value",
        "Replaces the record of an edge with a later one instead of merging them.",
        MemoryBackend,
        __init__=loading(metadata.last_record_of_each_edge),
    ),
    wrong(
        "AveragesConfidence",
        "every-value",
        "Returns the mean of an edge's confidences instead of the maximum.",
        metadata_for_edge=after(
            lambda known, *_: (
                {**known, "confidence": fmean(known["confidences"])}
                if "confidences" in known
                else known
            )
        ),
    ),
    wrong(
        "FirstDescriptionWins",
        "every-value",
        "Ignores further records of a node, and so their names and types.",
        MemoryBackend,
        __init__=loading(metadata.first_record_of_each_node),
    ),
    wrong(
        "LendsItsOwn",
        "fresh-answers",
        "Returns its own mapping, which a caller can modify.",
        MemoryBackend,
        metadata_for_node=after(lambda _, db, i: db._node_metadata[i]),
        metadata_for_edge=after(lambda _, db, edge: db._edge_metadata[tuple(edge)]),
    ),
    wrong(
        "LendsItsLists",
        "fresh-answers",
        "Returns a shallow copy of its own mapping.",
        MemoryBackend,
        metadata_for_node=after(lambda _, db, i: dict(db._node_metadata[i])),
    ),
    wrong(
        "LendsItsEdges",
        "fresh-answers",
        "Returns its own list of edges, which a caller can modify.",
        edges_from=after(
            lambda edges, db, i: vars(db).setdefault("lists", {}).setdefault(i, edges)
        ),
    ),
    wrong(
        "EmptiesWhatItIsGiven",
        "cached-as-direct",
        "Clears the caller's list of ids.",
        MemoryBackend,
        get_nodes_batch=after(metadata.emptied),
    ),
    wrong(
        "KeepsNamesInAscii",
        "every-value",
        "Drops non-ASCII characters from its values.",
        Keeps,
        storable=lambda _, v: v.encode("ascii", "ignore").decode() if isinstance(v, str) else v,
    ),
    wrong(
        "ForgetsWhatDocumentsSupply",
        "entity-bytes",
        "Returns the evidence of a node's edges, but not what the node supplied as a document.",
        MemoryBackend,
        provenance_for_node=around(metadata.without_documents),
    ),
    wrong(
        "LosesEarlyEvidence",
        "drawn-graphs",
        "Drops evidence that comes before its edge while loading.",
        MemoryBackend,
        __init__=loading(metadata.without_early_evidence),
    ),
    # --- values: one is returned differently from how it was stored
    wrong(
        "NumbersAsText",
        "every-value",
        "Stores every value as text.",
        Keeps,
        storable=lambda _, v: (
            str(v) if isinstance(v, int | float) and not isinstance(v, bool) else v
        ),
    ),
    wrong(
        "TextAsNumbers",
        "every-value",
        "Converts text that looks like a number to one.",
        Keeps,
        storable=lambda _, v: int(v) if isinstance(v, str) and v.isdecimal() else v,
    ),
    wrong(
        "BooleansAsNumbers",
        "every-value",
        "Stores booleans as numbers.",
        Keeps,
        storable=everywhere(bool, int),
    ),
    wrong(
        "NumbersAsDoubles",
        "every-value",
        "Stores every number as a double, with 53 bits of precision.",
        Keeps,
        storable=everywhere(int, lambda v: float(v) if abs(v) > 2**53 else v),
    ),
    wrong(
        "SinglePrecision",
        "every-value",
        "Stores floats in four bytes.",
        Keeps,
        storable=lambda _, v: metadata.in_four_bytes(v) if isinstance(v, float) else v,
    ),
    wrong(
        "DecimalsAsDoubles",
        "every-value",
        "Rounds exact decimals to the nearest double.",
        Keeps,
        storable=everywhere(Decimal, float),
    ),
    wrong(
        "DatesInWords",
        "every-value",
        "Returns dates in the format of its driver instead of ISO 8601.",
        Keeps,
        storable=everywhere(date, lambda v: v.strftime("%d/%m/%Y")),
    ),
    wrong(
        "DatesWithATime",
        "every-value",
        "Converts every date to a datetime.",
        Keeps,
        storable=everywhere(
            date,
            lambda v: v if isinstance(v, datetime) else datetime(v.year, v.month, v.day),  # noqa: DTZ001
        ),
    ),
    wrong(
        "MapsFlattened",
        "every-value",
        "Flattens nested maps into dotted keys.",
        Keeps,
        kept_all=metadata.flattened,
    ),
    wrong(
        "MapsAsText",
        "every-value",
        "Stores nested maps as JSON text, and returns the text.",
        Keeps,
        storable=lambda _, v: json.dumps(v, default=str) if isinstance(v, dict) else v,
    ),
    wrong(
        "ListsSorted",
        "every-value",
        "Stores lists as sets.",
        Keeps,
        storable=lambda _, v: (
            sorted(set(v)) if isinstance(v, list) and all(isinstance(one, str) for one in v) else v
        ),
    ),
    wrong(
        "ListsOfOneAsTheOne",
        "every-value",
        "Replaces a list of one value with the value.",
        Keeps,
        storable=lambda _, v: v[0] if isinstance(v, list) and len(v) == 1 else v,
    ),
    wrong(
        "EmptyAsAbsent",
        "every-value",
        "Treats an empty string as a missing value.",
        Keeps,
        kept_all=lambda _, known: {k: v for k, v in known.items() if v != ""},
    ),
    wrong(
        "ZeroAsAbsent",
        "every-value",
        "Tests whether a value is truthy instead of whether it is present.",
        Keeps,
        kept_all=lambda _, known: {k: v for k, v in known.items() if v or v is None},
    ),
    wrong(
        "TextCut",
        "every-value",
        "Truncates text to 255 characters.",
        Keeps,
        storable=lambda _, v: v[:255] if isinstance(v, str) else v,
    ),
    wrong(
        "TextToTheFirstNul",
        "every-value",
        "Ends text at the first NUL, as strings in its driver's language do.",
        Keeps,
        storable=lambda _, v: v.split("\0")[0] if isinstance(v, str) else v,
    ),
    wrong(
        "TextOfThePlane",
        "every-value",
        "Stores at most three bytes per character, and so loses emoji.",
        Keeps,
        storable=everywhere(str, lambda v: "".join(c for c in v if c <= "\uffff")),
    ),
    wrong(
        "TextOfOneLine",
        "every-value",
        "Writes rows as lines, so that no value can contain a line break.",
        Keeps,
        storable=lambda _, v: " ".join(v.splitlines()) if isinstance(v, str) else v,
    ),
    wrong(
        "KeysLowered",
        "every-value",
        "Stores keys as case-insensitive column names, in lower case.",
        Keeps,
        kept_all=lambda _, known: {k.lower(): v for k, v in known.items()},
    ),
    # --- search
    wrong(
        "ForgetsTheLimit",
        "search-bounds",
        "Returns all matches.",
        Searches,
        search_entities=after(lambda _, db, query, types=None: _typed(db.matches(query), types)),
    ),
    wrong(
        "GivesOneHitAName",
        "search-crowd",
        "Returns an entity twice, for its name and for its id.",
        search_entities=after(lambda found, *_: [*found[:1], *found][:SEARCH_LIMIT]),
    ),
    wrong(
        "IgnoresTypes",
        "search-types-first",
        "Accepts `node_types` but ignores it.",
        search_entities=around(lambda right, _, query, node_types=None: right(query)),
    ),
    wrong(
        "FiltersAfterTheLimit",
        "search-types-first",
        "Filters by type after it has limited the results to twenty.",
        search_entities=around(edges.filtered_after),
    ),
    wrong(
        "SearchHasASyntax",
        "search-any-text",
        "Passes the text to a search engine in whose syntax quotes have a meaning.",
        search_entities=after(
            lambda found, _, query, *__: (
                failing(ValueError("unterminated string")) if query.count('"') % 2 else found
            )
        ),
    ),
    wrong(
        "SearchOfNothingFails",
        "search-any-text",
        "Fails on a text without words.",
        search_entities=after(
            lambda found, _, query, *__: (
                found if query.split() else failing(ValueError("empty search expression"))
            )
        ),
    ),
    wrong(
        "NoMatchIsAnError",
        "search-any-text",
        "Raises KeyError when nothing matches.",
        search_entities=after(lambda found, _, query, *__: found or failing(KeyError(query))),
    ),
    wrong(
        "NoMatchIsNone",
        "search-any-text",
        "Returns None when nothing matches.",
        search_entities=after(lambda found, *_: found or None),
    ),
    wrong(
        "FindsNamesOnly",
        "found-by-id",
        "Does not look at ids.",
        Searches,
        search_entities=after(
            lambda found, _, query, *__: [e for e in found if fold(query) in fold(e.name or "")]
        ),
    ),
    wrong(
        "TakesSpellingLiterally",
        "search-misspelt",
        "Finds only the exact spelling.",
        Searches,
        search_entities=after(
            lambda _, db, query, node_types=None: _typed(db.matches(query), node_types)[
                :SEARCH_LIMIT
            ]
        ),
    ),
    wrong(
        "OrdersByName",
        "search-name-before-longer",
        "Sorts by name before it cuts: an exact match may come last, or not at all.",
        Searches,
        search_entities=after(
            lambda _, db, query, node_types=None: _typed(
                sorted(db.matches(query), key=lambda e: (e.id != query, e.name or "")), node_types
            )[:SEARCH_LIMIT]
        ),
    ),
    wrong(
        "OrdersTiesAsTheyCome",
        "search-name-next",
        "Leaves equally good matches in the order of its table, last row first.",
        search_entities=after(
            lambda found, _, query, *__: sorted(  # noqa: C414 - reversed ties stay reversed
                reversed(found), key=lambda e: (e.id != query, e.name != query)
            )
        ),
    ),
    wrong(
        "FindsWhatIsGone",
        "search-types",
        "Searches an index that is older than the graph.",
        search_entities=after(
            lambda found, *_: [
                *found[: SEARCH_LIMIT - 1],
                *(e._replace(id=f"old:{e.id}") for e in found[:1]),
            ]
        ),
    ),
    wrong(
        "FindsAnotherType",
        "search-types",
        "Reads the type from a different column than `get_node`.",
        search_entities=after(lambda found, *_: [e._replace(entity_type="Thing") for e in found]),
    ),
    wrong(
        "ScoresByWords",
        "tools-answer",
        "Returns the score of its search engine, which is unbounded and not a similarity.",
        search_entities=after(
            lambda found, *_: [e._replace(score=14.2 - n) for n, e in enumerate(found)]
        ),
    ),
    wrong(
        "FindsInAnyOrder",
        "search-stable",
        "Leaves the order of results to its store, which may change it at any time.",
        search_entities=after(edges.in_another_order),
    ),
    wrong(
        "FindsNothing",
        "found-by-name",
        "Has no index, and silently returns no results.",
        search_entities=after(lambda *_: []),
    ),
    wrong(
        "RanksIdsLast",
        "search-id-first",
        "Ranks the entity with the id below those that have the id as their name.",
        search_entities=after(
            lambda found, _, query, *__: sorted(
                found, key=lambda e: (e.name != query, e.id == query)
            )
        ),
    ),
    wrong(
        "ForgetsNames",
        "search-name-next",
        "Returns the id of every hit as its name.",
        search_entities=after(lambda found, *_: [e._replace(name=e.id) for e in found]),
    ),
    # --- isolation.py
    as_class("concurrent-calls", isolation.SharesOneCursor),
    as_class("concurrent-calls", isolation.ServesOneAtATime),
    as_class("concurrent-calls", isolation.RefusesTheEleventh),
    as_class("free-loop", isolation.BlocksTheLoop),
    as_class("cancellation", isolation.DiesOfCancellation),
    as_class("cancellation", isolation.NeverGivesBack),
    as_class("cancellation", isolation.EndsTheOthers),
    as_class("cancellation", isolation.SharesOneTask),
    as_class("cancellation", isolation.SwallowsCancellation),
    as_class("stable-answers", isolation.ClosesAfterTheFirst),
    # --- columns.py
    with_columns("columns-order", columns.NumbersAsTheyCome),
    with_columns("columns-order", columns.NumbersByTheLocale),
    with_columns("columns-order", columns.NumbersByUtf16),
    with_columns("columns-order", columns.OrdersByHash),
    with_columns("columns-nodes", columns.LeavesUnknownOut),
    with_columns("columns-nodes", columns.FindsEachOnce),
    with_columns("columns-nodes", columns.ForgetsCase),
    with_columns("columns-nodes", columns.NamesTypesInAnotherOrder),
    with_columns("columns-nodes", columns.GivesIdsInOrder),
    with_columns("columns-ends", columns.FindsEnds),
    with_columns("columns-ends", columns.GivesEndsTheFirstType),
    with_columns("columns-ends", columns.RingsOfEnds),
    with_columns("columns-names", columns.NamesPastTypes),
    with_columns("columns-names", columns.NamesPredicatesTwice),
    with_columns("columns-rings", columns.RingsOfWhatLeaves),
    with_columns("columns-rings", columns.RingsOfWhatEnters),
    with_columns("columns-rings", columns.GivesAnEdgeAtEachEnd),
    with_columns("columns-rings", columns.GivesSelfLoopsTwice),
    with_columns("columns-rings", columns.LosesSelfLoops),
    with_columns("columns-rings", columns.OnePredicateOfAPair),
    with_columns("columns-rings", columns.RingsInStrings),
    with_columns("columns-rings", columns.LosesTheLastBatch),
    with_columns("columns-batches", columns.GivesAHubAtOnce),
    as_class("columns-apart", columns.SharesOneReader),
    as_class("columns-apart", columns.NeverGivesReadersBack),
    as_class("columns-fresh", columns.GivesItsOwnArrays),
    with_columns("columns-fresh", columns.SortsWhatItIsGiven),
    with_columns("columns-part", columns.PartsByOneEnd),
    # --- streams.py
    as_class("stream-edges", streams.StreamsWhatLeaves),
    as_class("stream-edges", streams.StreamsOneBatch),
    as_class("stream-edges", streams.StreamsOfEnds),
    as_class("stream-types", streams.MixesRows),
    as_class("stream-types", streams.TypesOfTheAsked),
    as_class("stream-types", streams.TypesEnds),
    as_class("stream-types", streams.SwapsTypes),
    as_class("stream-left", streams.NeverClosesItsCursor),
    as_class("stream-left", streams.OneCursorForAll),
    as_class("stream-part", streams.StreamsOnePredicate),
    # --- store_access.py
    as_class("query-text", store_access.WritesValuesIntoQueries),
    as_class("query-text", store_access.WritesTheSearchedText),
    as_class("round-trips", store_access.AsksOneByOne),
    as_class("round-trips", store_access.RingNodeByNode),
    as_class("read-rights", store_access.WritesWhenReading),
    as_class("store-returns", store_access.NeverConnectsAgain),
    as_class("store-returns", store_access.LetsTheDriverSpeak),
    as_class("store-returns", store_access.TakesGoneForEmpty),
    as_class("store-returns", store_access.KeepsItsAnswers),
    as_class("omissions-said", store_access.LeavesOutInSilence),
    as_class("omissions-said", store_access.SaysItOfAnother),
    as_class("omissions-said", store_access.CountsTheWhole),
    as_class("omissions-said", store_access.SaysItOnce),
    # --- health.py
    as_class("changed-steady", health.TakesTheTimeForAChange),
    as_class("changed-steady", health.ChangesWhenItIsAsked),
    as_class("changed-steady", health.ChangedIsACoroutine),
    as_class("changed-steady", health.CannotFindTheFile),
    as_class("changed-steady", health.AsksAnotherMachineForChanges),
    as_class("ping-answered", health.PingsAnIdThatItMisses),
    as_class("ping-asks", health.PingsItself),
    as_class("ping-asks", health.PingsWithTheDriver),
    as_class("may-write-said", health.SaysTrue),
    as_class("may-write-said", health.MayNotAskForItsRights),
    as_class("may-write-not", health.WarnsOfEveryAccount),
    # --- nodes.py
    as_class("nodes-list", nodes.ListsAHundred),
    as_class("nodes-list", nodes.NoTypesAreAllTypes),
    as_class("nodes-list", nodes.ListsByOtherType),
    as_class("nodes-conditions", nodes.ComparesTextExactly),
    as_class("nodes-conditions", nodes.ComparesOnlyNumbers),
    as_class("nodes-conditions", nodes.ComparesDoublesStrictly),
    as_class("nodes-conditions", nodes.ComparesNoLists),
    as_class("nodes-conditions", nodes.RequiresWhatLacks),
    as_class("nodes-conditions", nodes.ReadsValuesAsQueries),
    as_class("nodes-conditions", nodes.ExactInName),
    as_class("nodes-metadata", nodes.BringsOneProperty),
    as_class("nodes-bytes", nodes.OneTypeBesideConditions),
    as_class("nodes-unlike", nodes.LeavesOutTextAmongNumbers),
    as_class("nodes-unlike", nodes.UnknownOperatorsAreUnmet),
    with_columns("nodes-columns", nodes.ListsEachTwice),
    with_columns("nodes-columns", nodes.ListsTypesByNumber),
    # --- outlines.py
    as_class("outline-counts", outlines.CountsDanglingEdges),
    as_class("outline-counts", outlines.OldStatistics),
    as_class("outline-counts", outlines.NodesOfASample),
    as_class("outline-names", outlines.OwnSpelling),
    as_class("outline-properties", outlines.RangeOfAllTypes),
    as_class("outline-properties", outlines.RoundBounds),
]
"""The table."""
