"""Logins, certificates, redirects and addresses: which servers are contacted with which secrets."""

import base64
import logging
import socket
from typing import Any

import pytest

from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_sparql.dataset import truth
from bfsql_test_support.servers.bad_replies import Reply, boolean, redirect, refused
from bfsql_test_support.servers.fuseki import PASSWORD, USER

SECRET = "not to be told"
CLOSED = "http://127.0.0.1:9/sparql"
LOGIN: dict[str, Any] = {"username": "me", "password": SECRET}


# --- logins ------------------------------------------------------------------


async def test_basic_authentication_opens_a_guarded_fuseki(guarded_fuseki, opened):
    url = guarded_fuseki.query_url
    endpoint = await opened(url, username=USER, password=PASSWORD)
    assert truth((await endpoint.reply("ASK {}")).body)
    with pytest.raises(StoreError, match=r"requires a login \(401.*SPARQL_USERNAME"):
        await (await opened(url)).reply("ASK {}")
    with pytest.raises(StoreError, match="did not accept the login by basic") as caught:
        await (await opened(url, username=USER, password=SECRET)).reply("ASK {}")
    assert SECRET not in str(caught.value)


async def test_digest_authentication_opens_virtuoso(virtuoso, opened):
    login = {"username": "dba", "password": "dba"}
    endpoint = await opened(virtuoso.update_url, **login, authentication="digest")
    for _ in range(2):
        assert truth((await endpoint.reply("ASK {}")).body)
    with pytest.raises(
        StoreError, match=r"did not accept .*authentication, which is basic or digest"
    ):
        await (await opened(virtuoso.update_url, **login)).reply("ASK {}")


async def test_the_scheme_that_an_endpoint_asks_for_is_named(bad_endpoint, opened):
    bad_endpoint.always(Reply(401, headers={"WWW-Authenticate": 'Digest realm="r", nonce="n"'}))
    with pytest.raises(StoreError, match="set authentication to digest"):
        await (await opened(bad_endpoint.url, **LOGIN)).reply("ASK {}")


async def test_a_digest_that_nobody_can_make_is_reported(bad_endpoint, opened):
    for asked in ("", ', nonce="n", qop="auth-int"', ', nonce="n", algorithm="ROT13"'):
        header = {"WWW-Authenticate": f'Digest realm="r"{asked}'}
        bad_endpoint.always(Reply(401, headers=header))
        endpoint = await opened(bad_endpoint.url, **LOGIN, authentication="digest")
        with pytest.raises(StoreError, match="cannot be used"):
            await endpoint.reply("ASK {}")


