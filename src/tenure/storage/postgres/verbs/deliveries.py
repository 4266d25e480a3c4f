"""The verbs of the PostgreSQL store about deliveries: how events become some, and what becomes of those."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

import asyncpg

from tenure.core.reports.reading import Position
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_FEED, LARGEST_PAGE, whole
from tenure.core.values.text import storable
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
from tenure.core.webhooks.webhook import BY_ITSELF, FAILURES_TO_CLOSE, MOST_AT_ONCE, MOST_WAITING, Webhook
from tenure.storage.mapping import deliveries as mapping
from tenure.storage.mapping import webhooks
from tenure.storage.mapping.webhook_cursors import cursors_from, position_columns
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction


class DeliveryVerbs(Database):
    """Fans events out into deliveries, and records what becomes of those."""

    async def deliveries(
        self,
        webhook_id: UUID,
        *,
        state: DeliveryState | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int = 50,
    ) -> list[Delivery]:
        whole("limit", limit, 1, LARGEST_PAGE)
        noted_before, message_before = before or (None, "")
        found = await self._pool.run(
            "deliveries",
            webhook=webhook_id,
            states=[str(one) for one in ([state] if state else DeliveryState)],
            noted_before=noted_before,
            message_before=message_before,
            limit=limit,
        )
        return [mapping.delivery_from(row) for row in found]

    async def last_tries(self, webhook_id: UUID, *, limit: int = 1000) -> LastTries:
        whole("limit", limit, 1, LARGEST_FEED)
        return mapping.last_tries_from(
            await self._pool.run("last_tries", webhook=webhook_id, limit=limit), limit
        )

    async def delivery(self, webhook_id: UUID, message: str) -> Delivery | None:
        return mapping.first_delivery(
            await self._pool.run("delivery", webhook=webhook_id, message=storable(message))
        )

    async def add_delivery(self, new: NewDelivery) -> Delivery | None:
        mapping.check_new([new])
        await self._pool.run(
            "add_delivery",
            webhook=new.webhook,
            message=new.message,
            type=new.type,
            at=new.at,
            job=new.job,
            n=new.n,
            body=storable(new.body),
        )
        self._wakeups.timed()
        return await self.delivery(new.webhook, new.message)

    async def redeliver(self, webhook_id: UUID, message: str) -> Delivery | None:
        found = await self._pool.run("redeliver", webhook=webhook_id, message=storable(message))
        self._wakeups.timed()
        return mapping.first_delivery(found)

    async def take_cursor(self, holder: str, *, hold_for: timedelta) -> Cursor | None:
        mapping.check_holder(holder)
        how = {"holder": holder, "hold_for": hold_for, "most": mapping.MOST_AHEAD}
        found = await self._pool.run("take_cursor", **how, **self._left_webhooks.columns())
        return mapping.cursor_from(found[0]) if found else None

    async def unsent_since(self) -> datetime | None:
        found = await self._pool.run("unsent_since")
        return found[0]["held_at"] if found else None

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
        found = await self._pool.run(
            "scan",
            **position_columns(after),
            **mapping.scan_columns(types, until, limit),
            types=sorted(types),
            definitions=sorted(definitions),
            namespaces=sorted(namespaces),
        )
        return mapping.scanned_from(found, until)

    async def fan_out(
        self,
        cursor: Cursor,
        position: Position,
        deliveries: Sequence[NewDelivery],
        *,
        is_end: bool = False,
        left: Mapping[UUID, Position] = MappingProxyType({}),
    ) -> bool:
        mapping.check_new(deliveries)
        rows = _new(deliveries)

        async def fan_out(run: Transaction) -> bool:
            is_over = is_end and cursor.webhook is not None
            if not await run("fan_out.end" if is_over else "fan_out.move", **mapping.move(cursor, position)):
                return False
            for webhook in sorted(left):
                passed = mapping.leave_columns(left[webhook], position)
                await run("webhook_cursors.leave", webhook=webhook, **passed)
            if not deliveries:
                return True
            targets = sorted({one.webhook for one in deliveries})
            # One that catches up has few ahead of it anyway, and does not lock webhooks.
            counted = await run("fan_out.counted", webhooks=targets) if cursor.webhook is None else []
            await run("fan_out.deliveries", **rows)
            if cursor.again:
                await run("fan_out.again", **rows)
            if counted:
                await _pause_crowded(run, [row["id"] for row in counted], position)
            return True

        return await self._pool.transact(fan_out)

    async def due_deliveries(
        self, holder: str, *, limit: int, each: int = MOST_AT_ONCE, hold_for: timedelta
    ) -> list[DueDelivery]:
        mapping.check_holder(holder)
        whole("limit", limit, 1, LARGEST_BATCH)
        whole("each", each, 1, LARGEST_BATCH)
        how: dict[str, Any] = {"holder": holder, "hold_for": hold_for, "limit": limit, "each": each}

        async def take(run: Transaction) -> list[DueDelivery]:
            opened = [row["id"] for row in await run("due_deliveries.open", **self._left_webhooks.columns())]
            if not opened:
                return []
            known = self._left_webhooks.note(await run("due_deliveries.webhooks", open=opened))
            how["open"] = [one.id for one in known]
            taken = await run("due_deliveries.take", closed_from=FAILURES_TO_CLOSE, **how)
            targets = sorted({row["webhook"] for row in taken})
            return mapping.due_from(taken, known, await run("webhook_secrets", webhooks=targets))

        return await self._pool.transact(take)

    async def settle_deliveries(self, holder: str, tries: Sequence[Try]) -> list[Webhook]:
        by_key = {(one.webhook, one.message): one for one in tries}
        given = {key: by_key[key] for key in sorted(by_key)}

        async def settle(run: Transaction) -> list[Webhook]:
            reached = None
            if any(one.pauses for one in given.values()):
                # The cursor is locked before webhooks, by all.
                cursors = await run("webhook_cursors.stir", webhook=None)
                reached = cursors_from(cursors).reached
            await run("settle_deliveries.lock", webhooks=sorted({one.webhook for one in given.values()}))
            settled = await run("settle_deliveries.settle", holder=holder, **_tried(list(given.values())))
            effects = webhooks.effects_of([(row["webhook"], row["message"]) for row in settled], given)
            await run("settle_deliveries.webhooks", closed_from=FAILURES_TO_CLOSE, **_effects(effects))
            paused = [
                row
                for webhook, effect in sorted(effects.items())
                if effect.pauses
                for row in await _pause(run, webhook, effect.pauses, reached)
            ]
            return self._left_webhooks.note(paused)

        return await self._pool.transact(settle) if given else []


async def _pause_crowded(run: Transaction, counted: Sequence[UUID], position: Position) -> None:
    crowded = await run("fan_out.crowded", counted=counted, most=MOST_WAITING)
    for row in crowded:
        await _pause(run, row["id"], webhooks.CROWDED, position)
    if crowded:
        await run("webhook_cursors.stir", webhook=None)


async def _pause(
    run: Transaction, webhook: UUID, reason: str, reached: Position | None
) -> list[asyncpg.Record]:
    return await run(
        "pause_webhook",
        id=webhook,
        by=BY_ITSELF,
        reason=storable(reason),
        paused_behind=None if reached is None else str(reached),
    )


def _new(deliveries: Sequence[NewDelivery]) -> dict[str, list[Any]]:
    unique = {(one.webhook, one.message): one for one in deliveries}
    ordered = [unique[key] for key in sorted(unique)]
    return {
        "targets": [one.webhook for one in ordered],
        "messages": [one.message for one in ordered],
        "types": [one.type for one in ordered],
        "ats": [one.at for one in ordered],
        "jobs": [one.job for one in ordered],
        "ns": [one.n for one in ordered],
        "bodies": [storable(one.body) for one in ordered],
    }


def _tried(tries: Sequence[Try]) -> dict[str, list[Any]]:
    return {
        "targets": [one.webhook for one in tries],
        "messages": [one.message for one in tries],
        "states": [str(one.state) for one in tries],
        "counts": [one.counts for one in tries],
        "afters": [one.retry_after for one in tries],
        "tooks": [webhooks.micros(one.took) for one in tries],
        "statuses": [one.status for one in tries],
        "problems": [mapping.stored_problem(one.problem) for one in tries],
    }


def _effects(effects: dict[UUID, webhooks.Effect]) -> dict[str, list[Any]]:
    return {
        "webhooks": list(effects),
        "delivered": [effect.delivered for effect in effects.values()],
        "failed": [effect.failed for effect in effects.values()],
        "closes": [effect.closes_for for effect in effects.values()],
    }
