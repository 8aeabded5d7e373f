"""Search: ids first, names next, at most 20 candidates, of the wanted types, for any text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence

from bfsql.abc import GraphDbInterface, normalized
from bfsql.graph import open_graph
from bfsql.masking import shorten
from bfsql.models import NodeRecord
from bfsql_testing.conformance.graphs import HOSTILE, crowd, hostile, node_ids, people
from bfsql_testing.conformance.harness import (
    WORDS,
    Trial,
    Untried,
    expect,
    expect_same,
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


async def _expect_first(db: GraphDbInterface, query: str, right: str) -> None:
    hits = await _candidate_ids(db, query)
    what = f"A search for {query[:80]!r} gave {shorten(str(hits[:4]), 200)}"
    expect(hits[:1] == [right], f"{what}; {right[:80]!r} has to come first.")


async def _expect_bounded(db: GraphDbInterface, query: str) -> None:
    hits = [stub.id for stub in await db.search_entities(query)]
    expect(len(hits) <= MOST, f"A search for {query!r} gave {len(hits)} candidates.")
    expect(len(set(hits)) == len(hits), f"A search for {query!r} gave a candidate twice: {hits}.")


def _takes_types(db: GraphDbInterface) -> bool:
    return "node_types" in inspect.signature(db.search_entities).parameters


async def _names(
    db: GraphDbInterface, ids: Sequence[str], fits: Callable[[str], object]
) -> list[tuple[str, str]]:
    """Id and name of the nodes whose names fit."""
    found = [(entity_id, (await db.metadata_for_node(entity_id)).get("name")) for entity_id in ids]
    return [(i, name) for i, name in found if isinstance(name, str) and fits(name)]


@reading_rule("the backend contract: search takes a name, an alias or an id, most likely first")
async def found_by_id(trial: Trial) -> None:
    """Search finds a node by its own id."""
    async with trial.sampled() as (db, ids):
        for entity_id in filter(str.strip, ids):
            node = await db.get_node(entity_id)
            await _expect_first(db, node.id, node.id)


@reading_rule("the six tools, search_entities: map a name to canonical ids")
async def found_by_name(trial: Trial) -> None:
    """Search finds a node by its own name."""
    async with trial.sampled() as (db, ids):
        names = await _names(db, ids, lambda name: any(map(str.isalnum, name)))
        for entity_id, name in names:
            hits = list(await normalized(db).search_entities(name))
            found = entity_id in [stub.id for stub in hits]
            same = sum(stub.name in (None, name) for stub in hits)
            if not found and same >= min(MOST, len(hits) or 1):
                trial.odd(f"More nodes than a search returns have the name {name!r}.")
                continue
            few = [stub.id for stub in hits[:5]]
            expect(found, f"A search for {name!r}, the name of {entity_id!r}, gave {few}.")
        if not names:
            raise Untried("No sampled node has a name.")


@reading_rule(
    "the backend contract: it is useful that search finds misspelt names as well", level="advice"
)
async def search_misspelt(trial: Trial) -> None:
    """Search finds a name with a typing error in it."""
    async with looked_at(trial, people()) as (db, ids):
        names = await _names(db, ids, _SPELT.fullmatch)
        misspelt = [(i, name, wrong) for i, name in names for wrong in _misspelt(name)]
        for entity_id, name, wrong in misspelt:
            hits = await _candidate_ids(db, wrong)
            if entity_id not in hits and len(hits) >= MOST:
                trial.odd(f"More nodes than a search returns have names similar to {wrong!r}.")
                continue
            what = f"A search for {wrong!r} did not find {entity_id!r}, which is named {name!r}"
            expect(entity_id in hits, f"{what}; it gave {hits[:5]}.")
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


@reading_rule("the six tools, search_entities: node_types keeps the candidates of these types")
async def search_types(trial: Trial) -> None:
    """Search respects the requested types."""
    async with trial.sampled() as (db, ids):
        for entity_id in ids[:10]:
            node = await db.get_node(entity_id)
            own, ways = [node.entity_type], [db] * _takes_types(db) + [normalized(db)]
            for stub in [s for of in ways for s in await of.search_entities(node.id, own)]:
                what = f"A search for {node.id!r} of type {node.entity_type!r} gave {stub}"
                expect(stub.entity_type == node.entity_type, f"{what}.")
                found = (await db.get_node(stub.id)).entity_type
                expect(found == stub.entity_type, f"{what}, which get_node says is a {found!r}.")
            none = [s for of in ways for s in await of.search_entities(node.id, ["no such type"])]
            what = f"A search for {node.id!r} with a type that does not exist gave {none[:3]}."
            expect(not none, what)


@reading_rule("the backend contract: at most 20 candidates")
async def search_bounds(trial: Trial) -> None:
    """Search gives at most 20 candidates, each once."""
    async with trial.opened() as db:
        for word in (*WORDS, *trial.words, *list(await db.entity_types())[:5]):
            await _expect_bounded(db, word)


@reading_rule("protocol 12 and rule 7 of the architecture: values never become query text")
async def search_any_text(trial: Trial) -> None:
    """No text makes search fail."""
    operators = ("", " ", "*", "AND", "NOT a", "a OR", '"', "(", "a:b", "~", "/re/", "^2", "a -b")
    async with trial.opened() as db:
        for text in (*HOSTILE, *operators, "\ud800"):
            with no_error(f"A search for {text[:60]!r}"):
                await returned(db, "search_entities", text)


@reading_rule("protocol 3: order is part of the contract; the same query gives the same bytes")
async def search_stable(trial: Trial) -> None:
    """Search gives many candidates in the same order every time."""
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


@filling_rule(ORDER)
async def search_id_first(trial: Trial) -> None:
    """Search gives the exact id first."""
    async with trial.filled(crowd()) as db:
        for entity_id in ("Paris", "c:05", "c:59"):
            await _expect_first(db, entity_id, entity_id)
    records = trial.storable(hostile())
    ids = set(node_ids(records))
    async with trial.filled(records) as db, open_graph(db) as graph:
        for text in [text for text in HOSTILE if text in ids]:
            await _expect_first(db, text, text)
            found = [hit["id"] for hit in (await graph.search_entities(text)).content["result"]]
            what = f"search_entities({text[:80]!r}) behind tools and cache gave {found[:2]}."
            expect(found[:1] == [text], what[:300])


@filling_rule(ORDER)
async def search_name_next(trial: Trial) -> None:
    """Search gives exact names next, ties by id."""
    longer = (NodeRecord(f"d:{n}", "Person", {"name": "Paris, " * 3 + f"{n}"}) for n in range(300))
    async with trial.filled([*longer, *crowd()]) as db:
        found = [stub for stub in await db.search_entities("Paris") if stub.id != "Paris"]
        wanted = [f"c:{n:02}" for n in range(MOST - 1)]
        what = "A search for 'Paris', after that id and by id,"
        expect_same(what, [stub.id for stub in found], wanted)
        names = {stub.name for stub in found} - {None, "Paris"}
        expect(not names, f"Search gives nodes named 'Paris' the names {sorted(names, key=str)}.")
        await _expect_first(db, "Paris Hilton", "b:0")


@filling_rule(ORDER)
async def search_crowd(trial: Trial) -> None:
    """Search gives at most 20 candidates, each once, of the requested types, in a large set too."""
    async with trial.filled(crowd()) as db, open_graph(db) as graph:
        for query in ("Paris", "paris", "par", "c:", "Person"):
            await _expect_bounded(db, query)
        least = MOST if _takes_types(db) else 1
        for entity_type in ("Person", "Place"):
            content = (await graph.search_entities("Paris", node_types=[entity_type])).content
            found = [hit["entity_type"] for hit in content["result"]]
            what = f"A search for 'Paris' of type {entity_type} gave"
            expect({*found} <= {entity_type}, f"{what} others: {found}.")
            expect(len(found) >= least, f"{what} {len(found)} candidates; thirty have that name.")
        none = list(await normalized(db).search_entities("Paris", ["no such type"]))
        expect(not none, f"A search for a type that does not exist gave {none[:3]}.")


@filling_rule("the six tools, search_entities: node_types; the backend contract: at most 20")
async def search_types_first(trial: Trial) -> None:
    """A search that takes types applies them before the limit."""
    async with trial.filled(crowd()) as db:
        if not _takes_types(db):
            raise Untried("The search takes no types; core applies them.")
        for entity_type in ("Person", "Place"):
            found = list(await db.search_entities("Paris", node_types=[entity_type]))
            others = [stub for stub in found if stub.entity_type != entity_type]
            what = f"A search for 'Paris' of type {entity_type} gave"
            expect(not others, f"{what} {others[:2]}.")
            right = f"{MOST} are expected. Are types applied after the limit?"
            expect(len(found) == MOST, f"{what} {len(found)} of the 30 with that name; {right}")


@filling_rule("the backend contract: ranked means most likely matches first")
async def search_name_before_longer(trial: Trial) -> None:
    """Search gives an exact name before names that contain it."""
    longer = [NodeRecord(f"a:{n:02}", "City", {"name": f"Ancient Rome {n}"}) for n in range(30)]
    async with trial.filled([*longer, NodeRecord("z:1", "City", {"name": "Rome"})]) as db:
        await _expect_first(db, "Rome", "z:1")
