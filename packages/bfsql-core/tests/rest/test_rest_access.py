"""Access control: the token, the server's names, and the origins of web pages."""

import pytest

ORIGIN = "https://app.example.org"


@pytest.mark.parametrize("path", ["/schema", "/docs", "/openapi.json", "/nowhere"])
async def test_without_the_token_nobody_gets_in(served, path):
    web = await served(bearer_token="open-sesame")
    for given in ({}, {"Authorization": "Bearer open"}, {"Authorization": "Basic open-sesame"}):
        answer = await web.get(path, headers=given)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
        assert "Authorization: Bearer" in answer.json()["detail"]
        assert "sesame" not in answer.text


async def test_with_the_token_answers_are_for_that_client_alone(served):
    web = await served(
        bearer_token="open-sesame", headers={"Authorization": "Bearer open-sesame"}, max_age=5
    )
    answer = await web.get("/entities/film:1")
    assert answer.headers["cache-control"] == "private, max-age=5"
    assert (await web.get("/openapi.json")).json()["security"] == [{"token": []}]


async def test_a_foreign_name_or_origin_is_turned_away(served):
    web = await served(allowed_hosts=["graph.example.org"])
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "graph.example.org"}, 200),
        ({"Host": "graph.example.org:443"}, 200),
        ({"Host": "Graph.Example.org"}, 200),
        ({"Host": "graph.example.org:443.evil.example"}, 421),
        ({"Host": "graph.example.org.evil.example"}, 421),
        ({"Origin": "https://graph.example.org:x@evil.example"}, 403),
        ({"Origin": "https://graph.example.org"}, 200),
    ):
        answer = await web.get("/schema", headers=headers)
        assert answer.status_code == status, headers
        if status != 200:
            assert answer.headers["content-type"] == "application/problem+json"


async def test_any_name_is_served_where_the_operator_says_so(served):
    web = await served(allowed_hosts=["*"])
    assert (await web.get("/schema", headers={"Host": "evil.example"})).status_code == 200


async def test_links_on_pages_of_other_sites_lead_to_the_description(web):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for kind, path, status in (
        ("document", "/docs", 200),
        ("iframe", "/docs", 403),
        ("document", "/schema", 403),
    ):
        answer = await web.get(path, headers={**link, "Sec-Fetch-Dest": kind})
        assert answer.status_code == status


async def test_cors_is_off_by_default(web):
    host = {"Origin": str(web.base_url).rstrip("/")}
    answer = await web.get("/schema", headers=host)
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = await web.options(
        "/schema", headers={**host, "Access-Control-Request-Method": "GET"}
    )
    assert preflight.status_code == 405


async def test_pages_of_named_origins_may_ask(served):
    web = await served(cors_origins=[ORIGIN], bearer_token="open-sesame")
    asking = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    preflight = await web.options("/entities/batch", headers=asking)
    assert preflight.status_code == 200
    assert "POST" in preflight.headers["access-control-allow-methods"]
    for token, status in (("open-sesame", 200), ("shut", 401)):
        headers = {"Origin": ORIGIN, "Authorization": f"Bearer {token}"}
        answer = await web.get("/schema", headers=headers)
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert (await web.get("/schema", headers={"Origin": "https://evil.example"})).status_code == 403


async def test_caches_learn_that_answers_differ_by_origin(served):
    web = await served(cors_origins=[ORIGIN])
    for headers in ({}, {"Origin": ORIGIN}):
        assert (await web.get("/schema", headers=headers)).headers["vary"] == "Origin"


async def test_pages_of_any_origin_may_ask_where_the_operator_says_so(served):
    web = await served(cors_origins=["*"])
    answer = await web.get("/schema", headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == "*"
