"""Enqueueing while another process is at it: one key makes one job, and a late commit is not overlooked."""

import asyncio
from uuid import UUID

import pytest

from tenure.core.errors import StoreBusy
from tenure.core.job import Enqueued, NewJob
from tenure.core.states import State
from tenure.storage.contract import Store
from tests.storage.backends import Backend
from tests.storage.races.asked import enqueues
from tests.storage.races.records import faults
from tests.storage.races.seeing import PATIENCE, is_waiting
from tests.storage.races.stage import Done, Stage
from tests.storage.telling import claim, count

KEYED = enqueues([NewJob(definition="mail", key="k")])
PLAIN = enqueues([NewJob(definition="mail")])

on_postgres = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)


async def seen_waiting(stage: Stage) -> "asyncio.Task[Done]":
    """Bob's request for the key, seen waiting for Alice's; where he is put off meanwhile, he asks again."""
    asking = asyncio.create_task(stage.bob.ask(KEYED))
    while not await is_waiting(stage.backend, stage.bob, behind=stage.alice):
        if asking.done():
            assert isinstance(asking.result().answer, StoreBusy)
            asking = asyncio.create_task(stage.bob.ask(KEYED))
    return asking


async def asked_again_if_busy(stage: Stage, asking: "asyncio.Task[Done]") -> tuple[Enqueued, ...]:
    """Bob's answer; on PostgreSQL he may have been put off, and then it is the answer to the next request."""
    answer = (await asking).answer
    if isinstance(answer, StoreBusy):
        assert stage.backend.kind == "postgres"
        answer = (await stage.bob.ask(KEYED)).answer
    assert isinstance(answer, tuple)
    return answer


async def test_a_second_request_for_a_key_waits_for_the_first_and_has_its_job(stage: Stage) -> None:
    """Both are told of the same job, one of them that it made it; there is one."""
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(KEYED)
        asking = await seen_waiting(stage)
        stage.alice.go()
        [first] = (await stage.alice.done()).answer
        [second] = await asked_again_if_busy(stage, asking)

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
    """Whoever waited makes the job: the first one left without a commit, and so without a trace."""
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(KEYED)
        asking = await seen_waiting(stage)
        stage.alice.leave()
        [second] = await asked_again_if_busy(stage, asking)

    assert second.fresh
    assert await count(stage.backend, "tenure.job") == 1
    assert await faults(stage.backend) == []


async def a_late_commit(store: Store, stage: Stage) -> UUID:
    """A job that took its place in line first and is committed last, behind the back of a claim."""
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
    """A claim that comes back short looks again: the next one has the job, by the same store."""
    late = await a_late_commit(store, stage)
    claimed = [one.lease.job for _ in range(2) for one in await claim(store, limit=1)]
    assert claimed == [late]


@on_postgres
async def test_a_job_committed_late_is_found_though_others_keep_coming(
    store: Store, stage: Stage, backend: Backend
) -> None:
    """Claims that never come back short look again too, from time to time."""
    late = await a_late_commit(store, stage)
    claimed: list[UUID] = []
    async with asyncio.timeout(PATIENCE):
        while late not in claimed:
            await stage.bob.ask(PLAIN)
            [one] = await claim(store, limit=1)
            claimed.append(one.lease.job)
    assert await faults(backend) == []
