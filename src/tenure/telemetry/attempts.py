"""A span for each attempt: from its start until it has ended, told when its outcome is on record.

Signals begin and end it. In between its lane is told which span it is, so that what the handler does follows
from it. An attempt follows from whoever asked for the job; to the attempt before it there is a link.
"""

from asyncio import timeout as within
from datetime import timedelta
from time import time_ns

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import StoreError
from tenure.core.lease import Claimed, Lease
from tenure.core.outcome import ENDING_OF, Ending, Recoverable, Unrecoverable
from tenure.core.signals import (
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    AttemptStarted,
    Signal,
    SpanEnded,
)
from tenure.core.span import Attributes, Span, SpanLink
from tenure.core.states import State
from tenure.core.traceparent import Trace, parse, span_of, trace_of
from tenure.engine.lane import Lane, Lanes
from tenure.execution.assignment import Assignment
from tenure.execution.halting import Ended, Halting, Listener
from tenure.storage.contract import Store
from tenure.telemetry.spans import Spans, follow

LINK_SECONDS = 1.0
"""How long to look for the attempt before; without an answer there is no link to it."""


class _Begun(Struct):
    """An attempt under way: what it follows from, which span it is, since when, and what came before it."""

    claimed: Claimed
    parent: Trace | None
    own: Trace
    at: int
    links: tuple[SpanLink, ...] = ()


class AttemptSpans:
    """Hears signals, and speaks to lanes."""

    def __init__(self, spans: Spans, store: Store) -> None:
        """The store is asked about attempts before, once for each retry."""
        self._spans = spans
        self._store = store
        self._begun: dict[Lease, _Begun] = {}

    def __call__(self, signal: Signal) -> None:
        """Begin or end a span, or pass on one of a handler's."""
        match signal:
            case AttemptStarted(claimed):
                parent = parse(claimed.traceparent)
                own = self._own(claimed.lease, claimed.traceparent)
                self._begun[claimed.lease] = _Begun(claimed, parent, own, time_ns())
            case AttemptSettled(claimed, report, state, took):
                outcome = report.outcome
                failure = outcome.error.kind if isinstance(outcome, Recoverable | Unrecoverable) else None
                self._end(claimed.lease, took, ENDING_OF[type(outcome)], state, failure)
            case AttemptHandedBack(claimed, state, has_begun, took):
                ending = Ending.KILLED if has_begun else Ending.HANDED_BACK
                self._end(claimed.lease, took, ending, state)
            case AttemptLost(claimed):
                self._end(claimed.lease, None, Ending.LOST, failure="LeaseLost")
            case SpanEnded(_, span):
                self._spans.export(span)

    def on(self, lanes: Lanes) -> Lanes:
        """The lanes, with attempts that know which span they are."""
        return _TracedLanes(lanes, self)

    async def told(self, assignment: Assignment) -> Assignment:
        """What an attempt is told, and which span it is."""
        lease = Lease(assignment.job, assignment.fence)
        begun = self._begun.get(lease)
        if begun is None:  # a hook, whose attempt is over
            return replace(assignment, traceparent=self._own(lease, assignment.traceparent).text)
        if begun.own.is_sampled and assignment.attempt > 1:
            begun.links = await self._before(begun)
        return replace(assignment, traceparent=begun.own.text)

    def _own(self, lease: Lease, traceparent: str | None) -> Trace:
        return follow(
            self._spans,
            parse(traceparent),
            trace_of(lease.job, traceparent),
            span_of(lease.job, lease.fence),
            "consumer",
        )

    async def _before(self, begun: _Begun) -> tuple[SpanLink, ...]:
        job, fence = begun.claimed.lease.job, begun.claimed.lease.fence
        try:
            async with within(LINK_SECONDS):
                known = await self._store.attempts(job)
        except (StoreError, TimeoutError):
            return ()
        earlier = [one.fence for one in known if one.fence < fence and one.ending is not Ending.HANDED_BACK]
        return tuple(SpanLink(begun.own.trace_id, span_of(job, one)) for one in earlier[-1:])

    def _end(
        self,
        lease: Lease,
        took: float | None,
        ending: Ending,
        state: State | None = None,
        failure: str | None = None,
    ) -> None:
        begun = self._begun.pop(lease, None)
        if begun is None or not begun.own.is_sampled:
            return
        attributes = _attributes(begun.claimed)
        attributes["tenure.outcome"] = ending.value
        if state is not None:
            attributes["tenure.state"] = state.value
        if failure is not None:
            attributes["error.type"] = failure
        self._spans.export(
            Span(
                name=f"process {begun.claimed.definition}",
                trace_id=begun.own.trace_id,
                span_id=begun.own.span_id,
                parent_id=None if begun.parent is None else begun.parent.span_id,
                kind="consumer",
                began_at=begun.at,
                ended_at=time_ns() if took is None else begun.at + int(took * 1e9),
                attributes=attributes,
                status="unset" if failure is None else "error",
                links=begun.links,
            )
        )


class _TracedLanes:
    def __init__(self, lanes: Lanes, traces: AttemptSpans) -> None:
        self._lanes = lanes
        self._traces = traces

    def named(self, name: str) -> Lane:
        return _TracedLane(self._lanes.named(name), self._traces)

    async def ready(self) -> None:
        await self._lanes.ready()


class _TracedLane:
    def __init__(self, lane: Lane, traces: AttemptSpans) -> None:
        self._lane = lane
        self._traces = traces

    async def run(
        self,
        assignment: Assignment,
        *,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        told = await self._traces.told(assignment)
        return await self._lane.run(told, timeout=timeout, grace=grace, halt=halt, listener=listener)


def _attributes(claimed: Claimed) -> Attributes:
    """By the conventions for messaging; what they have no word for is `tenure.…`.

    What went wrong is told by its kind alone: a message may hold what only the job's own record may show.
    """
    return {
        "messaging.system": "tenure",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": claimed.queue,
        "messaging.message.id": str(claimed.lease.job),
        "tenure.definition": claimed.definition,
        "tenure.version": claimed.version,
        "tenure.attempt": claimed.attempt,
    }
