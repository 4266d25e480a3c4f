"""Why a job does not run: a limit is full, and the jobs that hold it are named to those who may know them."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.core.reports.why import WhyCode
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Overlap, ScheduledJob
from tenure.engine.client.limits import OperatorLimits
from tenure.storage.contract.store import Store
from tests.engine.explaining import also, serve, why
from tests.storage.clock import START
from tests.storage.verbs import claim, enqueue_one


async def test_limit_full_names_the_job_that_holds_it(store: Store) -> None:
    """One of a definition may run at once, and one does: the other does not wait for a slot."""
    await serve(store)
    [first] = await store.enqueue([NewJob(definition="mail", limits=(Limit("mail", "", 1),))])
    [second] = await store.enqueue([NewJob(definition="mail", limits=(Limit("mail", "", 1),))])
    await claim(store, limit=1)
    answer = await why(store, second.id)
    assert answer.code is WhyCode.LIMIT_FULL
    assert answer.sentence == (
        f"The limit mail is full: 1 of 1 held by job {first.id} (mail@1). "
        "It starts when that job ends, or after `tenure limits set mail 2`."
    )
    assert answer.since == START
    [limit] = answer.data.limits
    assert [holder.job for holder in limit.holders] == [first.id]
    assert also(answer) == [WhyCode.IN_LINE]


async def test_limit_full_does_not_name_jobs_of_other_namespaces(store: Store) -> None:
    """But it counts them, and names those of the caller's own."""
    limit = Limit("mail", "", 2)
    foreign = await enqueue_one(store, limits=(limit,), namespace="globex")
    own = await enqueue_one(store, limits=(limit,), namespace="acme")
    await claim(store, "secret-worker", limit=2)
    waiting = await enqueue_one(store, limits=(limit,), namespace="acme")
    answer = await why(store, waiting, namespace="acme")
    assert f"2 of 2 held by job {own} (mail@1) and 1 more job." in answer.sentence
    assert str(foreign) not in repr(answer)
    assert "secret-worker" not in repr(answer)
    other = await enqueue_one(store, limits=(limit,), namespace="initech")
    assert "2 of 2 held by 2 jobs." in (await why(store, other, namespace="initech")).sentence


async def test_limit_full_tells_the_key_as_the_job_brought_it(store: Store) -> None:
    *_, job = [
        await enqueue_one(store, limits=(Limit("mail", "ada", 1),), namespace="acme") for _ in range(2)
    ]
    await claim(store, limit=1)
    answer = await why(store, job)
    assert "The limit mail for key ada is full: 1 of 1" in answer.sentence
    assert "\x1f" not in answer.sentence


async def test_limit_full_names_three_and_counts_the_rest(store: Store) -> None:
    *_, job = [await enqueue_one(store, limits=(Limit("mail", "", 5),)) for _ in range(6)]
    await claim(store, limit=5)
    answer = await why(store, job)
    assert "5 of 5 held by job " in answer.sentence
    assert " and 2 more jobs." in answer.sentence
    assert len(answer.data.limits[0].holders) == 5


async def test_limit_full_of_a_schedule_names_the_schedule_and_no_limit(store: Store) -> None:
    """To make that limit larger would let the jobs of every schedule overlap."""
    limit = NewSchedule(
        id="nightly",
        job=ScheduledJob(definition="mail"),
        recurrence=Recurrence(cron="@daily", starts_at=START),
        overlap=Overlap.QUEUE,
    ).limit
    assert limit is not None
    first, second = [await enqueue_one(store, limits=(limit,), namespace="acme") for _ in range(2)]
    await claim(store, limit=1)
    answer = await why(store, second)
    assert answer.code is WhyCode.LIMIT_FULL
    assert answer.sentence == (
        f"Its schedule nightly runs one job at a time, and job {first} (mail@1) has not ended. "
        "It starts after that one; another `overlap` of the schedule counts for later ticks."
    )
    fenced = await why(store, second, namespace="globex")
    assert "and a job of an earlier tick has not ended" in fenced.sentence
    with pytest.raises(InvalidInput, match=r"limit: is for schedules .* give the schedule another overlap"):
        await OperatorLimits(store).resize(limit.name, 2)
    await OperatorLimits(store).resize(limit.name, 1)
