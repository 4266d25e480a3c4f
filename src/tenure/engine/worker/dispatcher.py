"""The claim loop: settles what has ended and claims for free slots, in one round trip.

A worker that messages lead to jobs claims those by their ids; by itself it claims only when a sweep is due.

A job is claimed when it can start at once. More are claimed ahead only if they will start within a moment, or
if the buffer allows it. While some wait, no slot is idle, and outcomes may gather for the next round trip. A
report that could not be delivered is sent again: if the first arrived, its fence makes the second harmless.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from uuid import UUID

from tenure.core.model.aside import Aside, JobsAside
from tenure.core.model.claim_by_id import TheseClaimed
from tenure.core.model.lease import Claimed, Lease, Line, Order
from tenure.core.model.outcome import Report, Settled, Suspended
from tenure.core.model.turn import TurnResult
from tenure.core.signals import (
    Announce,
    AttemptHandedBack,
    AttemptLost,
    AttemptSettled,
    JobPutAside,
    JobsClaimed,
)
from tenure.engine.config import WorkerConfig
from tenure.engine.worker.held_attempt import EndedAttempt, HeldAttempt
from tenure.engine.worker.in_flight import InFlight
from tenure.engine.worker.slot_groups import SlotGroup
from tenure.engine.worker.slot_pool import SlotPool
from tenure.engine.worker.sweeps import Sweeps
from tenure.engine.worker.trail_recorder import TrailRecorder
from tenure.storage.contract.store import Store

GATHER = 0.025
"""Seconds that an outcome may wait for others, to share their round trip, while every slot has work."""

SLOW = 0.1
"""The part of a lease after which a claim's answer is late: the next heartbeat may then come too late."""

SendProgress = Callable[[Sequence[HeldAttempt]], Awaitable[None]]
"""Sends the store the last progress of attempts that have ended."""


