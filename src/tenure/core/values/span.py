"""An ended span as plain data: from a handler's process, or of an attempt or a request."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Status = Literal["unset", "ok", "error"]

WHOLE = (-(2**63), 2**63 - 1)
"""The range of whole numbers in OTLP."""

_Whole = Annotated[int, Meta(ge=WHOLE[0], le=WHOLE[1])]
Scalar = str | bool | _Whole | float
Attributes = dict[str, Scalar | list[Scalar]]

_TraceId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")]
_SpanId = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$")]
_Moment = Annotated[int, Meta(ge=0, le=2**63 - 1)]

OWN_SCOPE = "tenure"
"""The scope of the spans of attempts and requests."""


class SpanEvent(Struct, frozen=True, omit_defaults=True):
    """Something that happened within a span, in nanoseconds since 1970."""

    name: str
    at: _Moment
    attributes: Attributes = {}


class SpanLink(Struct, frozen=True):
    """A related span that is not the parent."""

    trace_id: _TraceId
    span_id: _SpanId


class Span(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What OpenTelemetry calls a span; times are in nanoseconds since 1970."""

    name: str
    trace_id: _TraceId
    span_id: _SpanId
    parent_id: _SpanId | None = None
    kind: Kind = "internal"
    began_at: _Moment
    ended_at: _Moment
    attributes: Attributes = {}
    status: Status = "unset"
    message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    scope: str = OWN_SCOPE
