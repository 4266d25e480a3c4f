"""The webhooks that events are fanned out to now."""

import time
from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from tenure.core.reports.reading import START, FeedEntry, Position
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.delivery import Cursor, ScannedEvent
from tenure.core.webhooks.webhook import KnownWebhook, UnreadableWebhook, Webhook
from tenure.storage.contract.store import Store

AGAIN = 30.0
"""Seconds after which webhooks that cannot be read are looked at again: their rows may be mended by hand."""


class Audience(NamedTuple):
    """The webhooks that a cursor fans out to, and those that this process cannot read."""

    webhooks: list[Webhook]
    unreadable: list[UnreadableWebhook]

    def left(self, behind: Position, until: Position) -> dict[UUID, Position]:
        """Those that part of a stretch of the feed has to be left to, and from where on."""
        starts = {one.id: max(behind, one.after or START) for one in self.unreadable}
        return {webhook: start for webhook, start in starts.items() if start <= until}


class Subscriptions:
    """Reads the webhooks again whenever they have changed, which the generation of a cursor tells."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: list[KnownWebhook] = []
        self._generation: int | None = None
        self._read_at = 0.0

    async def of(self, cursor: Cursor) -> Audience:
        """The webhooks that a cursor fans out to; called after it was taken."""
        if cursor.generation != self._generation or self._is_stale():
            self._known = await self._read()
            self._generation = cursor.generation
            self._read_at = time.monotonic()
        awake = [one for one in self._known if one.paused_at is None and cursor.webhook in {None, one.id}]
        return Audience(
            [one for one in awake if isinstance(one, Webhook)],
            [one for one in awake if isinstance(one, UnreadableWebhook)],
        )

    def forget(self) -> None:
        """Read them again the next time."""
        self._generation = None

    def _is_stale(self) -> bool:
        has_unreadable = any(isinstance(one, UnreadableWebhook) for one in self._known)
        return has_unreadable and time.monotonic() - self._read_at > AGAIN

    async def _read(self) -> list[KnownWebhook]:
        found: list[KnownWebhook] = []
        after: UUID | None = None
        while page := await self._store.webhooks(after=after, limit=LARGEST_PAGE):
            found += page
            after = page[-1].id
        return found


def interested(webhooks: Collection[Webhook], scanned: ScannedEvent, cursor: Cursor) -> list[Webhook]:
    """The webhooks that want an event which a cursor has come to."""
    entry = scanned.entry
    return [
        webhook
        for webhook in webhooks
        if entry.event.type in webhook.asked.types
        and _is_meant(cursor, webhook, entry)
        and webhook.asked.namespace in {None, entry.namespace}
        and (not webhook.asked.definitions or entry.line.definition in webhook.asked.definitions)
        and (not webhook.asked.queues or entry.line.queue in webhook.asked.queues)
        and (not webhook.asked.tags or not set(webhook.asked.tags).isdisjoint(scanned.tags))
    ]


def _is_meant(cursor: Cursor, webhook: Webhook, entry: FeedEntry) -> bool:
    """Whether an event is one of those for which there is a cursor: as to where it stands and when it was."""
    is_behind_its_beginning = entry.position > webhook.after
    if cursor.webhook is None:
        return is_behind_its_beginning
    if cursor.since is None or entry.event.at >= cursor.since:
        return True
    return is_behind_its_beginning and not cursor.again
