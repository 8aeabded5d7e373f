"""How a text matches the names of an entity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.models.matching import MatchClass, NameQuery, allowed_errors, typing_errors

ID, NAME, ALIASES = "X:77", "Dorzol Golve syndrome", ["Vetorjor", "TNF alpha"]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("X:77", "id"),
        (" X:77 ", "id"),
        ("dorzol  GOLVE syndrome ", "name"),
        ("vétorjor", "alias"),
        ("Dorzol G", "prefix"),
        ("syndrome golve", "words"),
        ("syn dor", "words"),
        ("DorzolGolve", "words"),
        ("dorzolgolvesyndrome", "words"),
        ("tnfalpha", "words"),
        ("orzol", "part"),
        ("rzol Gol", "part"),
        ("x:7", "part"),
        ("vetorjor 77", "part"),
        ("Dorzul", "similar"),
        ("Dorzol Glove", "similar"),
        ("dorzolgolbe syndrom", "similar"),
        ("syndrome vetorjr", "similar"),
        ("VetorjorX", "similar"),
        ("Dorzol Gol ve", "words"),
        ("Dor zol Golve", "similar"),
        ("Drozol Gol ve syndrome", "similar"),
        ("drozolgolve", "similar"),
        ("golvesyndorme", "similar"),
        ("tnf beta", None),
        ("dorzol disease", None),
        ("aspirin", None),
        ("X:78", None),
        ("tn alpha beta", None),
        ("", None),
        ("  ", None),
        ("!?", None),
    ],
)
def test_the_class_of_a_match(query, kind):
    match = NameQuery(query).match(ID, NAME, ALIASES)
    assert (match and match.kind) == kind


def test_an_entity_without_a_name_is_called_by_its_id():
    assert NameQuery("Alice").match("Alice", None, ()).kind is MatchClass.ID
    assert NameQuery("alice").match("Alice", None, ()).kind is MatchClass.PREFIX
    assert NameQuery("alise").match("Alice", None, ()).kind is MatchClass.SIMILAR


def test_numbers_are_not_misspelt():
    assert NameQuery("phase 2").match("a", "Phase 3", ()) is None
    assert NameQuery("study 20211").match("a", "Study 20212", ()) is None
    assert NameQuery("BRCA3").match("a", "BRCA1", ()).kind is MatchClass.SIMILAR
    assert NameQuery("Phase 2 trial").match("a", "Phase 3 trial", ()) is None


def test_of_several_words_rare_ones_tell():
    wanted = NameQuery("Structure of Vanlam 2004 report")
    names = ["Vanlam Centre", "The report", *["Structure of x"] * 6, "Report of Vanlam 2004"]
    shared = {n: wanted.shared_words(str(n), name, ()) for n, name in enumerate(names)}
    assert shared[0] == {"vanlam"}
    assert shared[8] == {"report", "vanlam"}
    found = wanted.sharing({n: words for n, words in shared.items() if words})
    assert sorted(found, key=lambda n: found[n].order) == [8, 0, 1]
    assert not NameQuery("vanlam").significant_words


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("aspirin", "aspirn", 1),
        ("aspirin", "asprin", 1),
        ("aspirin", "apsirin", 1),
        ("aspirin", "aspirine", 1),
        ("aspirin", "aspiryn", 1),
        ("ca", "abc", 2),
        ("mutrucour", "mutrucorcu", 2),
        ("kitten", "sitting", None),
        ("boston", "houston", 2),
    ],
)
def test_typing_errors(one, other, errors):
    assert typing_errors(one, other, 2) == typing_errors(other, one, 2) == errors


def plain_distance(one: str, other: str) -> int:
    """Levenshtein distance by recursion over prefixes, as the oracle."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)))
        rows.append(row)
    return rows[-1][-1]


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_swaps_only_bring_texts_nearer(one, other):
    errors, without_swaps = typing_errors(one, other, 99), plain_distance(one, other)
    assert errors is not None
    assert without_swaps / 2 <= errors <= without_swaps
    assert typing_errors(other, one, 99) == errors
    assert (errors == 0) == (one == other)
    for most in range(4):
        assert typing_errors(one, other, most) == (errors if errors <= most else None)


@given(st.text("abcdefgh ", min_size=6, max_size=20), st.data())
def test_one_typing_error_in_a_long_word_is_found(name, data):
    longest = max(name.split() or [""], key=len)
    if allowed_errors(longest):
        at = data.draw(st.integers(0, len(longest) - 1))
        wrong = longest[:at] + "z" + longest[at + 1 :]
        assert NameQuery(wrong).match("id", name, ()) is not None
