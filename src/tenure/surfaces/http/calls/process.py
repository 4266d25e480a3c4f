"""Handlers about the process itself: whether it lives and can work, and which routes it has."""

from tenure.api.shapes import Health
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.docs.html import policy


async def alive(_context: AppContext, _request: Request) -> Response:
    """The event loop of the process turns; nothing else is checked."""
    return Response(200, Health("alive"))


async def ready(context: AppContext, _request: Request) -> Response:
    """The store answers, and its schema fits this version."""
    await context.require_ready()
    return Response(200, Health("ready"))


async def openapi(_context: AppContext, request: Request) -> Response:
    """The table of routes as an OpenAPI document."""
    return Response(200, request.reference.encoded)


async def docs(_context: AppContext, request: Request) -> Response:
    """The table of routes as a page that loads nothing."""
    return Response(200, request.reference.page, {"content-security-policy": policy()})
