"""What a server publishes about its own routes, made on first use and kept."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import msgspec

from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.docs import html, openapi


class RouteReference:
    """The OpenAPI document and the page `/docs` of a table of routes, without pages for browsers."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [route for route in routes if not route.is_page]

    @cached_property
    def encoded(self) -> bytes:
        """The document as it is sent."""
        return msgspec.json.encode(self._document)

    @cached_property
    def page(self) -> bytes:
        """The page as it is sent."""
        return html.page(self._routes, self._document).encode()

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi.document(self._routes)
