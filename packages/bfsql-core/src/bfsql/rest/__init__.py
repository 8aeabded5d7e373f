"""The web API in front of an open graph, as an ASGI application."""

from bfsql.rest.app import application

__all__ = ["application"]
