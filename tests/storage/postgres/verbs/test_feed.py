"""The feed while transactions are open: events that commit late come late, but are never missed."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from uuid import UUID, uuid4

import asyncpg
import pytest

from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.states import State
from tenure.core.reports.reading import FeedEntry
from tenure.storage.contract.store import Store
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.verbs import claim, columns_of, enqueue_one, fed, settle, state_of, succeeded


async def insert_copy(foreign: asyncpg.Connection, backend: PostgresBackend, model: UUID) -> UUID:
    """Record a job like another one in the foreign transaction, under that transaction's own mark."""
    copy = uuid4()
    for table in ("job", "job_state"):
        columns = [
            name for name in await columns_of(backend, f"tenure.{table}") if name not in ("id", "mark")
        ]
        names = ", ".join(columns)
        await foreign.execute(
            f"INSERT INTO tenure.{table} (id, {names}) SELECT $1, {names} FROM tenure.{table} WHERE id = $2",
            copy,
            model,
        )
    return copy


class Reader:
    """Reads the feed, each time from where it was."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.entries: list[FeedEntry] = []

    async def read(self, number: int = 0) -> None:
        """Read on to the end, and until so many events were seen in all."""
        after = self.entries[-1].position if self.entries else None
        self.entries += await fed(self._store, number - len(self.entries), after=after)

    @property
    def seen(self) -> list[tuple[UUID, int]]:
        return [(entry.event.job, entry.event.n) for entry in self.entries]


async def test_a_job_whose_transaction_commits_late_is_not_missed(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    """Jobs that committed before it wait for it in the feed, and nowhere else."""
    reader = Reader(store)
    model = await enqueue_one(store)
    await reader.read(1)
    late = await insert_copy(foreign, backend, model)
    early = await enqueue_one(store)
    await reader.read()
    assert await state_of(store, early) is State.QUEUED
    assert reader.seen == [(model, 1)]
    assert await store.feed(await store.end_of_feed()) == []

    await foreign.execute("COMMIT")
    await reader.read(3)
    assert reader.seen == [(model, 1), (late, 1), (early, 1)]


async def test_a_transaction_that_is_rolled_back_leaves_no_gap(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    reader = Reader(store)
    model = await enqueue_one(store)
    await insert_copy(foreign, backend, model)
    following = await enqueue_one(store)
    await reader.read()
    await foreign.execute("ROLLBACK")
    await reader.read(2)
    assert reader.seen == [(model, 1), (following, 1)]


async def test_the_end_of_the_feed_is_before_what_is_still_open(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    """A reader that begins there sees transactions that commit later, though they began before."""
    model = await enqueue_one(store)
    await fed(store, 1)
    late = await insert_copy(foreign, backend, model)
    end = await store.end_of_feed()
    await foreign.execute("COMMIT")
    assert [entry.event.job for entry in await fed(store, 1, after=end)] == [late]


async def test_a_transaction_that_only_reads_holds_nothing_back(
    store: Store, foreign: asyncpg.Connection
) -> None:
    await foreign.fetch("SELECT count(*) FROM tenure.job")
    job = await enqueue_one(store)
    assert [entry.event.job for entry in await fed(store, 1)] == [job]


async def test_a_jobs_events_stay_in_order_when_the_older_transaction_waits(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    """An older transaction may write the later event: it has waited for the younger one, or for a third."""
    jobs = sorted([await enqueue_one(store, hold=n < 2) for n in range(3)])
    _, locked, claimed = jobs
    reader = Reader(store)
    await reader.read(3)
    await foreign.execute("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE", locked)
    cancelling = asyncio.create_task(store.cancel(jobs))
    await until_waiting(backend, 1)

    assert [owned.lease.job for owned in await claim(store)] == [claimed]
    await reader.read()
    await foreign.execute("ROLLBACK")
    assert [standing.state for standing in await cancelling] == [
        State.CANCELLED,
        State.CANCELLED,
        State.CANCELLING,
    ]

    await reader.read(7)
    assert len(set(reader.seen)) == len(reader.seen) == 7
    assert [entry.event for entry in reader.entries if entry.event.job == claimed] == await store.events(
        claimed
    )
    assert [entry.position for entry in await fed(store, 7)] == [entry.position for entry in reader.entries]


async def test_readers_beside_many_writers_miss_nothing(store: Store, backend: PostgresBackend) -> None:
    """Two stores write at once; a reader that reads meanwhile has every event in the end."""
    other = backend.store()
    await other.open()
    reader = Reader(store)

    async def write(on: Store, worker: str) -> None:
        for _ in range(15):
            jobs = [await enqueue_one(on) for _ in range(3)]
            await claim(on, worker, limit=4)
            await on.cancel(jobs)

    async with asyncio.TaskGroup() as group:
        writers = [
            group.create_task(write(on, name)) for on, name in ((store, "a"), (other, "b"), (other, "c"))
        ]
        while not all(writer.done() for writer in writers):
            await reader.read()
    [(number,)] = await backend.sql(
        "SELECT (SELECT count(*) FROM tenure.event) + (SELECT count(*) FROM tenure.job)"
    )
    await reader.read(number)
    assert len(set(reader.seen)) == len(reader.seen) == number
    for job in {job for job, _ in reader.seen}:
        assert [n for each, n in reader.seen if each == job] == list(
            range(1, len(await store.events(job)) + 1)
        )
    await other.close()


async def _settle(store: Store, owned: Sequence[Claimed]) -> Collection[Lease]:
    return (await settle(store, [succeeded(one) for one in owned])).lost


async def _hand_back(store: Store, owned: Sequence[Claimed]) -> Collection[Lease]:
    return (await store.hand_back("a", unstarted=[one.lease for one in owned], killed=[])).lost


@pytest.mark.parametrize("verb", [_settle, _hand_back])
async def test_a_workers_word_that_waited_stands_behind_the_cancel_it_did_not_see(
    store: Store,
    foreign: asyncpg.Connection,
    backend: PostgresBackend,
    verb: Callable[[Store, Sequence[Claimed]], Coroutine[None, None, Collection[Lease]]],
) -> None:
    """Its transaction is the older one; the job's events still come in the order of their numbers."""
    for _ in range(3):
        await enqueue_one(store)
    owned = sorted(await claim(store), key=lambda one: one.lease.job)
    _, locked, cancelled = (one.lease.job for one in owned)
    reader = Reader(store)
    await reader.read(6)
    await foreign.execute("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE", locked)
    waiting = asyncio.create_task(verb(store, owned))
    await until_waiting(backend, 1)
    await store.cancel([cancelled])
    await foreign.execute("ROLLBACK")
    assert not await waiting

    await reader.read(10)
    assert len(set(reader.seen)) == len(reader.seen) == 10
    assert [entry.event for entry in reader.entries if entry.event.job == cancelled] == await store.events(
        cancelled
    )
