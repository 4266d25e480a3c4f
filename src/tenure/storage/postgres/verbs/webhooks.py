"""The verbs of the PostgreSQL store about webhooks: what operators do with them."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from tenure.core.reports.reading import Position
from tenure.core.values.bounds import LARGEST_PAGE, whole
from tenure.core.values.text import storable
from tenure.core.webhooks.webhook import KnownWebhook, NewWebhook, Secret, Webhook, WebhookFigures
from tenure.storage.mapping import values
from tenure.storage.mapping import webhook_cursors as cursor_rows
from tenure.storage.mapping import webhooks as mapping
from tenure.storage.mapping.webhook_cursors import CatchUp, Cursors
from tenure.storage.postgres.database import Database
from tenure.storage.postgres.wire.transaction import Transaction

Found = list[asyncpg.Record]


class WebhookVerbs(Database):
    """Keeps webhooks, and the cursors by which they get their events."""

    async def add_webhook(
        self,
        new: NewWebhook,
        *,
        secret: str | None,
        since: datetime | None = None,
        paused_by: str | None = None,
    ) -> Webhook:
        columns = {"id": new.id, **mapping.columns(new), "paused_by": paused_by and storable(paused_by)}
        mapping.check_secret(secret)
        values.aware("since", since)

        async def add(run: Transaction) -> Found:
            start = cursor_rows.position_columns(await _end_of_feed(run))
            await run("webhook_cursors.begin", **start, generation=cursor_rows.new_generation())
            begins = await _end_of_feed(run)
            added = await run("add_webhook.webhook", **columns, begins_behind=str(begins))
            if not added:
                return added
            await run("add_webhook.secret", id=new.id, secret=secret)
            if since is not None:
                wanted = CatchUp(await _before(run, since), begins, since)
                await _catch_up(run, new.id, wanted)
            return added

        added = await self._pool.transact(add)
        if not added:
            raise mapping.taken(new.id)
        self._wakeups.timed()
        return mapping.written_from(added[0])

    async def webhook(self, webhook_id: UUID) -> KnownWebhook | None:
        return mapping.first_webhook(await self._pool.run("webhook", id=webhook_id))

    async def webhooks(
        self, *, namespace: str | None = None, after: UUID | None = None, limit: int = 50
    ) -> list[KnownWebhook]:
        whole("limit", limit, 1, LARGEST_PAGE)
        first = values.following(after)
        found = await self._pool.run("webhooks", namespace=namespace, first=first, limit=limit)
        self._left_webhooks.note(found)
        return [mapping.webhook_from(row) for row in found]

    async def change_webhook(self, read: Webhook, changed: NewWebhook) -> Webhook | None:
        columns = {"id": read.id, **mapping.columns(changed), "revision": read.revision}

        async def change(run: Transaction) -> Found:
            await _stir(run, read.id)
            return await run("change_webhook", **columns)

        return mapping.first_written(await self._pool.transact(change))

    async def rotate_webhook(
        self, webhook_id: UUID, *, secret: str | None, keep: timedelta
    ) -> Webhook | None:
        mapping.check_secret(secret)

        async def rotate(run: Transaction) -> Found:
            found = await run("rotate_webhook.count", id=webhook_id)
            for row in found:
                of_new = {"id": webhook_id, "rotation": row["rotation"]}
                await run("rotate_webhook.retire", id=webhook_id, keep=keep)
                await run("rotate_webhook.forget", **of_new)
                await run("rotate_webhook.secret", **of_new, secret=secret)
            return found

        return mapping.first_written(await self._pool.transact(rotate))

    async def pause_webhook(
        self, webhook_id: UUID, *, by: str = "api", reason: str | None = None
    ) -> KnownWebhook | None:
        why = {"by": storable(by), "reason": reason and storable(reason)}

        async def pause(run: Transaction) -> Found:
            reached = (await _stir(run, webhook_id)).reached
            paused = await run("pause_webhook", id=webhook_id, paused_behind=str(reached), **why)
            return paused or await run("webhook", id=webhook_id)

        return mapping.first_webhook(await self._pool.transact(pause))

    async def resume_webhook(self, webhook_id: UUID, *, catches_up: bool) -> Webhook | None:
        given_up = not catches_up
        while given_up:
            portion = {"id": webhook_id, "limit": mapping.AS_MANY}
            given_up = len(await self._pool.run("resume_webhook.give_up", **portion)) == mapping.AS_MANY

        async def resume(run: Transaction) -> Found:
            cursors = await _stir(run, webhook_id)
            paused = mapping.first_written(await run("webhook", id=webhook_id))
            if paused is None or paused.paused_at is None:
                return await run("webhook", id=webhook_id)
            begins = paused.after
            if catches_up:
                await _catch_up(run, webhook_id, cursor_rows.missed(paused, cursors), cursors)
            else:
                await run("webhook_cursors.end_own", webhook=webhook_id)
                begins = await _end_of_feed(run)
            return await run("resume_webhook.move", id=webhook_id, begins_behind=str(begins))

        resumed = await self._pool.transact(resume)
        self._wakeups.timed()
        return mapping.first_written(resumed)

    async def delete_webhook(self, webhook_id: UUID) -> bool:
        async def delete(run: Transaction) -> bool:
            await _stir(run, webhook_id)
            gone = await run("delete_webhook.webhook", id=webhook_id)
            await run("delete_webhook.secrets", id=webhook_id)
            await run("webhook_cursors.end_own", webhook=webhook_id)
            await run("webhook_cursors.end")
            return bool(gone)

        return await self._pool.transact(delete)

    async def webhook_secrets(self, webhook_id: UUID) -> tuple[Secret, ...]:
        found = await self._pool.run("webhook_secrets", webhooks=[webhook_id])
        return tuple(mapping.secret_from(row) for row in found)

    async def webhook_figures(self, ids: Collection[UUID]) -> dict[UUID, WebhookFigures]:
        asked = {"webhooks": sorted(set(ids)), "most": mapping.MOST_COUNTED}
        return mapping.figures_from(await self._pool.run("webhook_figures", **asked))

    async def redeliver_since(self, webhook_id: UUID, since: datetime) -> Webhook | None:
        values.aware("since", since)

        async def widen(run: Transaction) -> Found:
            cursors = await _stir(run, webhook_id)
            found = await run("webhook", id=webhook_id)
            for row in found:
                until = max(cursors.reached, mapping.written_from(row).after)
                wanted = CatchUp(await _before(run, since), until, since, again=True)
                await _catch_up(run, webhook_id, wanted, cursors)
            return found

        found = await self._pool.transact(widen)
        self._wakeups.timed()
        return mapping.first_written(found)


async def _end_of_feed(run: Transaction) -> Position:
    [row] = await run("end_of_feed")
    return Position.behind(row["mark"])


async def _before(run: Transaction, moment: datetime) -> Position:
    """A position before all events from a moment on."""
    [row] = await run("position_at", moment=moment - cursor_rows.MARGIN)
    return Position.behind(row["mark"])


async def _stir(run: Transaction, webhook_id: UUID) -> Cursors:
    return cursor_rows.cursors_from(await run("webhook_cursors.stir", webhook=webhook_id))


async def _catch_up(
    run: Transaction, webhook_id: UUID, wanted: CatchUp | None, cursors: Cursors | None = None
) -> None:
    if wanted is not None:
        await run("webhook_cursors.catch_up", **cursor_rows.catch_up_columns(webhook_id, wanted, cursors))
