"""Effects in doubt: they are found whatever became of their jobs, and a person says whether they happened."""

from uuid import uuid4

import pytest

from tenure.core.model.durable import Answered, DoubtfulEffect, EffectAnswer, Keeping, StepStatus, Verdict
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    for_answer,
    happened,
    held,
    held_again,
    in_doubt,
    intended,
    keep,
    kept,
    say,
    statuses,
    suspend,
)
from tests.storage.verbs import claim, path_of, record_of, recoverable, seconds, settle, state_of, succeeded

ONE_ATTEMPT = Policy(max_attempts=1)
AT_ONCE = Retention(succeeded=seconds(0), others=seconds(0), keyed=seconds(0))


async def test_an_effect_under_way_is_not_in_doubt(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, intended())
    assert await store.effects_in_doubt() == []
    assert await say(store, lease.job) == Answered(Verdict.NOT_IN_DOUBT, State.RUNNING)
    assert await statuses(store, lease.job) == {"charge": "intended"}


@pytest.mark.parametrize(
    "way", ["failed", "buried", "cancelled", "retrying", "queued", "running", "suspended"]
)
async def test_an_effect_that_may_have_happened_is_found_whatever_became_of_its_job(
    store: Store, clock: Clock, way: str
) -> None:
    """S2.30: also where no later attempt will ever ask: that is what it is announced for."""
    policy = {"failed": ONE_ATTEMPT, "buried": Policy(on_lost=OnLost.BURY)}.get(way, Policy())
    lease = await held(store, policy=policy)
    await keep(store, lease, intended())
    since = clock.now
    if way == "cancelled":
        await store.cancel([lease.job])
    if way == "retrying":
        await settle(store, [recoverable(lease)])
    else:
        await clock.advance(seconds(31))
        await store.reap(10)
    if way in {"running", "suspended"}:
        again = await held_again(store)
        if way == "suspended":
            await suspend(store, again, for_answer())

    [effect] = await store.effects_in_doubt()

    assert effect == DoubtfulEffect(
        job=lease.job,
        namespace="default",
        definition="mail",
        queue="default",
        state=State(way),
        step="charge",
        since=since,
    )


async def test_they_are_found_by_namespace_and_by_job_the_oldest_first(
    store: Store, backend: Backend
) -> None:
    first = await in_doubt(store, backend, namespace="one", policy=ONE_ATTEMPT)
    second = await in_doubt(store, backend, namespace="two", policy=ONE_ATTEMPT)

    async def found(**which: object) -> list[object]:
        return [effect.job for effect in await store.effects_in_doubt(**which)]  # type: ignore[arg-type]

    assert await found() == [first, second]
    assert await found(limit=1) == [first]
    assert await found(namespace="two") == [second]
    assert await found(job=first) == [first]
    assert await found(job=first, namespace="two") == []
    assert await found(namespace="three") == []


async def test_the_job_that_waits_for_the_answer_goes_on(store: Store, backend: Backend) -> None:
    job = await in_doubt(store, backend)
    await suspend(store, await held_again(store), for_answer())

    assert await say(store, job, result=Document('{"id":7}')) == Answered(Verdict.RESUMED, State.QUEUED)

    [step] = await kept(store, job)
    assert (step.status, step.body, step.size) == (StepStatus.DONE, '{"id":7}', 8)
    assert (step.answered_by, step.at) == ("ann", backend.clock.now)
    event = (await store.events(job))[-1]
    assert (event.type, event.actor) == ("resumed", "ann")
    assert len(await claim(store)) == 1
    assert await store.effects_in_doubt() == []


async def test_one_that_did_not_happen_may_be_tried_again(store: Store, backend: Backend) -> None:
    """And its history says nothing of a doubt that was cleared."""
    job = await in_doubt(store, backend)
    await suspend(store, await held_again(store), for_answer())
    assert await say(store, job, happened=False) == Answered(Verdict.RESUMED, State.QUEUED)
    assert await statuses(store, job) == {"charge": "cleared"}
    lease = await held_again(store)
    assert await keep(store, lease, intended()) == [Keeping.KEPT]
    assert await keep(store, lease, happened()) == [Keeping.KEPT]
    [step] = await kept(store, job)
    assert (step.status, step.answered_by) == (StepStatus.DONE, None)
    assert "custom:in_doubt" not in await path_of(store, job)


async def test_an_answer_about_a_finished_job_is_recorded(store: Store, backend: Backend) -> None:
    job = await in_doubt(store, backend, policy=ONE_ATTEMPT)
    before = await record_of(store, job)
    assert await say(store, job) == Answered(Verdict.RECORDED, State.FAILED)
    assert await record_of(store, job) == before
    assert await statuses(store, job) == {"charge": "done"}
    assert await store.effects_in_doubt() == []


async def test_an_answer_while_another_attempt_runs_is_recorded(store: Store, backend: Backend) -> None:
    job = await in_doubt(store, backend)
    lease = await held_again(store)
    assert await say(store, job) == Answered(Verdict.RECORDED, State.RUNNING)
    assert await keep(store, lease, intended()) == [Keeping.DIFFERS], "it happened: nobody does it again"


async def test_the_same_answer_again_is_no_error_and_another_is_one(store: Store, backend: Backend) -> None:
    job = await in_doubt(store, backend)
    await say(store, job, result=Document("1"))
    assert await say(store, job, result=Document("1")) == Answered(Verdict.REPEATED, State.QUEUED)
    assert (await say(store, job, result=Document("2"))).verdict is Verdict.NOT_IN_DOUBT
    assert (await say(store, job, happened=False)).verdict is Verdict.NOT_IN_DOUBT
    assert [step.body for step in await kept(store, job)] == ["1"]


async def test_only_an_effect_can_be_in_doubt(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, happened())
    await settle(store, [succeeded(lease)])
    assert (await say(store, lease.job)).verdict is Verdict.NOT_IN_DOUBT
    assert (await say(store, lease.job, step="other")).verdict is Verdict.NOT_IN_DOUBT
    assert await store.answer(uuid4(), EffectAnswer(step="charge", happened=True, by="ann")) is None


async def test_an_answer_resumes_no_job_that_waits_for_something_else(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await keep(store, lease, intended("a"), intended("b"))
    await suspend(store, lease, for_answer("a"))
    assert await say(store, lease.job, step="b") == Answered(Verdict.RECORDED, State.SUSPENDED)
    assert await state_of(store, lease.job) is State.SUSPENDED
    assert await backend.sql("SELECT bytes FROM tenure.kept") == [(4,)]


async def test_a_job_whose_effect_is_in_doubt_is_not_pruned(store: Store, backend: Backend) -> None:
    """Nobody has said yet whether it happened."""
    job = await in_doubt(store, backend, policy=ONE_ATTEMPT)
    await backend.clock.advance(seconds(1))
    assert (await store.prune(AT_ONCE)).jobs == 0
    await say(store, job)
    assert (await store.prune(AT_ONCE)).jobs == 1
    for table in ("step", "kept"):
        assert await backend.sql(f"SELECT * FROM tenure.{table}") == []
