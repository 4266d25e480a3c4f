"""A claim that goes on behind the places it was offered: with as few statements as possible."""

from collections import Counter
from typing import Any

import asyncpg
import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.storage.postgres.claims import freshness, line_scan
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Pool
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import claim, enqueue_one, fall_asleep, settle, succeeded, woken

LOOK = "settle_and_claim.places"
TURN = "settle_and_claim.turn+limits"


class CountingPool(Pool):
    """Counts statements; `lost_at` names one at which the connection is lost."""

    def __init__(self, dsn: str) -> None:
        super().__init__(read_address(dsn), size=1, timeout=60)
        self.runs: Counter[str] = Counter()
        self.lost_at: tuple[str, int] | None = None

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        self.runs[statement] += 1
        if (statement, self.runs[statement]) == self.lost_at:
            raise StoreUnavailable("the connection was lost")
        return await super().run_with(statement, values)


class CountingStore(PostgresStore):
    def __init__(self, dsn: str) -> None:
        super().__init__(dsn, notify=False)
        self.pool = self._pool = CountingPool(dsn)
        self._lines = LineIds(self._pool)


def jobs_of(tenants: int, each: int = 1) -> list[NewJob]:
    named = [Limit("tenant", f"{n:02}", size=2) for n in range(tenants)]
    return [NewJob(definition="mail", limits=(limit,)) for limit in named for _ in range(each)]


async def test_a_claim_goes_on_behind_places_that_somebody_else_has_emptied(
    backend: PostgresBackend, store: PostgresStore
) -> None:
    """After a claim without jobs by one look-up, and not from place to place."""
    await store.enqueue(jobs_of(40))
    worker = CountingStore(backend.dsn)
    await worker.open()
    assert len(await claim(worker, limit=2)) == 2
    assert len(await claim(store, limit=37)) == 37
    worker.pool.runs.clear()
    assert len(await claim(worker, limit=2)) == 1
    assert worker.pool.runs[LOOK] == 1
    assert worker.pool.runs[TURN] <= 3
    await worker.close()


async def test_what_is_claimed_stays_claimed_though_to_go_on_fails(backend: PostgresBackend) -> None:
    worker = CountingStore(backend.dsn)
    await worker.open()
    await worker.enqueue(jobs_of(1, each=5))
    worker.pool.lost_at = (LOOK, 2)
    assert len(await claim(worker, limit=1)) == 1
    await backend.sql("UPDATE tenure.slot SET is_held = true")  # which no process here knows
    assert await claim(worker, limit=1) == []
    assert worker.pool.runs[LOOK] == 2
    await worker.close()


async def test_a_claim_looks_on_where_lines_are_more_than_one_look_passes_through(
    backend: PostgresBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places of the first look-ups have no room. Not every claim repeats them: they count for a while."""
    monkeypatch.setattr(line_scan, "MOST_REACHED", 3)
    monkeypatch.setattr(freshness, "FRESH_FOR", 0.0)
    monkeypatch.setattr(freshness, "WORTH", 0)
    worker = CountingStore(backend.dsn)
    await worker.open()
    await worker.enqueue(jobs_of(10, each=3))
    assert len(await claim(worker, limit=100)) == 20
    last = await enqueue_one(worker, limits=(Limit("tenant", "99"),))
    assert [owned.lease.job for owned in await claim(worker, limit=5)] == [last]
    await worker.close()


async def test_a_short_claim_asks_no_more_than_it_has_to(backend: PostgresBackend) -> None:
    """One look-up and one claim, with limits that leave room and with limits that do not."""
    worker = CountingStore(backend.dsn)
    await worker.open()
    for jobs in (jobs_of(1), jobs_of(3, each=3), [NewJob(definition="mail")]):
        await worker.enqueue(jobs)
        worker.pool.runs.clear()
        assert await claim(worker, limit=10)
        assert worker.pool.runs.total() == 2
    await worker.close()


@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_room_left_by_a_call_that_names_no_lines_wakes(
    backend: PostgresBackend, store: PostgresStore, where: str
) -> None:
    """A process that reports the end of an attempt may know nothing of the lines."""
    jobs = [await enqueue_one(store, limits=(Limit("api"),)) for _ in range(2)]
    [owned] = await claim(store)
    other = backend.store()
    await other.open()
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        assert await claim(store) == []
        await settle(store if where == "here" else other, [succeeded(owned)])
        assert await woken(wakeups)
    assert [one.lease.job for one in await claim(store)] == jobs[1:]
    await other.close()


async def test_who_finds_the_front_of_a_long_line_claimed_by_others_goes_on_behind_it(
    backend: PostgresBackend, store: PostgresStore
) -> None:
    """As many priorities as one look passes through, and more, were emptied since it looked."""
    await store.enqueue([NewJob(definition="mail", priority=n) for n in range(100)])
    worker = CountingStore(backend.dsn)
    await worker.open()
    assert len(await claim(worker, limit=1)) == 1
    assert len(await claim(store, limit=50)) == 50
    assert len(await claim(worker, limit=5)) == 5
    await worker.close()


async def test_who_finds_the_front_of_a_long_line_locked_by_others_goes_on_behind_it(
    backend: PostgresBackend, store: PostgresStore
) -> None:
    """Though those transactions may still be rolled back."""
    await store.enqueue([NewJob(definition="mail", priority=n) for n in range(100)])
    other = await asyncpg.connect(backend.dsn)
    async with other.transaction():
        await other.execute("SELECT FROM tenure.ready ORDER BY line, rank, seq LIMIT 20 FOR UPDATE")
        assert len(await claim(store, limit=30)) == 30
    await other.close()
