"""Spans that a handler makes, sent to the worker as they end: a tracer provider for OpenTelemetry's API.

Not its SDK: that starts threads in the child after a fork, and in a process that forks for each attempt it
may wait for ever on a lock that was held at the fork. This module has no threads and no buffers. It is
imported only where spans are exported.
"""

# ruff: noqa: ARG002  (the API defines the parameters of its methods)

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import urandom
from time import time_ns
from typing import Any, TypeGuard

import msgspec
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    TracerProvider,
    get_current_span,
)
from opentelemetry.util._decorator import _agnosticcontextmanager
from opentelemetry.util.types import AnyValue

from tenure.core.errors import TenureError
from tenure.core.values import span as plain
from tenure.core.values.span import WHOLE, Attributes, Scalar, SpanEvent, SpanLink
from tenure.execution.handler.metrics import current_channel
from tenure.execution.protocol.messages import LARGEST_SPAN, SpanMessage

MOST_EVENTS = 128
"""Of one span; the same bound holds for its links and its attributes."""

_Given = Mapping[str, AnyValue] | None
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(plain.Span)


class SpanProvider(TracerProvider):
    """Makes tracers; `runs_here` says whether this is an attempt's own process, not one that it forked."""

    def __init__(self, runs_here: Callable[[], bool]) -> None:
        self._runs_here = runs_here

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: _Given = None,
    ) -> Tracer:
        """A tracer for the library of this name."""
        return _Tracer(instrumenting_module_name, self._runs_here)


class _Tracer(Tracer):
    def __init__(self, scope: str, runs_here: Callable[[], bool]) -> None:
        self._scope = scope
        self._runs_here = runs_here

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: _Given = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Span:
        parent = get_current_span(context).get_span_context()
        if parent.is_valid and not parent.trace_flags.sampled:
            return NonRecordingSpan(parent)
        made = _RecordedSpan(self._scope, name, parent, kind, start_time, self._runs_here)
        made.set_attributes(attributes or {})
        for link in links or ():
            made.add_link(link.context)
        return made

    @_agnosticcontextmanager
    def start_as_current_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: _Given = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> Iterator[Span]:
        from opentelemetry.trace import use_span

        span = self.start_span(name, context, kind, attributes, links, start_time)
        with use_span(span, end_on_exit, record_exception, set_status_on_exception):
            yield span


class _RecordedSpan(Span):
    def __init__(
        self,
        scope: str,
        name: str,
        parent: SpanContext,
        kind: SpanKind,
        start_time: int | None,
        runs_here: Callable[[], bool],
    ) -> None:
        self._scope = scope
        self._runs_here = runs_here
        self._name = name
        self._kind = kind
        self._parent = parent if parent.is_valid else None
        trace_id = parent.trace_id if parent.is_valid else _new_id(16)
        flags = TraceFlags(parent.trace_flags | TraceFlags.SAMPLED)
        self._context = SpanContext(trace_id, _new_id(8), is_remote=False, trace_flags=flags)
        self._attributes: Attributes = {}
        self._events: list[SpanEvent] = []
        self._links: list[SpanLink] = []
        self._status = Status()
        self._began_at = start_time or time_ns()
        self._has_ended = False

    def get_span_context(self) -> SpanContext:
        return self._context

    def is_recording(self) -> bool:
        return not self._has_ended

    def update_name(self, name: str) -> None:
        self._name = name

    def set_attributes(self, attributes: Mapping[str, AnyValue]) -> None:
        for key, value in attributes.items():
            self.set_attribute(key, value)

    def set_attribute(self, key: str, value: AnyValue) -> None:
        if len(self._attributes) < MOST_EVENTS or key in self._attributes:
            self._attributes.update(_attributes({key: value}))

    def add_event(self, name: str, attributes: _Given = None, timestamp: int | None = None) -> None:
        if len(self._events) < MOST_EVENTS:
            self._events.append(SpanEvent(_text(name), timestamp or time_ns(), _attributes(attributes)))

    def add_link(self, context: SpanContext, attributes: _Given = None) -> None:
        if context.is_valid and len(self._links) < MOST_EVENTS:
            self._links.append(SpanLink(f"{context.trace_id:032x}", f"{context.span_id:016x}"))

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        if self._status.status_code is not StatusCode.OK:  # OK is final
            self._status = status if isinstance(status, Status) else Status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: _Given = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        kind = type(exception)
        described = {
            "exception.type": f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."),
            "exception.message": str(exception),
            "exception.stacktrace": "".join(traceback.format_exception(exception)),
        }
        self.add_event("exception", {**described, **(attributes or {})}, timestamp)

    def end(self, end_time: int | None = None) -> None:
        """Send it to the worker, if an attempt runs here; a process that a handler forked must not."""
        if self._has_ended:
            return
        self._has_ended = True
        channel = current_channel()
        if channel is None or not self._runs_here():
            return
        try:
            body = _encoder.encode(self._plain(end_time or time_ns()))
            if len(body) <= LARGEST_SPAN:
                _decoder.decode(body)  # the worker would end the attempt for one that it cannot read
                channel.send(SpanMessage(body))
        except (msgspec.MsgspecError, TenureError, TypeError, ValueError, OverflowError, OSError):
            pass  # a span must not fail the handler

    def _plain(self, ended_at: int) -> plain.Span:
        kinds: Any = self._kind.name.lower()
        status: Any = self._status.status_code.name.lower()
        return plain.Span(
            name=_text(self._name),
            trace_id=f"{self._context.trace_id:032x}",
            span_id=f"{self._context.span_id:016x}",
            parent_id=None if self._parent is None else f"{self._parent.span_id:016x}",
            kind=kinds,
            began_at=self._began_at,
            ended_at=ended_at,
            attributes=self._attributes,
            status=status,
            message=_text(self._status.description or ""),
            events=tuple(self._events),
            links=tuple(self._links),
            scope=_text(self._scope),
        )


def _new_id(size: int) -> int:
    """From the system's randomness: forks of one process would draw the same numbers."""
    return int.from_bytes(urandom(size))


def _attributes(given: _Given) -> Attributes:
    """Attributes that can be sent: values that are neither plain nor lists of plain ones are left out."""
    found: Attributes = {}
    for name, value in (given or {}).items():
        if isinstance(value, list | tuple):
            found[_text(name)] = [_exact(each) for each in value if _is_plain(each)]
        elif _is_plain(value):
            found[_text(name)] = _exact(value)
    return found


def _is_plain(value: object) -> TypeGuard[Scalar]:
    if isinstance(value, int):
        return WHOLE[0] <= value <= WHOLE[1]
    return isinstance(value, str | float)


def _exact(value: Scalar) -> Scalar:
    """A value of the plain type itself: subclasses, such as numpy's numbers, cannot be sent."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return float(value)
    return value if isinstance(value, bool) else int(value)


def _text(given: object) -> str:
    """A text that can be sent: names of files, for one, need not be UTF-8."""
    text = given if isinstance(given, str) else str(given)  # an enum's member becomes its value
    return text.encode(errors="replace").decode()
