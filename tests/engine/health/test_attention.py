"""What needs an operator: each kind of trouble is named, the largest first, and calm is calm."""

from datetime import timedelta

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, ScheduledJob, ScheduleName
from tenure.engine.client.admission import Admission
from tenure.engine.client.quota import Quota
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.health import attention
from tenure.engine.health.attention import Attention, AttentionCheck, FailingQueue, LongestWait
from tenure.engine.health.checkup import examine
from tenure.engine.health.symptoms import symptoms_of
from tenure.engine.schedules.firer import Firer
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.schedules.schedules import Schedules
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, job_in, seconds

POST = Line("default", "post")


async def look(store: Store) -> Attention:
    return await AttentionCheck(store).look()


def is_calm(seen: Attention) -> bool:
    """Whether nothing needs attention; that jobs wait does not by itself."""
    named = (
        seen.paused,
        seen.unserved,
        seen.silent,
        seen.struggling,
        seen.aside,
        seen.schedules,
        seen.queues,
    )
    return not any(named) and not seen.overdue and not seen.dead.n


async def enlist(store: Store, id_: str, *lines: Line) -> None:
    await store.enlist(WorkerInfo(id=id_, host="here", pid=7, version="1", slots=4, lines=lines))


async def test_a_store_where_all_is_well_is_calm(store: Store) -> None:
    """Jobs wait, run and have ended, and a worker serves them."""
    assert is_calm(await look(store))
    await enlist(store, "w", MAIL)
    await enqueue_one(store)
    await job_in(store, State.SUCCEEDED)
    await job_in(store, State.RETRYING)
    seen = await look(store)
    assert (is_calm(seen), seen.oldest, seen.at) == (True, LongestWait(MAIL, START), START)


async def test_who_waits_where_nothing_is_claimed_is_named_with_the_pause(store: Store, clock: Clock) -> None:
    await enlist(store, "w", MAIL, POST, Line("slow", "mail"))
    await store.enqueue([NewJob(definition="mail"), NewJob(definition="post"), NewJob(definition="post")])
    await store.enqueue([NewJob(definition="mail", queue="slow")] * 4)
    for queue in ("default", "slow", "empty"):
        await store.pause(queue, by="ann", reason="storm")
    await clock.advance(seconds(5))
    await enqueue_one(store, queue="fast")
    seen = await look(store)
    assert [(held.queue, held.jobs, held.oldest, held.pause.reason) for held in seen.paused] == [
        ("slow", 4, START, "storm"),
        ("default", 3, START, "storm"),
    ]
    assert seen.oldest == LongestWait(Line("fast", "mail"), START + seconds(5))
    assert not is_calm(seen)


async def test_who_waits_for_nobody_is_named(store: Store) -> None:
    await enlist(store, "w", POST)
    await store.enqueue([NewJob(definition="mail"), NewJob(definition="post"), NewJob(definition="mail")])
    seen = await look(store)
    assert [(one.line, one.jobs, one.oldest) for one in seen.unserved] == [(MAIL, 2, START)]
    assert not is_calm(seen)


async def test_a_worker_that_fell_silent_is_named_until_it_is_forgotten(store: Store, clock: Clock) -> None:
    await enlist(store, "gone", MAIL)
    await enlist(store, "dismissed", MAIL)
    await store.dismiss("dismissed")
    await clock.advance(seconds(35))
    assert (await look(store)).silent == []
    await clock.advance(seconds(1))
    await enlist(store, "there", MAIL)
    seen = await look(store)
    assert [worker.worker.id for worker in seen.silent] == ["gone"]
    assert not is_calm(seen)


