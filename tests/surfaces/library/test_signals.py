"""What a program tells jobs by the library: signals, and answers about effects."""

import asyncio

import pytest

from tenure import InvalidInput, JobEnded, JobNotFound, NotInDoubt, SignalDiffers, State, Tenure
from tenure.storage.contract.store import Store
from tests.storage.progress import asking, in_doubt, many_steps, waiting
from tests.storage.verbs import job_in
from tests.surfaces.store_behind import NOBODY


async def test_a_signal_resumes_the_job_that_waits_for_it(app: Tenure, store: Store) -> None:
    """Sent again it changes nothing, by whichever of the four ways it comes."""
    job = await waiting(store)
    payload = {"by": "ann", "parts": [1, 2]}
    assert await app.signal(job, "approved", payload) is State.QUEUED
    assert await app.handle(job).signal("approved", payload) is State.QUEUED
    assert await asyncio.to_thread(app.signal_sync, str(job), "approved", payload) is State.QUEUED
    assert await asyncio.to_thread(app.handle(job).signal_sync, "approved", payload) is State.QUEUED
    [kept] = await store.signals(job)
    assert (kept.name, kept.by, kept.body) == ("approved", "library", '{"by":"ann","parts":[1,2]}')
    with pytest.raises(SignalDiffers, match="was sent the signal 'approved' before with another payload"):
        await app.signal(job, "approved")


async def test_a_signal_that_cannot_be_kept_is_an_error_that_says_why(app: Tenure, store: Store) -> None:
    ended = await job_in(store, State.FAILED)
    with pytest.raises(JobEnded, match=f"job {ended} has ended already: it is failed") as error:
        await app.signal(ended, "approved")
    assert error.value.state is State.FAILED
    with pytest.raises(JobNotFound):
        await app.signal(NOBODY, "approved")
    job = await waiting(store)
    for name, payload, field in (("a#b", None, "name"), ("approved", {1, 2}, "document")):
        with pytest.raises(InvalidInput) as refused:
            await app.signal(job, name, payload)
        assert refused.value.field == field
    assert await store.signals(job) == []


async def test_an_answer_ends_the_doubt_about_an_effect(app: Tenure, store: Store) -> None:
    job, dead = await asking(store), await in_doubt(store, "refund")
    handle = app.handle(job)
    assert await handle.answer("charge", happened=True, result={"id": 7}) is State.QUEUED
    [step] = await handle.steps()
    assert (step.name, step.status, step.body) == ("charge", "done", {"id": 7})
    assert await asyncio.to_thread(app.handle(dead).answer_sync, "refund", happened=False) is State.FAILED
    assert [one.status for one in await asyncio.to_thread(app.handle(dead).steps_sync)] == ["cleared"]
    with pytest.raises(NotInDoubt, match="has no effect 'charge' in doubt"):
        await handle.answer("charge", happened=False)
    with pytest.raises(JobNotFound):
        await app.handle(NOBODY).steps()


async def test_every_step_is_told_in_its_order_however_many_there_are(app: Tenure, store: Store) -> None:
    """One call for all of them, though the store gives them in parts."""
    job = await many_steps(store, 450)
    steps = await app.handle(job).steps()
    assert [step.name for step in steps] == [f"part {n}" for n in range(450)]
    assert [step.body for step in steps] == list(range(450))