async def test_each_kind_of_login_has_its_header(each, bad_endpoint, opened):
    for settings, header, value in [
        ({"token": "abc"}, "Authorization", "Bearer abc"),
        ({"key": "abc"}, "X-API-Key", "abc"),
        ({"key": "abc", "key_header": "Api-Token"}, "Api-Token", "abc"),
        (LOGIN, "Authorization", "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()),
    ]:
        with each(settings, header, value):
            await (await opened(bad_endpoint.url, **settings)).reply("ASK {}")
            assert bad_endpoint.requests[-1].headers[header] == value


async def test_what_the_endpoint_says_never_shows_a_secret(each, bad_endpoint, opened):
    def echo(asked):
        return refused(403, f"No: {asked.headers} {SECRET}".replace("\n", " "))

    bad_endpoint.always(echo)
    for settings in [{"token": SECRET}, {"key": SECRET}, LOGIN]:
        with each(settings):
            endpoint = await opened(bad_endpoint.url, **settings)
            with pytest.raises(StoreError, match="did not accept the") as caught:
                await endpoint.reply("ASK {}")
            shown = f"{caught.value}"
            assert SECRET not in shown
            assert base64.b64encode(f"me:{SECRET}".encode()).decode() not in shown


async def test_settings_that_contradict_each_other_are_reported(each, opened):
    for settings, sentence in [
        ({"username": "me"}, "A username is set for the endpoint, but no password"),
        ({"password": SECRET}, "A password is set for the endpoint, but no username"),
        ({**LOGIN, "token": "t"}, "[Bb]oth a username and a token"),
        ({"token": "ü"}, "The token for the endpoint .* check token"),
        ({"key": "a\nb"}, "The key for the endpoint .* check key"),
        ({"key": "a", "key_header": "X: y"}, "key_header is 'X: y'"),
        ({"parameter": {"query": "x"}}, "'query' cannot be set as a request parameter"),
        ({"timeout_parameter": "Update"}, "'Update' cannot be set as a request parameter"),
    ]:
        with each(settings, sentence):
            with pytest.raises(ConfigurationError, match=sentence) as caught:
                await opened(CLOSED, **settings)
            assert SECRET not in str(caught.value)


async def test_a_login_over_plain_http_is_warned_of(each, opened, caplog):
    for settings in [{"token": SECRET}, LOGIN]:
        with each(settings):
            caplog.clear()
            with caplog.at_level(logging.WARNING, "bfsql"):
                await opened("http://graph.x.test/sparql?key=hidden", **settings)
                await opened("https://graph.x.test/sparql", **settings)
                await opened(CLOSED, **settings)
            (warned,) = caplog.messages
            assert "http://graph.x.test/sparql receives its" in warned
            assert "unencrypted" in warned
            assert SECRET not in warned


# --- addresses ---------------------------------------------------------------


async def test_a_login_in_the_address_is_refused(each, opened):
    for url in [f"https://me:{SECRET}@x.test/sparql", f"http://{SECRET}@x.test/"]:
        with each(url):
            said = r"host x\.test.*SPARQL_PASSWORD"
            with pytest.raises(ConfigurationError, match=said) as caught:
                await opened(url)
            assert SECRET not in str(caught.value)


async def test_what_is_no_address_is_refused(each, opened):
    odd = ["http://", "http://[::1", "http://x.test:99999/", "https:///sparql", "http://x.t/a b"]
    for url in odd:
        with each(url), pytest.raises(ConfigurationError, match="endpoint is"):
            await opened(url)


async def test_the_parameters_of_an_address_are_sent_and_never_shown(bad_endpoint, opened):
    url = f"{bad_endpoint.url}?apikey={SECRET.replace(' ', '+')}#top"
    endpoint = await opened(url, parameter={"default-graph-uri": "http://g.test/"})
    assert endpoint.name == bad_endpoint.url
    bad_endpoint.always(refused(404))
    with pytest.raises(StoreError) as caught:
        await endpoint.reply("ASK {}")
    assert "apikey" not in str(caught.value)
    assert bad_endpoint.requests[0].fields == {
        "apikey": [SECRET],
        "query": ["ASK {}"],
        "default-graph-uri": ["http://g.test/"],
    }


async def test_an_endpoint_that_is_not_there_is_reported(opened):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        StoreUnavailable, match=rf"127\.0\.0\.1:{port}/sparql cannot be reached \(.*Is it running"
    ):
        await (await opened(f"http://127.0.0.1:{port}/sparql")).reply("ASK {}")


async def test_a_host_that_does_not_exist_is_reported(opened):
    endpoint = await opened("http://nowhere.invalid/sparql")
    with pytest.raises(StoreUnavailable, match="no such host"):
        await endpoint.reply("ASK {}")


async def test_a_host_that_takes_no_connection_is_given_up(opened):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        with socket.create_connection(address), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(address)  # the queue is full now
            endpoint = await opened(f"http://127.0.0.1:{address[1]}/", connect_timeout=0.2)
            with pytest.raises(
                StoreUnavailable, match=r"did not accept a connection within 0\.2 s"
            ):
                await endpoint.reply("ASK {}")


async def test_a_proxy_of_the_environment_is_used_and_named_when_it_refuses(
    bad_endpoint, opened, monkeypatch
):
    proxy = bad_endpoint.url.removesuffix("/sparql")
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    await (await opened("http://graph.x.test/sparql")).reply("ASK {}")
    assert bad_endpoint.requests[0].target == "http://graph.x.test/sparql"
    with pytest.raises(StoreUnavailable, match=r"The proxy on the way to .*HTTPS_PROXY"):
        await (await opened("https://graph.x.test/sparql")).reply("ASK {}")


# --- certificates ------------------------------------------------------------


async def test_an_unknown_authority_is_not_trusted_until_it_is_named(bad_tls_endpoint, opened):
    with pytest.raises(StoreError, match=r"is not trusted \(.*set ca_file to the certificate"):
        await (await opened(bad_tls_endpoint.url)).reply("ASK {}")
    assert not bad_tls_endpoint.requests
    assert await (await opened(bad_tls_endpoint.url, ca_file=bad_tls_endpoint.ca)).reply("ASK {}")


async def test_a_certificate_of_another_name_is_not_trusted(bad_tls_endpoint, opened):
    endpoint = await opened(bad_tls_endpoint.elsewhere, ca_file=bad_tls_endpoint.ca)
    with pytest.raises(StoreError, match=r"is not trusted \(.*localhost"):
        await endpoint.reply("ASK {}")


async def test_an_https_address_of_a_plain_server_is_reported(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.url.replace("http:", "https:"))
    with pytest.raises(StoreError, match="does not support usable TLS"):
        await endpoint.reply("ASK {}")


