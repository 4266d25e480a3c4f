"""A span for each attempt, from its start to its end, exported when its outcome is on record.

Its lane passes on the span's id, so the handler's spans are its children; a signal ends it. Its parent is the
span of the caller that enqueued the job; a link leads to the attempt before it.
"""

from asyncio import timeout as within
from collections.abc import Coroutine
from functools import lru_cache, partial
from time import time_ns
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import StoreError
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import ENDING_OF, Ending, Recoverable, Unrecoverable
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    Signal,
    SpanEnded,
)
from tenure.core.values.span import Attributes, Span
from tenure.core.values.traceparent import Trace, parse, span_of
from tenure.execution.lanes import Lane, LaneSet
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended
from tenure.execution.protocol.assignment import Assignment
from tenure.storage.contract.store import Store
from tenure.telemetry.traces import otlp_encoding
from tenure.telemetry.traces.spans import Make, Spans, follow

LINK_SECONDS = 1.0
"""How long to look for the attempt before; without an answer there is no link to it."""

MOST_FRAMES = 1000
"""How many frames, the parts that spans have in common, are cached."""

_MESSAGE = otlp_encoding.attribute("messaging.message.id", str(UUID(int=0)))[: -len(str(UUID(int=0)))]
"""The attribute for the job's id, without the id, which comes last: every id has the same length."""

_End = AttemptSettled | AttemptHandedBack | AttemptLost
_FrameKey = tuple[str, int, str, int, str, str | None, str | None]
"""What a span has in common with others: the arguments of `_frame`."""

_ENDS = frozenset({AttemptSettled, AttemptHandedBack, AttemptLost})


class _OpenSpan(Struct):
    """The span of an attempt that runs: its parent, its ids, its start, and the attempt before."""

    parent: Trace | None
    trace_id: str
    span_id: str
    at: int
    before: str | None = None


class AttemptSpans:
    """Starts spans through the lanes and ends them by signals: for every attempt, so it does little."""

    def __init__(self, spans: Spans, store: Store) -> None:
        """For each retry, the store is asked once for the attempts before."""
        self._spans = spans
        self._store = store
        self._open: dict[Lease, _OpenSpan] = {}

    def __call__(self, signal: Signal) -> None:
        """End a span, or pass on a handler's span; called twice for every attempt."""
        kind = type(signal)
        if kind is AttemptStarted:  # the lane starts the span
            return
        if kind in _ENDS:
            span = self._open.pop(signal.claimed.lease, None)  # type: ignore[union-attr]
            if span is not None:
                self._spans.export(_maker(span, time_ns(), signal))  # type: ignore[arg-type]
        elif isinstance(signal, SpanEnded):
            # A handler's span may be large, and wait long: as bytes it is no larger than it was sent.
            body = msgspec.msgpack.encode(signal.span)
            self._spans.export(partial(msgspec.msgpack.decode, body, type=Span), len(body))

    def on(self, lanes: LaneSet) -> LaneSet:
        """The lanes, with a span for each attempt."""
        return _TracedLanes(lanes, self)

    def begin(self, assignment: Assignment) -> Assignment:
        """Start the span of an attempt; returns the assignment with the span's id, also for a hook."""
        job, fence = assignment.job, assignment.fence
        parent = parse(assignment.traceparent)
        trace_id = job.hex if parent is None else parent.trace_id
        own = follow(self._spans, parent, trace_id, span_of(job, fence), "consumer")
        if own.is_sampled and assignment.hook is None:
            self._open[Lease(job, fence)] = _OpenSpan(parent, trace_id, own.span_id, time_ns())
        return replace(assignment, traceparent=own.text)

    async def link(self, lease: Lease) -> None:
        """Link the span of an attempt that has just started to the attempt before it."""
        span = self._open.get(lease)
        if span is None:
            return
        try:
            async with within(LINK_SECONDS):
                known = await self._store.attempts(lease.job)
        except (StoreError, TimeoutError):
            return
        for one in known:
            if one.fence < lease.fence and one.ending is not Ending.HANDED_BACK:
                span.before = span_of(lease.job, one.fence)


