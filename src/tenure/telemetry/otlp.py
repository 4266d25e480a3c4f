"""Spans by OpenTelemetry's SDK: its sampler, its batches and its exporter, as its variables `OTEL_…` say.

Only who exports spans imports this module: `tenure[otel]` brings what it needs. A span is given to the SDK
when it is over, as it comes, and not made by its tracers: these would choose the ids.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.types import AnyValue

from tenure.core.span import OWN_SCOPE, Attributes, Kind, Span
from tenure.core.traceparent import Trace
from tenure.telemetry.spans import Redacting
from tenure.version import __version__

LAST_WORDS = 5.0
"""Seconds that the last spans have to be sent when a process ends."""

FAILED = (
    "spans cannot be exported, and are dropped: look at OTEL_EXPORTER_OTLP_ENDPOINT, and who listens there"
)
RECOVERED = "spans are exported again"

_KINDS = {kind.name.lower(): kind for kind in SpanKind}
_STATUSES = {code.name.lower(): code for code in StatusCode}
_NO_CONTEXT = Context()


class SdkSpans:
    """Samples by a provider's sampler, and gives spans to a processor."""

    def __init__(self, processor: SpanProcessor, provider: TracerProvider | None = None) -> None:
        """The provider is read for what the variables say, and traces nothing itself."""
        provider = provider or TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._processor = processor
        self._sampler = provider.sampler
        self._resource = provider.resource
        self._scopes: dict[str, InstrumentationScope] = {}

    def samples(self, trace_id: str, parent: Trace | None, kind: Kind) -> bool:
        """By the sampler, as `OTEL_TRACES_SAMPLER` names it."""
        context = _NO_CONTEXT
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(_context(parent, is_remote=True)), _NO_CONTEXT)
        asked = self._sampler.should_sample(context, int(trace_id, 16), "", kind=_KINDS[kind])
        return asked.decision is Decision.RECORD_AND_SAMPLE

    def export(self, span: Span) -> None:
        """Give it to the processor."""
        own = Trace(span.trace_id, span.span_id, TraceFlags.SAMPLED)
        parent = None if span.parent_id is None else own._replace(span_id=span.parent_id)
        self._processor.on_end(
            ReadableSpan(
                name=span.name,
                context=_context(own),
                parent=None if parent is None else _context(parent, is_remote=span.kind != "internal"),
                resource=self._resource,
                attributes=_attributes(span.attributes),
                events=[Event(one.name, _attributes(one.attributes), one.at) for one in span.events],
                links=[
                    Link(_context(own._replace(trace_id=one.trace_id, span_id=one.span_id)))
                    for one in span.links
                ],
                kind=_KINDS[span.kind],
                status=Status(_STATUSES[span.status], span.message or None),
                start_time=span.began_at,
                end_time=span.ended_at,
                instrumentation_scope=self._scope(span.scope),
            )
        )

    def close(self) -> None:
        """Send what there still is; returns after some seconds in any case."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(LAST_WORDS)

    def _scope(self, name: str) -> InstrumentationScope:
        found = self._scopes.get(name)
        if found is None:
            found = InstrumentationScope(name, __version__ if name == OWN_SCOPE else None)
            if len(self._scopes) < 100:
                self._scopes[name] = found
        return found


def exporting(tell: Callable[[str], object], redaction: Redacting) -> SdkSpans:
    """Spans that go where `OTEL_EXPORTER_OTLP_ENDPOINT` says; `tell` hears when that fails, and no more."""
    # It says so itself, at length and for every batch.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    logging.getLogger("opentelemetry").propagate = False
    return SdkSpans(BatchSpanProcessor(_Told(OTLPSpanExporter(), tell, redaction)))


class _Told(SpanExporter):
    """An exporter that tells of its first failure, and of its success after failures.

    It leaves out secrets, too: here, in the thread that exports, long texts keep no heartbeat waiting.
    """

    def __init__(self, exporter: SpanExporter, tell: Callable[[str], object], redaction: Redacting) -> None:
        self._exporter = exporter
        self._tell = tell
        self._redaction = redaction
        self._has_failed = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export([_shown(span, self._redaction) for span in spans])
        except Exception:  # whatever the exporter's own libraries raise
            result = SpanExportResult.FAILURE
        has_failed = result is not SpanExportResult.SUCCESS
        if has_failed != self._has_failed:
            self._has_failed = has_failed
            self._tell(FAILED if has_failed else RECOVERED)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _shown(span: ReadableSpan, redaction: Redacting) -> ReadableSpan:
    """A span as it may leave the process: what a handler's says, of errors above all, may hold secrets."""
    if span.instrumentation_scope is not None and span.instrumentation_scope.name == OWN_SCOPE:
        return span

    def redacted(given: Mapping[str, AnyValue] | None) -> dict[str, AnyValue]:
        return {name: redaction.value(name, value) for name, value in (given or {}).items()}

    description = span.status.description
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=redacted(span.attributes),
        events=[Event(one.name, redacted(one.attributes), one.timestamp) for one in span.events],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code, description and redaction.text(description)),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _resource() -> Resource:
    named = Resource.create()
    if str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        named = named.merge(Resource({SERVICE_NAME: "tenure"}))
    return named


def _context(trace: Trace, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), is_remote, TraceFlags(trace.flags))


def _attributes(given: Attributes) -> dict[str, AnyValue]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
