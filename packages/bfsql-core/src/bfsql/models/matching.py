"""How a text matches the names of an entity: the classes of search (`protocol.md` 27).

From the best to the last: `id`, `name`, `alias`, `prefix`, `words`, `part`, `similar`,
`meaning`, `other`. The first seven depend on the id, the name and the synonyms of an
entity and are decided here, in the same way for every store. `meaning` is a similarity of
vectors, and `other` has a reason that only the store knows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise
from typing import Any, NamedTuple, TypeVar

from bfsql.models.merge import fold
from bfsql.models.records import Metadata

MOST_WORDS = 16
"""Maximum words of a text that are searched."""
LONGEST = 256
"""Maximum characters of a text that may be a misspelling."""
MOST_SHARING = 5
"""Maximum number of entities that have a rare word, and of hits that share one with a text."""
MOST_ERRORS = 2
"""Most typing errors of a word."""
NO_MISSPELLING = 100
"""Errors of a match that only shares a word, to which the words that it lacks are added."""

K = TypeVar("K", bound=Hashable)
_WORD = re.compile(r"[^\W_]+")


class MatchClass(StrEnum):
    """How a text matches an entity, the best first."""

    ID = "id"
    NAME = "name"
    ALIAS = "alias"
    PREFIX = "prefix"
    WORDS = "words"
    PART = "part"
    SIMILAR = "similar"
    MEANING = "meaning"
    OTHER = "other"

    @property
    def rank(self) -> int:
        """The position in the order, 0 for the best."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(MatchClass)}
EXACT = frozenset({MatchClass.ID, MatchClass.NAME, MatchClass.ALIAS})
"""The classes in which the text is a full name of the entity."""


class Match(NamedTuple):
    """How a text matches an entity."""

    kind: MatchClass
    errors: int = 0
    """Number of typing errors, or `NO_MISSPELLING` and more; above 0 only if it is `similar`."""

    @property
    def order(self) -> tuple[int, int]:
        """The sort key, the best match first."""
        return self.kind.rank, self.errors


def folded(text: str) -> str:
    """Text without accents, case, and outer or repeated space, for comparison."""
    return " ".join(fold(text).split())


def words_of(text: str) -> list[str]:
    """The runs of letters and digits in folded text, each once, in order."""
    return list(dict.fromkeys(_WORD.findall(text)))


def aliases_of(metadata: Metadata) -> list[str]:
    """The further names of an entity: the texts under `synonyms`."""
    synonyms = metadata.get("synonyms")
    given = synonyms if isinstance(synonyms, list | tuple) else [synonyms]
    return [text for text in given if isinstance(text, str)]


def name_of(metadata: Metadata) -> str | None:
    """The display name of an entity; None if it has none."""
    name = metadata.get("name")
    return name if isinstance(name, str) else None


