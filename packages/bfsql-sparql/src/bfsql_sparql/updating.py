"""Where updates go: an endpoint that changes its store, for the loader alone."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self

import httpx2

from bfsql.errors import ConfigurationError
from bfsql_sparql.connecting import BROKEN, no_answer
from bfsql_sparql.endpoint import Endpoint
from bfsql_sparql.failures import Heard, Passing
from bfsql_sparql.politeness import Held
from bfsql_sparql.request import Request, agent

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings

_NOT_DONE = (429, 503)
"""What an endpoint answers that did nothing yet; after anything else it may have."""


class UpdateEndpoint(Endpoint):
    """An endpoint that takes updates, with the login, trust and manners of one for queries."""

    endings = "/update or /statements"

    @classmethod
    async def of(cls, settings: SparqlSettings) -> Self:
        """The one that the settings name; nothing is sent.

        Raises:
            ConfigurationError: None is named, or the settings cannot be used.
        """
        if settings.update_endpoint is None:
            raise ConfigurationError(
                "Loading needs the URL that takes updates: set update_endpoint, or "
                "SPARQL_UPDATE_URL. The one for queries is often another, as /update is beside "
                "/sparql."
            )
        there = settings.model_copy(update={"endpoint": settings.update_endpoint})
        opened = await cls.open(there)
        assert isinstance(opened, cls)
        return opened

    async def update(self, text: str, seconds: float) -> None:
        """Send one update, and wait until it is done.

        Args:
            text: The whole text.
            seconds: How long it may take.

        Raises:
            Refused: It is not done, since the endpoint will not do it.
            StoreUnavailable: It may be done or not: there was no answer.
            StoreError: It is no endpoint for updates, or wants a login.
        """
        request = Request(
            self._url,
            text.encode(),
            {
                "Content-Type": "application/sparql-update; charset=utf-8",
                "User-Agent": agent(self._settings.contact),
            },
        )
        try:
            async with asyncio.timeout(seconds), self._gate:
                await self._until_taken(request, seconds)
        except TimeoutError:
            raise self._failures.too_late(seconds) from None

    async def _until_taken(self, request: Request, seconds: float) -> None:
        ends = time.monotonic() + seconds
        for attempt in range(1, self._settings.retries + 2):
            try:
                await self._gate.turn(ends)
            except Held as held:
                raise self._failures.held(held.seconds) from None
            heard = await self._heard(request, ends)
            if httpx2.codes.is_success(heard.status):
                return
            failure = self._failures.of(heard)
            assert failure is not None
            again = isinstance(failure, Passing) and heard.status in _NOT_DONE
            if not again or attempt > self._settings.retries:
                raise failure
            assert isinstance(failure, Passing)
            await self._wait(failure, attempt, ends)

    async def _heard(self, request: Request, ends: float) -> Heard:
        began = time.monotonic()
        try:
            return await self._send(request, began, ends - began)
        except BROKEN as error:
            waited = self._settings.connect_timeout
            raise no_answer(self._failures.name, error, waited) from error
