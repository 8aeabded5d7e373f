"""The incidents that the tests record, on a page that does what the explorer must not."""

import pytest
from playwright.async_api import Browser, Route

from bfsql_test_support.browser.chromium import visiting

pytestmark = pytest.mark.asyncio(loop_scope="session")

BAD_PAGE = """<!doctype html><title>bad</title>
<script src="/run.js"></script><script>alert("inline")</script><img src="http://x.test/i.png">"""
SCRIPT = "alert('ran'); setTimeout(() => { throw new Error('late') }); fetch('http://x.test/f')"
POLICY = "default-src 'none'; script-src 'self'; connect-src *"


async def answered(route: Route) -> None:
    body, kind = (SCRIPT, "javascript") if "run.js" in route.request.url else (BAD_PAGE, "html")
    headers = {"Content-Type": f"text/{kind}", "Content-Security-Policy": POLICY}
    await route.fulfill(body=body, headers=headers)


async def provoke(browser: Browser) -> None:
    async with visiting(browser) as visit:
        await visit.page.route("http://127.0.0.1/**", answered)
        visit.expect_incident("^console")
        page = visit.page
        fetched = page.expect_event("requestfailed", lambda one: one.url.endswith("/f"))
        async with fetched, page.expect_event("pageerror"):
            await page.goto("http://127.0.0.1/")


async def test_each_incident_of_a_page_fails_the_test_that_does_not_expect_it(
    browser: Browser,
) -> None:
    with pytest.raises(AssertionError) as failure:
        await provoke(browser)
    reported = str(failure.value)
    for incident in (
        "script: alert(ran)",
        "exception: Error: late",
        "policy: script-src-elem blocked inline",
        "policy: img-src blocked http://x.test/i.png",
        "request to another machine: http://x.test/f",
    ):
        assert incident in reported
    assert "console:" not in reported