class NameQuery:
    """A text to search for, compared with one entity after another.

    Args:
        text: A name, an alias, a part of one, or an id.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._ids = {text, text.strip()} if text.strip() else frozenset()
        self.folded = folded(text)
        self.words = words_of(self.folded)[:MOST_WORDS]

    def match(
        self, entity_id: str, name: str | None, aliases: Iterable[str], *, errors: bool = True
    ) -> Match | None:
        """How an entity matches; None if it is not close.

        Words are searched last in the id, which seldom consists of words.

        Args:
            entity_id: Its id, which serves as the name if the entity has no other.
            name: Its display name.
            aliases: Its further names.
            errors: Whether typing errors are allowed.
        """
        return self.match_labels(Labels(entity_id, name, aliases), errors=errors)

    def match_labels(self, labels: Labels, *, errors: bool = True) -> Match | None:
        """How an entity matches, by names that are folded already."""
        if labels.id in self._ids:
            return Match(MatchClass.ID)
        if not self.folded:
            return None
        if kind := self._plain(labels):
            return Match(kind)
        found = self._errors(labels) if errors else None
        return None if found is None else Match(MatchClass.SIMILAR, found)

    def shares_word(self, entity_id: str, name: str | None, aliases: Iterable[str]) -> bool:
        """Whether the entity has some of the words, so that its match is recognisably partial."""
        labels = Labels(entity_id, name, aliases)
        return any(_is_met(word, labels.each) for word in self.words)

    def shared_words(
        self, entity_id: str, name: str | None, aliases: Iterable[str]
    ) -> frozenset[str]:
        """The words, no numbers and none of one or two letters, that the entity has, too."""
        labels = Labels(entity_id, name, aliases)
        return self.significant_words.intersection(labels.words)

    @cached_property
    def significant_words(self) -> frozenset[str]:
        """The words that may be rare, if there are several; otherwise none."""
        if len(self.words) < 2:  # one word is all words
            return frozenset()
        return frozenset(w for w in self.words if len(w) > 2 and not w.isdecimal())

    @cached_property
    def parts(self) -> list[str]:
        """Parts of the longest word, one of which at least is in a word with a typing error more.

        Empty if the word is too short to be misspelt, or too long to be a name.
        """
        word = max(words_of(self.text.lower()), key=len, default="")
        errors = allowed_errors(word)
        if not errors or len(self.text) > LONGEST:
            return []
        size = max(len(word) // (errors + 2), 3)
        starts = [*range(0, len(word) - size, size), len(word) - size]
        return list(dict.fromkeys(word[start : start + size] for start in starts))

    def sharing(self, shared: Mapping[K, Collection[str]]) -> dict[K, Match]:
        """The matches of entities that share a rare word with the text.

        Args:
            shared: The shared words of all entities that have any of them.
        """
        count = Counter(chain.from_iterable(shared.values()))
        rare = {word for word, number in count.items() if number <= MOST_SHARING}
        lacking = len(self.words) + NO_MISSPELLING
        return {
            one: Match(MatchClass.SIMILAR, lacking - len(words))
            for one, words in shared.items()
            if not rare.isdisjoint(words)
        }

    @cached_property
    def _joined(self) -> str:
        return "".join(self.words)

    def _plain(self, labels: Labels) -> MatchClass | None:
        """The class of a match without typing errors."""
        wanted = self.folded
        if wanted == labels.name:
            return MatchClass.NAME
        if wanted in labels.aliases:
            return MatchClass.ALIAS
        if labels.shown.startswith(wanted):
            return MatchClass.PREFIX
        named = labels.each[:-1]
        if self._has_all(named) or any(self._joined == label.joined for label in named):
            return MatchClass.WORDS
        if any(wanted in label.text for label in labels.each) or self._has_all(labels.each):
            return MatchClass.PART
        return None

    def _has_all(self, labels: Sequence[Label]) -> bool:
        """Whether each word of the text is a word of some labels, begins one, or joins several."""
        return bool(self.words) and all(_is_met(word, labels) for word in self.words)

    def _errors(self, labels: Labels) -> int | None:
        """The fewest typing errors that turn the text into a name; None for too many."""
        if not self.words or len(self.folded) > LONGEST:
            return None
        whole = [self._whole_errors(label) for label in labels.each]
        each = self._errors_by_word(labels)
        return min((errors for errors in (*whole, each) if errors is not None), default=None)

    def _whole_errors(self, label: Label) -> int | None:
        """Typing errors in a label as a whole, ignoring gaps."""
        if self._numbers != _numbers(label.words):
            return None
        return typing_errors(self._joined, label.joined, allowed_errors(self._joined))

    @cached_property
    def _numbers(self) -> list[str]:
        return _numbers(self.words)

    def _errors_by_word(self, labels: Labels) -> int | None:
        """Typing errors in all words, each compared with the nearest word of the entity.

        Two words in a row count as one where that has fewer errors, in the text and in the entity.
        """
        known = dict.fromkeys(islice(labels.words, 2_000))
        longest = max(map(len, self.words)) + MOST_ERRORS
        # One word is compared with two words of a name as a whole, above.
        every = (label.words for label in labels.each)
        longer = (one for one in every if len(one) > 2 or len(self.words) > 1)
        pairs = chain.from_iterable(map(_pairs, longer))
        known.update(dict.fromkeys(pair for pair in islice(pairs, 2_000) if len(pair) <= longest))
        longest = max(map(len, known), default=0) + MOST_ERRORS
        # The fewest errors in the words up to each; None where there are too many.
        before: int | None = None
        total: int | None = 0
        for word, joined in zip(self.words, ["", *_pairs(self.words)], strict=True):
            errors = None if total is None else _least_errors(word, labels, known)
            least = None if errors is None or total is None else total + errors
            if before is not None and errors != 0 and 0 < len(joined) <= longest:
                errors = _least_errors(joined, labels, known)
                if errors is not None and (least is None or before + errors < least):
                    least = before + errors
            if least is None and total is None:
                return None
            before, total = total, least
        return total


class Label(NamedTuple):
    """A name or an id of an entity."""

    text: str
    """It, folded."""
    words: list[str]
    spaced: str
    """Its words, with a space before each."""
    joined: str
    """Its words without space."""


class Labels:
    """The names of an entity, folded.

    Args:
        entity_id: Its id.
        name: Its display name.
        aliases: Its further names.
    """

    def __init__(self, entity_id: str, name: str | None, aliases: Iterable[str]) -> None:
        self.id = entity_id
        self.name = folded(name) if name is not None else None
        self.aliases = [text for alias in aliases if (text := folded(alias))]
        own = folded(entity_id)
        self.shown = self.name or own
        self.each = list[Label]()
        """The name, each alias, and the id."""
        for text in (self.shown, *self.aliases, own):
            words = _WORD.findall(text)
            self.each.append(Label(text, words, " " + " ".join(words), "".join(words)))

    @cached_property
    def words(self) -> dict[str, None]:
        """All words, each once."""
        return dict.fromkeys(word for label in self.each for word in label.words)


def best_matches(text: str, labels: Mapping[str, Labels]) -> list[str]:
    """The ids of entities that match a text, ordered by `MatchClass`, length of name, and id.

    Similarly spelt names are searched if there are few other matches and none of them is exact;
    without any match, those that share a rare word of several.

    Args:
        text: The text to search for.
        labels: The names of each entity, by its id.
    """
    wanted = NameQuery(text)
    matches = ((i, wanted.match_labels(own, errors=False)) for i, own in labels.items())
    found = {i: match for i, match in matches if match}
    is_exact = any(match.kind in EXACT for match in found.values())
    if not is_exact and len(found) < 5:  # more matches are enough
        matches = ((i, wanted.match_labels(own)) for i, own in labels.items() if i not in found)
        found |= {i: match for i, match in matches if match}
    if not found and (significant := wanted.significant_words):
        shared = {i: significant.intersection(own.words) for i, own in labels.items()}
        found = wanted.sharing({i: words for i, words in shared.items() if words})
    return sorted(found, key=lambda i: (*found[i].order, len(labels[i].name or ""), i))


def _least_errors(word: str, labels: Labels, known: Collection[str]) -> int | None:
    """The fewest typing errors that turn a word into one of some words; None for too many."""
    if _is_met(word, labels.each):
        return 0
    most = allowed_errors(word)
    found = (typing_errors(word, other, most) for other in known) if most else ()
    return min((errors for errors in found if errors is not None), default=None)


def _pairs(words: Sequence[str]) -> Iterator[str]:
    """Each two words in a row as one; an empty text where one of them is a number."""
    for one, other in pairwise(words):
        yield "" if one.isdecimal() or other.isdecimal() else one + other


def _is_met(word: str, labels: Iterable[Label]) -> bool:
    """Whether a word begins a word of some labels, or is several of them run together."""
    begins = f" {word}"
    for label in labels:  # a generator would take longer than the tests
        if begins in label.spaced:
            return True
        if word in label.joined and _is_run_together(word, label):
            return True
    return False


def _is_run_together(word: str, label: Label) -> bool:
    """Whether a word is several consecutive words of a label, joined."""
    ends = set(accumulate(map(len, label.words), initial=0))
    return any(at + len(word) in ends and label.joined.startswith(word, at) for at in ends)


# --- typing errors ---------------------------------------------------------------


def allowed_errors(word: str) -> int:
    """Number of typing errors that a word of this length may have.

    Numbers may have none, words with digits one: another number means something else.
    """
    if word.isdecimal():
        return 0
    most = sum(len(word) >= letters for letters in (4, 6))  # one error, and two, from there on
    return min(most, 1) if any(map(str.isdecimal, word)) else most


def typing_errors(one: str, other: str, most: int) -> int | None:
    """The number of letters to insert, drop, replace or swap; None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    start = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        start += 1
    one, other = one[start:], other[start:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if not one or not other:
        return max(len(one), len(other))
    # A letter that is only in one of the words is an error of its own.
    lacking = max(len({*one}.difference(other)), len({*other}.difference(one)))
    return _distance(one, other, most) if lacking <= most else None


def _distance(one: str, other: str, most: int) -> int | None:
    """Damerau-Levenshtein distance: swapped letters may have others between them.

    A distance is at least the least value of each row, also of those that a swap passes over.
    """
    far = len(one) + len(other)
    rows: list[list[int]] = [[far] * (len(other) + 2), [far, *range(len(other) + 1)]]
    last_row: dict[str, int] = {}
    for i, a in enumerate(one, 1):
        row, above = [far, i], rows[i]
        last_match = 0
        for j, b in enumerate(other, 1):
            k, m = last_row.get(b, 0), last_match
            if a == b:
                last_match = j
            swapped = rows[k][m] + (i - k - 1) + 1 + (j - m - 1)
            row.append(min(above[j] + (a != b), row[j] + 1, above[j + 1] + 1, swapped))
        if min(row) > most:
            return None
        rows.append(row)
        last_row[a] = i
    return rows[-1][-1] if rows[-1][-1] <= most else None


def _numbers(words: Iterable[Any]) -> list[str]:
    return sorted(word for word in words if word.isdecimal())
