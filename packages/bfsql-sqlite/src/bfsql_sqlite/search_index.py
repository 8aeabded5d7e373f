"""Writes the tables of search: what every node is called, and by which terms it is found.

Entries are taken in the order of equally good matches, the shorter name first,
then the id, and cut into blocks. The index of a block holds for every term the
places in the block of the entries that have it. So a block is made and written
at a time, in memory that does not grow with the graph, and a search that reads
block after block meets the best matches first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bfsql.models.json_values import as_text, decode
from bfsql_sqlite import search_text as terms

BLOCK = 1 << 16
"""Entries of a block at most: places are numbers of 16 bits."""
CHARACTERS = 4_000_000
"""Characters of names and aliases in a block at most, if it has more than one entry."""
_BITS = 64
_CODE_POINTS = 0x110000
_PLACES = np.dtype("<u2")
_NODES = np.dtype("<i4")

_Numbers = NDArray[np.uint64]
_Entry = tuple[int, int, str, str]
_Posting = tuple[str, bytes]


_IN_ORDER = "SELECT n, t, folded, others FROM entry ORDER BY length(folded), n"


class NamedNode(NamedTuple):
    """What search needs of a node; a plain tuple will do."""

    n: int
    """Its handle; handles ascend with the ids."""
    t: int
    """Number of its type."""
    id: str
    metadata: str
    """JSON text; `name` and `synonyms` are read."""


def index_names(
    connection: sqlite3.Connection,
    nodes: Iterable[tuple[int, int, str, str]],
) -> None:
    """Fill the tables of search.

    Args:
        connection: The graph that is being written, with all `TABLES`, the nodes in `node`,
            and the tables of search empty. Nothing is committed.
        nodes: The fields of `NamedNode` for every node, once.
    """
    connection.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", map(_entry, nodes))
    for b, block in enumerate(_blocks(connection.execute(_IN_ORDER))):
        numbers = np.array([n for n, *_ in block.entries], _NODES)
        connection.execute("INSERT INTO block VALUES (?, ?)", (b, numbers.tobytes()))
        postings = ((b, term, places) for term, places in block.postings())
        connection.executemany("INSERT INTO posting VALUES (?, ?, ?)", postings)


def _entry(node: tuple[int, int, str, str]) -> tuple[int, int, str | None, str, str]:
    n, t, entity_id, metadata = node
    name, (first, *others) = _texts(entity_id, decode(metadata))
    return n, t, name, first, "\n".join(others)


def _texts(entity_id: str, metadata: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The display name, and the folded texts to search: the name first, the id last."""
    given, synonyms = metadata.get("name"), metadata.get("synonyms")
    name = as_text(given) if isinstance(given, str) else None
    aliases = synonyms if isinstance(synonyms, list) else [synonyms]
    folded = [terms.fold(text) for text in (*aliases, entity_id) if isinstance(text, str)]
    first = terms.fold(name or "") or folded[-1]
    return name, list(dict.fromkeys([first, *(text for text in folded if text)]))


# --- blocks ---------------------------------------------------------------------


