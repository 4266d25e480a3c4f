"""Exports spans by OTLP, configured by OpenTelemetry's variables `OTEL_…`.

Only a process that exports spans imports this module: `tenure[otel]` installs what it needs. The SDK decides
which traces are sampled and how this process is called. It does not make spans: that would take longer than a
small attempt. `export` keeps a function that makes the span; a thread calls it, encodes (see `otlp_encoding`)
and sends.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Decision, Sampler
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from tenure.core.values.span import OWN_SCOPE, Attributes, Kind, Span, SpanEvent
from tenure.core.values.traceparent import Trace
from tenure.telemetry.traces import otlp_encoding
from tenure.telemetry.traces.batches import Batches, BatchLimits
from tenure.telemetry.traces.collector import Collector
from tenure.telemetry.traces.spans import Make, Redacting
from tenure.version import __version__

CLOSE_SECONDS = 5.0
"""Seconds to send the last spans when a process ends."""

AT_A_STRETCH = 64
"""How many spans are encoded before the thread gives way to the event loop."""

NOTICE_EVERY = 60.0
"""Seconds between two notices about dropped spans."""

FAILED = (
    "spans cannot be exported and are dropped: check OTEL_EXPORTER_OTLP_ENDPOINT, and that a collector "
    "listens there"
)
RECOVERED = "spans are exported again; dropped so far:"
TOO_MANY = (
    "more spans end than can be exported: raise OTEL_BSP_MAX_QUEUE_SIZE, or sample fewer; dropped so far:"
)

SAMPLERS = (
    *("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"),
    *("always_on", "always_off", "traceidratio"),
)

_KINDS = {kind.name.lower(): kind for kind in SpanKind}
_NO_CONTEXT = Context()


class SpanSink(Protocol):
    """Receives export requests, as `Collector` does."""

    def send(self, body: bytes) -> str:
        """Send a request; returns the problem, empty if there is none."""

    def close(self) -> None:
        """Send no more retries."""


OnExport = Callable[[str, str, float, str], object]
"""Runs after each request: with the service, the operation, the seconds that it took, and the problem."""


class OtlpSpans:
    """Samples traces, and sends spans in batches."""

    def __init__(
        self,
        collector: SpanSink,
        on_notice: Callable[[str], object],
        redaction: Redacting,
        *,
        on_export: OnExport | None = None,
        sampler: Sampler | None = None,
        limits: BatchLimits | None = None,
    ) -> None:
        """`on_notice` runs when export fails or recovers, `on_export` after each request: in our thread."""
        self._collector = collector
        self._on_notice = on_notice
        self._redaction = redaction
        self._on_export = on_export
        provider = TracerProvider(sampler=sampler, resource=_resource(), shutdown_on_exit=False)
        self._sampler = provider.sampler
        self._resource = _plain(provider.resource.attributes)
        self._has_failed = False
        self._dropped = 0
        """How many spans were dropped because a request failed."""
        self._noticed_dropped = 0
        self._noticed_at = -NOTICE_EVERY
        self._batches = Batches(self._send, limits or BatchLimits())

    def samples(self, trace_id: str, parent: Trace | None, kind: Kind) -> bool:
        """Ask the sampler that `OTEL_TRACES_SAMPLER` names."""
        if self._sampler is DEFAULT_ON:  # its own rule, but cheaper: this runs for every attempt
            return parent is None or parent.is_sampled
        context = _NO_CONTEXT
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(_context(parent)), _NO_CONTEXT)
        number = int(trace_id, 16)
        if parent is None and kind == "consumer":
            # The trace id is the job's id. Samplers that take a ratio use the last eight bytes, which in a
            # UUID begin with the same two bits: unchanged, all jobs would be sampled, or none.
            number = (number << 2) % 2**128
        result = self._sampler.should_sample(context, number, "", kind=_KINDS[kind])
        return result.decision is Decision.RECORD_AND_SAMPLE

    def export(self, make: Make, size: int = 0) -> None:
        """Make a span later, and send it with others."""
        self._batches.put(make, size)

    @property
    def dropped(self) -> int:
        """How many spans were not exported, for any reason."""
        return self._dropped + self._batches.dropped

    def close(self) -> None:
        """Send what is left; returns after some seconds in any case."""
        self._collector.close()
        self._batches.close(CLOSE_SECONDS)

    def _send(self, batch: Sequence[Make]) -> None:
        began = time.monotonic()
        try:
            problem = self._collector.send(self._encode(batch))
        except Exception as error:  # whatever the libraries raise, the next batch must be sent
            problem = type(error).__name__
        if self._on_export is not None:
            self._on_export("otlp", "export", time.monotonic() - began, problem)
        if problem:
            self._dropped += len(batch)
        self._notice(has_failed=bool(problem))

    def _notice(self, *, has_failed: bool) -> None:
        """Give notice when export fails or works again, and sometimes of spans that did not fit."""
        now, dropped = time.monotonic(), self.dropped
        if has_failed != self._has_failed:
            self._has_failed = has_failed
            self._noticed_dropped, self._noticed_at = dropped, now
            self._on_notice(FAILED if has_failed else f"{RECOVERED} {dropped:,}")
        elif not has_failed and dropped > self._noticed_dropped and now - self._noticed_at >= NOTICE_EVERY:
            self._noticed_dropped, self._noticed_at = dropped, now
            self._on_notice(f"{TOO_MANY} {dropped:,}")

    def _encode(self, batch: Sequence[Make]) -> bytes:
        scopes: dict[str, list[bytes]] = {}
        own = scopes[OWN_SCOPE] = []
        for n, make in enumerate(batch):
            if n % AT_A_STRETCH == 0:
                time.sleep(0)  # threads that wait for the interpreter get it now, not after its 5 ms
            made = make()
            if isinstance(made, bytes):
                own.append(made)
            else:  # a handler's, under the name of its tracer, which may be ours
                encoded = otlp_encoding.encode(_redact(made, self._redaction))
                scopes.setdefault(made.scope, []).append(encoded)
        named = {
            otlp_encoding.scope(name, __version__ if name == OWN_SCOPE else None): spans
            for name, spans in scopes.items()
            if spans
        }
        return otlp_encoding.request(self._resource, named)


def open_exporter(
    on_notice: Callable[[str], object], redaction: Redacting, on_export: OnExport | None = None
) -> OtlpSpans:
    """An exporter to the address in `OTEL_EXPORTER_OTLP_ENDPOINT`.

    Raises ValueError, which names the variable, if one is invalid.
    """
    # The SDK logs long texts about its variables, not in our format.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    logging.getLogger("opentelemetry").propagate = False
    _check_sampler(os.environ)
    return OtlpSpans(
        Collector(os.environ), on_notice, redaction, on_export=on_export, limits=_limits(os.environ)
    )


def _check_sampler(environment: Mapping[str, str]) -> None:
    """Refuse an unknown sampler: the SDK would sample everything."""
    sampler = (environment.get("OTEL_TRACES_SAMPLER") or SAMPLERS[0]).lower()
    if sampler not in SAMPLERS:
        raise ValueError(f"OTEL_TRACES_SAMPLER is none of {', '.join(SAMPLERS)}")
    try:
        is_ratio = 0 <= float(environment.get("OTEL_TRACES_SAMPLER_ARG") or 1) <= 1
    except ValueError:
        is_ratio = False
    if sampler.endswith("traceidratio") and not is_ratio:
        raise ValueError("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1")


def _limits(environment: Mapping[str, str]) -> BatchLimits:
    """The variables are OpenTelemetry's; its defaults are too small for a fast worker."""
    usual = BatchLimits()
    most = _number(environment, "OTEL_BSP_MAX_QUEUE_SIZE", usual.most)
    together = _number(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", min(usual.together, most))
    delay = _number(environment, "OTEL_BSP_SCHEDULE_DELAY", int(usual.seconds * 1e3))
    if together > most:
        raise ValueError("OTEL_BSP_MAX_EXPORT_BATCH_SIZE is more than OTEL_BSP_MAX_QUEUE_SIZE")
    return BatchLimits(most, together, delay / 1e3)


def _number(environment: Mapping[str, str], name: str, unless: int) -> int:
    text = environment.get(name) or str(unless)
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text)):
        raise ValueError(f"{name} is not a whole number from 1 to 999,999,999")
    return int(text)


