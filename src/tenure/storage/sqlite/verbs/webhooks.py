"""The verbs of the SQLite store about webhooks: what operators do with them."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import apsw
import msgspec

from tenure.core.reports.reading import Position
from tenure.core.values.bounds import LARGEST_PAGE, whole
from tenure.core.values.text import storable
from tenure.core.webhooks.webhook import KnownWebhook, NewWebhook, Secret, Webhook, WebhookFigures
from tenure.storage.mapping import values
from tenure.storage.mapping import webhook_cursors as cursor_rows
from tenure.storage.mapping import webhooks as mapping
from tenure.storage.mapping.webhook_cursors import CatchUp, Cursors
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.database import Database, Rows

Run = Callable[..., Rows]
"""Runs a statement, by its name, in the transaction; it knows the transaction's time."""


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
        columns = {"id": str(new.id), **mapping.columns(new), "paused_by": paused_by and storable(paused_by)}
        mapping.check_secret(secret)
        values.aware("since", since)

        def add(run: Run) -> Rows:
            begins = _end_of_feed(run)
            run("webhook_cursors.begin", **_place(begins), generation=cursor_rows.new_generation())
            added = run("add_webhook.webhook", **columns, begins_behind=str(begins))
            if not added:
                return added
            run("add_webhook.secret", id=str(new.id), secret=secret)
            if since is not None:
                _catch_up(run, new.id, CatchUp(_before(run, since), begins, since))
            return added

        added = await self._transact(add)
        if not added:
            raise mapping.taken(new.id)
        return mapping.written_from(added[0])

    async def webhook(self, webhook_id: UUID) -> KnownWebhook | None:
        found = await self._read("webhook", mapping.webhook_from, id=str(webhook_id))
        return found[0] if found else None

    async def webhooks(
        self, *, namespace: str | None = None, after: UUID | None = None, limit: int = 50
    ) -> list[KnownWebhook]:
        whole("limit", limit, 1, LARGEST_PAGE)
        first = str(values.following(after))
        found = await self._read("webhooks", dict, namespace=namespace, first=first, limit=limit)
        self._left_webhooks.note(found)
        return [mapping.webhook_from(row) for row in found]

    async def change_webhook(self, read: Webhook, changed: NewWebhook) -> Webhook | None:
        columns = {"id": str(read.id), **mapping.columns(changed), "revision": read.revision}

        def change(run: Run) -> Rows:
            _stir(run, read.id)
            return run("change_webhook", **columns)

        return mapping.first_written(await self._transact(change))

    async def rotate_webhook(
        self, webhook_id: UUID, *, secret: str | None, keep: timedelta
    ) -> Webhook | None:
        mapping.check_secret(secret)

        def rotate(run: Run) -> Rows:
            found = run("rotate_webhook.count", id=str(webhook_id))
            for row in found:
                of_new = {"id": str(webhook_id), "rotation": row["rotation"]}
                run("rotate_webhook.retire", id=str(webhook_id), keep=rows.duration(keep))
                run("rotate_webhook.forget", **of_new)
                run("rotate_webhook.secret", **of_new, secret=secret)
            return found

        return mapping.first_written(await self._transact(rotate))

    async def pause_webhook(
        self, webhook_id: UUID, *, by: str = "api", reason: str | None = None
    ) -> KnownWebhook | None:
        why = {"by": storable(by), "reason": reason and storable(reason)}

        def pause(run: Run) -> Rows:
            reached = _stir(run, webhook_id).reached
            paused = run("pause_webhook", id=str(webhook_id), paused_behind=str(reached), **why)
            return paused or run("webhook", id=str(webhook_id))

        return mapping.first_webhook(await self._transact(pause))

    async def resume_webhook(self, webhook_id: UUID, *, catches_up: bool) -> Webhook | None:
        given_up = not catches_up
        while given_up:
            portion = {"id": str(webhook_id), "limit": mapping.AS_MANY}
            given_up = len(await self._write("resume_webhook.give_up", **portion)) == mapping.AS_MANY

        def resume(run: Run) -> Rows:
            cursors = _stir(run, webhook_id)
            found = run("webhook", id=str(webhook_id))
            paused = mapping.first_written(found)
            if paused is None or paused.paused_at is None:
                return found
            begins = paused.after
            if catches_up:
                _catch_up(run, webhook_id, cursor_rows.missed(paused, cursors), cursors)
            else:
                run("webhook_cursors.end_own", webhook=str(webhook_id))
                begins = _end_of_feed(run)
            return run("resume_webhook.move", id=str(webhook_id), begins_behind=str(begins))

        return mapping.first_written(await self._transact(resume))

    async def delete_webhook(self, webhook_id: UUID) -> bool:
        def delete(run: Run) -> bool:
            _stir(run, webhook_id)
            gone = run("delete_webhook.webhook", id=str(webhook_id))
            run("delete_webhook.secrets", id=str(webhook_id))
            run("webhook_cursors.end_own", webhook=str(webhook_id))
            run("webhook_cursors.end")
            return bool(gone)

        was_there: bool = await self._transact(delete)
        return was_there

    async def webhook_secrets(self, webhook_id: UUID) -> tuple[Secret, ...]:
        asked = written_ids([webhook_id])
        return tuple(await self._read("webhook_secrets", mapping.secret_from, webhooks=asked))

    async def webhook_figures(self, ids: Collection[UUID]) -> dict[UUID, WebhookFigures]:
        asked = {"webhooks": written_ids(ids), "most": mapping.MOST_COUNTED}
        return mapping.figures_from(await self._read("webhook_figures", dict, **asked))

    async def redeliver_since(self, webhook_id: UUID, since: datetime) -> Webhook | None:
        values.aware("since", since)

        def widen(run: Run) -> Rows:
            cursors = _stir(run, webhook_id)
            found = run("webhook", id=str(webhook_id))
            for row in found:
                until = max(cursors.reached, mapping.written_from(row).after)
                _catch_up(run, webhook_id, CatchUp(_before(run, since), until, since, again=True), cursors)
            return found

        return mapping.first_written(await self._transact(widen))

    async def _transact(self, task: Callable[[Run], Any]) -> Any:
        """Run a task in a transaction of the writer."""

        def within(connection: apsw.Connection, turn: TransactionTime) -> Any:
            def run(statement: str, **named: object) -> Rows:
                return self._scripts.one(connection, statement, now=turn.now, **named)

            return task(run)

        return await self._writer.run(within)


