"""One shared secret in front of the HTTP server."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

REFUSAL = "This server wants the header 'Authorization: Bearer TOKEN' with its token."


def in_plain_text(sentence: str) -> Response:
    """The refusal for clients that nothing is known of."""
    return PlainTextResponse(sentence, status_code=401)


class BearerToken:
    """Lets only those requests through that carry the token.

    For verifiers of one's own, with issuers and scopes, the SDK's
    `streamable_http_app(auth=..., token_verifier=...)` is there.

    Args:
        app: What is guarded.
        token: The secret. It is compared in constant time and never logged.
        refusal: Makes the answer with status 401 from its sentence.
    """

    def __init__(
        self, app: ASGIApp, token: str, refusal: Callable[[str], Response] = in_plain_text
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 401 to a request without the token; pass on everything else."""
        if scope["type"] == "http" and not self._allows(scope):
            answer = self._refusal(REFUSAL)
            answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _allows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)