def _redact(span: Span, redaction: Redacting) -> Span:
    """A handler's span as it may leave the process: its texts, of errors above all, may hold secrets.

    This runs in the exporting thread: long texts delay no heartbeat.
    """

    def redact_all(given: Attributes) -> Attributes:
        return {name: redaction.value(name, value) for name, value in given.items()}

    def redact_event(event: SpanEvent) -> SpanEvent:
        return SpanEvent(redaction.text(event.name), event.at, redact_all(event.attributes))

    return replace(
        span,
        name=redaction.text(span.name),
        attributes=redact_all(span.attributes),
        events=tuple(map(redact_event, span.events)),
        message=redaction.text(span.message),
    )


def _resource() -> Resource:
    named = Resource.create()
    if str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        named = named.merge(Resource({SERVICE_NAME: "tenure"}))
    return named


def _context(trace: Trace) -> SpanContext:
    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), True, TraceFlags(trace.flags))


def _plain(given: Mapping[str, object]) -> Attributes:
    """Attributes of the SDK, whose lists are tuples, as ours."""
    found: Attributes = {}
    for name, value in given.items():
        if isinstance(value, tuple | list):
            found[name] = [each for each in value if isinstance(each, str | int | float)]
        elif isinstance(value, str | int | float):
            found[name] = value
    return found
