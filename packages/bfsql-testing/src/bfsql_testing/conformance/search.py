"""Search: ids first, names next, at most 20 candidates, of the wanted types, for any text."""

from __future__ import annotations

import inspect
import re

from bfsql.abc import GraphDbInterface, normalized
from bfsql.graph import open_graph
from bfsql.models import NodeRecord
from bfsql_testing.conformance.graphs import HOSTILE, crowd, hostile, node_ids, people
from bfsql_testing.conformance.harness import (
    WORDS,
    Trial,
    Untried,
    expect,
    filling_rule,
    looked_at,
    no_error,
    reading_rule,
    returned,
)

MOST = 20
"""Candidates of a search."""

ORDER = "the backend contract: ranked means most likely matches first, at most 20 candidates"

_SPELT = re.compile(r"[a-z]{2,}( [a-z]{2,}){0,3}", re.IGNORECASE)
"""Names that are misspelt: a few plain words."""
_LONG_WORD = 7
"""Letters of a word that stays recognizable with a typing error."""


async def _candidate_ids(db: GraphDbInterface, query: str) -> list[str]:
    """Ids of the candidates, in order, as core requests them."""
    return [stub.id for stub in await normalized(db).search_entities(query)]


async def _expect_bounded(db: GraphDbInterface, query: str) -> None:
    hits = [stub.id for stub in await db.search_entities(query)]
    expect(len(hits) <= MOST, f"A search for {query!r} gave {len(hits)} candidates.")
    expect(len(set(hits)) == len(hits), f"A search for {query!r} gave a candidate twice: {hits}.")


def _takes_types(db: GraphDbInterface) -> bool:
    return "node_types" in inspect.signature(db.search_entities).parameters


@reading_rule(
    "search finds a node by its own id",
    source="the backend contract: search takes a name, an alias or an id, most likely first",
)
async def found_by_id(trial: Trial) -> None:
    """The node comes first."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids:
            if not entity_id.strip():
                continue
            node = await db.get_node(entity_id)
            hits = await _candidate_ids(db, node.id)
            expect(
                hits[:1] == [node.id],
                f"A search for the id {node.id!r} gave {hits[:3]}; the node itself must come "
                "first.",
            )


@reading_rule(
    "search finds a node by its own name",
    source="the six tools, search_entities: map a name to canonical ids",
)
async def found_by_name(trial: Trial) -> None:
    """Among the candidates, unless namesakes fill them."""
    async with trial.sampled() as (db, ids):
        named = 0
        for entity_id in ids:
            name = (await db.metadata_for_node(entity_id)).get("name")
            if not isinstance(name, str) or not any(c.isalnum() for c in name):
                continue
            named += 1
            hits = list(await normalized(db).search_entities(name))
            same = sum(stub.name in (None, name) for stub in hits)
            if entity_id not in {stub.id for stub in hits} and same >= min(MOST, len(hits) or 1):
                trial.odd(f"More nodes than a search returns have the name {name!r}.")
                continue
            expect(
                entity_id in {stub.id for stub in hits},
                f"A search for {name!r}, the name of {entity_id!r}, gave "
                f"{[stub.id for stub in hits[:5]]}.",
            )
        if not named:
            raise Untried("No sampled node has a name.")


@reading_rule(
    "search finds a name with a typing error in it",
    source="the backend contract: it is useful that search finds misspelt names as well",
    level="advice",
)
async def search_misspelt(trial: Trial) -> None:
    """A letter dropped, two letters swapped, another letter, no spaces.

    Names that are spelt alike may fill the hits.
    """
    async with looked_at(trial, people()) as (db, ids):
        misspelt = 0
        for entity_id in ids:
            name = (await db.metadata_for_node(entity_id)).get("name")
            if not isinstance(name, str) or not _SPELT.fullmatch(name):
                continue
            for wrong in _misspelt(name):
                misspelt += 1
                hits = await _candidate_ids(db, wrong)
                if entity_id not in hits and len(hits) >= MOST:
                    trial.odd(f"More nodes than a search returns have names similar to {wrong!r}.")
                    continue
                expect(
                    entity_id in hits,
                    f"A search for {wrong!r} did not find {entity_id!r}, which is named {name!r}; "
                    f"it gave {hits[:5]}.",
                )
        if not misspelt:
            raise Untried("No sampled name has a word long enough to misspell.")


def _misspelt(name: str) -> list[str]:
    """The name with one typing error in its longest word, three ways, or with words run together.

    The latter also with two letters swapped.
    """
    word = max(name.split(), key=len)
    if len(word) < _LONG_WORD:
        return []
    middle = len(word) // 2
    start, rest = word[:middle], word[middle:]
    other = "x" if rest[0] != "x" else "y"
    swapped = start[:-1] + rest[0] + start[-1] + rest[1:]
    wrong = (start + rest[1:], swapped, start + other + rest[1:])
    misspelt = [name.replace(word, one, 1) for one in wrong if one != word]
    if " " in name and swapped != word:
        misspelt += [name.replace(" ", ""), name.replace(word, swapped, 1).replace(" ", "")]
    return misspelt


@reading_rule(
    "search respects the requested types",
    source="the six tools, search_entities: node_types keeps the candidates of these types",
)
async def search_types(trial: Trial) -> None:
    """Called on the backend itself where its signature takes types, and as core calls it."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids[:10]:
            node = await db.get_node(entity_id)
            takes, own = _takes_types(db), [node.entity_type]
            direct = list(await db.search_entities(node.id, node_types=own)) if takes else []
            for stub in (*direct, *await normalized(db).search_entities(node.id, own)):
                expect(
                    stub.entity_type == node.entity_type,
                    f"A search for {node.id!r} of type {node.entity_type!r} gave {stub}.",
                )
                found = await db.get_node(stub.id)
                expect(
                    found.entity_type == stub.entity_type,
                    f"Search says that {stub.id!r} is a {stub.entity_type!r}, get_node that it is "
                    f"a {found.entity_type!r}.",
                )
            none = ["no such type"]
            other = list(await db.search_entities(node.id, node_types=none)) if takes else []
            other += await normalized(db).search_entities(node.id, none)
            expect(
                not other,
                f"A search for {node.id!r} with a type that does not exist gave {other[:3]}.",
            )


