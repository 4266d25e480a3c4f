"""An attempt that this worker holds: the deadlines of its lease, its output, and its stop request."""

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import LeaseLost
from tenure.core.model.durable import Suspension
from tenure.core.model.job import USUAL_NAMESPACE, Enqueued, NewJob
from tenure.core.model.lease import Claimed, Lease, Progress
from tenure.core.model.outcome import Report
from tenure.core.model.trail import LogLine, Note, Trail
from tenure.core.signals import Announce, Measured, SpanEnded
from tenure.core.values.span import Span
from tenure.engine.config import LeaseDeadlines
from tenure.engine.worker.spawn_keys import SpawnKeys
from tenure.execution.parent.attempt_terms import StopReason, StopRequest
from tenure.execution.protocol.durable import Answer, Question

Spawn = Callable[[Lease, Sequence[NewJob]], Awaitable[list[Enqueued]]]
"""Enqueues jobs on behalf of an attempt while its lease holds."""

AnswerDurable = Callable[[Lease, Question], Awaitable[Answer]]
"""Answers a question about the progress of a job while the lease of its attempt holds."""


class StoreCalls(NamedTuple):
    """What attempts may have the store do for them."""

    spawn: Spawn
    answer: AnswerDurable


class HeldAttempt:
    """Collects what an attempt reports through its lane, until the store has it.

    There is one for every job: what few attempts need is made when it is first used.
    """

    __slots__ = (
        "_calls", "_lines", "_notes", "_on_signal", "_spawn_keys",
        "claimed", "deadlines", "has_output", "lease", "returned_for", "since", "stop", "unsent_progress",
    )  # fmt: skip

    def __init__(
        self, claimed: Claimed, deadlines: LeaseDeadlines, calls: StoreCalls, on_signal: Announce
    ) -> None:
        self.claimed = claimed
        self.lease = claimed.lease
        """The lease it runs under."""
        self.since = monotonic()
        """When it was claimed; once it runs, when it started."""
        self.stop = StopRequest()
        self.prolong(deadlines)
        self.returned_for = ""
        """Why it is handed back, if it is."""
        self.has_output = False
        """Whether it has lines or events that are not recorded yet."""
        self.unsent_progress: Progress | None = None
        """Its latest progress, until the store has it."""
        self._calls = calls
        self._spawn_keys: SpawnKeys | None = None
        self._on_signal = on_signal
        self._lines: list[LogLine] | None = None
        self._notes: list[Note] | None = None

    def prolong(self, deadlines: LeaseDeadlines) -> None:
        """Set later deadlines: its lease was prolonged."""
        self.deadlines = deadlines
        self.stop.prolong(deadlines.kill_at)

    def log(self, line: LogLine) -> None:
        """Keep a line of output."""
        if self._lines is None:
            self._lines = []
        self._lines.append(line)
        self.has_output = True

    def progress(self, progress: Progress) -> None:
        """Keep its latest progress; the next heartbeat sends it."""
        self.unsent_progress = progress

    def mark_sent(self, progress: Progress) -> None:
        """Note that the store has this progress; a later one may be unsent."""
        if self.unsent_progress is progress:
            self.unsent_progress = None

    def emit(self, note: Note) -> None:
        """Keep an event of its own."""
        if self._notes is None:
            self._notes = []
        self._notes.append(note)
        self.has_output = True

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Announce a measurement of its handler at once; it is not kept."""
        self._on_signal(Measured(self.claimed.definition, what, labels, value))

    def span(self, span: Span) -> None:
        """Announce a span of its handler at once; it is not kept."""
        self._on_signal(SpanEnded(self.claimed, span))

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue jobs as its children, in its own namespace unless they name another."""
        own = self.claimed.namespace
        if own != USUAL_NAMESPACE:
            jobs = [replace(job, namespace=own) if job.namespace == USUAL_NAMESPACE else job for job in jobs]
        if self._spawn_keys is None:
            self._spawn_keys = SpawnKeys(self.lease.job)
        keys = self._spawn_keys
        named = keys.named(jobs)
        try:
            return await self._calls.spawn(self.lease, named)
        except BaseException:
            keys.take_back(named)
            raise

    async def durable(self, question: Question) -> Answer:
        """Answer a question about its job's progress."""
        try:
            return await self._calls.answer(self.lease, question)
        except LeaseLost:
            self.stop.ask(StopReason.LOST)  # the store knows before the next heartbeat does
            raise

    def take_trail(self) -> Trail:
        """Its lines and events since the last call."""
        trail = Trail(self.lease, tuple(self._lines or ()), tuple(self._notes or ()))
        self._lines = self._notes = None
        self.has_output = False
        return trail

    def put_back(self, trail: Trail) -> None:
        """Keep what could not be recorded, before what came since."""
        self._lines = [*trail.lines, *(self._lines or ())]
        self._notes = [*trail.notes, *(self._notes or ())]
        self.has_output = True


class SuspendedAttempt(Struct, frozen=True):
    """An attempt whose handler waits: what for, and when it ended by the monotonic clock."""

    attempt: HeldAttempt
    suspension: Suspension
    at: float


class EndedAttempt(Struct, frozen=True):
    """An attempt that has ended: its report, and when it ended by the monotonic clock."""

    attempt: HeldAttempt
    report: Report
    at: float