def written_ids(ids: Collection[UUID]) -> str:
    """Ids as JSON."""
    return msgspec.json.encode(sorted(set(ids))).decode()


def _place(position: Position) -> dict[str, Any]:
    return {**cursor_rows.position_columns(position), "job": str(position.job)}


def _end_of_feed(run: Run) -> Position:
    """Behind all that other transactions have written, and before what this one does."""
    [row] = run("end_of_feed")
    return Position.behind(row["mark"])


def _before(run: Run, moment: datetime) -> Position:
    """A position before all events from a moment on."""
    [row] = run("position_at", moment=rows.micros(moment - cursor_rows.MARGIN))
    return Position.behind(row["mark"])


def _stir(run: Run, webhook_id: UUID | None) -> Cursors:
    return cursor_rows.cursors_from(run("webhook_cursors.stir", webhook=webhook_id and str(webhook_id)))


def _catch_up(run: Run, webhook_id: UUID, wanted: CatchUp | None, cursors: Cursors | None = None) -> None:
    if wanted is not None:
        columns = cursor_rows.catch_up_columns(webhook_id, wanted, cursors)
        since = columns["since"]
        own = {"webhook": str(webhook_id), "job": str(columns["job"])}
        run("webhook_cursors.catch_up", **{**columns, **own, "since": since and rows.micros(since)})
