"""Webhooks and their deliveries; part of the storage contract.

The feed of events is the outbox: a cursor moves along it, and each event that a webhook asks for becomes a
delivery, in the transaction that moves the cursor. What a job pays does not depend on webhooks.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

from tenure.core.reports.reading import Position
from tenure.core.webhooks.delivery import (
    Cursor,
    Delivery,
    DeliveryState,
    DueDelivery,
    LastTries,
    NewDelivery,
    Scanned,
    Try,
)
from tenure.core.webhooks.webhook import (
    MOST_AT_ONCE,
    KnownWebhook,
    NewWebhook,
    Secret,
    Webhook,
    WebhookFigures,
)


class WebhookStore(Protocol):
    """The verbs about webhooks: what operators do with them, then what sends their events.

    A webhook that this version cannot read is answered as such. It can be listed, paused and deleted; its
    deliveries wait, and `fan_out` leaves its events to a process that can read it.
    """

    async def add_webhook(
        self,
        new: NewWebhook,
        *,
        secret: str | None,
        since: datetime | None = None,
        paused_by: str | None = None,
    ) -> Webhook:
        """Record a webhook. It gets every event whose transaction commits later.

        It may get some that were committed just before. With `since` it also gets events from then on, as far
        as they are still kept: a cursor of its own catches up. With `paused_by` it is paused from the
        beginning. A `secret` is stored as it is; None means that it is derived. InvalidInput if there is a
        webhook of that id.
        """

    async def webhook(self, webhook_id: UUID) -> KnownWebhook | None:
        """One webhook, as last committed."""

    async def webhooks(
        self, *, namespace: str | None = None, after: UUID | None = None, limit: int = 50
    ) -> list[KnownWebhook]:
        """Webhooks by id from behind `after` on; those of one namespace, or all."""

    async def change_webhook(self, read: Webhook, changed: NewWebhook) -> Webhook | None:
        """Replace what a webhook asks for; None if it has changed since it was read.

        It holds for what is fanned out from then on.
        """

    async def rotate_webhook(
        self,
        webhook_id: UUID,
        *,
        secret: str | None,
        keep: timedelta,
    ) -> Webhook | None:
        """Give a webhook a new secret; the old one signs beside it for a while. None if there is none."""

    async def pause_webhook(
        self,
        webhook_id: UUID,
        *,
        by: str = "api",
        reason: str | None = None,
    ) -> KnownWebhook | None:
        """Send nothing, and fan nothing out, until it is resumed; None if there is none of that id.

        One that is paused stays as it is. Tries that are under way end, and count.
        """

    async def resume_webhook(self, webhook_id: UUID, *, catches_up: bool) -> Webhook | None:
        """Go on; with `catches_up` from where it was paused, as far as events are kept, else from now on.

        From now on: what still waits is given up, and nothing is caught up with. None if there is none of
        that id; one that is not paused stays as it is. For a minute at most ten deliveries a second are due.
        """

    async def delete_webhook(self, webhook_id: UUID) -> bool:
        """Remove a webhook with its deliveries, which `tidy` deletes; returns whether there was one."""

    async def webhook_secrets(self, webhook_id: UUID) -> tuple[Secret, ...]:
        """The secrets that sign now, the newest first; empty if there is none of that id."""

    async def webhook_figures(self, ids: Collection[UUID]) -> dict[UUID, WebhookFigures]:
        """How the deliveries of webhooks do."""

    async def deliveries(
        self,
        webhook_id: UUID,
        *,
        state: DeliveryState | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> list[Delivery]:
        """Deliveries of a webhook, those noted last first, from before (noted_at, message) on."""

    async def last_tries(self, webhook_id: UUID, *, limit: int = 1000) -> LastTries:
        """How its deliveries were tried last: of each state so many, those noted last."""

    async def delivery(self, webhook_id: UUID, message: str) -> Delivery | None:
        """One delivery, as last committed."""

    async def add_delivery(self, new: NewDelivery) -> Delivery | None:
        """Record a delivery by itself, as a test is, due now; None if there is no such webhook.

        A message that is on record stays as it is, and is the answer.
        """

    async def redeliver(self, webhook_id: UUID, message: str) -> Delivery | None:
        """Send one again now, with all its tries before it; None if there is none.

        A try that is under way counts only if it delivers.
        """

    async def redeliver_since(self, webhook_id: UUID, since: datetime) -> Webhook | None:
        """Send everything since a moment again, as far as events are kept; None if there is no such webhook.

        What is on record is sent again with its message id, and what was never fanned out is added. A webhook
        has one cursor that catches up: a second request widens it. Of a paused one it waits.
        """

    async def take_cursor(self, holder: str, *, hold_for: timedelta) -> Cursor | None:
        """Take a cursor that no other process holds, the one longest not taken; None if there is none.

        Holding one saves work and guards nothing: `fan_out` decides. A caller reads the webhooks after it has
        the cursor; it may keep them while the generation is the same. A cursor that catches up rests while
        its webhook is paused, or has more than 5,000 deliveries waiting; a process that cannot read its
        webhook does not get it.
        """

    async def unsent_since(self) -> datetime | None:
        """Since when no process has taken the cursor of all webhooks, if that is a day or longer.

        No event is fanned out then, and `prune` does not wait for that any more.
        """

    async def scan(
        self,
        after: Position,
        *,
        types: frozenset[str],
        definitions: frozenset[str] = frozenset(),
        namespaces: frozenset[str] = frozenset(),
        until: Position | None = None,
        limit: int = 1000,
    ) -> Scanned:
        """Up to `limit` events of the feed behind a position that are of interest, and how far it was read.

        At most 20,000 events are looked at. Without `types` nothing is of interest, and the position is the
        end at once; empty `definitions` and `namespaces` do not filter. Nothing behind `until` is read.
        Raises PositionGone as `feed` does.
        """

    async def fan_out(
        self,
        cursor: Cursor,
        position: Position,
        deliveries: Sequence[NewDelivery],
        *,
        is_end: bool = False,
        left: Mapping[UUID, Position] = MappingProxyType({}),
    ) -> bool:
        """Record deliveries and move the cursor in one transaction; False if it is not as it was read.

        It is not if another process moved it, or a webhook was made, changed, paused, resumed or deleted. A
        message on record stays as it is, unless the cursor sends `again` and it does not wait any more. A
        cursor that catches up is removed with its `is_end`. At most 10,000 deliveries a call. What
        the main cursor passes behind a position of `left` is left to the own cursor of that webhook.

        Callers leave out what a webhook does not want: of the main cursor events up to its `after`, and all
        of one that is paused; of a cursor that catches up events before its `since`. With more than 100,000
        waiting a webhook is paused, which is seen within ten seconds, or an hour after it was resumed.
        """

    async def due_deliveries(
        self, holder: str, *, limit: int, each: int = MOST_AT_ONCE, hold_for: timedelta
    ) -> list[DueDelivery]:
        """Take deliveries that are due, at most `each` of one webhook at a time among all processes.

        Webhooks take turns. Of one whose last five tries failed, one at a time, and only when `closed_until`
        has passed; for a minute after that, ten a second. Those of paused webhooks wait; so do, here and in
        `outlook`, those of webhooks that this process cannot read. A delivery that is taken and not settled
        is due again when `hold_for` is over.
        """

    async def settle_deliveries(self, holder: str, tries: Sequence[Try]) -> list[Webhook]:
        """Record how tries ended; returns the webhooks that were paused by it.

        A try of a delivery that its holder no longer holds changes nothing, unless it was delivered. A
        delivery ends the failures in a row of its webhook, and opens it; failures add up, also those of tries
        that do not count for their delivery. A webhook is paused if a try says so.
        """
