"""Many ids in few queries, whatever query sizes the endpoint accepts."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_sparql.batches import Batches, Question, is_round
from bfsql_sparql.dataset import Dataset, Refused, Reply, Row, TooSlow, rows
from bfsql_sparql.settings import SparqlSettings


class Numbers(Dataset):
    """A store that takes lists of keys as queries, and answers as the test specifies."""

    name = "the store of the test"

    def __init__(self, says, *, counts=True):
        self._says = says
        self._counts = counts
        self.asked: list[list[str]] = []
        self.counted: list[list[str]] = []

    async def reply(self, query, seconds=None):
        if query.startswith("SELECT (COUNT(*) AS ?n) WHERE { "):
            keys = query.partition("{")[2].removesuffix("}").split()
            self.counted.append(keys)
            if not self._counts:
                raise Refused("no aggregates", 400)
            return table([str(len(keys))], type_="literal")
        keys = query.split()
        self.asked.append(keys)
        return self._says(keys)

    async def close(self):
        """Do nothing."""


def table(values, cut=None, type_="uri"):
    """An answer with one row for each value."""
    bindings = [{"s": {"type": type_, "value": value}} for value in values]
    document = {"head": {"vars": ["s"]}, "results": {"bindings": bindings}}
    return Reply(json.dumps(document).encode(), cut)


QUESTION: Question[str, list[Row]] = Question(
    text=" ".join, decode=rows, count=len, harmless="harmless"
)


async def ask(store, keys, **settings):
    """All answers for some keys."""
    batches = Batches(store, SparqlSettings(**settings))
    parts = await batches.read(keys, QUESTION)
    assert not any(part.cut for part in parts)
    return sorted(str(row[0]) for part in parts for row in part.rows)


async def test_a_ring_that_fits_is_one_query():
    store = Numbers(table)
    keys = [f"k{n}" for n in range(1_000)]
    assert await ask(store, keys) == sorted(keys)
    # Endpoints may truncate at 1,000 rows, so a count confirms that these are all rows.
    assert store.asked == store.counted == [keys]
    assert await ask(store, keys[:999]) == sorted(keys[:999])
    assert store.asked[1:] == [keys[:999]]
    assert len(store.counted) == 1


async def test_a_ring_that_is_a_little_too_large_is_two_queries_of_one_size():
    store = Numbers(table)
    await ask(store, [f"k{n}" for n in range(1_102)])
    assert [len(asked) for asked in store.asked] == [551, 551]


@given(st.integers(1, 40), st.integers(1, 300), st.sets(st.integers(0, 299), max_size=4))
async def test_all_is_answered_but_what_alone_is_not_understood(most, number, odd):
    def says(keys):
        if len(keys) > most or any(key in wrong for key in keys):
            raise Refused("too many, or odd", 400)
        return table(keys)

    keys, wrong = [f"k{n}" for n in range(number)], {f"k{n}" for n in odd}
    assert await ask(Numbers(says), keys, batch_size=100) == sorted(set(keys) - wrong)


@pytest.mark.parametrize("error", [TooSlow("slow"), Refused("dear", 500), Refused("long", 414)])
async def test_a_batch_that_is_too_much_is_halved_and_grows_again(error):
    heavy = True

    def says(keys):
        if heavy and len(keys) > 30:
            raise error
        return table(keys)

    store = Numbers(says)
    batches = Batches(store, SparqlSettings(batch_size=100, max_concurrent=1))
    await batches.read([f"k{n}" for n in range(300)], QUESTION)
    assert len(store.asked[-1]) <= 30
    heavy = False
    await batches.read([f"k{n}" for n in range(1_000)], QUESTION)
    store.asked.clear()
    await batches.read([f"k{n}" for n in range(300)], QUESTION)
    assert [len(keys) for keys in store.asked] == [100, 100, 100]


async def test_a_key_that_is_not_understood_makes_no_later_query_smaller():
    def says(keys):
        if "odd" in keys:
            raise Refused("what is that?", 400)
        return table(keys)

    store = Numbers(says)
    batches = Batches(store, SparqlSettings(batch_size=100, max_concurrent=1))
    await batches.read([*(f"k{n}" for n in range(99)), "odd"], QUESTION)
    store.asked.clear()
    await batches.read([f"k{n}" for n in range(100)], QUESTION)
    assert [len(keys) for keys in store.asked] == [100]


async def test_a_key_that_alone_is_too_slow_makes_no_later_query_smaller():
    def says(keys):
        if "hub" in keys:
            raise TooSlow("slow")
        return table(keys)

    store = Numbers(says)
    batches = Batches(store, SparqlSettings(batch_size=100, max_concurrent=1))
    with pytest.raises(TooSlow):
        await batches.read(["hub"], QUESTION)
    store.asked.clear()
    await batches.read([f"k{n}" for n in range(100)], QUESTION)
    assert [len(keys) for keys in store.asked] == [100]


async def test_an_answer_that_is_cut_is_asked_for_in_halves():
    def says(keys):
        return table(keys[:10], "only ten rows" if len(keys) > 10 else None)

    keys = [f"k{n}" for n in range(77)]
    assert await ask(Numbers(says), keys) == sorted(keys)


def first(limit, keys):
    """The answer of an endpoint that cuts without a word."""
    return table(keys[:limit])


async def test_an_answer_that_is_cut_in_silence_is_noticed_whether_or_not_a_store_counts(each):
    rows = [*((limit, True) for limit in (500, 1_000, 1_024, 10_000)), (500, False), (1_024, False)]
    for limit, counts in rows:
        with each(limit, counts):
            keys = [f"k{n}" for n in range(limit + 37)]
            store = Numbers(partial(first, limit), counts=counts)
            assert await ask(store, keys, batch_size=20_000) == sorted(keys)


async def test_more_rows_than_a_page_are_asked_for_in_halves():
    keys = [f"k{n}" for n in range(64)]
    store = Numbers(lambda some: table(some[:21]))
    assert await ask(store, keys, page_size=20) == sorted(keys)


async def test_a_store_that_refuses_every_query_is_an_error_after_few():
    def says(keys):
        raise Refused("no such thing as VALUES", 400)

    store = Numbers(says)
    with pytest.raises(StoreError, match="no such thing as VALUES"):
        await ask(store, [f"k{n}" for n in range(1_000)], max_concurrent=1)
    assert len(store.asked) <= 12


async def test_a_key_that_alone_is_too_slow_is_an_error():
    def says(keys):
        if "k7" in keys:
            raise TooSlow("the time for one query is up")
        return table(keys)

    with pytest.raises(TooSlow):
        await ask(Numbers(says), [f"k{n}" for n in range(20)])


async def test_broken_results_of_one_key_are_an_error_with_the_stores_name():
    with pytest.raises(StoreUnavailable, match="the store of the test"):
        await ask(Numbers(lambda keys: Reply(b'{"head": {"vars": ["s"]}, "resu')), ["k1", "k2"])


async def test_one_key_whose_answer_is_cut_says_so():
    store = Numbers(lambda keys: table(["a", "b"], "two rows"))
    (part,) = await Batches(store, SparqlSettings()).read(["k"], QUESTION)
    assert part.cut
    assert part.keys == ["k"]


def test_limits_that_endpoints_set_are_round():
    assert all(map(is_round, (500, 1_000, 1_024, 10_000, 65_536, 1_000_000)))
    assert not any(map(is_round, (0, 1, 64, 128, 499, 1_001, 9_999)))
