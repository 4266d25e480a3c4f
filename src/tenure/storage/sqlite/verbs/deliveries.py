"""The verbs of the SQLite store about deliveries: how events become some, and what becomes of those."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

import msgspec

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
from tenure.storage.mapping.webhook_cursors import cursors_from
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.database import Rows
from tenure.storage.sqlite.verbs.webhooks import Run, WebhookVerbs, written_ids

_END_OF_TIME = 2**63 - 1


class DeliveryVerbs(WebhookVerbs):
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
        noted_before, message_before = (rows.micros(before[0]), before[1]) if before else (_END_OF_TIME, "")
        return await self._read(
            "deliveries",
            mapping.delivery_from,
            webhook=str(webhook_id),
            state=state and state.value,
            noted_before=noted_before,
            message_before=message_before,
            limit=limit,
        )

    async def last_tries(self, webhook_id: UUID, *, limit: int = 1000) -> LastTries:
        whole("limit", limit, 1, LARGEST_FEED)
        found = await self._read("last_tries", lambda row: row, webhook=str(webhook_id), limit=limit)
        return mapping.last_tries_from(found, limit)

    async def delivery(self, webhook_id: UUID, message: str) -> Delivery | None:
        named = {"webhook": str(webhook_id), "message": storable(message)}
        found = await self._read("delivery", mapping.delivery_from, **named)
        return found[0] if found else None

    async def add_delivery(self, new: NewDelivery) -> Delivery | None:
        mapping.check_new([new])
        await self._write("add_delivery", **_columns(new))
        return await self.delivery(new.webhook, new.message)

    async def redeliver(self, webhook_id: UUID, message: str) -> Delivery | None:
        named = {"webhook": str(webhook_id), "message": storable(message)}
        return mapping.first_delivery(await self._write("redeliver", **named))

    async def take_cursor(self, holder: str, *, hold_for: timedelta) -> Cursor | None:
        mapping.check_holder(holder)
        how = {"holder": holder, "hold_for": rows.duration(hold_for), "most": mapping.MOST_AHEAD}
        found = await self._write("take_cursor", **how, left=self._left())
        return mapping.cursor_from(found[0]) if found else None

    async def unsent_since(self) -> datetime | None:
        found: list[datetime] = await self._read("unsent_since", lambda row: row["held_at"])
        return found[0] if found else None

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
        columns = mapping.scan_columns(types, until, limit)
        found = await self._read(
            "scan",
            dict,
            **{**columns, "until_job": str(columns["until_job"])},
            mark=after.mark,
            job=str(after.job),
            n=after.n,
            types=_written(types),
            definitions=_written(definitions),
            namespaces=_written(namespaces),
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
        new = [_columns(one) for one in deliveries]
        place = mapping.move(cursor, position)
        place.update(job=str(place["job"]), to_job=str(place["to_job"]))

        def fan_out(run: Run) -> bool:
            is_over = is_end and cursor.webhook is not None
            if not run("fan_out.end" if is_over else "fan_out.move", **place):
                return False
            for webhook, start in left.items():
                passed = {**mapping.leave_columns(start, position), "job": str(start.job)}
                run("webhook_cursors.leave", webhook=str(webhook), **passed)
            targets = {one.webhook for one in deliveries} if cursor.webhook is None else set()
            counted = run("fan_out.counted", webhooks=written_ids(targets)) if targets else []
            for columns in new:
                run("fan_out.delivery", **columns)
                if cursor.again:
                    run("fan_out.again", **columns)
            for row in counted:
                _pause_crowded(run, row["id"], position)
            return True

        moved: bool = await self._transact(fan_out)
        return moved

    async def due_deliveries(
        self, holder: str, *, limit: int, each: int = MOST_AT_ONCE, hold_for: timedelta
    ) -> list[DueDelivery]:
        mapping.check_holder(holder)
        whole("limit", limit, 1, LARGEST_BATCH)
        whole("each", each, 1, LARGEST_BATCH)
        how = {"holder": holder, "hold_for": rows.duration(hold_for)}
        left = self._left()

        def take(run: Run) -> list[DueDelivery]:
            opened = run("due_deliveries.open", each=each, closed_from=FAILURES_TO_CLOSE, left=left)
            room = {row["id"]: min(row["room"], limit) for row in opened if row["room"] > 0}
            known = self._left_webhooks.note(run("due_deliveries.webhooks", webhooks=written_ids(room)))
            found = [
                run("due_deliveries.due", webhook=str(one.id), limit=room[one.id])
                for one in sorted(known, key=lambda one: one.id)
            ]
            taken = [
                row
                for due in webhooks.in_turns(found, limit)
                for row in run(
                    "due_deliveries.take", webhook=str(due["webhook"]), message=due["message"], **how
                )
            ]
            targets = written_ids({row["webhook"] for row in taken})
            run("due_deliveries.gentle", webhooks=targets, closed_from=FAILURES_TO_CLOSE)
            return mapping.due_from(taken, known, run("webhook_secrets", webhooks=targets))

        due: list[DueDelivery] = await self._transact(take)
        return due

    async def settle_deliveries(self, holder: str, tries: Sequence[Try]) -> list[Webhook]:
        given = {(one.webhook, one.message): one for one in tries}

        def settle(run: Run) -> list[Webhook]:
            settled = [
                (row["webhook"], row["message"])
                for one in given.values()
                for row in run("settle_deliveries.settle", holder=holder, **_tried(one))
            ]
            paused = []
            for webhook, effect in webhooks.effects_of(settled, given).items():
                run(
                    "settle_deliveries.webhook",
                    webhook=str(webhook),
                    delivered=effect.delivered,
                    failed=effect.failed,
                    closes=rows.duration(effect.closes_for),
                    closed_from=FAILURES_TO_CLOSE,
                )
                if effect.pauses:
                    cursors = cursors_from(run("webhook_cursors.stir", webhook=None))
                    paused += _pause(run, webhook, effect.pauses, cursors.reached)
            return self._left_webhooks.note(paused)

        paused: list[Webhook] = await self._transact(settle) if given else []
        return paused

    def _left(self) -> str:
        return rows.left_webhooks(self._left_webhooks.entries())


def _pause_crowded(run: Run, webhook: UUID, position: Position) -> None:
    [row] = run("fan_out.crowded", webhook=str(webhook), most=MOST_WAITING)
    if row["is_crowded"]:
        _pause(run, webhook, webhooks.CROWDED, position)
        run("webhook_cursors.stir", webhook=None)


def _pause(run: Run, webhook: UUID, reason: str, reached: Position) -> Rows:
    named = {"id": str(webhook), "by": BY_ITSELF, "reason": storable(reason)}
    return run("pause_webhook", **named, paused_behind=str(reached))


def _columns(new: NewDelivery) -> dict[str, Any]:
    return {
        "webhook": str(new.webhook),
        "message": new.message,
        "type": new.type,
        "at": rows.micros(new.at),
        "job": None if new.job is None else str(new.job),
        "n": new.n,
        "body": storable(new.body),
    }


def _tried(one: Try) -> dict[str, Any]:
    return {
        "webhook": str(one.webhook),
        "message": one.message,
        "state": one.state.value,
        "counts": one.counts,
        "after": rows.duration(one.retry_after),
        "took_us": webhooks.micros(one.took),
        "status": one.status,
        "problem": mapping.stored_problem(one.problem),
    }


def _written(names: frozenset[str]) -> str:
    return msgspec.json.encode(sorted(names)).decode()