class _Block:
    """Entries that follow each other in order.

    Args:
        entries: Number of the node, number of its type, folded name, other folded labels.
    """

    def __init__(self, entries: list[_Entry]) -> None:
        self.entries = entries
        labels = [terms.gram_text(name, others) for _, _, name, others in entries]
        text = "".join(labels).encode("utf-32-le")
        self._characters = np.frombuffer(text, "<u4")
        self._lengths = np.fromiter(map(len, labels), np.int64, len(labels))
        occurs = np.zeros(_CODE_POINTS, np.bool_)
        occurs[self._characters] = True
        self._alphabet = np.flatnonzero(occurs)
        self._letter_bits = (len(self._alphabet) - 1).bit_length()
        self._place_bits = (len(entries) - 1).bit_length()

    def fits(self) -> bool:
        """Whether a trigram and a place go into one number of 64 bits."""
        return terms.GRAM * self._letter_bits + self._place_bits <= _BITS

    def postings(self) -> Iterator[_Posting]:
        """All terms in order of code points, with their places."""
        names = [name for _, _, name, _ in self.entries]
        others = [labels for *_, labels in self.entries]
        yield from self._checksums(terms.NAME, names)
        yield from self._trigrams()
        yield from self._words(terms.NAME_WORD, names)
        yield from self._words(terms.OTHER_WORD, others)
        yield from self._types()
        yield from self._checksums(terms.OTHER, others)

    def _checksums(self, kind: str, texts: list[str]) -> Iterator[_Posting]:
        labels = [text.split("\n") if text else [] for text in texts]
        numbers = [terms.checksum(label) for row in labels for label in row]
        return self._collected(
            np.array(numbers, np.uint64),
            self._places([len(row) for row in labels]),
            lambda number: terms.checksum_term(kind, number),
        )

    def _trigrams(self) -> Iterator[_Posting]:
        bits = self._letter_bits
        letter = np.zeros(_CODE_POINTS, np.uint64)
        letter[self._alphabet] = np.arange(len(self._alphabet), dtype=np.uint64)
        letters = letter[self._characters]
        gram = letters[:-2] << (2 * bits) | letters[1:-1] << bits | letters[2:]
        # The separator is the first letter of the alphabet.
        whole = np.lib.stride_tricks.sliding_window_view(letters != 0, terms.GRAM).all(axis=1)
        characters = [chr(code) for code in self._alphabet]
        last = (1 << bits) - 1
        return self._collected(
            gram[whole],
            self._places(self._lengths)[:-2][whole],
            lambda number: (
                terms.TRIGRAM
                + characters[number >> (2 * bits)]
                + characters[number >> bits & last]
                + characters[number & last]
            ),
        )

    def _words(self, kind: str, texts: list[str]) -> Iterator[_Posting]:
        lines = terms.spaced("\0".join(texts).replace("\n", " ").replace("\0", "\n")).split("\n")
        rows = [line.split() for line in lines]
        vocabulary = sorted({word for row in rows for word in row})
        number = {word: k for k, word in enumerate(vocabulary)}
        return self._collected(
            np.array([number[word] for row in rows for word in row], np.uint64),
            self._places([len(row) for row in rows]),
            lambda k: kind + vocabulary[k],
        )

    def _types(self) -> Iterator[_Posting]:
        types = sorted({t for _, t, *_ in self.entries}, key=str)
        number = {t: k for k, t in enumerate(types)}
        return self._collected(
            np.array([number[t] for _, t, *_ in self.entries], np.uint64),
            self._places([1] * len(self.entries)),
            lambda k: f"{terms.TYPE}{types[k]}",
        )

    def _places(self, lengths: list[int] | NDArray[np.int64]) -> _Numbers:
        """The place of every entry, as often as it has terms."""
        return np.repeat(np.arange(len(self.entries), dtype=np.uint64), lengths)

    def _collected(
        self, numbers: _Numbers, places: _Numbers, term: Callable[[int], str]
    ) -> Iterator[_Posting]:
        """The places of each term, from pairs of a term's number and a place."""
        if not len(numbers):
            return
        pairs = np.sort(numbers << self._place_bits | places)
        pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=~pairs[:1]))]
        found = (pairs & ((1 << self._place_bits) - 1)).astype(_PLACES).tobytes()
        of_pairs = pairs >> self._place_bits
        starts = np.flatnonzero(np.diff(of_pairs, prepend=~of_pairs[:1]))
        ends = [*starts[1:].tolist(), len(pairs)]
        for number, start, end in zip(
            of_pairs[starts].tolist(), starts.tolist(), ends, strict=True
        ):
            yield term(number), found[start * _PLACES.itemsize : end * _PLACES.itemsize]


def _blocks(rows: Iterable[_Entry]) -> Iterator[_Block]:
    """Entries in blocks of `BLOCK`, or of fewer where their labels are long."""
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
    """One block, or two halves where it has too many different letters."""
    block = _Block(entries)
    if block.fits():
        yield block
        return
    half = len(entries) // 2
    yield from _fitting(entries[:half])
    yield from _fitting(entries[half:])
