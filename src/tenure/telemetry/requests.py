"""A span for each request that is answered, from which the jobs follow that it asks for."""

import secrets
from functools import partial
from time import time_ns
from typing import NamedTuple
from uuid import UUID

from tenure.core.span import Attributes, Span
from tenure.core.traceparent import Trace, parse
from tenure.telemetry import wire
from tenure.telemetry.api import METHODS, NOWHERE
from tenure.telemetry.spans import Spans, follow


class Request(NamedTuple):
    """A request under way: what it follows from, which span it is, and since when."""

    parent: Trace | None
    own: Trace
    at: int


class RequestSpans:
    """Is told when requests begin, and when they are answered."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def begin(self, traceparent: str | None) -> Request:
        """A request has come, with this header."""
        parent = parse(traceparent)
        trace_id = secrets.token_hex(16) if parent is None else parent.trace_id
        own = follow(self._spans, parent, trace_id, secrets.token_hex(8), "server")
        return Request(parent, own, time_ns())

    def answered(self, request: Request, request_id: UUID, method: str, route: str, status: int) -> None:
        """It has its answer; `route` is the path as the table has it, not as it was asked for."""
        if not request.own.is_sampled:
            return
        self._spans.export(partial(_written, request, request_id, method, route, status, time_ns()))


def _written(
    request: Request, request_id: UUID, method: str, route: str, status: int, ended_at: int
) -> bytes:
    attributes: Attributes = {
        "http.request.method": method if method in METHODS else "_OTHER",
        "http.response.status_code": status,
        "tenure.request_id": str(request_id),
    }
    if route != NOWHERE:
        attributes["http.route"] = route
    if status >= 500:
        attributes["error.type"] = str(status)
    span = Span(
        name="HTTP" if route == NOWHERE else f"{method} {route}",
        trace_id=request.own.trace_id,
        span_id=request.own.span_id,
        parent_id=None if request.parent is None else request.parent.span_id,
        kind="server",
        began_at=request.at,
        ended_at=ended_at,
        attributes=attributes,
        status="error" if status >= 500 else "unset",
    )
    return wire.encoded(span)