class _TracedLanes:
    def __init__(self, lanes: LaneSet, traces: AttemptSpans) -> None:
        self._lanes = lanes
        self._traces = traces
        self._traced: dict[str, _TracedLane] = {}

    def named(self, name: str) -> Lane:
        found = self._traced.get(name)
        if found is None:
            found = self._traced[name] = _TracedLane(self._lanes.named(name), self._traces)
        return found

    async def ready(self) -> None:
        await self._lanes.ready()


class _TracedLane:
    def __init__(self, lane: Lane, traces: AttemptSpans) -> None:
        self._lane = lane
        self._traces = traces

    def run(self, assignment: Assignment, terms: AttemptTerms) -> Coroutine[Any, Any, Ended]:
        traced = self._traces.begin(assignment)
        if traced.attempt > 1 and traced.hook is None:
            return self._linked(traced, terms)
        return self._lane.run(traced, terms)

    async def _linked(self, traced: Assignment, terms: AttemptTerms) -> Ended:
        await self._traces.link(Lease(traced.job, traced.fence))
        return await self._lane.run(traced, terms)


def _maker(span: _OpenSpan, now: int, signal: _End) -> Make:
    """A function that encodes the span of an attempt whose end was announced at `now`.

    It may wait long, with many others, so it keeps only what the span needs: the signal holds the
    job's params and result.
    """
    claimed = signal.claimed
    ending, state, failure, ended_at = Ending.LOST, None, None, now
    match signal:
        case AttemptSettled(_, report, reached, took):
            outcome = report.outcome
            ending, state, ended_at = ENDING_OF[type(outcome)], reached, span.at + int(took * 1e9)
            if ending is not Ending.SUCCEEDED and isinstance(outcome, Recoverable | Unrecoverable):
                failure = outcome.error.kind
        case AttemptHandedBack(_, reached, has_begun, took):
            ending, state = Ending.KILLED if has_begun else Ending.HANDED_BACK, reached
            ended_at = span.at + int(took * 1e9)
        case AttemptLost():
            failure = "LeaseLost"
    key = (
        *(claimed.definition, claimed.version, claimed.queue, claimed.attempt),
        *(ending._value_, None if state is None else state._value_, failure),
    )
    return partial(_encode, span, claimed.lease.job, ended_at, key)


def _encode(span: _OpenSpan, job: UUID, ended_at: int, key: _FrameKey) -> bytes:
    trace_id = bytes.fromhex(span.trace_id)
    parent = b"" if span.parent is None else bytes.fromhex(span.parent.span_id)
    rest = _MESSAGE + str(job).encode()
    if span.before is not None:
        rest += otlp_encoding.link(trace_id, bytes.fromhex(span.before))
    return otlp_encoding.encode_framed(
        trace_id, bytes.fromhex(span.span_id), parent, span.at, ended_at, _frame(*key), rest
    )


@lru_cache(MOST_FRAMES)
def _frame(
    definition: str,
    version: int,
    queue: str,
    attempt: int,
    ending: str,
    state: str | None,
    failure: str | None,
) -> bytes:
    """Attributes follow OpenTelemetry's conventions for messaging; those without one are `tenure.…`.

    An error is named by its kind alone: its message may hold what only the job's own record may show.
    """
    attributes: Attributes = {
        "messaging.system": "tenure",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": queue,
        "tenure.definition": definition,
        "tenure.version": version,
        "tenure.attempt": attempt,
        "tenure.outcome": ending,
    }
    if state is not None:
        attributes["tenure.state"] = state
    if failure is not None:
        attributes["error.type"] = failure
    return otlp_encoding.frame(
        f"process {definition}", "consumer", attributes, "unset" if failure is None else "error"
    )
