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


async def test_next_links_are_followed(each, opened, pages):
    for link in ["?cursor=2", "/entities/a/relations?cursor=2"]:
        with each(link):
            pages[FIRST] = page("b", next=link)
            pages["/entities/a/relations?cursor=2"] = page("c")
            assert await ends(await opened()) == ["b", "c"]


async def test_next_may_be_an_object_with_a_link(opened, pages):
    pages[FIRST] = page("b", _links={"next": {"href": "?page=2"}})
    pages["/entities/a/relations?page=2"] = page("c")
    assert await ends(await opened(next_field=["_links.next"])) == ["b", "c"]


async def test_link_headers_are_followed(opened, pages):
    pages[FIRST] = (200, {"link": '<?page=2>; rel="next", <?page=9>; rel=last'}, page("b"))
    pages["/entities/a/relations?page=2"] = page("c")
    assert await ends(await opened()) == ["b", "c"]


async def test_link_headers_are_read_in_all_their_forms(each, opened, pages):
    for parameters in ["rel=Next", 'title="1; 2"; crossorigin; rel="last next"']:
        with each(parameters):
            pages[FIRST] = (
                200,
                {"link": f'</first>; rel="first", </more>; {parameters}'},
                page("b"),
            )
            pages["/more"] = page("c")
            assert await ends(await opened()) == ["b", "c"]


async def test_a_next_page_that_is_no_url_is_an_error_and_no_end(each, opened, pages):
    for following in [2, True, ["x"], {"page": 2}]:
        with each(following):
            pages[FIRST] = page("b", next=following)
            backend = await opened()
            with pytest.raises(
                StoreError, match=r"as the next page, which is not a URL.* cursor_param"
            ):
                await backend.edges_from("a")


async def test_a_next_page_that_there_is_not_is_the_end(each, opened, pages):
    for following in [None, False, ""]:
        for cursor_param in ["", "cursor"]:
            with each(following, cursor_param):
                pages[FIRST] = page("b", next=following)
                assert await ends(await opened(cursor_param=cursor_param)) == ["b"]


async def test_cursors_are_sent_in_their_parameter(opened, pages):
    pages[FIRST] = page("b", after="x/y")
    pages[f"{FIRST}&cursor=x%2Fy"] = page("c", after="")
    assert await ends(await opened(next_field=["after"], cursor_param="cursor")) == ["b", "c"]


async def test_offsets_are_counted_until_a_page_is_not_full(opened, pages):
    pages[f"{FIRST}&limit=2"] = page("b", "c")
    pages[f"{FIRST}&limit=2&offset=2"] = page("d")
    assert await ends(await opened(offset_param="offset", page_size=2)) == ["b", "c", "d"]


async def test_offsets_without_a_page_size_end_with_an_empty_page(opened, pages):
    pages[FIRST] = page("b", "c")
    pages[f"{FIRST}&skip=2"] = page()
    assert await ends(await opened(offset_param="skip")) == ["b", "c"]


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
