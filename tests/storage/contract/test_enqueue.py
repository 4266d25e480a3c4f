"""Enqueueing: how a job is born, and that jobs are recorded exactly, in order, all or none."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput, StoreRefused
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, count, enqueue_one, found, record_of, seconds, state_of

KIBIBYTE = 1024


async def test_a_job_with_no_time_of_its_own_is_queued_at_once(store: Store) -> None:
    """S0.13, S2.5, S4.2: eligible, owned by nobody."""
    [born] = await store.enqueue([NewJob(definition="mail")])
    job = await found(store, born.id)

    assert (born.state, born.fresh, born.matches) == (State.QUEUED, True, True)
    assert (job.state, job.queued_at, job.worker) == (State.QUEUED, START, None)
    assert [owned.lease.job for owned in await claim(store)] == [born.id]


async def test_a_delayed_job_is_scheduled_and_not_eligible_before_its_time(
    store: Store, clock: Clock
) -> None:
    """S4.3: delayed until its time has come."""
    [born] = await store.enqueue([NewJob(definition="mail", delay=seconds(60))])
    job = await found(store, born.id)
    assert (born.state, job.state) == (State.SCHEDULED, State.SCHEDULED)
    assert (job.run_at, job.due_at, job.queued_at) == (START + seconds(60), START + seconds(60), None)

    await clock.advance(seconds(59))
    assert await store.promote(10) == []
    assert await claim(store) == []


async def test_a_job_with_a_time_ahead_keeps_it_to_the_microsecond(store: Store) -> None:
    at = datetime(2031, 5, 6, 7, 8, 9, 123457, tzinfo=timezone(timedelta(hours=-3)))
    job = await found(store, await enqueue_one(store, run_at=at))
    assert (job.state, job.run_at, job.due_at) == (State.SCHEDULED, at, at)


@pytest.mark.parametrize("run_at", [START, START - timedelta(days=400), datetime(1970, 1, 1, tzinfo=UTC)])
async def test_a_time_that_is_not_ahead_means_now(store: Store, run_at: datetime) -> None:
    job = await found(store, await enqueue_one(store, run_at=run_at))
    assert (job.state, job.run_at, job.queued_at) == (State.QUEUED, run_at, START)


@pytest.mark.parametrize(
    "run_at",
    [
        datetime.max.replace(tzinfo=UTC),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
    ],
)
async def test_a_time_beyond_the_calendar_is_refused(
    store: Store, backend: Backend, run_at: datetime
) -> None:
    with pytest.raises(InvalidInput):
        await enqueue_one(store, run_at=run_at)
    assert await count(backend, "tenure.job") == 0


async def test_a_delay_of_nothing_means_now(store: Store) -> None:
    assert await state_of(store, await enqueue_one(store, delay=seconds(0))) is State.QUEUED


@pytest.mark.parametrize("requested", [{}, {"delay": seconds(60)}, {"run_at": START - seconds(1)}])
async def test_a_held_job_is_created_and_stays_so_whatever_the_time(
    store: Store, clock: Clock, requested: dict[str, Any]
) -> None:
    """S0.12, S4.1: stored, not eligible, and no clock or worker moves it on."""
    [born] = await store.enqueue([NewJob(definition="mail", hold=True, **requested)])
    assert born.state is State.CREATED

    await clock.advance(timedelta(days=4000))
    assert await store.promote(10) == []
    assert await store.reap(10) == []
    assert await claim(store) == []
    assert await state_of(store, born.id) is State.CREATED


async def test_a_held_job_is_safe_when_its_maker_is_gone(
    store: Store, other: Store, backend: Backend
) -> None:
    """S0.27: recorded, not run early, and the client may ask again without releasing it."""
    requested = NewJob(definition="mail", key="order-1", hold=True)
    [first] = await other.enqueue([requested])
    await other.close()

    [again] = await store.enqueue([NewJob(definition="mail", key="order-1")])
    assert (again.id, again.fresh, again.state) == (first.id, False, State.CREATED)
    assert await claim(store) == []
    assert await count(backend, "tenure.job") == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"name":"Žofie Ω 漢字 👩‍👩‍👧 \\ud83d\\ude00","empty":"","n":[1.0,-0,1e3,9007199254740993]}',
        '{ "b" : 1,\n\t"a" : "line\u2028separator" }',
        "[]",
        '"only words"',
        "null",
    ],
)
async def test_params_come_back_letter_by_letter(store: Store, text: str) -> None:
    job = await enqueue_one(store, params=Document(text))
    assert (await found(store, job)).params == text
    [owned] = await claim(store)
    assert owned.params == text


async def test_params_of_256_kibibytes_come_back_whole(store: Store) -> None:
    text = '{"body":"' + "č" * (128 * KIBIBYTE - 6) + 'x"}'
    assert len(text.encode()) == 256 * KIBIBYTE
    assert (await found(store, await enqueue_one(store, params=Document(text)))).params == text


async def test_the_promise_is_copied_with_the_job(store: Store) -> None:
    retry = RetryPolicy(
        base=seconds(2), cap=seconds(99), retry_on=("app.Late",), fatal_on=("app.Gone", "é.Ü")
    )
    promised = Policy(max_attempts=7, timeout=seconds(90), grace=timedelta(milliseconds=1500), retry=retry)
    job = await enqueue_one(store, policy=promised)
    assert (await found(store, job)).policy == promised
    [owned] = await claim(store)
    assert owned.policy == promised


async def test_a_job_that_must_not_run_twice_has_one_attempt(store: Store) -> None:
    job = await enqueue_one(store, policy=Policy(max_attempts=5, on_lost=OnLost.BURY))
    policy = (await found(store, job)).policy
    assert (policy.on_lost, policy.max_attempts) == (OnLost.BURY, 1)


async def test_nothing_asked_is_nothing_done(store: Store, backend: Backend) -> None:
    assert await store.enqueue([]) == []
    assert await count(backend, "tenure.job") == 0


async def test_answers_come_in_the_order_asked(store: Store) -> None:
    requested = [NewJob(definition=f"d{n % 7}", priority=50 - n, hold=n % 3 == 0) for n in range(100)]
    answers = await store.enqueue(requested)
    for new, answer in zip(requested, answers, strict=True):
        job = await found(store, answer.id)
        assert (job.definition, job.priority, job.state) == (new.definition, new.priority, answer.state)


async def test_ten_thousand_are_recorded_in_one_call(store: Store, backend: Backend) -> None:
    answers = await store.enqueue([NewJob(definition="mail")] * LARGEST_BATCH)
    assert len({answer.id for answer in answers if answer.fresh}) == LARGEST_BATCH
    assert await count(backend, "tenure.job_state") == LARGEST_BATCH
    assert await count(backend, "tenure.ready") == LARGEST_BATCH


async def test_one_more_than_ten_thousand_is_refused_and_nothing_is_written(
    store: Store, backend: Backend
) -> None:
    with pytest.raises(InvalidInput):
        await store.enqueue([NewJob(definition="mail")] * (LARGEST_BATCH + 1))
    assert await count(backend, "tenure.job") == 0


async def test_the_store_makes_ids_that_grow(store: Store) -> None:
    """S0.28: a UUID, of version 7, names the job."""
    ids = [(await store.enqueue([NewJob(definition="mail")] * 50))[n].id for n in (0, 24, 49)]
    ids += [await enqueue_one(store) for _ in range(20)]
    many = [answer.id for answer in await store.enqueue([NewJob(definition="mail")] * 500)]
    assert {each.version for each in [*ids, *many]} == {7}
    assert many == sorted(set(many))
    assert ids[3:] == sorted(set(ids[3:]))


async def test_an_id_made_by_the_caller_is_kept(store: Store) -> None:
    mine = [uuid4(), UUID(int=1), UUID(int=2**128 - 1)]
    answers = await store.enqueue([NewJob(definition="mail", id=each) for each in mine])
    assert [answer.id for answer in answers] == mine
    assert [(await found(store, each)).id for each in mine] == mine


async def test_an_id_that_is_taken_answers_with_its_job(store: Store, backend: Backend) -> None:
    """S3.27: a caller that made the id itself may ask again when the answer was lost."""
    taken = uuid4()
    mine = NewJob(definition="mail", id=taken, params=Document('{"to":"a"}'))
    await store.enqueue([mine])
    before = await record_of(store, taken)
    assert await store.enqueue([mine]) == [Enqueued(taken, State.QUEUED, fresh=False, matches=True)]

    unlike = NewJob(definition="mail", id=taken, params=Document('{"to":"b"}'))
    assert await store.enqueue([unlike]) == [Enqueued(taken, State.QUEUED, fresh=False, matches=False)]
    assert await record_of(store, taken) == before
    assert await count(backend, "tenure.job") == 1


async def test_one_id_twice_in_one_call_makes_one_job(store: Store, backend: Backend) -> None:
    twin = NewJob(definition="mail", id=uuid4())
    assert [answer.fresh for answer in await store.enqueue([twin, twin])] == [True, False]
    assert await count(backend, "tenure.job") == await count(backend, "tenure.ready") == 1


async def test_a_call_that_fails_half_way_writes_nothing(store: Store, backend: Backend) -> None:
    """S3.25: all or none, and the next call is not harmed."""
    await enqueue_one(store)
    tables = [f"tenure.{name}" for name in ("job", "job_state", "event", "ready", "timer")]
    await backend.sql(
        "INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq + 10, job FROM tenure.ready"
    )
    before = [await count(backend, table) for table in tables]

    with pytest.raises(StoreRefused):
        await store.enqueue([NewJob(definition="mail", hold=n % 2 == 0) for n in range(40)])
    assert [await count(backend, table) for table in tables] == before
    assert await state_of(store, await enqueue_one(store, "another")) is State.QUEUED


async def test_what_was_answered_is_on_record_for_everybody(store: Store, other: Store) -> None:
    """S3.24, S3.28: when the answer comes, the job is durable."""
    for n in range(20):
        job = await enqueue_one(store, priority=n)
        assert (await found(other, job)).priority == n


async def test_jobs_are_taken_in_while_every_worker_is_gone(store: Store, clock: Clock) -> None:
    """S3.27: admission does not need workers; what comes in waits for them."""
    await enqueue_one(store)
    await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(timedelta(days=1))

    answers = await store.enqueue([NewJob(definition="mail")] * 10)
    assert {answer.state for answer in answers} == {State.QUEUED}
    assert len(await claim(store, worker="b")) == 10
