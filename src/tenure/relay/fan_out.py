"""Fans the feed out: reads on from a cursor, and makes a delivery of each event that a webhook asks for.

A process that holds a cursor reads ahead of it without writing while nothing is of interest. What it has read
is worth nothing if a webhook has changed meanwhile: `fan_out` then refuses it, and it is read anew. So every
event is judged by the webhooks that there were when its deliveries were recorded, or later.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from random import random
from typing import NamedTuple
from uuid import UUID

from tenure.api.redaction import Redaction
from tenure.core.model.job import Job
from tenure.core.reports.reading import Position
from tenure.core.webhooks.delivery import Cursor, NewDelivery, Scanned, ScannedEvent
from tenure.core.webhooks.webhook import Webhook, types_of
from tenure.relay.payload import needs_job, new_delivery
from tenure.relay.permissions import asks_for_documents, with_documents
from tenure.relay.subscriptions import Audience, Subscriptions, interested
from tenure.storage.contract.store import Store

HOLD = timedelta(seconds=5)
"""For how long a cursor is taken: how late another process goes on for one that died."""

SAVE_EVERY = 1.0
"""Seconds after which a cursor is moved and taken anew though nothing was of interest."""

RETAKE_EVERY = 3.0
"""Seconds after which a cursor is taken anew that has not moved: before others may take it."""

GLANCE = 0.5
LONGEST_GLANCE = 2.0
"""Seconds after which the feed is looked at without a hint: at first, and when nothing has come for long."""

AT_ONCE = 1000
AT_ONCE_WITH_DOCUMENTS = 100
"""How many events one turn fans out, fewer where each may carry documents."""

MOST_DELIVERIES = 10_000
_READERS = 4


class HeldCursor(NamedTuple):
    """A cursor as it was taken and when, the webhooks that it is read for, and how far it was read since."""

    cursor: Cursor
    audience: Audience
    position: Position
    at: float

    @property
    def webhooks(self) -> list[Webhook]:
        """The webhooks that it fans out to."""
        return self.audience.webhooks


class FanOut:
    """Takes turns of a loop; it holds a cursor, or takes one that nobody holds."""

    def __init__(self, store: Store, holder: str, redaction: Redaction) -> None:
        self._store = store
        self._holder = holder
        self._redaction = redaction
        self._subscriptions = Subscriptions(store)
        self._held: HeldCursor | None = None
        self._resting = GLANCE
        self.recorded = 0
        """How many deliveries it has recorded. When this has grown, there is something to send."""

    @property
    def holds(self) -> bool:
        """Whether it holds a cursor, and has use for hints."""
        return self._held is not None

    async def turn(self) -> float | None:
        """Fan out what there is; returns the seconds to rest, or None if there is no cursor to be taken."""
        try:
            held = self._held or await self._take()
            if held is None:
                return None
            self._held = None  # whatever fails, the cursor is taken anew
            return await self._go_on(held)
        except BaseException:
            self._held = None
            raise

    async def save(self) -> None:
        """Move the cursor to where it was read; before the process ends."""
        held, self._held = self._held, None
        if held is not None and held.position != held.cursor.position:
            await self._move(held)

    async def _take(self) -> HeldCursor | None:
        cursor = await self._store.take_cursor(self._holder, hold_for=HOLD)
        if cursor is None:
            return None
        audience = await self._subscriptions.of(cursor)
        return HeldCursor(cursor, audience, cursor.position, time.monotonic())

    async def _go_on(self, held: HeldCursor) -> float:
        if held.cursor.webhook is not None and held.audience.unreadable:
            return 0.0  # another process can read it, and catches up
        found = await self._scan(held)
        held = held._replace(position=found.position)
        deliveries = await self._deliveries(held, found.events)
        is_end = found.is_end and held.cursor.webhook is not None
        if deliveries or is_end:
            if await self._move(held, deliveries, is_end=is_end):
                self.recorded += len(deliveries)
            return 0.0
        has_moved = held.position != held.cursor.position
        held_for = time.monotonic() - held.at
        if held_for < (SAVE_EVERY if has_moved else RETAKE_EVERY):
            self._held = held
        elif has_moved or held.audience.unreadable:
            # What is left to others is kept for them while somebody says so.
            await self._move(held)
        return self._glance(has_moved=has_moved) if found.is_end else 0.0

    def _glance(self, *, has_moved: bool) -> float:
        """How long to rest at the end of the feed: longer each time that nothing has come."""
        self._resting = GLANCE if has_moved else min(self._resting * 1.25, LONGEST_GLANCE)
        return self._resting

    async def _move(
        self, held: HeldCursor, deliveries: Sequence[NewDelivery] = (), *, is_end: bool = False
    ) -> bool:
        """Record deliveries and how far the feed was read; False if it has to be read anew."""
        left = held.audience.left(held.cursor.position, held.position)
        is_moved = await self._store.fan_out(held.cursor, held.position, deliveries, is_end=is_end, left=left)
        if not is_moved:
            self._subscriptions.forget()
        return is_moved

    async def _scan(self, held: HeldCursor) -> Scanned:
        """The next events that any of the webhooks may want."""
        webhooks = held.webhooks
        namespaces = {one.asked.namespace for one in webhooks}
        narrow = all(one.asked.definitions for one in webhooks)
        limit = AT_ONCE_WITH_DOCUMENTS if any(map(asks_for_documents, webhooks)) else AT_ONCE
        return await self._store.scan(
            held.position,
            types=types_of(webhooks),
            definitions=frozenset().union(*(one.asked.definitions for one in webhooks))
            if narrow
            else frozenset(),
            namespaces=frozenset(name for name in namespaces if name is not None)
            if None not in namespaces
            else frozenset(),
            until=held.cursor.until,
            limit=max(1, min(limit, MOST_DELIVERIES // max(1, len(webhooks)))),
        )

    async def _deliveries(self, held: HeldCursor, events: Sequence[ScannedEvent]) -> list[NewDelivery]:
        wanted = [
            (scanned, webhook)
            for scanned in events
            for webhook in interested(held.webhooks, scanned, held.cursor)
        ]
        # Asked for each time, not with the cursor: a key may have been revoked a moment ago.
        documented = await with_documents(self._store, {one.id: one for _, one in wanted}.values())
        jobs = await self._jobs(
            {
                scanned.entry.event.job
                for scanned, webhook in wanted
                if needs_job(scanned, webhook, has_documents=webhook.id in documented)
            }
        )
        return [
            new_delivery(
                *(webhook, scanned, jobs.get(scanned.entry.event.job), self._redaction),
                has_documents=webhook.id in documented,
            )
            for scanned, webhook in wanted
        ]

    async def _jobs(self, ids: set[UUID]) -> dict[UUID, Job]:
        """The jobs of these ids that are still there."""
        room = asyncio.Semaphore(_READERS)

        async def read(job: UUID) -> Job | None:
            async with room:
                return await self._store.get(job)

        found = await asyncio.gather(*(read(job) for job in ids))
        return {job.id: job for job in found if job is not None}


def away_for() -> float:
    """Seconds until a process that holds no cursor asks again: others may hold it, or have died."""
    return HOLD.total_seconds() * (0.5 + random() / 2)
