"""Locks around durable steps: whoever comes second sees what the first wrote, and no neighbour waits."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest

from tenure.core.model.durable import (
    Delivered,
    EffectAnswer,
    Keeping,
    Suspension,
    Verdict,
)
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Progress, Pulse
from tenure.core.model.states import State
from tenure.core.model.trail import Recorded
from tenure.core.values.documents import Document
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    approval,
    done,
    for_answer,
    for_signal,
    held,
    held_again,
    in_doubt,
    keep,
    recalled,
    statuses,
    suspend,
)
from tests.storage.postgres.lock_waits import PATIENCE, until_waiting
from tests.storage.verbs import claim, enqueue_one, found, line, note, path_of, seconds, state_of, trail

NEIGHBOURS = 20


@pytest.fixture
async def second(backend: PostgresBackend) -> AsyncIterator[PostgresStore]:
    """Another process's store."""
    opened = backend.store()
    await opened.open()
    yield opened
    await opened.close()


async def _lock(foreign: asyncpg.Connection, job: UUID) -> None:
    assert await foreign.fetch("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE", job)


async def _let_go(foreign: asyncpg.Connection) -> None:
    await foreign.execute("COMMIT")


@pytest.mark.parametrize("first", ["the wait", "the signal"])
async def test_a_signal_at_the_moment_of_its_wait_is_never_missed(
    backend: PostgresBackend,
    store: PostgresStore,
    second: PostgresStore,
    foreign: asyncpg.Connection,
    first: str,
) -> None:
    """Both have begun before either gets the row: in one statement the later one would look into the past."""
    lease = await held(store)
    await _lock(foreign, lease.job)

    async def wait() -> State | None:
        return await suspend(store, lease, for_signal())

    async def tell() -> object:
        return await second.signal(lease.job, approval())

    calls = [wait, tell] if first == "the wait" else [tell, wait]
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        tasks = {}
        for number, call in enumerate(calls, 1):
            tasks[call] = group.create_task(call())
            await until_waiting(backend, number)
        await _let_go(foreign)

    assert await state_of(store, lease.job) is State.QUEUED
    assert await path_of(store, lease.job) == ["queued", "started", "suspended", "resumed"]
    assert tasks[wait].result() is (State.SUSPENDED if first == "the wait" else State.QUEUED)
    told = Delivered.RESUMED if first == "the wait" else Delivered.KEPT
    assert tasks[tell].result().delivered is told  # type: ignore[attr-defined]


@pytest.mark.parametrize("first", ["the wait", "the answer"])
async def test_an_answer_at_the_moment_of_its_wait_is_never_missed(
    backend: PostgresBackend,
    store: PostgresStore,
    second: PostgresStore,
    foreign: asyncpg.Connection,
    first: str,
) -> None:
    job = await in_doubt(store, backend)
    lease = await held_again(store)
    await _lock(foreign, job)

    async def wait() -> State | None:
        return await suspend(store, lease, for_answer())

    async def say() -> object:
        return await second.answer(job, EffectAnswer(step="charge", happened=True, by="ann"))

    calls = [wait, say] if first == "the wait" else [say, wait]
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        tasks = {}
        for number, call in enumerate(calls, 1):
            tasks[call] = group.create_task(call())
            await until_waiting(backend, number)
        await _let_go(foreign)

    assert await state_of(store, job) is State.QUEUED
    verdict = Verdict.RESUMED if first == "the wait" else Verdict.RECORDED
    assert tasks[say].result().verdict is verdict  # type: ignore[attr-defined]


async def test_a_job_whose_row_is_locked_stops_no_heartbeat(
    store: PostgresStore, clock: Clock, foreign: asyncpg.Connection
) -> None:
    """A handler may freeze before the COMMIT of its own transaction: its neighbours keep their leases."""
    await store.enqueue([NewJob(definition="mail") for _ in range(NEIGHBOURS + 1)])
    leases = [claimed.lease for _ in range(NEIGHBOURS + 1) for claimed in await claim(store, limit=1)]
    frozen = leases[7]
    await _lock(foreign, frozen.job)
    await clock.advance(seconds(20))
    pulse = Pulse(worker="a", leases=leases, progress=dict.fromkeys(leases, Progress(0.5)))

    async with asyncio.timeout(PATIENCE):
        beat = await store.heartbeat(pulse)

    assert beat.kept == set(leases)
    assert beat.untold == {frozen}
    await clock.advance(seconds(20))
    assert await store.reap(100) == []
    assert {(await found(store, lease.job)).progress for lease in leases if lease != frozen} == {
        Progress(0.5)
    }
    assert (await found(store, frozen.job)).progress is None
    await _let_go(foreign)
    assert (await store.heartbeat(pulse)).untold == frozenset()
    assert (await found(store, frozen.job)).progress == Progress(0.5)


