"""Webhooks and their deliveries; part of the storage contract.

The feed of events is the outbox: a cursor moves along it, and each event that a webhook asks for becomes a row
of a delivery, in the transaction that moves the cursor. What a job pays does not depend on webhooks.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from tenure.core.reports.reading import Position
from tenure.core.webhooks.delivery import (
    Cursor,
    Delivery,
    DeliveryState,
    DueDelivery,
    NewDelivery,
    Scanned,
    Try,
)
from tenure.core.webhooks.webhook import NewWebhook, Secret, Webhook, WebhookFigures


class WebhookStore(Protocol):
    """The verbs about webhooks: what operators do with them, then what sends their events."""

    async def add_webhook(
        self, new: NewWebhook, *, secret: str | None, since: datetime | None = None
    ) -> Webhook:
        """Record a webhook. It gets every event whose transaction commits later.

        With `since` it also gets events from then on, as far as they are still kept. A `secret` is stored as
        it is; None means that it is derived.
        """

    async def webhook(self, id: UUID) -> Webhook | None:  # noqa: A002
        """One webhook, as last committed."""

    async def webhooks(
        self, *, namespace: str | None = None, after: UUID | None = None, limit: int = 50
    ) -> list[Webhook]:
        """Webhooks by id from behind `after` on; those of one namespace, or all."""

    async def change_webhook(self, read: Webhook, changed: NewWebhook) -> Webhook | None:
        """Replace what a webhook asks for; None if it has changed since it was read.

        It holds for what is fanned out from then on.
        """

    async def rotate_webhook(
        self,
        id: UUID,
        *,
        secret: str | None,
        keep: timedelta,
    ) -> Webhook | None:
        """Give a webhook a new secret; the old one signs beside it for a while. None if there is none."""

    async def pause_webhook(
        self,
        id: UUID,
        *,
        by: str = "api",
        reason: str | None = None,
    ) -> Webhook | None:
        """Send nothing, and fan nothing out, until it is resumed; None if there is none of that id."""

    async def resume_webhook(self, id: UUID, *, catches_up: bool) -> Webhook | None:  # noqa: A002
        """Go on; with `catches_up` from where it was paused, as far as events are kept, else from now on."""

    async def delete_webhook(self, id: UUID) -> bool:  # noqa: A002
        """Remove a webhook with its deliveries; returns whether there was one."""

    async def webhook_secrets(self, id: UUID) -> tuple[Secret, ...]:  # noqa: A002
        """The secrets that sign now, the newest first; empty if there is none of that id."""

    async def webhook_figures(self, ids: Collection[UUID]) -> dict[UUID, WebhookFigures]:
        """How the deliveries of webhooks do."""

    async def deliveries(
        self,
        webhook: UUID,
        *,
        state: DeliveryState | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> list[Delivery]:
        """Deliveries of a webhook, those noted last first, from before (noted_at, message) on."""

    async def delivery(self, webhook: UUID, message: str) -> Delivery | None:
        """One delivery, as last committed."""

    async def add_delivery(self, new: NewDelivery) -> Delivery | None:
        """Record a delivery by itself, as a test is; None if there is no such webhook."""

    async def redeliver(self, webhook: UUID, message: str) -> Delivery | None:
        """Send one again now, with all its tries before it; None if there is none."""

    async def redeliver_since(self, webhook: UUID, since: datetime) -> Webhook | None:
        """Send everything since a moment again, as far as events are kept; None if there is no such webhook.

        What is on record is sent again with its message id, and what was never fanned out is added.
        """

    async def take_cursor(self, holder: str, *, hold_for: timedelta) -> Cursor | None:
        """Take a cursor that no other process holds, those that catch up in turn; None if there is none.

        Holding one saves work and guards nothing: `fan_out` decides.
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
        """Read up to `limit` events of the feed behind a position, and answer with those of interest.

        Empty `definitions` and `namespaces` do not filter. Raises PositionGone as `feed` does.
        """

    async def fan_out(
        self, cursor: Cursor, position: Position, deliveries: Sequence[NewDelivery], *, is_end: bool = False
    ) -> bool:
        """Record deliveries and move the cursor in one transaction; False if the cursor is not as it was read.

        It is not if another process moved it, or a webhook was made, changed, paused or resumed. A message
        on record stays as it is. A cursor that catches up is removed with its `is_end`.
        """

    async def due_deliveries(
        self, holder: str, *, limit: int, each: int, hold_for: timedelta
    ) -> list[DueDelivery]:
        """Take deliveries that are due, at most `each` of one webhook at a time among all processes.

        Of a webhook whose last five tries failed, one at a time. Those of paused webhooks wait.
        """

    async def settle_deliveries(self, holder: str, tries: Sequence[Try]) -> list[Webhook]:
        """Record how tries ended; returns the webhooks that were paused by it.

        A try of a delivery that its holder no longer holds changes nothing, unless it was delivered.
        A webhook with more than 100,000 waiting is paused as well.
        """
