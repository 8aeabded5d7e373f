"""Who calls a tool, as far as the transport knows."""

from __future__ import annotations

from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext

from bfsql.call import Caller


def calling(ctx: ServerRequestContext[Any, Any]) -> Caller | None:
    """Over HTTP the client's name for itself, and the subject of a token that was verified.

    On stdio there is one client, whose process we are: None.
    """
    if ctx.request is None:
        return None
    params, user = ctx.session.client_params, ctx.request.scope.get("user")
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    return Caller(
        client=params.client_info.name if params else None,
        subject=(token.subject or token.client_id) if token else None,
    )
