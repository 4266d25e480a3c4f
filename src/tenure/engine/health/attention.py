"""What needs an operator's attention, from a few bounded readings."""

import asyncio
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from tenure.core.model.aside import Aside
from tenure.core.model.durable import DoubtfulEffect
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.reports.failures import Count, Struggling
from tenure.core.reports.operations import WORKER_ALIVE, LedBy, LineStatus, Pause, WorkerStatus
from tenure.core.schedule.schedule import TroubledSchedule
from tenure.core.webhooks.webhook import UnreadableWebhook
from tenure.engine.health.webhook_troubles import TroubledWebhook, troubled_webhooks
from tenure.storage.contract.store import Store

FRESH = 2.0
"""Seconds for which one answer serves all callers."""

LATELY = timedelta(hours=1)
"""How long a dead letter counts as new."""

MOST_NAMED = 20
"""How many of each kind are listed; the rest is only counted."""

Held = TypeVar("Held", "PausedQueue", "Unserved")


class LongestWait(Struct, frozen=True):
    """The job that has waited longest in a line without a pause: its line, and since when."""

    line: Line
    since: datetime


class PausedQueue(Struct, frozen=True):
    """A pause with jobs waiting under it; `queue` is empty if it holds any queue."""

    queue: str
    jobs: int
    oldest: datetime | None
    pause: Pause


class Unserved(Struct, frozen=True):
    """A line with jobs that no live worker serves."""

    line: Line
    jobs: int
    oldest: datetime | None


class FailingQueue(Struct, frozen=True):
    """A broker's queue from which `failing` of its live workers cannot receive, since when, and why."""

    name: str
    since: datetime
    failing: int
    workers: int
    problem: str


class Attention(Struct, frozen=True, kw_only=True):
    """What needs attention. Of each kind the largest are listed, and all are counted (`…_in_all`).

    `silent` are workers that were neither seen lately nor dismissed; `struggling` are jobs that failed at
    least three times and wait for their next attempt; `overdue` is how many jobs have an expired lease and
    are not reaped yet; `dead` is how many dead letters the last hour brought; `aside` are jobs that the
    database refuses to move; `unready` are live workers that cannot run jobs; `schedules` are those
    that fail, or that nothing fires; `webhooks` those that fail, paused themselves or cannot be read;
    `queues` are those of a broker that live workers cannot receive from; `doubts` are the oldest effects that
    may or may not have happened, and `has_more_doubts` says that there are others; `ahead` is how far the
    store's clock is ahead of this machine's.
    """

    at: datetime
    ahead: timedelta
    alive: int
    oldest: LongestWait | None
    paused: Sequence[PausedQueue]
    paused_in_all: int
    unserved: Sequence[Unserved]
    unserved_in_all: int
    silent: Sequence[WorkerStatus]
    silent_in_all: int
    struggling: Sequence[Struggling]
    overdue: int
    dead: Count
    aside: Sequence[Aside] = ()
    aside_in_all: int = 0
    unready: Sequence[WorkerStatus] = ()
    schedules: Sequence[TroubledSchedule] = ()
    webhooks: Sequence[TroubledWebhook | UnreadableWebhook] = ()
    queues: Sequence[FailingQueue] = ()
    doubts: Sequence[DoubtfulEffect] = ()
    has_more_doubts: bool = False


class AttentionCheck:
    """Reads the store, at most every two seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looking = asyncio.Lock()
        self._seen: Attention | None = None
        self._seen_at = -math.inf

    async def look(self) -> Attention:
        """What needs attention, at most two seconds old."""
        loop = asyncio.get_running_loop()
        async with self._looking:
            if self._seen is None or loop.time() - self._seen_at > FRESH:
                self._seen = await self._look()
                self._seen_at = loop.time()
            return self._seen

    async def _look(self) -> Attention:
        trouble = await self._store.trouble(LATELY)
        ahead = trouble.at - datetime.now(UTC)
        aside = await self._store.asides(limit=MOST_NAMED)
        filled = [line for line in await self._store.lines() if line.counts.get(State.QUEUED)]
        workers = await self._store.workers()
        silent = [worker for worker in workers if not worker.is_alive]
        paused = _paused(line for line in filled if line.pause is not None)
        unserved = [Unserved(line.line, _jobs(line), line.oldest) for line in filled if not line.workers]
        doubts = await self._store.effects_in_doubt(limit=MOST_NAMED + 1)
        waiting = [
            LongestWait(line.line, line.oldest)
            for line in filled
            if line.pause is None and line.oldest is not None
        ]
        return Attention(
            at=trouble.at,
            ahead=ahead,
            alive=len(workers) - len(silent),
            oldest=min(waiting, key=lambda one: one.since, default=None),
            paused=_largest(paused),
            paused_in_all=len(paused),
            unserved=_largest(unserved),
            unserved_in_all=len(unserved),
            silent=sorted(silent, key=lambda worker: worker.seen_at, reverse=True)[:MOST_NAMED],
            silent_in_all=len(silent),
            struggling=trouble.struggling,
            overdue=trouble.overdue,
            dead=trouble.dead,
            schedules=await self._store.troubled_schedules(MOST_NAMED),
            webhooks=(await troubled_webhooks(self._store, trouble.at))[:MOST_NAMED],
            queues=_failing(workers)[:MOST_NAMED],
            aside=aside.jobs,
            aside_in_all=aside.in_all,
            doubts=doubts[:MOST_NAMED],
            has_more_doubts=len(doubts) > MOST_NAMED,
            unready=[worker for worker in workers if _is_unready(worker, trouble.at)],
        )


def _is_unready(worker: WorkerStatus, now: datetime) -> bool:
    # A worker that has just started is not ready before its app is imported.
    is_new = now - worker.started_at < WORKER_ALIVE
    return worker.is_alive and not worker.is_ready and not worker.draining and not is_new


def _failing(workers: Iterable[WorkerStatus]) -> list[FailingQueue]:
    """Queues with a live worker that cannot receive; the one that fails for longest says why."""
    led: dict[str, list[LedBy]] = {}
    for worker in workers:
        if worker.is_alive and worker.led_by is not None:
            led.setdefault(worker.led_by.queue, []).append(worker.led_by)
    found = []
    for name, receivers in led.items():
        failing = sorted((one.failing_since, one.problem or "") for one in receivers if one.failing_since)
        if failing:
            since, problem = failing[0]
            found.append(FailingQueue(name, since, len(failing), len(receivers), problem))
    return sorted(found, key=lambda one: one.since)


def _paused(lines: Iterable[LineStatus]) -> list[PausedQueue]:
    """The lines, grouped by the pause that holds them."""
    held: dict[Pause, list[LineStatus]] = {}
    for line in lines:
        if line.pause is not None:
            held.setdefault(line.pause, []).append(line)
    return [
        PausedQueue(
            pause.scope.queue,
            sum(map(_jobs, own)),
            min((line.oldest for line in own if line.oldest is not None), default=None),
            pause,
        )
        for pause, own in held.items()
    ]


def _largest(held: list[Held]) -> list[Held]:
    return sorted(held, key=lambda one: one.jobs, reverse=True)[:MOST_NAMED]


def _jobs(line: LineStatus) -> int:
    return line.counts.get(State.QUEUED, 0)