class Dispatcher:
    """Fills slots. `on_settled` runs for every outcome on record.

    `on_slow_claim` runs when a claim took so long that its leases need an early heartbeat. With `sweeps` it
    claims by itself only when one is due.
    """

    def __init__(
        self,
        store: Store,
        pool: SlotPool,
        in_flight: InFlight,
        recorder: TrailRecorder,
        group: SlotGroup,
        config: WorkerConfig,
        *,
        send_progress: SendProgress,
        on_signal: Announce,
        on_settled: Callable[[AttemptSettled], None],
        on_slow_claim: Callable[[], None],
        sweeps: Sweeps | None = None,
    ) -> None:
        self._store = store
        self._pool = pool
        self._in_flight = in_flight
        self._recorder = recorder
        self._group = group
        self._config = config
        self._turning = asyncio.Lock()
        self._send_progress = send_progress
        self._on_signal = on_signal
        self._on_settled = on_settled
        self._on_slow_claim = on_slow_claim
        self._sweeps = sweeps
        self._is_hinted = True
        self._unannounced: list[tuple[dict[Lease, EndedAttempt], Settled, float]] = []
        """What is on record, and since when, and has not been announced."""
        self.handed_back = 0
        self.turned_at = time.monotonic()
        """When a turn last succeeded: a worker whose turns fail is not ready."""

    def hint(self) -> None:
        """Note that jobs may stand in line: claim at the next turn, even if nothing has ended."""
        self._is_hinted = True
        if self._sweeps is not None:
            self._sweeps.hint()

    def is_due(self) -> bool:
        """Whether there may be work that cannot wait."""
        pool = self._pool
        if pool.has_returns or pool.has_suspended or not pool.waiting:
            return True
        return (self._is_hinted and pool.is_low) or self._gathers_for() <= 0

    def wants_turn(self) -> bool:
        """Whether to take a turn after a change, if only to learn when the next one is due."""
        return self._pool.done == 1 or self.is_due()

    async def turn(self) -> float:
        """Make one round trip, if there is anything to settle or room for a claim."""
        async with self._turning:
            goes_on = False
            try:
                left = self._pool.give_back_overdue()
                rest = await self._take_turn() if self.is_due() else self._gathers_for()
                self.turned_at = time.monotonic()
                goes_on = rest <= 0
                return max(0.0, min(rest, left))
            finally:
                if not goes_on:
                    self._announce()

    def _gathers_for(self) -> float:
        """Seconds for which outcomes may still wait for others."""
        if not self._pool.done:
            return self._config.poll_seconds
        return self._pool.oldest_end + GATHER - time.monotonic()

    async def _take_turn(self) -> float:
        if self._pool.has_returns:
            await self._recorder.record()
            await self.give_back()
        has_ended = self._pool.has_suspended
        if has_ended:
            await self._suspend()
        limit, done = self._pool.room, self._pool.take_done()
        lines = self._lines_to_claim_from(has_ended=has_ended or bool(done))
        limit = limit if lines else 0
        if not done and (limit <= 0 or not self._is_hinted):
            return self._config.poll_seconds
        if done:
            await self._recorder.record()
            if unsent := [one.attempt for one in done.values() if one.attempt.unsent_progress is not None]:
                await self._send_progress(unsent)
        asked_at = time.monotonic()
        self._pool.mark_asked(asked_at)
        answer = await self._settle_and_claim(done, lines, limit)
        if answer is None:
            return GATHER
        self._in_flight.mark_answered()
        await self._start(answer.claimed, asked_at)
        if self._sweeps is not None and limit > 0:
            self._sweeps.note_swept(lines, len(answer.claimed), limit)
            self._on_signal(JobsClaimed("sweep", len(answer.claimed)))
        self._is_hinted = self._is_hinted or len(answer.claimed) >= limit
        self._note_settled(done, answer.settled)
        self._put_aside(answer.asides)
        if answer.settled.lost:
            lost = [done[lease].report for lease in answer.settled.lost]
            self._put_aside(await self._store.strand(self._config.worker, lost))
        if self._pool.is_settled:
            return self._config.poll_seconds
        return 0.0 if self.is_due() else self._gathers_for()

    def _lines_to_claim_from(self, *, has_ended: bool) -> tuple[Line, ...]:
        if self._sweeps is None:
            return self._group.lines
        if has_ended:
            self._sweeps.hint()  # what ends leaves room under its limits
        lines = self._sweeps.due()
        self._is_hinted = bool(lines)
        return lines

    async def claim_these(self, ids: Sequence[UUID]) -> TheseClaimed:
        """Claim the jobs that messages have named, and start them; there should be room for them."""
        async with self._turning:
            asked_at = time.monotonic()
            self._pool.mark_asked(asked_at)
            answer = await self._store.claim_these(self._order(self._group.lines, len(ids)), ids)
            self._in_flight.mark_answered()
            await self._start(answer.claimed, asked_at)
            if self._sweeps is not None:
                claimed = (Line(one.queue, one.definition, one.version) for one in answer.claimed)
                self._sweeps.note_named(claimed, answer.left.values())
            self._on_signal(JobsClaimed("message", len(answer.claimed)))
            return answer

    def _order(self, lines: tuple[Line, ...], limit: int) -> Order:
        config = self._config
        return Order(worker=config.worker, lines=lines, limit=max(0, limit), lease_for=config.lease_for)

    async def _settle_and_claim(
        self, done: dict[Lease, EndedAttempt], lines: tuple[Line, ...], limit: int
    ) -> TurnResult | None:
        """Settle and claim; None if jobs were put aside: it must be repeated without them."""
        self._is_hinted = False
        reports = [one.report for one in done.values()]
        if self._unannounced:  # while the database works, so that it need not wait for that first
            asyncio.get_running_loop().call_soon(self._announce)
        try:
            return await self._store.settle_and_claim(reports, self._order(lines, limit))
        except JobsAside as error:
            self._is_hinted = True
            self._put_aside(error.asides)
            return None
        except BaseException:
            self._is_hinted = True
            raise

    async def _start(self, claimed: Sequence[Claimed], asked_at: float) -> None:
        deadlines = self._config.deadlines(asked_at)
        # The worker was stopped after the claim was sent, or the claim took so long that we would halt its
        # attempts at once.
        is_too_late = self._pool.is_draining or deadlines.halt_at <= time.monotonic()
        if is_too_late:
            self._in_flight.decline(claimed, deadlines)
        elif self._in_flight.take(claimed, deadlines):
            await asyncio.sleep(0)  # so that they start before anything else is done
        if claimed and time.monotonic() - asked_at > SLOW * self._config.lease_seconds:
            self._on_slow_claim()

    async def give_back(self) -> None:
        """Hand back what was not started, and what was killed through no fault of its own."""
        unstarted, killed = self._pool.take_returns()
        if not unstarted and not killed:
            return
        try:
            returned = await self._store.hand_back(
                self._config.worker, unstarted=list(unstarted), killed=list(killed)
            )
        except JobsAside as error:
            self._put_aside(error.asides)
            await self.give_back()
            return
        self.handed_back += len(returned.accepted)
        for lease, attempt in (unstarted | killed).items():
            self._pool.mark_returned(lease)
            has_begun = lease in killed
            took = time.monotonic() - attempt.since if has_begun else 0.0
            if (state := returned.accepted.get(lease)) is None:
                self._on_signal(AttemptLost(attempt.claimed, fenced=False, took=took))
            else:
                why = attempt.returned_for
                self._on_signal(AttemptHandedBack(attempt.claimed, state, has_begun, took, why))

    async def _suspend(self) -> None:
        """Put on record what handlers wait for, after what they have said."""
        await self._recorder.record()
        suspended = self._pool.take_suspended()
        if unsent := [one.attempt for one in suspended.values() if one.attempt.unsent_progress is not None]:
            await self._send_progress(unsent)
        try:
            standings = await self._store.suspend(
                self._config.worker, [one.suspension for one in suspended.values()]
            )
        except JobsAside as error:
            self._put_aside(error.asides)
            return
        finally:
            self._is_hinted = True  # they leave slots, and room under their limits
        now = time.monotonic()
        for lease, one in suspended.items():
            self._pool.mark_suspended(lease)
            claimed, took = one.attempt.claimed, one.at - one.attempt.since
            if (state := standings.get(lease)) is None:
                self._on_signal(AttemptLost(claimed, fenced=False, took=took))
            else:
                wait = one.suspension.wait
                report = Report(lease, Suspended(wait.timeout or timedelta(0)), one.suspension.usage)
                accepted = AttemptSettled(claimed, report, state, took, now - one.at, wait)
                self._on_signal(accepted)
                self._on_settled(accepted)

    def _put_aside(self, asides: Sequence[Aside]) -> None:
        """Forget attempts whose jobs were put aside: the store keeps their reports."""
        for aside in asides:
            self._on_signal(JobPutAside(aside))
            self._pool.drop(aside.job)

    def _note_settled(self, done: dict[Lease, EndedAttempt], settled: Settled) -> None:
        """Forget attempts that the store has answered; they are announced when there is time."""
        for lease in done:
            self._pool.mark_settled(lease)
        if done:
            self._unannounced.append((done, settled, time.monotonic()))

    def _announce(self) -> None:
        turns, self._unannounced = self._unannounced, []
        for done, settled, answered_at in turns:
            for lease, one in done.items():
                claimed, took = one.attempt.claimed, one.at - one.attempt.since
                if (state := settled.accepted.get(lease)) is None:
                    self._on_signal(AttemptLost(claimed, fenced=False, took=took))
                else:
                    accepted = AttemptSettled(claimed, one.report, state, took, answered_at - one.at)
                    self._on_signal(accepted)
                    self._on_settled(accepted)
