"""Upkeep that any worker does for everybody: due steps of the clock, leases that ran out, old jobs, totals.

Every duty may run on all workers at once. None decides anything that the store does not decide again.
"""

import math
import time
from collections.abc import Awaitable, Callable
from random import random
from uuid import UUID

from tenure.core.access import AUDIT_KEPT
from tenure.core.errors import JobsAside
from tenure.core.job import Moved
from tenure.core.signals import Announce, DutyDone, JobPutAside
from tenure.engine.manner import Manner
from tenure.engine.measuring import measure
from tenure.storage.contract import Store

LARGEST_STEP = 1_000
TIDY_EVERY = 60.0
MEASURE_EVERY = 20.0
"""How often to look whether somebody has measured this minute: how late it may begin."""

PRUNE_EVERY = 600.0
PRUNE_ALL_EVERY = 86_400.0
"""How often all jobs are looked at, whatever their ids say of their age."""

LOOKS_A_POLL = 5
"""How often to look, in the time of a poll, at what is due and somebody has locked: mostly not for long."""

GIVE_WAY = 0.01
"""Seconds between a hint and the look it calls for: the claim of what it speaks of goes first."""

PRUNE_SHARE = 0.1
"""How much of a worker's time goes to pruning while there is something to look at."""


class Duties:
    """The clock's work. `waiting` is called when jobs stand in line, `owed` when hooks of ended ones are.

    `hears` says whether hints would tell of what others do: then a look is taken once in a while only, and
    again after each hint, never sooner than a poll after the last one.
    """

    def __init__(
        self,
        store: Store,
        manner: Manner,
        *,
        announce: Announce,
        waiting: Callable[[], None],
        owed: Callable[[], Awaitable[object]],
        hears: Callable[[], bool],
    ) -> None:
        self._store = store
        self._manner = manner
        self._announce = announce
        self._waiting = waiting
        self._owed = owed
        self._hears = hears
        self._looked_at = self._look_at = time.monotonic()
        # At random, so that many workers that were started together share the work.
        self._tidy_at = time.monotonic() + TIDY_EVERY * random()
        self._measure_at = time.monotonic() + MEASURE_EVERY * random()
        self._prune_at = time.monotonic() + PRUNE_EVERY * random()
        self._prune_all_at = time.monotonic() + PRUNE_ALL_EVERY * random()
        self._prune_after: UUID | None = None
        self._prunes_all = False

    def stir(self) -> bool:
        """Something has happened; whether the next look is sooner for it."""
        before = self._look_at
        soonest = max(self._looked_at + self._manner.poll_seconds, time.monotonic() + GIVE_WAY)
        self._look_at = min(before, soonest)
        return self._look_at < before

    async def look(self) -> float:
        """Look at what is due, if it is time to; answers with how long it is not."""
        now = time.monotonic()
        if now >= self._look_at:
            self._looked_at, self._look_at = now, math.inf
            try:
                rest = await self._look()
            except BaseException:
                self._look_at = now
                raise
            self._look_at = min(self._look_at, time.monotonic() + rest)
        return max(0.0, self._look_at - time.monotonic())

    async def _look(self) -> float:
        """One look at what is due: promote, reap, and say how long there is nothing to do."""
        outlook = await self._store.outlook(self._manner.lines)
        if outlook.waiting:
            self._waiting()
        is_moving = False
        if is_due := outlook.next_timer is not None and outlook.next_timer <= outlook.now:
            is_moving |= await self._take_steps("promote", self._store.promote)
        if has_expired := outlook.next_expiry is not None and outlook.next_expiry <= outlook.now:
            is_moving |= await self._take_steps("reap", self._store.reap)
        if outlook.owed:
            await self._owed()
        if is_moving:
            return 0.0
        if is_due or has_expired:
            # Somebody was quicker, or what had run out was the lease of jobs that have long ended.
            outlook = await self._store.outlook(self._manner.lines)
        longest = self._manner.calm_poll_seconds if self._hears() else self._manner.poll_seconds
        due = (outlook.next_timer, outlook.next_expiry, outlook.next_resume)
        to_come = [(at - outlook.now).total_seconds() for at in due if at is not None]
        if any(rest <= 0 for rest in to_come):  # it is locked, and would be due again at once
            longest = self._manner.poll_seconds / LOOKS_A_POLL
        return min([longest, *(rest for rest in to_come if rest > 0)])

    async def tidy(self) -> float:
        """Fold totals, measure the pace and prune, each once in a while."""
        now = time.monotonic()
        if now >= self._tidy_at:
            await self._store.tidy()
            self._tidy_at = now + TIDY_EVERY
        if now >= self._measure_at:
            await measure(self._store)
            self._measure_at = now + MEASURE_EVERY
        if now >= self._prune_at:
            await self._prune()
        return max(0.0, min(self._tidy_at, self._measure_at, self._prune_at) - time.monotonic())

    async def _prune(self) -> None:
        """One step of a walk over what is old enough, or now and then over everything."""
        began = time.monotonic()
        if self._prune_after is None:
            self._prunes_all = began >= self._prune_all_at
        pruned = await self._store.prune(
            self._manner.retention,
            after=self._prune_after,
            limit=LARGEST_STEP,
            by_age=not self._prunes_all,
        )
        self._prune_after = pruned.next
        took = time.monotonic() - began
        if pruned.next is not None:
            self._prune_at = began + took / PRUNE_SHARE
            return
        self._prune_at = began + PRUNE_EVERY
        await self._store.prune_deeds(AUDIT_KEPT, LARGEST_STEP)
        if self._prunes_all:
            self._prune_all_at = began + PRUNE_ALL_EVERY

    async def _take_steps(self, duty: str, verb: Callable[[int], Awaitable[list[Moved]]]) -> bool:
        """Whether anything has come of it: then there may be more to do at once."""
        try:
            moved = await verb(LARGEST_STEP)
        except JobsAside as met:
            for aside in met.asides:
                self._announce(JobPutAside(aside))
            return True
        if moved:
            self._announce(DutyDone(duty, tuple(moved)))
        return bool(moved)
