"""Paged lists: followed to the end, or to a bound that is reported."""

import pytest

from bfsql import call
from bfsql.errors import StoreError

FIRST = "/entities/a/relations?direction=out"
NODE = {"id": "a", "@type": "T"}


def page(*objects, **more):
    return {"relations": [{"subject": "a", "predicate": "p", "object": o} for o in objects], **more}


async def ends(backend):
    return [edge[2] for edge in await backend.edges_from("a")]


def linked(link):
    return 200, {"link": link}, page("b")


OFFSET = f"{FIRST}&limit=2"
MORE = "/entities/a/relations?cursor=2"
LINKED = [
    page("b", next="?cursor=2"),
    page("b", next=MORE),
    linked('<?cursor=2>; rel="next", <?cursor=9>; rel=last'),
    linked(f'</first>; rel="first", <{MORE}>; rel=Next'),
    linked(f'</first>; rel="first", <{MORE}>; title="1; 2"; crossorigin; rel="last next"'),
]
AFTER = {"next_field": ["after"], "cursor_param": "cursor"}
LISTS = [
    *(({FIRST: first, MORE: page("c")}, {}, "bc") for first in LINKED),
    # Next may be an object with a link.
    (
        {FIRST: page("b", _links={"next": {"href": "?cursor=2"}}), MORE: page("c")},
        {"next_field": ["_links.next"]},
        "bc",
    ),
    # A next page that there is not is the end.
    *(
        ({FIRST: page("b", next=none)}, {"cursor_param": cursor}, "b")
        for none in (None, False, "")
        for cursor in ("", "cursor")
    ),
    # Cursors are sent in their parameter.
    ({FIRST: page("b", after="x/y"), f"{FIRST}&cursor=x%2Fy": page("c", after="")}, AFTER, "bc"),
    # Offsets are counted until a page is not full, or is empty where no size is known.
    (
        {OFFSET: page("b", "c"), f"{OFFSET}&offset=2": page("d")},
        {"offset_param": "offset", "page_size": 2},
        "bcd",
    ),
    ({FIRST: page("b", "c"), f"{FIRST}&skip=2": page()}, {"offset_param": "skip"}, "bc"),
]
"""Pages and settings, with the ends of all relations."""


async def test_pages_are_followed_to_the_end(each, opened, pages):
    for served, settings, objects in LISTS:
        with each(served, settings):
            pages.pages = dict(served)
            assert await ends(await opened(**settings)) == list(objects)


async def test_a_next_page_that_is_no_url_is_an_error_and_no_end(each, opened, pages):
    for following in [2, True, ["x"], {"page": 2}]:
        with each(following):
            pages[FIRST] = page("b", next=following)
            backend = await opened()
            with pytest.raises(
                StoreError, match=r"as the next page, which is not a URL.* cursor_param"
            ):
                await backend.edges_from("a")


async def test_pages_that_go_round_are_an_error_and_the_next_call_works(opened, pages):
    pages[FIRST] = page("b", next="?page=2")
    pages["/entities/a/relations?page=2"] = page("c", next=FIRST)
    backend = await opened()
    with pytest.raises(StoreError, match="form a loop"):
        await ends(backend)
    pages["/entities/a/relations?page=2"] = page("c")
    assert await ends(backend) == ["b", "c"]


async def test_an_offset_that_is_ignored_is_an_error(opened, pages):
    for offset in ("", "&offset=1", "&offset=2"):
        pages[f"{FIRST}{offset}"] = page("b")
    with pytest.raises(StoreError, match="form a loop"):
        await ends(await opened(offset_param="offset"))


async def test_what_the_bound_leaves_out_is_reported(opened, pages):
    pages[FIRST] = page("b", next="?page=2")
    pages["/entities/a/relations?page=2"] = page("c", next="?page=3")
    backend = await opened(max_pages=2)
    with call.scope() as scope:
        assert await ends(backend) == ["b", "c"]
    [omission] = scope.omissions
    assert (omission.id, omission.direction) == ("a", "out")
    assert "max_pages" in str(omission.reason)


async def test_what_the_api_left_out_is_reported_again(opened, pages):
    told = [{"id": "a", "direction": "out", "at_least": 7, "reason": "its row limit"}]
    pages[FIRST] = page("b", omissions=told)
    backend = await opened()
    with call.scope() as scope:
        await ends(backend)
    assert scope.omissions == (call.Omission("a", "out", 7, "its row limit"),)


async def test_a_page_on_another_host_is_not_asked(opened, pages, web):
    pages[FIRST] = page("b", next=f"http://localhost:{web.port}/entities/a/relations?page=2")
    with pytest.raises(StoreError, match="which is refused"):
        await ends(await opened(token="secret-token"))
    assert pages.targets == [FIRST]
