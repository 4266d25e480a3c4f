"""Pages that are as full as they can be, of jobs that are what was asked for when they are shown."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Pool
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.backends import Backend, PostgresBackend, SqliteBackend
from tests.storage.verbs import claim, enqueue_one, settle, succeeded

T = TypeVar("T")

SHOWING = "page.rows"
Meanwhile = Callable[[], Awaitable[object]]


class SlowSqlite(SqliteStore):
    """Lets something happen after a page's jobs were found and before they are shown."""

    meanwhile: Meanwhile | None = None

    async def _read(
        self, statement: str, convert: Callable[[dict[str, Any]], T], /, **named: object
    ) -> list[T]:
        if statement == SHOWING and self.meanwhile:
            await self.meanwhile()
        return await super()._read(statement, convert, **named)


class SlowPool(Pool):
    """The same on PostgreSQL."""

    meanwhile: Meanwhile | None = None

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        if statement == SHOWING and self.meanwhile:
            await self.meanwhile()
        return await super().run_with(statement, values)


class SlowPostgres(PostgresStore):
    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self._pool: SlowPool = SlowPool(read_address(dsn), size=2, timeout=30.0)


@pytest.fixture
async def slow(backend: Backend) -> AsyncIterator[SlowSqlite | SlowPostgres]:
    """A store that can be interrupted while it reads a page."""
    assert isinstance(backend, SqliteBackend | PostgresBackend)
    opened = SlowSqlite(backend.path) if isinstance(backend, SqliteBackend) else SlowPostgres(backend.dsn)
    await opened.open()
    yield opened
    await opened.close()


async def test_jobs_that_do_not_match_take_no_place_on_a_page(store: Store) -> None:
    """However many of them stand in between, as long as they are looked at."""
    wanted = [await enqueue_one(store) for _ in range(3)]
    await settle(store, [succeeded(owned) for owned in await claim(store)])
    await store.enqueue([NewJob(definition="mail") for _ in range(50)])
    requested = Filter(definition="mail", states=frozenset({State.SUCCEEDED}))
    assert [job.id for job in (await store.page(requested, limit=2)).jobs] == wanted[:0:-1]


async def test_a_job_that_moves_while_its_page_is_read_is_not_shown_in_its_old_list(
    slow: SlowSqlite | SlowPostgres, store: Store
) -> None:
    """It has left the states asked for; the others stay where they were."""
    first, moving, last = [await enqueue_one(store) for _ in range(3)]
    where = slow if isinstance(slow, SlowSqlite) else slow._pool
    where.meanwhile = lambda: store.cancel([moving])
    page = await slow.page(Filter(states=frozenset({State.QUEUED})))
    assert [job.id for job in page.jobs] == [last, first]
    assert {job.state for job in page.jobs} == {State.QUEUED}