async def test_lines_and_notes_of_neighbours_do_not_wait_for_a_locked_job(
    backend: PostgresBackend, store: PostgresStore, foreign: asyncpg.Connection
) -> None:
    """Its own come in a call of their own, which waits, and are there once."""
    await enqueue_one(store), await enqueue_one(store)
    free, frozen = [claimed.lease for claimed in await claim(store)]
    await _lock(foreign, frozen.job)
    trails = [trail(lease, line(1), note()) for lease in (free, frozen)]

    async with asyncio.timeout(PATIENCE):
        recorded = await store.record("a", trails)
    assert recorded == Recorded(lost=frozenset(), full=frozenset(), locked=frozenset({frozen}))
    assert await path_of(store, free.job) == ["queued", "started", "custom:sent"]
    assert await path_of(store, frozen.job) == ["queued", "started"]

    alone = asyncio.create_task(store.record("a", trails[1:]))
    await until_waiting(backend, 1)
    await _let_go(foreign)
    assert (await alone).locked == frozenset()
    assert await path_of(store, frozen.job) == ["queued", "started", "custom:sent"]
    assert len(await store.logs(frozen.job)) == 1


async def test_steps_of_a_locked_job_are_kept_after_those_of_its_neighbours(
    backend: PostgresBackend, store: PostgresStore, foreign: asyncpg.Connection
) -> None:
    await enqueue_one(store), await enqueue_one(store)
    frozen, free = [claimed.lease for claimed in await claim(store)]
    await _lock(foreign, frozen.job)

    call = asyncio.create_task(
        store.keep_steps("a", [(frozen, done("x")), (free, done("y")), (frozen, done("z"))])
    )
    await until_waiting(backend, 1)
    assert await statuses(store, free.job) == {"y": "done"}, "committed, though the call still waits"
    checkpoints = asyncio.create_task(
        store.save_checkpoints("a", [(frozen, Document("1")), (free, Document("2"))])
    )
    await until_waiting(backend, 2)
    assert (await recalled(store, free)).checkpoint == "2"
    await _let_go(foreign)

    assert await call == [Keeping.KEPT] * 3
    assert await checkpoints == [True, True]
    assert list(await statuses(store, frozen.job)) == ["x", "z"]


async def test_a_step_that_waited_for_another_one_of_its_job_counts_both(
    backend: PostgresBackend, store: PostgresStore, second: PostgresStore, foreign: asyncpg.Connection
) -> None:
    """Two processes keep steps of one job, as a server and a worker may."""
    lease = await held(store)
    await _lock(foreign, lease.job)
    tasks = []
    for number, through in enumerate((store, second), 1):
        steps = [done("same"), done(f"own{number}")]
        tasks.append(asyncio.create_task(keep(through, lease, *steps)))
        await until_waiting(backend, number)
    await _let_go(foreign)
    assert [await task for task in tasks] == [[Keeping.KEPT] * 2] * 2
    assert list(await statuses(store, lease.job)) == ["same", "own1", "own2"]
    assert await backend.sql("SELECT steps, bytes FROM tenure.kept") == [(3, 3)]


async def test_a_wait_that_is_cancelled_meanwhile_ends_cancelled(
    backend: PostgresBackend, store: PostgresStore, second: PostgresStore, foreign: asyncpg.Connection
) -> None:
    """S0.24: the second statement sees that the job was asked to stop."""
    lease = await held(store)
    await _lock(foreign, lease.job)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        group.create_task(second.cancel([lease.job]))
        await until_waiting(backend, 1)
        suspending = group.create_task(store.suspend("a", [Suspension(lease, for_signal())]))
        await until_waiting(backend, 2)
        await _let_go(foreign)
    assert suspending.result() == {lease: State.CANCELLED}
    assert await backend.sql("SELECT * FROM tenure.timer") == []
