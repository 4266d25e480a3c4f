"""Upkeep that any worker does for all: promotes due jobs, reaps, fires schedules, prunes, folds totals.

Every duty may run on all workers at once: the store checks each step again.
"""

import math
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from random import random

from tenure.core.model.aside import JobsAside
from tenure.core.model.job import StepTaken
from tenure.core.model.lease import Presence
from tenure.core.reports.reading import Outlook
from tenure.core.signals import Announce, DutyDone, JobPutAside
from tenure.engine.client.admission import Admission
from tenure.engine.client.quota import Quota
from tenure.engine.client.registry import Registry
from tenure.engine.client.retention_walk import LARGEST_STEP, RetentionWalk
from tenure.engine.config import WorkerConfig
from tenure.engine.schedules.firer import Firer
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.upkeep.pace_sampling import sample_pace
from tenure.storage.contract.store import Store

TIDY_EVERY = 60.0
TIDY_CALM = 600.0
"""The same of a worker that has held nothing and heard of nothing since."""

MEASURE_EVERY = 20.0
"""Seconds between checks whether this minute was measured already: how late measuring may begin."""

MINUTE = timedelta(minutes=1)

PRUNE_EVERY = 600.0
PRUNE_ALL_EVERY = 86_400.0
"""Seconds between two walks over all jobs, whatever age their ids show."""

LOOKS_A_POLL = 5
"""Looks within one poll at jobs that are due but locked: locks are mostly short."""

GIVE_WAY = 0.01
"""Seconds between a hint and its look: the claim of the hinted job goes first."""

OnOutlook = Callable[[Outlook], None]
Present = Callable[[], Presence | None]

PRUNE_SHARE = 0.1
"""The part of a worker's time that pruning takes while there is something to prune."""


def is_nobody() -> Presence | None:
    """What has no heartbeat of its own, such as a server, is not seen."""


def ignore_outlook(outlook: Outlook) -> None:
    """Do nothing with it: for processes that send no webhooks."""


