"""The database behind a store: its connections, what this process knows of lines, and its hints."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from uuid import UUID

import asyncpg

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_BATCH, whole
from tenure.storage.contract.store import Wakeups
from tenure.storage.mapping.findings import MOST, Finding, findings_from
from tenure.storage.mapping.identity import Identity
from tenure.storage.mapping.schedules import LeftAlone
from tenure.storage.mapping.webhooks import LeftWebhooks
from tenure.storage.postgres import schema
from tenure.storage.postgres.claims.hints import Place
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.claims.scans import LineScans
from tenure.storage.postgres.claims.statement_choice import StatementChoice
from tenure.storage.postgres.wire.pool import Pool
from tenure.storage.postgres.wire.wakeups import CommitHint, WakeupChannel
from tenure.storage.schema.migration import Applied, Fit, apply_all


class Database:
    """One PostgreSQL database, shared by any number of processes and machines."""

    def __init__(self, pool: Pool, *, notify: bool) -> None:
        self._pool = pool
        self._lines = LineIds(pool)
        self._scans = LineScans()
        self._choice = StatementChoice()
        self._wakeups = WakeupChannel(pool, enabled=notify, on_queued=self._scans.note_hint)
        self._identity: Identity | None = None
        self._left_alone = LeftAlone()
        self._left_webhooks = LeftWebhooks()

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._wakeups.close()
        await self._pool.close()

    async def migrate(self, on_applied: Callable[[Applied], None] | None = None) -> list[str]:
        return await apply_all(
            schema.PACKAGE, lambda: self._pool.run_long_task(schema.apply_next), on_applied
        )

    async def migration_sql(self) -> str:
        return await self._pool.run_task(schema.by_hand)

    async def verify(self) -> Fit:
        return await self._pool.run_task(schema.verify)

    async def inspect(self, *, limit: int = MOST) -> list[Finding]:
        whole("limit", limit, 1, LARGEST_BATCH)
        return findings_from(await self._pool.survey("inspect", limit=limit), schema.REMOVAL)

    async def now(self) -> datetime:
        [row] = await self._pool.run("now")
        moment: datetime = row["now"]
        return moment

    async def store_id(self) -> UUID:
        [row] = await self._pool.run("store_id")
        made: UUID = row["id"]
        return made

    def listen(
        self, *, endings: bool = False, stops: bool = False, changes: bool = False
    ) -> AbstractAsyncContextManager[Wakeups]:
        return self._wakeups.listen(endings=endings, stops=stops, changes=changes)

    async def _load_identity(self) -> Identity:
        if self._identity is None:
            self._identity = Identity(await self.now())
        return self._identity

    def _note_queued(self, moved: Iterable[asyncpg.Record]) -> None:
        places = [(row["line"], row["rank"]) for row in moved]
        self._note_places(dict.fromkeys(places), len(places))

    def _note_places(
        self, places: Mapping[Place, NewJob | None], jobs: int, sent: CommitHint | None = None
    ) -> None:
        """So many jobs were put in line at these places; `sent` is the hint that went along."""
        self._scans.note_queued(places)
        if places:
            self._wakeups.queued(places, jobs=jobs, sent=sent)

    def _note_moved(self, moved: Iterable[asyncpg.Record]) -> None:
        steps = list(moved)
        self._note_queued(row for row in steps if row["state"] == State.QUEUED)
        self._note_ended(steps)

    def _note_ended(self, moved: Iterable[asyncpg.Record]) -> None:
        if any(State(row["state"]).is_final for row in moved):
            self._wakeups.ended()

    def _look_again(self) -> None:
        """More jobs may be claimable now, or fewer, than any process knows."""
        self._scans.forget()
        self._wakeups.queued()

    def _wake_all(self) -> None:
        """Jobs may be claimable, due or ended without any process knowing it."""
        self._look_again()
        self._wakeups.ended()
        self._wakeups.timed()
