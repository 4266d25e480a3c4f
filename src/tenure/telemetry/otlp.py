"""Spans that are exported by OTLP: sampled and named as OpenTelemetry's variables `OTEL_…` say.

Only who exports spans imports this module: `tenure[otel]` brings what it needs. The SDK says which traces are
sampled and what this process is called. It does not make spans: its way of doing so takes longer than a small
attempt does. A span is put down as what makes it; a thread makes it, writes it (see `wire`) and sends it.
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

from tenure.core.span import OWN_SCOPE, Attributes, Kind, Span, SpanEvent
from tenure.core.traceparent import Trace
from tenure.telemetry import wire
from tenure.telemetry.batches import Batches, Room
from tenure.telemetry.collector import Collector
from tenure.telemetry.spans import Make, Redacting
from tenure.version import __version__

LAST_WORDS = 5.0
"""Seconds that the last spans have to be sent when a process ends."""

AT_A_STRETCH = 64
"""How many spans are written before the event loop may have its turn."""

SELDOM = 60.0
"""Seconds between two notices of what was dropped."""

FAILED = (
    "spans cannot be exported, and are dropped: look at OTEL_EXPORTER_OTLP_ENDPOINT, and who listens there"
)
RECOVERED = "spans are exported again; dropped so far:"
TOO_MANY = (
    "more spans end than can be exported: see OTEL_BSP_MAX_QUEUE_SIZE, or sample fewer; dropped so far:"
)

SAMPLERS = (
    *("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"),
    *("always_on", "always_off", "traceidratio"),
)

_KINDS = {kind.name.lower(): kind for kind in SpanKind}
_NO_CONTEXT = Context()


class Taking(Protocol):
    """Who takes requests, as `Collector` does."""

    def take(self, body: bytes) -> str:
        """What is wrong, if it could not be sent."""

    def close(self) -> None:
        """Try nothing again."""


Called = Callable[[str, str, float, str], object]
"""Hears of a call of somebody else: the service, the operation, how many seconds it took, what was wrong."""


class OtlpSpans:
    """Samples by a sampler, and sends spans in batches."""

    def __init__(
        self,
        collector: Taking,
        tell: Callable[[str], object],
        redaction: Redacting,
        *,
        called: Called | None = None,
        sampler: Sampler | None = None,
        room: Room | None = None,
    ) -> None:
        """In our thread `tell` hears when spans cannot be exported, and no more; `called` of each request."""
        self._collector = collector
        self._tell = tell
        self._redaction = redaction
        self._called = called
        provider = TracerProvider(sampler=sampler, resource=_resource(), shutdown_on_exit=False)
        self._sampler = provider.sampler
        self._resource = _plain(provider.resource.attributes)
        self._has_failed = False
        self._dropped = 0
        """How many were dropped for want of somebody who takes them."""
        self._told_of = 0
        self._told_at = -SELDOM
        self._batches = Batches(self._send, room or Room())

    def samples(self, trace_id: str, parent: Trace | None, kind: Kind) -> bool:
        """By the sampler, as `OTEL_TRACES_SAMPLER` names it."""
        if self._sampler is DEFAULT_ON:  # what it would say, without asking: every attempt comes by here
            return parent is None or parent.is_sampled
        context = _NO_CONTEXT
        if parent is not None:
            context = set_span_in_context(NonRecordingSpan(_context(parent)), _NO_CONTEXT)
        number = int(trace_id, 16)
        if parent is None and kind == "consumer":
            # The trace of a job has its id. Samplers that take a share look at the last eight bytes, which in
            # a UUID begin with the same two bits: by themselves they would put all jobs on one side.
            number = (number << 2) % 2**128
        asked = self._sampler.should_sample(context, number, "", kind=_KINDS[kind])
        return asked.decision is Decision.RECORD_AND_SAMPLE

    def export(self, make: Make, size: int = 0) -> None:
        """Have it made and sent with others."""
        self._batches.put(make, size)

    @property
    def dropped(self) -> int:
        """How many spans were not exported, for whatever reason."""
        return self._dropped + self._batches.dropped

    def close(self) -> None:
        """Send what there still is; returns after some seconds in any case."""
        self._collector.close()
        self._batches.close(LAST_WORDS)

    def _send(self, batch: Sequence[Make]) -> None:
        began = time.monotonic()
        try:
            problem = self._collector.take(self._written(batch))
        except Exception as error:  # whatever the libraries below raise: the next batch must have its turn
            problem = type(error).__name__
        if self._called is not None:
            self._called("otlp", "export", time.monotonic() - began, problem)
        if problem:
            self._dropped += len(batch)
        self._notice(has_failed=bool(problem))

    def _notice(self, *, has_failed: bool) -> None:
        """Tell of what has changed, and now and then of what did not fit."""
        now, dropped = time.monotonic(), self.dropped
        if has_failed != self._has_failed:
            self._has_failed = has_failed
            self._told_of, self._told_at = dropped, now
            self._tell(FAILED if has_failed else f"{RECOVERED} {dropped:,}")
        elif not has_failed and dropped > self._told_of and now - self._told_at >= SELDOM:
            self._told_of, self._told_at = dropped, now
            self._tell(f"{TOO_MANY} {dropped:,}")

    def _written(self, batch: Sequence[Make]) -> bytes:
        scopes: dict[str, list[bytes]] = {}
        own = scopes[OWN_SCOPE] = []
        for n, make in enumerate(batch):
            if n % AT_A_STRETCH == 0:
                time.sleep(0)  # whoever waits for the interpreter has it at once, and not after its 5 ms
            made = make()
            if isinstance(made, bytes):
                own.append(made)
            else:  # a handler's, by whatever name its tracer goes: ours as well
                written = wire.encoded(_shown(made, self._redaction))
                scopes.setdefault(made.scope, []).append(written)
        named = {
            wire.scope(name, __version__ if name == OWN_SCOPE else None): spans
            for name, spans in scopes.items()
            if spans
        }
        return wire.request(self._resource, named)


def exporting(tell: Callable[[str], object], redaction: Redacting, called: Called | None = None) -> OtlpSpans:
    """Spans that go where `OTEL_EXPORTER_OTLP_ENDPOINT` says.

    Raises ValueError, with the variable that makes no sense.
    """
    # What it has to say of its variables is said in many lines, of which none is ours.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    logging.getLogger("opentelemetry").propagate = False
    _check_sampler(os.environ)
    return OtlpSpans(Collector(os.environ), tell, redaction, called=called, room=_room(os.environ))


def _check_sampler(environment: Mapping[str, str]) -> None:
    """The SDK would take whatever it cannot read for "all of them"."""
    sampler = (environment.get("OTEL_TRACES_SAMPLER") or SAMPLERS[0]).lower()
    if sampler not in SAMPLERS:
        raise ValueError(f"OTEL_TRACES_SAMPLER is none of {', '.join(SAMPLERS)}")
    try:
        is_share = 0 <= float(environment.get("OTEL_TRACES_SAMPLER_ARG") or 1) <= 1
    except ValueError:
        is_share = False
    if sampler.endswith("traceidratio") and not is_share:
        raise ValueError("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1")


def _room(environment: Mapping[str, str]) -> Room:
    """By the variables of OpenTelemetry's own batches, whose defaults are too small for a fast worker."""
    usual = Room()
    most = _number(environment, "OTEL_BSP_MAX_QUEUE_SIZE", usual.most)
    together = _number(environment, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", min(usual.together, most))
    delay = _number(environment, "OTEL_BSP_SCHEDULE_DELAY", int(usual.seconds * 1e3))
    if together > most:
        raise ValueError("OTEL_BSP_MAX_EXPORT_BATCH_SIZE is more than OTEL_BSP_MAX_QUEUE_SIZE")
    return Room(most, together, delay / 1e3)


def _number(environment: Mapping[str, str], name: str, unless: int) -> int:
    text = environment.get(name) or str(unless)
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text)):
        raise ValueError(f"{name} is no whole number from 1 to 999,999,999")
    return int(text)


def _shown(span: Span, redaction: Redacting) -> Span:
    """A span as it may leave the process: what a handler's says, of errors above all, may hold secrets.

    Here, in the thread that exports, long texts keep no heartbeat waiting.
    """

    def redacted(given: Attributes) -> Attributes:
        return {name: redaction.value(name, value) for name, value in given.items()}

    def shown(event: SpanEvent) -> SpanEvent:
        return SpanEvent(redaction.text(event.name), event.at, redacted(event.attributes))

    return replace(
        span,
        name=redaction.text(span.name),
        attributes=redacted(span.attributes),
        events=tuple(map(shown, span.events)),
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
    """Attributes as the SDK has them, whose lists are tuples."""
    found: Attributes = {}
    for name, value in given.items():
        if isinstance(value, tuple | list):
            found[name] = [each for each in value if isinstance(each, str | int | float)]
        elif isinstance(value, str | int | float):
            found[name] = value
    return found
