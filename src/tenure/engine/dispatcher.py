"""The claim loop: settle what has ended and claim what there are free slots for, in one round trip.

Nothing is held that cannot start at once, but for what begins within a moment or a buffer allows. While
something is held no slot is idle, and outcomes may gather for the next round trip. A report that could not be
delivered is delivered again: should it have arrived the first time, its fence makes the second one harmless.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from tenure.core.aside import Aside
from tenure.core.errors import DataRefused, InvalidInput, JobsAside, StoreRefused
from tenure.core.lease import Lease, Order
from tenure.core.outcome import Settled
from tenure.core.signals import Announce, AttemptHandedBack, AttemptLost, AttemptSettled, JobPutAside
from tenure.core.trail import Trail
from tenure.engine.attempts import Attempts, Done
from tenure.engine.manner import Manner
from tenure.engine.portions import portions
from tenure.engine.running import Running
from tenure.engine.shares import Share
from tenure.storage.contract import Store

GATHER = 0.025
"""Seconds that an outcome may wait for others to travel with, as long as every slot has work."""

SLOW = 0.1
"""The part of a lease after which a claim was answered late: the next heartbeat may come too late then."""

Finish = Callable[[Sequence[Running]], Awaitable[None]]


class Dispatcher:
    """Fills slots. `settled` is told of every outcome on record, `slow` of leases that began long ago.

    `finish` is asked, before outcomes are told, to say how far those attempts have come.
    """

    def __init__(
        self,
        store: Store,
        attempts: Attempts,
        share: Share,
        manner: Manner,
        *,
        announce: Announce,
        settled: Callable[[AttemptSettled], None],
        slow: Callable[[], None],
        finish: Finish,
    ) -> None:
        self._store = store
        self._attempts = attempts
        self._share = share
        self._manner = manner
        self._turning = asyncio.Lock()
        self._recording = asyncio.Lock()
        self._announce = announce
        self._settled = settled
        self._slow = slow
        self._finish = finish
        self._hinted = True
        self.draining = False
        self.handed_back = 0
        self.moved_at = time.monotonic()
        """When a turn last went well: a worker that claims no more without wanting to is not ready."""

    def hint(self) -> None:
        """Jobs may stand in line: claim at the next turn, even if nothing has ended."""
        self._hinted = True

    def is_due(self) -> bool:
        """Whether there may be something to do that cannot wait."""
        attempts = self._attempts
        if attempts.unstarted or attempts.killed or not attempts.waiting:
            return True
        return (self._hinted and attempts.is_low) or self._gathers_for() <= 0

    def ended(self) -> bool:
        """Something has ended; whether a turn is called for, if only to find out when the next one is."""
        return len(self._attempts.done) == 1 or self.is_due()

    async def turn(self) -> float:
        """One round trip, if there is anything to settle or room for a claim."""
        async with self._turning:
            left = self._attempts.let_go()
            rest = await self._take_turn() if self.is_due() else self._gathers_for()
            self.moved_at = time.monotonic()
            return max(0.0, min(rest, left))

    def _gathers_for(self) -> float:
        """Seconds for which outcomes may still wait for others."""
        if not self._attempts.done:
            return self._manner.poll_seconds
        oldest = next(iter(self._attempts.done.values()))
        return oldest.at + GATHER - time.monotonic()

    async def _take_turn(self) -> float:
        if self._attempts.unstarted or self._attempts.killed:
            await self.record()
            await self.give_back()
        is_closed = self.draining or self._attempts.is_stuck
        limit = 0 if is_closed else self._attempts.room
        done = dict(self._attempts.done)
        if not done and (limit <= 0 or not self._hinted):
            return self._manner.poll_seconds
        if done:
            await self.record()
            if unsaid := [one.running for one in done.values() if one.running.unsaid is not None]:
                await self._finish(unsaid)
        self._hinted = False
        began = time.monotonic()
        if self._attempts.unanswered_since is None:
            self._attempts.unanswered_since = began
        try:
            answer = await self._store.settle_and_claim(
                [one.report for one in done.values()], self._order(max(0, limit))
            )
        except JobsAside as met:
            self._hinted = True
            self._put_aside(met.asides)
            return GATHER  # and then again, without them
        except BaseException:
            self._hinted = True
            raise
        self._attempts.answered()
        hold = self._manner.hold(began)
        # It was asked for before somebody told us to stop; or so long ago that we would halt it at once.
        is_too_late = self.draining or hold.halt_at <= time.monotonic()
        (self._attempts.decline if is_too_late else self._attempts.take)(answer.claimed, hold)
        if answer.claimed:
            await asyncio.sleep(0)  # they begin before anything else is done
        if answer.claimed and time.monotonic() - began > SLOW * self._manner.lease_seconds:
            self._slow()
        self._hinted = self._hinted or len(answer.claimed) >= limit
        self._tell(done, answer.settled)
        self._put_aside(answer.asides)
        if answer.settled.lost:
            lost = [done[lease].report for lease in answer.settled.lost]
            self._put_aside(await self._store.strand(self._manner.worker, lost))
        if self._attempts.is_settled:
            return self._manner.poll_seconds
        return 0.0 if self.is_due() else self._gathers_for()

    async def give_back(self) -> None:
        """Hand back what was not started, and what was killed and is not to blame for it."""
        unstarted, killed = dict(self._attempts.unstarted), dict(self._attempts.killed)
        if not unstarted and not killed:
            return
        try:
            returned = await self._store.hand_back(
                self._manner.worker, unstarted=list(unstarted), killed=list(killed)
            )
        except JobsAside as met:
            self._put_aside(met.asides)
            await self.give_back()
            return
        self.handed_back += len(returned.accepted)
        for lease, running in (unstarted | killed).items():
            self._attempts.unstarted.pop(lease, None)
            self._attempts.killed.pop(lease, None)
            has_begun = lease in killed
            took = time.monotonic() - running.since if has_begun else 0.0
            if (state := returned.accepted.get(lease)) is None:
                self._announce(AttemptLost(running.claimed, fenced=False, took=took))
            else:
                why = running.returned_for
                self._announce(AttemptHandedBack(running.claimed, state, has_begun, took, why))

    async def record(self) -> None:
        """Write down what attempts have said; before their outcome, since that ends their lease."""
        async with self._recording:  # what somebody else has in hand would come too late otherwise
            waiting = deque(portions(self._attempts.trails()))
            refusal: DataRefused | None = None
            try:
                while waiting:
                    try:
                        await self._store.record(self._manner.worker, waiting[0])
                        waiting.popleft()
                    except DataRefused as refused:
                        refusal = refused
                        waiting.extendleft(reversed(_taken_apart(waiting.popleft())))
            except (InvalidInput, StoreRefused):
                # It never will be taken: it must not keep the rest, and outcomes, from being told.
                waiting.popleft()
                raise
            finally:
                self._attempts.put_back([trail for portion in waiting for trail in portion])
        if refusal is not None:
            raise refusal  # which is told of; all that could be recorded is

    def _put_aside(self, asides: Sequence[Aside]) -> None:
        """Nobody asks for these attempts any more: what they reported is kept with their jobs."""
        for aside in asides:
            self._announce(JobPutAside(aside))
            self._attempts.drop(aside.job)

    def _order(self, limit: int) -> Order:
        manner = self._manner
        return Order(worker=manner.worker, lines=self._share.lines, limit=limit, lease_for=manner.lease_for)

    def _tell(self, done: dict[Lease, Done], settled: Settled) -> None:
        now = time.monotonic()
        for lease, one in done.items():
            del self._attempts.done[lease]
            claimed, took = one.running.claimed, one.at - one.running.since
            if (state := settled.accepted.get(lease)) is None:
                self._announce(AttemptLost(claimed, fenced=False, took=took))
            else:
                accepted = AttemptSettled(claimed, one.report, state, took, now - one.at)
                self._announce(accepted)
                self._settled(accepted)


def _taken_apart(portion: list[Trail]) -> list[list[Trail]]:
    """A portion that was refused, in halves; of a single trail what is no event, if that is not all of it."""
    if len(portion) > 1:
        middle = len(portion) // 2
        return [portion[:middle], portion[middle:]]
    [trail] = portion
    return [[Trail(trail.lease, trail.lines, ())]] if trail.notes and trail.lines else []