async def test_a_file_that_is_no_certificate_is_reported(each, opened, tmp_path):
    for text in [None, "no certificate"]:
        for setting in ["ca_file", "client_certificate"]:
            with each(text, setting):
                path = tmp_path / "x.pem"
                if text is not None:
                    path.write_text(text)
                with pytest.raises(
                    ConfigurationError, match=rf"{setting} is .*x\.pem, which cannot be used"
                ):
                    await opened(CLOSED, **{setting: path})


async def test_a_client_certificate_is_read(bad_tls_endpoint, opened, tmp_path):
    folder = bad_tls_endpoint.ca.parent if bad_tls_endpoint.ca else tmp_path
    both = tmp_path / "both.pem"
    both.write_text((folder / "public.crt").read_text() + (folder / "private.key").read_text())
    endpoint = await opened(
        bad_tls_endpoint.url, ca_file=bad_tls_endpoint.ca, client_certificate=both
    )
    assert await endpoint.reply("ASK {}")


# --- redirects ---------------------------------------------------------------


async def test_a_redirect_at_the_same_server_is_followed_with_query_and_login(
    each, bad_endpoint, opened
):
    for status in [307, 308]:
        with each(status):
            bad_endpoint.requests.clear()
            bad_endpoint.then(redirect("/other?a=b", status)).always(boolean(True))
            endpoint = await opened(bad_endpoint.url, token=SECRET)
            assert truth((await endpoint.reply("ASK {}")).body)
            last = bad_endpoint.requests[-1]
            assert (last.method, last.target, last.query) == ("POST", "/other?a=b", "ASK {}")
            assert last.headers["Authorization"] == f"Bearer {SECRET}"


async def test_a_redirect_that_would_lose_the_query_names_what_to_set(each, bad_endpoint, opened):
    for status in [301, 302, 303]:
        with each(status):
            bad_endpoint.requests.clear()
            bad_endpoint.always(redirect("/other?secret=1", status))
            with pytest.raises(
                StoreError, match=rf"redirects queries \({status}, to http://127\S+/other\).*Set e"
            ):
                await (await opened(bad_endpoint.url)).reply("ASK {}")
            assert len(bad_endpoint.requests) == 1


async def test_a_redirect_to_another_host_is_refused_unless_it_is_allowed(bad_endpoint, opened):
    bad_endpoint.then(redirect(bad_endpoint.elsewhere)).always(boolean(True))
    with pytest.raises(StoreError, match="add localhost to redirect_hosts"):
        await (await opened(bad_endpoint.url)).reply("ASK {}")
    assert len(bad_endpoint.requests) == 1


async def test_no_login_goes_to_another_host(each, bad_endpoint, opened):
    for settings in [
        {"token": SECRET},
        {"key": SECRET},
        LOGIN,
        {**LOGIN, "authentication": "digest"},
    ]:
        with each(settings):
            bad_endpoint.requests.clear()
            bad_endpoint.then(redirect(bad_endpoint.elsewhere))
            challenge = {"Www-Authenticate": 'Digest realm="r", nonce="n", qop="auth"'}
            bad_endpoint.always(Reply(401, headers=challenge))
            endpoint = await opened(bad_endpoint.url, redirect_hosts=["localhost"], **settings)
            with pytest.raises(StoreError):
                await endpoint.reply("ASK {}")
            last = bad_endpoint.requests[-1]
            assert last.headers["Host"].startswith("localhost:")
            assert SECRET not in str(last.headers)
            assert "Authorization" not in last.headers


async def test_a_redirect_from_tls_to_plain_http_is_refused(bad_tls_endpoint, opened):
    bad_tls_endpoint.always(redirect(bad_tls_endpoint.url.replace("https:", "http:")))
    endpoint = await opened(bad_tls_endpoint.url, ca_file=bad_tls_endpoint.ca)
    with pytest.raises(StoreError, match="not redirected from https to http"):
        await endpoint.reply("ASK {}")
    assert len(bad_tls_endpoint.requests) == 1


async def test_redirects_in_a_circle_end(bad_endpoint, opened):
    bad_endpoint.always(redirect("/sparql"))
    with pytest.raises(StoreError, match="form a loop"):
        await (await opened(bad_endpoint.url)).reply("ASK {}")
    assert len(bad_endpoint.requests) < 10


async def test_a_redirect_to_no_address_is_refused(each, bad_endpoint, opened):
    for to in ["http://a:b@127.0.0.1/", "http://[", "ftp://127.0.0.1/", "file:/x"]:
        with each(to):
            bad_endpoint.requests.clear()
            bad_endpoint.always(redirect(to))
            with pytest.raises(StoreError, match="redirects queries"):
                await (await opened(bad_endpoint.url)).reply("ASK {}")
            assert len(bad_endpoint.requests) == 1
