"""Endpoints about the process itself: whether it lives and can work, and what it offers."""

from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.shapes import Health


async def alive(_desk: Desk, _asked: Asked) -> Answer:
    """The process turns its loop; nothing else is asked."""
    return Answer(200, Health("alive"))


async def ready(desk: Desk, _asked: Asked) -> Answer:
    """The store answers, and its schema is this version's."""
    await desk.require_ready()
    return Answer(200, Health("ready"))


async def openapi(_desk: Desk, _asked: Asked) -> Answer:
    """The table of routes as a document."""
    from tenure.surfaces.http.openapi import encoded

    return Answer(200, encoded())


async def docs(_desk: Desk, _asked: Asked) -> Answer:
    """The same as a page that loads nothing."""
    from tenure.surfaces.http.page import page, policy

    return Answer(200, page().encode(), {"content-security-policy": policy()})
