import uvicorn
from mcp.server.auth.provider import AccessToken

import bfsql
from bfsql.server.mcp import application
from bfsql.settings import ServeSettings


class Issuer:
    """Verifies the tokens of an issuer; here there is only one token."""

    async def verify_token(self, token: str) -> AccessToken | None:
        if token != "sesame":
            return None
        return AccessToken(token=token, client_id="notebook", scopes=[], subject="ada")


async def serve(port: int = 8000) -> None:
    async with bfsql.open_graph("sqlite", path="films.db") as graph:
        app = application(graph, ServeSettings(transport="http"), Issuer())
        await uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none")).serve()
