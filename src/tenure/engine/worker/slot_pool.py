"""The slots of one group: which attempts this worker holds for them, and the state of each.

    state      what it means                                  next states
    claimed    the store gave us the job and a lease          waiting, unstarted
    waiting    no slot is free yet                            running, unstarted, lost
    running    its lane runs it                               done, suspended, killed, unstarted, lost
    done       it ended: its report will be settled           forgotten
    suspended  its handler waits: that will be recorded       forgotten
    killed     started, then killed through no fault of its   forgotten
               own: it will be handed back
    unstarted  it will not start: it will be handed back      forgotten
    lost       its lease is lost: no report is sent           forgotten
    forgotten  the store has answered, or the lease is lost

A slot is free as soon as its attempt leaves `running`. The lease is ours until the store has answered, so an
attempt is held from `waiting` to `unstarted`, and the heartbeat prolongs its lease. `SlotPool` alone changes
states: callers use its methods.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator
from uuid import UUID

from tenure.core.model.durable import Suspension
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import Report
from tenure.core.signals import Announce, AttemptLost, AttemptStarted
from tenure.engine.worker.held_attempt import EndedAttempt, HeldAttempt, SuspendedAttempt
from tenure.engine.worker.prefetch import Prefetch
from tenure.engine.worker.slot_groups import SlotGroup
from tenure.execution.parent.attempt_terms import StopReason

HELD_FOR = 1.0
"""Seconds after which a job that was claimed ahead and has not started is handed back, for other workers."""


class SlotPool:
    """Moves attempts from state to state, and knows how many more may be claimed."""

    def __init__(self, group: SlotGroup, *, on_signal: Announce, on_change: Callable[[], None]) -> None:
        """`on_change` runs whenever an attempt ends, or is given back before it starts."""
        self._group = group
        self._on_signal = on_signal
        self._on_change = on_change
        self._prefetch = Prefetch(group.moment, group.most_ahead)
        self._waiting: dict[Lease, HeldAttempt] = {}
        self._running: dict[Lease, HeldAttempt] = {}
        self._done: dict[Lease, EndedAttempt] = {}
        self._suspended: dict[Lease, SuspendedAttempt] = {}
        self._killed: dict[Lease, HeldAttempt] = {}
        self._unstarted: dict[Lease, HeldAttempt] = {}
        self._unanswered_since: float | None = None
        self.is_open = True
        """Whether to claim at all."""
        self.is_draining = False
        self.idle = asyncio.Event()
        """Set while nothing runs or waits."""
        self.idle.set()

    # How full it is

    @property
    def running(self) -> int:
        """How many attempts run."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many attempts wait for a slot."""
        return len(self._waiting)

    @property
    def done(self) -> int:
        """How many attempts have a report to settle."""
        return len(self._done)

    @property
    def oldest_end(self) -> float:
        """When the first of those ended; infinity if there is none."""
        return next(iter(self._done.values())).at if self._done else math.inf

    @property
    def is_low(self) -> bool:
        """Whether at least half of the places ahead are free."""
        ahead = self._ahead
        return 2 * (self._group.slots + ahead - len(self._running) - len(self._waiting)) >= ahead

    @property
    def room(self) -> int:
        """How many more jobs to claim: for free slots, and to wait for the next."""
        if not self.is_open:
            return 0
        return self._group.slots + self._ahead - len(self._running) - len(self._waiting)

    @property
    def _ahead(self) -> int:
        """How many jobs may be held now beyond those that run."""
        if self._group.buffer is not None:
            return self._group.most_ahead
        young = time.monotonic() - self._prefetch.window
        long = 0
        for attempt in self._running.values():  # the oldest comes first
            if attempt.since > young:
                break
            long += 1
        return self._prefetch.ahead(self._group.slots - long)

    # claimed, waiting → running

    def add(self, attempt: HeldAttempt) -> None:
        """Let a newly claimed job wait for a slot."""
        self._waiting[attempt.lease] = attempt
        self.idle.clear()

    def start_next(self) -> HeldAttempt | None:
        """The attempt to run now; None if none waits, no slot is free, or the store does not answer."""
        if not self._waiting or len(self._running) >= self._group.slots or self._is_cut_off():
            return None
        attempt = self._waiting.pop(next(iter(self._waiting)))
        attempt.since = time.monotonic()
        self._running[attempt.lease] = attempt
        self._on_signal(AttemptStarted(attempt.claimed))
        return attempt

    def mark_asked(self, at: float) -> None:
        """Note when the store was asked for jobs."""
        if self._unanswered_since is None:
            self._unanswered_since = at

    def mark_answered(self) -> None:
        """Note that the store has answered."""
        self._unanswered_since = None

    def _is_cut_off(self) -> bool:
        """Whether a lease may run out before its outcome is settled: what starts now would run twice."""
        since = self._unanswered_since
        return since is not None and time.monotonic() - since >= HELD_FOR

    # running → done; any → killed, unstarted or lost

    def finish(self, attempt: HeldAttempt, report: Report) -> None:
        """Keep the report of an attempt that has ended by itself."""
        del self._running[attempt.lease]
        now = time.monotonic()
        self._prefetch.note(now - attempt.since)
        self._done[attempt.lease] = EndedAttempt(attempt, report, now)

    def suspend(self, attempt: HeldAttempt, suspension: Suspension) -> None:
        """Keep what an attempt waits for that has ended in order to wait."""
        del self._running[attempt.lease]
        now = time.monotonic()
        self._prefetch.note(now - attempt.since)
        self._suspended[attempt.lease] = SuspendedAttempt(attempt, suspension, now)

    def give_back(self, attempt: HeldAttempt, why: str, *, has_begun: bool = False) -> None:
        """Have an attempt handed back at the next turn."""
        self._remove(attempt)
        attempt.returned_for = why
        (self._killed if has_begun else self._unstarted)[attempt.lease] = attempt

    def lose(self, attempt: HeldAttempt) -> None:
        """Forget an attempt whose lease is lost."""
        has_begun = self._remove(attempt)
        took = time.monotonic() - attempt.since if has_begun else 0.0
        self._on_signal(AttemptLost(attempt.claimed, fenced=True, took=took))

    def _remove(self, attempt: HeldAttempt) -> bool:
        """Remove an attempt that waits or runs; returns whether it was running."""
        self._waiting.pop(attempt.lease, None)
        return self._running.pop(attempt.lease, None) is not None

    def note_change(self) -> None:
        """Announce that a slot or a place to wait is free."""
        if not self._running and not self._waiting:
            self.idle.set()
        self._on_change()

    def halt(self) -> None:
        """Kill everything that runs, for shutdown."""
        for attempt in self._running.values():
            attempt.stop.ask(StopReason.SHUTDOWN)

    def halt_expiring(self) -> None:
        """Halt every attempt whose lease may end soon."""
        now = time.monotonic()
        for attempt in (*self._running.values(), *self._waiting.values()):
            if attempt.deadlines.halt_at <= now:
                attempt.stop.ask(StopReason.LOST)
        self.remove_stopped()

    def remove_stopped(self) -> None:
        """Remove what waits and should stop: the store cancels it when it is handed back."""
        for attempt in list(self._waiting.values()):
            match attempt.stop.reason:
                case None:
                    continue
                case StopReason.LOST:
                    self.lose(attempt)
                case _:
                    self.give_back(attempt, "it was asked to stop before it began")
            self.note_change()

    def give_back_overdue(self) -> float:
        """Give back what has waited too long; returns seconds until the next one has."""
        if self._group.buffer is not None:
            return math.inf
        now = time.monotonic()
        for attempt in list(self._waiting.values()):
            left = attempt.since + HELD_FOR - now
            if left > 0:
                return left
            self.give_back(attempt, "it has waited too long for a slot")
        return math.inf

    def close(self, why: str) -> None:
        """Claim nothing until reopened, and give back what waits."""
        self.is_open = False
        for attempt in list(self._waiting.values()):
            self.give_back(attempt, why)

    def reopen(self) -> None:
        """Claim again, unless it drains."""
        self.is_open = not self.is_draining

    def drain(self) -> None:
        """Claim no more, and give back what waits."""
        self.is_draining = True
        self.close("its worker runs no more jobs")
        self.note_change()

    # done, suspended, killed, unstarted → forgotten

    @property
    def has_suspended(self) -> bool:
        """Whether the store is to be told of attempts that wait."""
        return bool(self._suspended)

    @property
    def has_returns(self) -> bool:
        """Whether anything waits to be handed back."""
        return bool(self._unstarted or self._killed)

    @property
    def is_settled(self) -> bool:
        """Whether the store knows of everything that has ended."""
        return not (self._done or self._suspended or self._killed or self._unstarted)

    def take_done(self) -> dict[Lease, EndedAttempt]:
        """What to settle; it stays held until `mark_settled`."""
        return dict(self._done)

    def take_suspended(self) -> dict[Lease, SuspendedAttempt]:
        """What to suspend; it stays held until `mark_suspended`."""
        return dict(self._suspended)

    def take_returns(self) -> tuple[dict[Lease, HeldAttempt], dict[Lease, HeldAttempt]]:
        """What to hand back, unstarted and killed; it stays held until `mark_returned`."""
        return dict(self._unstarted), dict(self._killed)

    def mark_settled(self, lease: Lease) -> None:
        """Forget an attempt: the store has answered its report."""
        del self._done[lease]

    def mark_suspended(self, lease: Lease) -> None:
        """Forget an attempt: the store has answered its suspension."""
        self._suspended.pop(lease, None)

    def mark_returned(self, lease: Lease) -> None:
        """Forget an attempt: the store has answered its hand-back."""
        self._unstarted.pop(lease, None)
        self._killed.pop(lease, None)

    def drop(self, job: UUID) -> None:
        """Forget the attempt of a job that was put aside: the store keeps its report."""
        held = (*self._done, *self._suspended, *self._killed, *self._unstarted)
        for lease in [lease for lease in held if lease.job == job]:
            done = self._done.pop(lease, None) or self._suspended.pop(lease, None)
            killed = self._killed.pop(lease, None)
            attempt = done.attempt if done else killed or self._unstarted.pop(lease)
            ended = done.at if done else time.monotonic() if killed else attempt.since
            took = ended - attempt.since
            self._on_signal(AttemptLost(attempt.claimed, fenced=False, took=took, aside=True))

    # What is held

    def active(self) -> Iterator[HeldAttempt]:
        """The attempts that run."""
        return iter(self._running.values())

    def unended(self) -> list[HeldAttempt]:
        """What is held without a report: what runs, what waits, and what will be handed back."""
        begun = [*self._running.values(), *self._killed.values()]
        return [*begun, *self._waiting.values(), *self._unstarted.values()]

    def runs(self, lease: Lease) -> bool:
        """Whether the attempt under this lease runs."""
        return lease in self._running

    def held(self) -> list[HeldAttempt]:
        """Every attempt whose lease is ours."""
        waits = (one.attempt for one in self._suspended.values())
        return [*self.unended(), *(done.attempt for done in self._done.values()), *waits]