async def test_a_job_that_is_aside_is_named(store: Store, backend: Backend) -> None:
    await enlist(store, "w", MAIL)
    job = await enqueue_one(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    seen = await look(store)
    assert ([one.job for one in seen.aside], seen.aside_in_all) == ([job], 1)
    assert not is_calm(seen)


async def test_trouble_with_single_jobs_is_told(store: Store, clock: Clock) -> None:
    await job_in(store, State.FAILED)
    await enqueue_one(store)
    await claim(store, lease_for=seconds(1))
    await clock.advance(seconds(1))
    seen = await look(store)
    assert (seen.overdue, seen.dead, is_calm(seen)) == (1, Count(1), False)
    await store.reap(10)
    await claim(store)
    await clock.advance(timedelta(hours=1))
    await store.reap(10)
    await claim(store)
    seen = await look(store)
    assert (seen.overdue, seen.dead, is_calm(seen)) == (0, Count(0), True)


async def test_of_very_many_only_the_largest_are_named(store: Store) -> None:
    many = attention.MOST_NAMED + 5
    await store.enqueue(
        [NewJob(definition="mail", queue=f"q{n}") for n in range(many) for _ in range(1 + (n == 3))]
    )
    seen = await look(store)
    assert (len(seen.unserved), seen.unserved_in_all) == (attention.MOST_NAMED, many)
    assert (seen.unserved[0].line.queue, seen.unserved[0].jobs) == ("q3", 2)


async def test_one_look_serves_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "FRESH", 3600.0)
    check = AttentionCheck(store)
    first = await check.look()
    await enqueue_one(store)
    assert await check.look() is first


async def test_a_schedule_that_nothing_fires_or_that_makes_no_job_needs_a_person(
    store: Store, clock: Clock
) -> None:
    """The doctor and the overview say it in the same words, with the way out."""
    await save_definitions(store, [Spec(key="mail")], "test")
    admission = Admission(store, Registry())
    jobs = JobMaker(admission, Quota(store, 0))
    rule = Recurrence(every=seconds(3600), starts_at=START)
    schedules = Schedules(store, jobs)
    await schedules.create(NewSchedule(id="hourly", job=ScheduledJob(definition="mail"), recurrence=rule))
    gone = NewSchedule(id="gone", namespace="acme", job=ScheduledJob(definition="no.such"), recurrence=rule)
    await store.add_schedule(gone, next_at=rule.next_after(START))
    assert is_calm(await look(store))
    await clock.advance(seconds(3600 + 61))
    idle = [one for one in (await examine(store)).symptoms if one.kind.startswith("schedule")]
    assert [(one.kind, one.since) for one in idle] == [("schedule-idle", START + seconds(3600))] * 2
    await Firer(store, jobs, lambda _: None).fire_due()
    failed = [one for one in (await examine(store)).symptoms if one.kind.startswith("schedule")]
    assert [(one.kind, one.since, one.definition) for one in failed] == [
        ("schedule-failed", START + seconds(3600), "no.such")
    ]
    assert failed[0].what.startswith("the last tick of the schedule acme/gone made no job: ")
    assert "no.such" in failed[0].what
    assert failed[0].needs_person
    await store.pause_schedule(ScheduleName("acme", "gone"))
    assert (await look(store)).schedules == []


async def test_a_queue_from_which_workers_cannot_receive_is_told_until_they_can(
    store: Store, clock: Clock
) -> None:
    """Once for the queue, with the first problem; briefly it needs nobody. Whoever is gone counts no more."""
    for id_ in "abcd":
        await enlist(store, id_, MAIL)
        await store.note_receiver(id_, "https://sqs.example/1/jobs", None)
    assert is_calm(await look(store))
    for id_ in "ba":
        await clock.advance(seconds(5))
        await store.note_receiver(id_, "https://sqs.example/1/jobs", f"not {id_}")
    await store.dismiss("d")
    seen = await look(store)
    assert list(seen.queues) == [
        FailingQueue("https://sqs.example/1/jobs", START + seconds(5), 2, 3, "not b")
    ]
    [symptom] = [one for one in symptoms_of(seen) if one.kind == "messages-away"]
    assert (symptom.kind, symptom.since, symptom.needs_person) == (
        "messages-away",
        START + seconds(5),
        False,
    )
    assert symptom.what.startswith("2 of 3 workers on the message queue https://sqs.example/1/jobs cannot")
    assert symptom.what.endswith(": not b")
    assert "TENURE_SQS_QUEUE_URL" in symptom.cure

    await store.note_receiver("c", "https://sqs.example/1/jobs", "not c")
    await clock.advance(seconds(56))
    for id_ in "ab":
        await enlist(store, id_, MAIL)
    seen = await look(store)
    assert [(one.failing, one.workers) for one in seen.queues] == [(2, 2)]  # without the one that is silent
    [symptom] = [one for one in symptoms_of(seen) if one.kind == "messages-away"]
    assert symptom.needs_person

    for id_ in "ab":
        await store.note_receiver(id_, "https://sqs.example/1/jobs", None)
    assert (await look(store)).queues == []
