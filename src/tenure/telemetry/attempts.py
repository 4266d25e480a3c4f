"""A span for each attempt: from its start until it has ended, told when its outcome is on record.

Its lane is told which span it is, so that what the handler does follows from it; signals end it. An attempt
follows from whoever asked for the job; to the attempt before it there is a link.
"""

from asyncio import timeout as within
from collections.abc import Coroutine
from functools import lru_cache, partial
from time import time_ns
from typing import Any, Unpack
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import StoreError
from tenure.core.lease import Lease
from tenure.core.outcome import ENDING_OF, Ending, Recoverable, Unrecoverable
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    Signal,
    SpanEnded,
)
from tenure.core.span import Attributes, Span
from tenure.core.traceparent import Trace, parse, span_of
from tenure.engine.lane import Lane, Lanes, Terms
from tenure.execution.assignment import Assignment
from tenure.execution.halting import Ended
from tenure.storage.contract import Store
from tenure.telemetry import wire
from tenure.telemetry.spans import Make, Spans, follow

LINK_SECONDS = 1.0
"""How long to look for the attempt before; without an answer there is no link to it."""

MOST_FRAMES = 1000
"""For how many kinds of ends what their spans have in common is kept."""

_MESSAGE = wire.attribute("messaging.message.id", str(UUID(int=0)))[: -len(str(UUID(int=0)))]
"""The attribute that names the job, whose id comes last: every id has the same length."""

_End = AttemptSettled | AttemptHandedBack | AttemptLost
_OfMany = tuple[str, int, str, int, str, str | None, str | None]
"""What a span says that others say as well, as `_frame` takes it."""

_ENDS = frozenset({AttemptSettled, AttemptHandedBack, AttemptLost})


class _Begun(Struct):
    """An attempt under way: what it follows from, which span it is, since when, and what came before it."""

    parent: Trace | None
    trace_id: str
    span_id: str
    at: int
    before: str | None = None


class AttemptSpans:
    """Hears signals, and speaks to lanes; both for every attempt, so that little is done here."""

    def __init__(self, spans: Spans, store: Store) -> None:
        """The store is asked about attempts before, once for each retry."""
        self._spans = spans
        self._store = store
        self._begun: dict[Lease, _Begun] = {}

    def __call__(self, signal: Signal) -> None:
        """End a span, or pass on one of a handler's; called twice for every attempt."""
        kind = type(signal)
        if kind is AttemptStarted:  # its lane is told
            return
        if kind in _ENDS:
            begun = self._begun.pop(signal.claimed.lease, None)  # type: ignore[union-attr]
            if begun is not None:
                self._spans.export(_writing(begun, time_ns(), signal))  # type: ignore[arg-type]
        elif isinstance(signal, SpanEnded):
            # What a handler says may be much, and wait long: as bytes it is no more than it was sent as.
            body = msgspec.msgpack.encode(signal.span)
            self._spans.export(partial(msgspec.msgpack.decode, body, type=Span), len(body))

    def on(self, lanes: Lanes) -> Lanes:
        """The lanes, with attempts that know which span they are."""
        return _TracedLanes(lanes, self)

    def begin(self, assignment: Assignment) -> Assignment:
        """What an attempt is told that begins now, or one of its hooks, and which span it is."""
        job, fence = assignment.job, assignment.fence
        parent = parse(assignment.traceparent)
        trace_id = job.hex if parent is None else parent.trace_id
        own = follow(self._spans, parent, trace_id, span_of(job, fence), "consumer")
        if own.is_sampled and assignment.hook is None:
            self._begun[Lease(job, fence)] = _Begun(parent, trace_id, own.span_id, time_ns())
        return replace(assignment, traceparent=own.text)

    async def link(self, lease: Lease) -> None:
        """Look for the attempt before one that has just begun."""
        begun = self._begun.get(lease)
        if begun is None:
            return
        try:
            async with within(LINK_SECONDS):
                known = await self._store.attempts(lease.job)
        except (StoreError, TimeoutError):
            return
        for one in known:
            if one.fence < lease.fence and one.ending is not Ending.HANDED_BACK:
                begun.before = span_of(lease.job, one.fence)


class _TracedLanes:
    def __init__(self, lanes: Lanes, traces: AttemptSpans) -> None:
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

    def run(self, assignment: Assignment, **terms: Unpack[Terms]) -> Coroutine[Any, Any, Ended]:
        told = self._traces.begin(assignment)
        if told.attempt > 1 and told.hook is None:
            return self._linked(told, **terms)
        return self._lane.run(told, **terms)

    async def _linked(self, told: Assignment, **terms: Unpack[Terms]) -> Ended:
        await self._traces.link(Lease(told.job, told.fence))
        return await self._lane.run(told, **terms)


def _writing(begun: _Begun, now: int, signal: _End) -> Make:
    """What writes the span of an attempt whose end was told at `now`.

    It may wait long, with many others: of the signal, which has the job's parameters and its result, it keeps
    what the span says.
    """
    claimed = signal.claimed
    ending, state, failure, ended_at = Ending.LOST, None, None, now
    match signal:
        case AttemptSettled(_, report, reached, took):
            outcome = report.outcome
            ending, state, ended_at = ENDING_OF[type(outcome)], reached, begun.at + int(took * 1e9)
            if ending is not Ending.SUCCEEDED and isinstance(outcome, Recoverable | Unrecoverable):
                failure = outcome.error.kind
        case AttemptHandedBack(_, reached, has_begun, took):
            ending, state = Ending.KILLED if has_begun else Ending.HANDED_BACK, reached
            ended_at = begun.at + int(took * 1e9)
        case AttemptLost():
            failure = "LeaseLost"
    of_many = (
        *(claimed.definition, claimed.version, claimed.queue, claimed.attempt),
        *(ending._value_, None if state is None else state._value_, failure),
    )
    return partial(_written, begun, claimed.lease.job, ended_at, of_many)


def _written(begun: _Begun, job: UUID, ended_at: int, of_many: _OfMany) -> bytes:
    said = _frame(*of_many)
    trace_id = bytes.fromhex(begun.trace_id)
    parent = b"" if begun.parent is None else bytes.fromhex(begun.parent.span_id)
    rest = _MESSAGE + str(job).encode()
    if begun.before is not None:
        rest += wire.linked(trace_id, bytes.fromhex(begun.before))
    return wire.framed(trace_id, bytes.fromhex(begun.span_id), parent, begun.at, ended_at, said, rest)


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
    """By the conventions for messaging; what they have no word for is `tenure.…`.

    What went wrong is told by its kind alone: a message may hold what only the job's own record may show.
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
    return wire.frame(
        f"process {definition}", "consumer", attributes, "unset" if failure is None else "error"
    )
