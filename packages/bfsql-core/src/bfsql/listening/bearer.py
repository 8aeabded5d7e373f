"""One shared secret in front of the HTTP server."""

from __future__ import annotations

import hmac

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class BearerToken:
    """Lets only those requests through that carry the token.

    For verifiers of one's own, with issuers and scopes, the SDK's
    `streamable_http_app(auth=..., token_verifier=...)` is there.

    Args:
        app: What is guarded.
        token: The secret. It is compared in constant time and never logged.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the token; pass on everything else."""
        if scope["type"] == "http" and not self._allows(scope):
            answer = PlainTextResponse(
                "This server wants the header 'Authorization: Bearer TOKEN' with its token.",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)