@reading_rule(
    "search gives at most 20 candidates, each once",
    source="the backend contract: at most 20 candidates",
)
async def search_bounds(trial: Trial) -> None:
    """For words, names and types of the store."""
    async with trial.opened() as db:
        for word in (*WORDS, *trial.words, *list(await db.entity_types())[:5]):
            await _expect_bounded(db, word)


@reading_rule(
    "no text makes search fail",
    source="protocol 12 and rule 7 of the architecture: values never become query text",
)
async def search_any_text(trial: Trial) -> None:
    """Every hostile text, blank ones, operators of full-text languages."""
    operators = ("", " ", "*", "AND", "NOT a", "a OR", '"', "(", "a:b", "~", "/re/", "^2", "a -b")
    async with trial.opened() as db:
        for text in (*HOSTILE, *operators, "\ud800"):
            with no_error(f"A search for {text[:60]!r}"):
                await returned(db, "search_entities", text)


@reading_rule(
    "search gives many candidates in the same order every time",
    source="protocol 3: order is part of the contract; the same query gives the same bytes",
)
async def search_stable(trial: Trial) -> None:
    """For words, and for types of the store."""
    async with trial.opened() as db:
        several = 0
        for word in (*trial.words, *WORDS, *list(await db.entity_types())[:5]):
            first = [stub.id for stub in await db.search_entities(word)]
            several += len(first) > 1
            # Three searches in all have to give the same order.
            for _ in range(2):
                again = [stub.id for stub in await db.search_entities(word)]
                expect(again == first, f"A search for {word!r} gave {first}, and then {again}.")
        if not several:
            raise Untried("No word was found that has several candidates; name some.")


@filling_rule("search gives the exact id first", source=ORDER)
async def search_id_first(trial: Trial) -> None:
    """Even where other nodes have that id as their name, and for hostile ids."""
    async with trial.filled(crowd()) as db:
        for entity_id in ("Paris", "c:05", "c:59"):
            hits = await _candidate_ids(db, entity_id)
            expect(hits[:1] == [entity_id], f"A search for {entity_id!r} gave {hits[:4]}.")
    records = trial.storable(hostile())
    ids = set(node_ids(records))
    async with trial.filled(records) as db, open_graph(db) as graph:
        for text in [text for text in HOSTILE if text in ids]:
            hits = await _candidate_ids(db, text)
            expect(hits[:1] == [text], f"A search for the id {text[:80]!r} gave {hits[:2]}."[:300])
            content = (await graph.search_entities(text)).content["result"]
            through = [hit["id"] for hit in content]
            expect(
                through[:1] == [text],
                f"search_entities({text[:80]!r}) behind tools and cache gave {through[:2]}."[:300],
            )


