"""Enqueueing while another process enqueues: one key makes one job, and a late commit is not overlooked."""

import asyncio
from uuid import UUID

import pytest

from tenure.core.errors import StoreBusy
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.races.blocked_processes import PATIENCE, is_waiting
from tests.storage.races.record_check import faults
from tests.storage.races.requests import enqueues
from tests.storage.races.two_processes import Done, Stage
from tests.storage.verbs import claim, count
from tests.until import until

KEYED = enqueues([NewJob(definition="mail", key="k")])
PLAIN = enqueues([NewJob(definition="mail")])

on_postgres = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)


async def seen_waiting(stage: Stage) -> "asyncio.Task[Done]":
    """Bob's call with the key, seen waiting for Alice's; if it fails as busy meanwhile, he repeats it."""
    waiting = asyncio.create_task(stage.bob.ask(KEYED))

    async def is_seen() -> bool:
        nonlocal waiting
        if waiting.done():
            assert isinstance(waiting.result().answer, StoreBusy)
            waiting = asyncio.create_task(stage.bob.ask(KEYED))
        return await is_waiting(stage.backend, stage.bob, behind=stage.alice)

    await until(is_seen)
    return waiting


async def repeat_if_busy(stage: Stage, waiting: "asyncio.Task[Done]") -> tuple[Enqueued, ...]:
    """Bob's answer; on PostgreSQL his call may have failed as busy, and then it is that to the next call."""
    answer = (await waiting).answer
    if isinstance(answer, StoreBusy):
        assert stage.backend.kind == "postgres"
        answer = (await stage.bob.ask(KEYED)).answer
    assert isinstance(answer, tuple)
    return answer


async def test_a_second_request_for_a_key_waits_for_the_first_and_has_its_job(stage: Stage) -> None:
    """Both get the same job, one of them as fresh; there is one."""
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(KEYED)
        waiting = await seen_waiting(stage)
        stage.alice.go()
        [first] = (await stage.alice.done()).answer
        [second] = await repeat_if_busy(stage, waiting)

    assert first.fresh
    assert second == Enqueued(first.id, State.QUEUED, fresh=False)
    assert await count(stage.backend, "tenure.job") == 1
    assert await faults(stage.backend) == []


async def test_a_second_request_for_a_key_is_put_off_while_the_first_stays_open(stage: Stage) -> None:
    """PostgreSQL does not wait for ever: it answers while the key is still held, and has written nothing."""
    [first], second = await stage.meet(KEYED, KEYED, passes=True)

    if stage.backend.kind == "postgres":
        assert isinstance(second, StoreBusy)
    else:
        assert second == (Enqueued(first.id, State.QUEUED, fresh=False),)
    assert (await stage.bob.ask(KEYED)).answer == (Enqueued(first.id, State.QUEUED, fresh=False),)
    assert await count(stage.backend, "tenure.job") == 1


async def test_a_key_is_free_again_when_its_first_request_comes_to_nothing(stage: Stage) -> None:
    """The call that waited makes the job: the first one ended without a commit, and so without a trace."""
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(KEYED)
        waiting = await seen_waiting(stage)
        stage.alice.leave()
        [second] = await repeat_if_busy(stage, waiting)

    assert second.fresh
    assert await count(stage.backend, "tenure.job") == 1
    assert await faults(stage.backend) == []


async def a_late_commit(store: Store, stage: Stage) -> UUID:
    """A job that took its place in line first and is committed last, after a claim has passed it."""
    await stage.alice.hold(PLAIN)
    [early] = (await stage.bob.ask(PLAIN)).answer
    assert [one.lease.job for one in await claim(store, limit=1)] == [early.id]
    stage.alice.go()
    [late] = (await stage.alice.done()).answer
    in_line = await stage.backend.sql("SELECT id FROM tenure.job_state ORDER BY seq")
    assert in_line == [(late.id,), (early.id,)]
    return UUID(str(late.id))


@on_postgres
async def test_a_job_committed_late_is_found_by_who_has_passed_its_place(store: Store, stage: Stage) -> None:
    """A short claim makes a look-up due: the next claim of the same store gets the job."""
    late = await a_late_commit(store, stage)
    claimed = [one.lease.job for _ in range(2) for one in await claim(store, limit=1)]
    assert claimed == [late]


@on_postgres
async def test_a_job_committed_late_is_found_though_others_keep_coming(
    store: Store, stage: Stage, backend: Backend
) -> None:
    """Claims that are never short are followed by a look-up too, from time to time."""
    late = await a_late_commit(store, stage)
    claimed: list[UUID] = []
    async with asyncio.timeout(PATIENCE):
        while late not in claimed:
            await stage.bob.ask(PLAIN)
            [one] = await claim(store, limit=1)
            claimed.append(one.lease.job)
    assert await faults(backend) == []
