"""The site of the documentation, built once and served from a folder."""

import runpy
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bfsql_test_support.browser.fixtures import axe, browser, visit
from bfsql_test_support.servers.port import HOST

__all__ = ["axe", "browser", "visit"]
ROOT = Path(__file__).parents[2]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def build() -> Callable[..., list[str]]:
    """Builds the site of a repository in a folder; returns the errors."""
    built: Callable[..., list[str]] = runpy.run_path(str(ROOT / "docs/site/build.py"))["build"]
    return built


@pytest.fixture(scope="session")
def site(build: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, which has no error."""
    folder = tmp_path_factory.mktemp("site") / "site"
    assert build(ROOT, folder) == []
    return folder


@pytest.fixture(scope="session")
def url(site: Path) -> Iterator[str]:
    """The address of the site."""
    with ThreadingHTTPServer((HOST, 0), partial(Quiet, directory=site)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()