@filling_rule("search gives exact names next, ties by id", source=ORDER)
async def search_name_next(trial: Trial) -> None:
    """Namesakes before those whose name is longer, however many, with their names."""
    longer = (NodeRecord(f"d:{n}", "Person", {"name": "Paris, " * 3 + f"{n}"}) for n in range(300))
    async with trial.filled([*longer, *crowd()]) as db:
        found = list(await db.search_entities("Paris"))
        named = [stub.id for stub in found if stub.id != "Paris"]
        wanted = [f"c:{n:02}" for n in range(len(named))]
        expect(
            named == wanted and len(named) == MOST - 1,
            f"A search for 'Paris' gave {[stub.id for stub in found]}; after the id 'Paris', the "
            f"first {MOST - 1} nodes of that name by id are expected.",
        )
        expect(
            all(stub.name in (None, "Paris") for stub in found if stub.id in wanted),
            f"Search gives {named[:3]} names other than 'Paris'.",
        )
        hilton = await _candidate_ids(db, "Paris Hilton")
        expect(hilton[:1] == ["b:0"], f"A search for 'Paris Hilton' gave {hilton[:3]}.")


@filling_rule(
    "search gives at most 20 candidates, each once, of the requested types, in a large set too",
    source=ORDER,
)
async def search_crowd(trial: Trial) -> None:
    """Types are applied before the limit of twenty, where the backend takes them."""
    async with trial.filled(crowd()) as db, open_graph(db) as graph:
        for query in ("Paris", "paris", "par", "c:", "Person"):
            await _expect_bounded(db, query)
        for entity_type in ("Person", "Place"):
            content = (await graph.search_entities("Paris", node_types=[entity_type])).content
            found = content["result"]
            wrong = [hit["id"] for hit in found if hit["entity_type"] != entity_type]
            expect(not wrong, f"A search for {entity_type} gave others: {wrong[:3]}.")
            least = MOST if _takes_types(db) else 1
            expect(
                len(found) >= least,
                f"A search for 'Paris' of type {entity_type} gave {len(found)} candidates; thirty "
                "have that name.",
            )
        none = list(await normalized(db).search_entities("Paris", ["no such type"]))
        expect(not none, f"A search for a type that does not exist gave {none[:3]}.")


@filling_rule(
    "a search that takes types applies them before the limit",
    source="the six tools, search_entities: node_types; the backend contract: at most 20",
)
async def search_types_first(trial: Trial) -> None:
    """Thirty namesakes of a type fill the twenty places, whatever the names of others."""
    async with trial.filled(crowd()) as db:
        if not _takes_types(db):
            raise Untried("The search takes no types; core applies them.")
        for entity_type in ("Person", "Place"):
            found = list(await db.search_entities("Paris", node_types=[entity_type]))
            others = [stub for stub in found if stub.entity_type != entity_type]
            expect(not others, f"A search for 'Paris' of type {entity_type} gave {others[:2]}.")
            expect(
                len(found) == MOST,
                f"A search for 'Paris' of type {entity_type} gave {len(found)} of the 30 with "
                f"that name; {MOST} are expected. Are types applied after the limit?",
            )


@filling_rule(
    "search gives an exact name before names that contain it",
    source="the backend contract: ranked means most likely matches first",
)
async def search_name_before_longer(trial: Trial) -> None:
    """Although thirty longer names come first alphabetically and by id."""
    longer = [NodeRecord(f"a:{n:02}", "City", {"name": f"Ancient Rome {n}"}) for n in range(30)]
    async with trial.filled([*longer, NodeRecord("z:1", "City", {"name": "Rome"})]) as db:
        found = await _candidate_ids(db, "Rome")
        expect(found[:1] == ["z:1"], f"A search for 'Rome' gave {found[:3]}; 'z:1' has that name.")
