"""Writes the tables of search: the labels of every node, and the terms that find it.

Entries are ordered like equally good matches, the shorter name first, then the id, and cut
into blocks. The index of a block has, for every term, the places in the block of the entries
with the term. Blocks are made and written one at a time, so memory does not grow with the
graph, and a search that reads block after block meets the best matches first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bfsql.models.json_values import as_text
from bfsql.models.records import Metadata
from bfsql_sqlite import search_text as terms
from bfsql_sqlite.queries import FOLDED

BLOCK = 1 << 16
"""Most entries of a block: places are 16-bit numbers."""
CHARACTERS = 4_000_000
"""Most characters of names and aliases in a block with more than one entry."""
PLACES = np.dtype("<u2")
"""The type of places in a block."""
NODES = np.dtype("<i4")
"""The type of the numbers of nodes."""

_Numbers = NDArray[np.integer[Any]]
_Entry = tuple[int, int, str, str]
_Postings = tuple[Sequence[str], Sequence[bytes]]
"""Terms, and the places of each."""

_IN_ORDER = f"""
SELECT n, t, {FOLDED} AS text, others FROM entry JOIN node USING (n) ORDER BY length(text), n
"""  # noqa: S608 - a part of `queries`


def index_names(connection: sqlite3.Connection) -> None:
    """Fill the tables of search, except for `entry`.

    Args:
        connection: The graph under construction, with all `TABLES`, the nodes in `node`, in the
            order of their ids, and their entries in `entry`. Nothing is committed.
    """
    for b, block in enumerate(_blocks(connection.execute(_IN_ORDER))):
        numbers = np.array([n for n, *_ in block.entries], NODES)
        connection.execute("INSERT INTO block VALUES (?, ?)", (b, numbers.tobytes()))
        for names, places in block.postings():
            rows = zip(repeat(b), names, places, strict=False)
            connection.executemany("INSERT INTO posting VALUES (?, ?, ?)", rows)


def entry(n: int, entity_id: str, metadata: Metadata) -> tuple[int, str | None, str, str]:
    """The row of a node: its display name, and the folded texts to search, the id last."""
    name = metadata.get("name")
    name = as_text(name) if isinstance(name, str) else None
    synonyms = metadata.get("synonyms")
    own = terms.fold(entity_id)
    first = (name and terms.fold(name)) or own
    if not synonyms:
        others = "" if own == first else own
    else:
        aliases = synonyms if isinstance(synonyms, list) else [synonyms]
        folded = [terms.fold(text) for text in aliases if isinstance(text, str)]
        distinct = dict.fromkeys(text for text in (*folded, own) if text != first)
        others = "\n".join(filter(None, distinct))
    lower = name is not None and name.isascii() and name.lower() == first
    return n, name, "\n" if lower else first, others


# --- blocks ---------------------------------------------------------------------


class _Block:
    """A block of consecutive entries.

    An entry has the numbers of the node and of its type, the folded name, other folded labels.
    """

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        labels = [terms.gram_text(name, others) for _, _, name, others in entries]
        text = "".join(labels).encode("utf-32-le")
        self._characters = np.frombuffer(text, "<u4")
        self._lengths = np.fromiter(map(len, labels), np.int64, len(labels))
        occurs = np.zeros(int(self._characters.max()) + 1, np.bool_)
        occurs[self._characters] = True
        self._alphabet = np.flatnonzero(occurs)
        self._letter_bits = (len(self._alphabet) - 1).bit_length()
        self._place_bits = (len(entries) - 1).bit_length()

    def fits(self) -> bool:
        """Whether a trigram and a place fit into one 64-bit number."""
        return terms.GRAM * self._letter_bits + self._place_bits <= np.iinfo(np.uint64).bits

    def postings(self) -> Iterator[_Postings]:
        """All terms in code point order, with their places."""
        others = [labels for *_, labels in self.entries]
        yield self._trigrams()
        yield self._words(terms.NAME_WORD, [name for _, _, name, _ in self.entries])
        yield self._words(terms.OTHER_WORD, [labels.replace("\n", " ") for labels in others])
        yield self._types()
        yield self._checksums(others)

    def _trigrams(self) -> _Postings:
        bits = self._letter_bits
        letter = np.zeros(self._alphabet[-1] + 1, np.uint64)
        letter[self._alphabet] = np.arange(len(self._alphabet), dtype=np.uint64)
        letters = letter[self._characters]
        first, second, third = letters[:-2], letters[1:-1], letters[2:]
        # The separator is the first letter of the alphabet.
        whole = np.flatnonzero((first != 0) & (second != 0) & (third != 0))
        grams = (first << (2 * bits) | second << bits | third)[whole]
        places = np.repeat(np.arange(len(self.entries), dtype=np.uint64), self._lengths)
        numbers, found = self._grouped(grams, places[whole])
        letters_of = [chr(code) for code in self._alphabet]
        last = (1 << bits) - 1
        names = [
            terms.TRIGRAM
            + letters_of[number >> (2 * bits)]
            + letters_of[number >> bits & last]
            + letters_of[number & last]
            for number in numbers
        ]
        return names, found

    def _words(self, kind: str, texts: list[str]) -> _Postings:
        # One flat list: a list for each entry would keep the garbage collector busy.
        spaced = terms.spaced("\n".join(texts)).replace("\n", f" {terms.SEPARATOR} ")
        occurrences = spaced.split()
        words = sorted({terms.SEPARATOR, *occurrences})
        number = dict(zip(words, range(len(words)), strict=True))
        numbers = np.fromiter(map(number.__getitem__, occurrences), np.uint64, len(occurrences))
        within = np.flatnonzero(numbers)
        places = np.cumsum(numbers == 0, dtype=np.uint64)
        _, found = self._grouped(numbers[within], places[within])
        return [kind + word for word in words[1:]], found

    def _types(self) -> _Postings:
        types = np.array([t for _, t, *_ in self.entries], np.uint64)
        numbers, found = self._grouped(types, np.arange(len(types), dtype=np.uint64))
        return [terms.type_term(t) for t in numbers], found

    def _checksums(self, others: list[str]) -> _Postings:
        numbers = [terms.checksum(label) for labels in others for label in labels.split("\n")]
        lengths = [labels.count("\n") + 1 for labels in others]
        found, places = self._grouped(
            np.array(numbers, np.uint64),
            np.repeat(np.arange(len(others), dtype=np.uint64), lengths),
        )
        return [terms.checksum_term(number) for number in found], places

    def _grouped(self, numbers: _Numbers, places: _Numbers) -> tuple[list[int], list[bytes]]:
        """The numbers that occur, ascending, and the places of each."""
        pairs = np.sort(numbers << self._place_bits | places)
        pairs = pairs[_changes(pairs)]
        found = (pairs & ((1 << self._place_bits) - 1)).astype(PLACES).tobytes()
        of_pairs = pairs >> self._place_bits
        starts = _changes(of_pairs)
        begins = (starts * PLACES.itemsize).tolist()
        ends = [*begins[1:], len(found)]
        parts = (found[i:j] for i, j in zip(begins, ends, strict=False))
        return of_pairs[starts].tolist(), [pack(part, len(self.entries)) for part in parts]


def pack(places: bytes, size: int) -> bytes:
    """Places in a block of some size, as the file has them: as a mask if that is shorter."""
    length = -(-size // 8) | 1
    if len(places) <= length:
        return places
    mask = np.zeros(8 * length, np.bool_)
    mask[np.frombuffer(places, PLACES)] = True
    return np.packbits(mask).tobytes()


def unpack(data: bytes, size: int) -> NDArray[Any]:
    """The places that `pack` was called with, or a mask of them."""
    if len(data) % PLACES.itemsize == 0:
        return np.frombuffer(data, PLACES)
    return np.unpackbits(np.frombuffer(data, np.uint8), count=size).view(np.bool_)


def _changes(numbers: _Numbers) -> NDArray[np.intp]:
    """The indexes at which a new number begins in a sorted array."""
    return np.flatnonzero(np.diff(numbers, prepend=~numbers[:1]))


def _blocks(rows: Iterable[_Entry]) -> Iterator[_Block]:
    """Entries in blocks of `BLOCK`, or smaller ones if their labels are long."""
    entries: list[_Entry] = []
    characters = 0
    for row in rows:
        entries.append(row)
        characters += len(row[2]) + len(row[3])
        if len(entries) == BLOCK or characters >= CHARACTERS:
            yield from _fitting(entries)
            entries, characters = [], 0
    if entries:
        yield from _fitting(entries)


def _fitting(entries: list[_Entry]) -> Iterator[_Block]:
    """One block, or its two halves if it has too many different letters."""
    block = _Block(entries)
    if block.fits():
        yield block
        return
    half = len(entries) // 2
    yield from _fitting(entries[:half])
    yield from _fitting(entries[half:])
