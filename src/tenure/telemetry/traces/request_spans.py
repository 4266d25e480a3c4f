"""A span for each request, the parent of the spans of the jobs that it enqueues."""

import secrets
from functools import partial
from time import time_ns
from typing import NamedTuple
from uuid import UUID

from tenure.core.values.span import Attributes, Span
from tenure.core.values.traceparent import Trace, parse
from tenure.telemetry.metrics.api_metrics import METHODS, NOWHERE
from tenure.telemetry.traces import otlp_encoding
from tenure.telemetry.traces.spans import Spans, follow


class RequestSpan(NamedTuple):
    """The span of an open request: its parent, its own ids, and its start."""

    parent: Trace | None
    own: Trace
    at: int


class RequestSpans:
    """Starts a span with each request, and exports it with the answer."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    def begin(self, traceparent: str | None) -> RequestSpan:
        """Start the span of a request with this header."""
        parent = parse(traceparent)
        trace_id = secrets.token_hex(16) if parent is None else parent.trace_id
        own = follow(self._spans, parent, trace_id, secrets.token_hex(8), "server")
        return RequestSpan(parent, own, time_ns())

    def answered(self, request: RequestSpan, request_id: UUID, method: str, route: str, status: int) -> None:
        """Export the span of an answered request; `route` is the path in the route table."""
        if not request.own.is_sampled:
            return
        self._spans.export(partial(_encode, request, request_id, method, route, status, time_ns()))


def _encode(
    request: RequestSpan, request_id: UUID, method: str, route: str, status: int, ended_at: int
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
    return otlp_encoding.encode(span)
