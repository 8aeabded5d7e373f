"""Finds the entities that a typed text may mean.

There are nine looks, each less strict than the one before; they end when there are enough
candidates. Every look reads the index block by block, in the order of equally good matches
(shorter name first, then id), and stops when it has enough. Within a block the rarest of the
terms leads, and the type is one more term, so a word that half of the graph shares costs no
more than a rare one.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bfsql.models.json_values import is_text
from bfsql.models.matching import MOST_SHARING, NameQuery
from bfsql.models.records import EntityStub
from bfsql_sqlite import queries
from bfsql_sqlite import search_text as terms
from bfsql_sqlite.packed_arrays import Damaged, consecutive
from bfsql_sqlite.search_index import NODES, PLACES, unpack
from bfsql_sqlite.search_text import GRAM, fold, grams, inner_grams, swapped_grams, words

LIMIT = 20
"""Most candidates of a search."""
ENOUGH = 5
"""Number of matches from which, as after an exact match, misspellings are not searched."""
LONGEST = 256
"""Most characters of folded text that are searched as a part or a misspelling of a name."""
TEXT_BATCH = 64
"""Entries whose texts are read at a time."""
MOST_READ = 4_096
"""Most entries whose texts one look reads."""
COMPARE_LIMIT = 48
"""Entries sharing the most trigrams, which are compared letter by letter."""

_NAMES = (str, type(None))

Places = NDArray[Any]
"""Places in a block, or a mask of them."""


def search(
    connection: sqlite3.Connection,
    query: str,
    types: Collection[int],
    type_names: Sequence[str],
    without: Sequence[str] = (),
) -> list[EntityStub]:
    """Candidates, best first, at most `LIMIT`, and as many more as are left out.

    Args:
        connection: The graph.
        query: What a person would call the entity, or its id.
        types: Numbers of the types to include, none for all.
        type_names: Names of all types by number.
        without: Ids of those to leave out.
    """
    index = _Index(connection, types, without)
    looks, most = _Looks(connection, query, index), LIMIT + len(without)
    found = dict.fromkeys(n for look in looks.exact() for n in look)
    exact = bool(found)
    for look in looks.partial():
        found.update(dict.fromkeys(look))
        if len(found) >= most:
            break
    if not exact and len(found) < ENOUGH:
        found.update(dict.fromkeys(looks.alike(grams) or looks.alike(swapped_grams)))
    elif not exact and len(found) < most:
        found.update(dict.fromkeys(looks.alike(grams, errors=False)))
    if not found:
        found.update(dict.fromkeys(looks.sharing()))
    best = list(found)[:most]
    stubs = {
        n: EntityStub(entity_id, type_names[t], name)
        for n, entity_id, t, name in queries.rows_for(connection, queries.stubs, best)
    }
    if any(type(one.id) is not str or type(one.name) not in _NAMES for one in stubs.values()):
        raise Damaged("the name of a node is not text")
    return [stubs[n] for n in best]


class _Looks:
    """The ways to look for one text, each yielding numbers of nodes."""

    def __init__(self, connection: sqlite3.Connection, query: str, index: _Index) -> None:
        self._connection = connection
        self._query = query
        self._text = fold(query)
        self._index = index

    def exact(self) -> Iterator[list[int]]:
        """Entries with the text as id, name or alias."""
        for text in (self._query, self._query.strip()):
            if text and is_text(text) and text not in self._index.without:
                yield self._by_id(text)
        if text := self._text:
            # Names equal to the text are the shortest of those that begin with it.
            labels = self._index.labels(self._beginning)
            yield [n for n in self._beginning if labels[n][0] == text]
            yield self._index.having(
                [[terms.checksum_term(terms.checksum(text))]],
                lambda _, others: text in others.split("\n"),
            )

    def _by_id(self, entity_id: str) -> list[int]:
        rows = self._connection.execute(queries.ENTRY, (entity_id,))
        return [n for n, t in rows if not self._index.types or t in self._index.types]

    def partial(self) -> Iterator[list[int]]:
        """Entries whose name begins with the text, has its words, or contains it."""
        if not self._text:
            return
        yield self._beginning
        if wanted := words(self._text)[:16]:
            yield self._index.having([[terms.NAME_WORD + word] for word in wanted])
            yield self._index.having(
                [[terms.NAME_WORD + word, terms.OTHER_WORD + word] for word in wanted]
            )
        yield self._part(self._text)

    @cached_property
    def _beginning(self) -> list[int]:
        text = self._text
        start = terms.TRIGRAM + terms.START + text[: GRAM - 1]
        if len(text) < GRAM:
            return self._index.having([], starting=start)
        return self._index.having([[start], *_within(text)], lambda name, _: name.startswith(text))

    def _part(self, text: str) -> list[int]:
        if len(text) < GRAM:
            return self._index.having([], starting=terms.TRIGRAM + text)
        if len(text) > LONGEST:
            return []
        return self._index.having(
            _within(text), lambda name, others: text in name or text in others
        )

    def alike(self, grams_of: Callable[[str], list[str]], *, errors: bool = True) -> list[int]:
        """Entries that the text may be a misspelling of, the most alike first.

        They are chosen by the trigrams that they share with it. Entries whose words begin with
        the words of the text, or are written together in it, count too; without `errors`, only
        these.
        """
        if not 1 < len(self._text) <= LONGEST:
            return []
        nearest = self._index.sharing([terms.TRIGRAM + gram for gram in grams_of(self._text)])
        rows = queries.rows_for(self._connection, queries.stubs, nearest)
        ids = {n: entity_id for n, entity_id, *_ in rows}
        wanted, order = NameQuery(self._query), {}
        for n, (name, others) in self._index.labels(nearest).items():
            if match := wanted.match(ids[n], name, others.split("\n"), errors=errors):
                order[n] = (*match.order, len(name), n)
        return sorted(order, key=order.__getitem__)[: LIMIT + len(self._index.without)]

    def sharing(self) -> list[int]:
        """Entries that share a rare word with the text, those that share the most first."""
        wanted = NameQuery(self._query)
        shared: dict[int, set[str]] = defaultdict(set)
        for word in wanted.significant_words:
            having = self._index.having([[terms.NAME_WORD + word, terms.OTHER_WORD + word]])
            for n in having if len(having) <= MOST_SHARING else ():
                shared[n].add(word)
        if not shared:
            return []
        labels = self._index.labels(list(shared))
        return sorted(shared, key=lambda n: (-len(shared[n]), len(labels[n][0]), n))[:LIMIT]


def _within(text: str) -> list[list[str]]:
    """The trigrams of any name that contains the text; about eight of them if they are many."""
    found = inner_grams(text)
    return [[terms.TRIGRAM + gram] for gram in found[:: -(-len(found) // 8)]]


# --- reading the index ---------------------------------------------------------


class _Index:
    """Finds entries, of some types or of all, by their terms; some ids are left out."""

    def __init__(
        self, connection: sqlite3.Connection, types: Collection[int], without: Sequence[str]
    ) -> None:
        self._connection = connection
        self.types, self.without = types, without
        self._types = [terms.type_term(t) for t in types]
        self._most = 2 * LIMIT + 3 * len(without)  # entries that one look returns
        self._absent = {n for _, n, _ in queries.rows_for(connection, queries.nodes, without)}

    def having(
        self,
        groups: Collection[Collection[str]],
        accept: Callable[[str, str], bool] | None = None,
        *,
        starting: str | None = None,
    ) -> list[int]:
        """The first entries that have a term of every group.

        Args:
            groups: Groups of terms; one term of each is enough.
            accept: Checks the labels of an entry: the name, and the others, one per line. At
                most `MOST_READ` entries are checked.
            starting: The prefix of a further term that the entries must have.
        """
        found: list[int] = []
        read = 0
        for b, size in self._blocks():
            places = self._places(b, size, groups, starting)
            nodes = self._nodes(b, places[: None if accept else self._most])
            for start in range(0, len(nodes), TEXT_BATCH):
                some = [n for n in nodes[start : start + TEXT_BATCH] if n not in self._absent]
                if accept:
                    read += len(some)
                    labels = self.labels(some)
                    some = [n for n in some if accept(*labels[n])]
                found += some
                if len(found) >= self._most or read >= MOST_READ:
                    return found[: self._most]
        return found

    def sharing(self, grams: Collection[str]) -> list[int]:
        """The `COMPARE_LIMIT` entries that have the most of the terms, in index order."""
        best: list[tuple[int, int, int, int]] = []  # negated count, block, place, node
        for b, size in self._blocks():
            have = self._postings(b, size, [*grams, *self._types])
            shared = _counted([have[term] for term in grams if term in have], size)
            if self._types:
                shared *= _mask([have[term] for term in self._types if term in have], size)
            least = -best[-1][0] if len(best) == COMPARE_LIMIT else 0
            places = np.flatnonzero(shared > least)
            most = COMPARE_LIMIT + len(self._absent)
            places = places[np.argsort(-shared[places], kind="stable")[:most]]
            fewer, order = (-shared[places]).tolist(), places.tolist()
            best += zip(fewer, repeat(b), order, self._nodes(b, places))
            best = sorted(one for one in best if one[3] not in self._absent)[:COMPARE_LIMIT]
        return [n for *_, n in sorted(best, key=itemgetter(1, 2))]

    def labels(self, nodes: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The folded texts of entries: the name, and the others, one per line."""
        rows = queries.rows_for(self._connection, queries.labels, nodes)
        return {n: (name, others) for n, name, others in rows}

    def _blocks(self) -> list[tuple[int, int]]:
        """Number and size of each block."""
        rows = self._connection.execute(queries.BLOCKS)
        return [(b, length // NODES.itemsize) for b, length in consecutive(rows)]

    def _nodes(self, b: int, places: Places) -> list[int]:
        if not len(places):
            return []
        ((nodes,),) = self._connection.execute(queries.BLOCK, (b,))
        found: list[int] = np.frombuffer(nodes, NODES)[places].tolist()
        return found

    def _places(
        self, b: int, size: int, groups: Collection[Collection[str]], starting: str | None
    ) -> Places:
        """The places in a block of the entries that have a term of every group, and a type."""
        asked = [*groups, self._types] if self._types else groups
        have = self._postings(b, size, [term for group in asked for term in group])
        lists = [[have[term] for term in group if term in have] for group in asked]
        if starting:
            rows = self._connection.execute(queries.POSTINGS_FROM, (b, starting, starting))
            lists.append([unpack(places, size) for places in dict(rows).values()])
        lists.sort(key=lambda some: sum(map(len, some)))
        first, *others = lists
        if not first:
            return np.empty(0, PLACES)
        alone = len(first) == 1 and first[0].dtype != np.bool_
        found = first[0] if alone else np.flatnonzero(_mask(first, size))
        for some in others:
            if not len(found):
                break
            found = found[_mask(some, size)[found]]
        return found

    def _postings(self, b: int, size: int, keys: Sequence[str]) -> dict[str, Places]:
        rows = queries.rows_for(self._connection, queries.postings, keys, b)
        return {term: unpack(places, size) for term, places in rows}


def _mask(lists: Collection[Places], size: int) -> NDArray[np.bool_]:
    """A mask of the places that are in one of the lists."""
    mask = np.zeros(size, np.bool_)
    for places in lists:
        mask[places] = True
    return mask


def _counted(lists: Collection[Places], size: int) -> NDArray[np.int16]:
    """The number of lists that contain each place; the longest are left out if they are many."""
    kept: list[Places] = [np.empty(0, PLACES)]
    counts, room = np.zeros(size, np.int16), 1 << 18
    for places in sorted(lists, key=_length):
        room -= _length(places)
        if room < 0:
            break
        if places.dtype == np.bool_:
            counts += places
        else:
            kept.append(places)
    return counts + np.bincount(np.concatenate(kept), minlength=size).astype(np.int16)


def _length(places: Places) -> int:
    return int(np.count_nonzero(places)) if places.dtype == np.bool_ else len(places)
