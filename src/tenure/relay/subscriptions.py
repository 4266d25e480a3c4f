"""The webhooks that events are fanned out to now, and which of them may be sent documents of jobs."""

from collections.abc import Collection, Iterable
from datetime import datetime
from uuid import UUID

from tenure.core.reports.access import HeldKey, opened_by
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.delivery import Cursor, ScannedEvent
from tenure.core.webhooks.webhook import Webhook
from tenure.storage.contract.store import Store


class Subscriptions:
    """Reads the webhooks again whenever they have changed, which the generation of a cursor tells."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: list[Webhook] = []
        self._generation: int | None = None

    async def of(self, cursor: Cursor) -> list[Webhook]:
        """The webhooks that a cursor fans out to; called after it was taken."""
        if cursor.generation != self._generation:
            self._known = await self._read()
            self._generation = cursor.generation
        if cursor.webhook is not None:
            return [one for one in self._known if one.id == cursor.webhook and one.paused_at is None]
        return [one for one in self._known if one.paused_at is None]

    def forget(self) -> None:
        """Read them again the next time."""
        self._generation = None

    async def with_documents(self, webhooks: Iterable[Webhook]) -> frozenset[UUID]:
        """Those that ask for documents, and whose creator may read them now: the operator, or a key."""
        asking = [one for one in webhooks if asks_for_documents(one)]
        creators = {one.asked.creator for one in asking if one.asked.creator is not None}
        ring = await self._store.find_keys(sorted(creators)) if creators else None
        held = {key.id: key for key in ring.held} if ring is not None else {}
        return frozenset(
            one.id
            for one in asking
            if one.asked.creator is None or _may_read(held.get(one.asked.creator), one)
        )

    async def _read(self) -> list[Webhook]:
        found: list[Webhook] = []
        after: UUID | None = None
        while page := await self._store.webhooks(after=after, limit=LARGEST_PAGE):
            found += page
            after = page[-1].id
        return found


def asks_for_documents(webhook: Webhook) -> bool:
    """Whether it asks for more of a job than its events."""
    return webhook.asked.with_params or webhook.asked.with_result


def interested(
    webhooks: Collection[Webhook], scanned: ScannedEvent, since: datetime | None, *, is_main: bool
) -> list[Webhook]:
    """The webhooks that want an event. Of the main cursor, only what comes behind where each one begins."""
    entry = scanned.entry
    return [
        webhook
        for webhook in webhooks
        if entry.event.type in webhook.asked.types
        and (not is_main or entry.position > webhook.after)
        and (since is None or entry.event.at >= since)
        and webhook.asked.namespace in {None, entry.namespace}
        and (not webhook.asked.definitions or entry.line.definition in webhook.asked.definitions)
        and (not webhook.asked.queues or entry.line.queue in webhook.asked.queues)
        and (not webhook.asked.tags or not set(webhook.asked.tags).isdisjoint(scanned.tags))
    ]


def _may_read(key: HeldKey | None, webhook: Webhook) -> bool:
    return (
        key is not None
        and "read" in opened_by(key.scopes)
        and key.namespace in {None, webhook.asked.namespace}
    )