class Duties:
    """Does what is due. `on_arrival` runs when jobs stand in line, `on_owed_hooks` when hooks are owed,
    and `on_outlook` after each look. Where `present` names a worker, the look has it seen: `on_seen` runs.

    `has_hints` says whether hints of changes by other processes arrive. If so, it looks less often, and again
    after each hint, but at most once per poll.
    """

    def __init__(
        self,
        store: Store,
        config: WorkerConfig,
        *,
        has_hints: Callable[[], bool],
        on_signal: Announce,
        on_arrival: Callable[[], None],
        on_owed_hooks: Callable[[], Awaitable[object]],
        on_outlook: OnOutlook,
        present: Present = is_nobody,
        on_seen: OnOutlook = ignore_outlook,
    ) -> None:
        quota = Quota(store, config.max_queue_depth, config.max_namespace_jobs)
        self._firer = Firer(store, JobMaker(Admission(store, Registry()), quota), on_signal)
        self._store = store
        self._config = config
        self._has_hints = has_hints
        self._on_signal = on_signal
        self._on_arrival = on_arrival
        self._on_owed_hooks = on_owed_hooks
        self._on_outlook = on_outlook
        self._present = present
        self._on_seen = on_seen
        self._has_stirred = True
        self._paced_until = -math.inf
        self._looked_at = self._look_at = time.monotonic()
        # Random, so that workers that start together share the work.
        self._tidy_at = time.monotonic() + TIDY_EVERY * random()
        self._tidied_at = -math.inf
        self._measure_at = time.monotonic() + MEASURE_EVERY * random()
        self._prune_at = time.monotonic() + PRUNE_EVERY * random()
        self._prune_all_at = time.monotonic() + PRUNE_ALL_EVERY * random()
        self._pruning = RetentionWalk(store)
        self._prunes_all = False

    def look_sooner(self) -> bool:
        """Look sooner, as something has happened; returns whether the next look is now sooner."""
        self._has_stirred = True
        before = self._look_at
        soonest = max(self._looked_at + self._config.poll_seconds, time.monotonic() + GIVE_WAY)
        self._look_at = min(before, soonest)
        return self._look_at < before

    async def look(self) -> float:
        """Run due work if it is time; return seconds until the next look."""
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
        """Promote, reap and fire what is due; return seconds until the next look."""
        present = self._present()
        outlook = await self._store.outlook(self._config.lines, present)
        if present is not None:
            self._on_seen(outlook)
        self._on_outlook(outlook)
        self._has_stirred |= outlook.waiting or present is None
        if outlook.paced is not None:
            self._paced_until = time.monotonic() + (outlook.paced + MINUTE - outlook.now).total_seconds()
        if outlook.waiting:
            self._on_arrival()
        has_due, has_moved = await self._take_due_steps(outlook)
        if outlook.owed:
            await self._on_owed_hooks()
        if has_moved:
            return 0.0
        if has_due:
            # Another worker was quicker, or the expired leases belonged to jobs that ended long ago.
            outlook = await self._store.outlook(self._config.lines)
        return self._rest(outlook)

    async def _take_due_steps(self, outlook: Outlook) -> tuple[bool, bool]:
        """Promote, reap and fire; returns whether anything was due, and whether anything moved."""
        has_due = has_moved = False
        if _is_due(outlook.next_timer, outlook.now):
            has_due = True
            has_moved |= await self._take_steps("promote", self._store.promote)
        if _is_due(outlook.next_expiry, outlook.now):
            has_due = True
            has_moved |= await self._take_steps("reap", self._store.reap)
        if _is_due(outlook.next_tick, outlook.now):
            has_due = True
            has_moved |= await self._firer.fire_due()
        return has_due, has_moved

    def _rest(self, outlook: Outlook) -> float:
        """Seconds until the next look."""
        longest = self._config.calm_poll_seconds if self._has_hints() else self._config.poll_seconds
        due = (outlook.next_timer, outlook.next_expiry, outlook.next_resume, outlook.next_tick)
        to_come = [(at - outlook.now).total_seconds() for at in due if at is not None]
        if any(rest <= 0 for rest in to_come):  # it is locked, and would be due again at once
            longest = self._config.poll_seconds / LOOKS_A_POLL
        return min([longest, *(rest for rest in to_come if rest > 0)])

    async def tidy(self) -> float:
        """Fold totals, measure the pace and prune, each at its own interval."""
        now = time.monotonic()
        if now >= self._tidy_at:
            await self._tidy(now)
        if now >= self._measure_at:
            if now >= self._paced_until:
                await sample_pace(self._store)
            self._measure_at = now + MEASURE_EVERY
        if now >= self._prune_at:
            await self._prune()
        return max(0.0, min(self._tidy_at, self._measure_at, self._prune_at) - time.monotonic())

    async def _tidy(self, now: float) -> None:
        if self._has_stirred or now >= self._tidied_at + TIDY_CALM:
            self._has_stirred = False
            await self._store.tidy()
            self._tidied_at = now
        self._tidy_at = now + TIDY_EVERY

    async def _prune(self) -> None:
        """Take one step of a walk over old jobs, or sometimes over all jobs."""
        began = time.monotonic()
        if self._pruning.is_between_walks:
            self._prunes_all = began >= self._prune_all_at
        if not await self._pruning.step(by_age=not self._prunes_all):
            self._prune_at = began + (time.monotonic() - began) / PRUNE_SHARE
            return
        self._prune_at = began + PRUNE_EVERY
        await self._pruning.prune_audit()
        if self._prunes_all:
            self._prune_all_at = began + PRUNE_ALL_EVERY

    async def _take_steps(self, duty: str, verb: Callable[[int], Awaitable[list[StepTaken]]]) -> bool:
        """Return whether any job moved: there may then be more to do at once."""
        try:
            moved = await verb(LARGEST_STEP)
        except JobsAside as error:
            for aside in error.asides:
                self._on_signal(JobPutAside(aside))
            return True
        if moved:
            self._on_signal(DutyDone(duty, tuple(moved)))
        return bool(moved)


def _is_due(at: datetime | None, now: datetime) -> bool:
    return at is not None and at <= now
