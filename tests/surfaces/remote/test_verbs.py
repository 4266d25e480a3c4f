"""What a client can ask for, by either kind of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import use_span

from tenure import (
    AsyncClient,
    Client,
    Conflict,
    InvalidInput,
    JobBuried,
    JobCancelled,
    JobFailed,
    NotFound,
    Refused,
    RemoteEvent,
    RemoteJob,
    State,
)
from tenure.core.model.job import NewJob
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage.clock import START
from tests.storage.verbs import claim, enqueue_one, fed, found, job_in, settle, succeeded, unrecoverable
from tests.surfaces.http.http_server import Api
from tests.surfaces.remote.restartable_server import open_client
from tests.surfaces.store_behind import NOBODY


@pytest.fixture
async def client(api: Api, kind: str) -> AsyncIterator[Any]:
    async with open_client(kind, api.server.url) as client:
        yield client


async def test_a_job_is_created_as_it_was_asked_for(client: Any, store: Store) -> None:
    """S1.47, S1.48: each option reaches the job, in the words of the library."""
    at = START + timedelta(days=1)
    asked: dict[str, Any] = {"priority": 7, "queue": "slow", "max_attempts": 9, "tags": ("x", "y")}
    made = await client.create("bill", {"n": 1}, run_at=at, timeout=timedelta(minutes=2), version=1, **asked)
    job = await found(store, made.job_id)
    assert made.status is job.state is State.SCHEDULED
    assert (job.definition, job.version, job.params) == ("bill", 1, '{"n":1}')
    assert (job.priority, job.queue, job.tags, job.run_at) == (7, "slow", ("x", "y"), at)
    assert (job.policy.max_attempts, job.policy.timeout) == (9, timedelta(minutes=2))
    assert job.key is not None

    later = await client.create("bill", delay=timedelta(hours=1))
    held = await client.create("bill", hold=True)
    assert (later.status, held.status) == (State.SCHEDULED, State.CREATED)
    assert await client.release(held) is State.QUEUED


async def test_a_job_that_waits_is_moved_or_run_now(client: Any, store: Store) -> None:
    later = await client.create("bill", delay=timedelta(hours=1))
    at = datetime(2035, 1, 31, tzinfo=UTC)
    assert await client.reschedule(later, run_at=at) is State.SCHEDULED
    assert (await client.get(later)).scheduled_at == at
    assert await client.reschedule(later, delay=7200) is State.SCHEDULED
    assert await client.run_now(later) is State.SCHEDULED
    assert [step.job for step in await store.promote(10)] == [later.job_id]
    with pytest.raises(Conflict) as refused:
        await client.run_now(later)
    assert refused.value.problem.job_status is State.QUEUED
    for wrong in ({}, {"run_at": at.replace(tzinfo=None)}, {"delay": -1}):
        with pytest.raises(InvalidInput):
            await client.reschedule(later, **wrong)
    with pytest.raises(NotFound):
        await client.run_now(NOBODY)


async def test_a_key_of_the_caller_s_own_names_one_job(client: Any) -> None:
    """S0.41: in one call and in the next; for something else it is refused."""
    first = await client.create("mail", {"to": "ada"}, idempotency_key="k")
    assert await client.create("mail", {"to": "ada"}, idempotency_key="k") == first
    with pytest.raises(Refused) as refused:
        await client.create("mail", {"to": "eve"}, idempotency_key="k")
    assert (refused.value.kind, refused.value.status) == ("idempotency-key-reused", 422)


async def test_without_a_key_each_call_is_a_job(client: Any) -> None:
    assert await client.create("mail") != await client.create("mail")
    assert await client.create_many([]) == []


async def test_a_job_is_shown_with_its_documents(client: Any, store: Store) -> None:
    """S1.49."""
    made = await client.create("mail", {"to": "ada"})
    await settle(store, [succeeded(owned, '{"sent":[1,2]}') for owned in await claim(store)])
    for named in (made, made.job_id, str(made.job_id)):
        shown = await client.get(named)
        assert isinstance(shown, RemoteJob)
        assert (shown.status, shown.params, shown.result) == (
            State.SUCCEEDED,
            {"to": "ada"},
            {"sent": [1, 2]},
        )
    with pytest.raises(NotFound) as unknown:
        await client.get(NOBODY)
    assert unknown.value.request_id in str(unknown.value)


async def test_who_waits_gets_what_the_handler_returned(client: Any, store: Store) -> None:
    made = await client.create("mail", {"to": "ada"})
    waiting = asyncio.create_task(client.wait(made))
    [owned] = await claim(store)
    await settle(store, [succeeded(owned, '{"sent":1}')])
    assert await waiting == {"sent": 1}
    assert await client.wait(made, timeout=0) == {"sent": 1}


async def test_who_waits_is_told_how_else_it_ended(client: Any, store: Store) -> None:
    """As the library tells it: by the same errors, with the same words."""
    failed = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned)])
    with pytest.raises(JobFailed) as error:
        await client.wait(failed)
    job = await found(store, failed)
    assert job.error is not None
    assert error.value.error is not None
    assert (error.value.error.kind, error.value.error.message) == (job.error.kind, job.error.message)
    assert str(error.value) == str(JobFailed(failed, "mail", job.error))
    with pytest.raises(JobCancelled, match="was cancelled"):
        await client.wait(await job_in(store, State.CANCELLED))
    with pytest.raises(JobBuried, match="its worker was lost or stopped"):
        await client.wait(await job_in(store, State.BURIED))


async def test_who_waits_for_too_long_is_told_so_and_the_job_goes_on(client: Any) -> None:
    made = await client.create("mail")
    for timeout in (0, 0.3):
        text = f"{made.job_id} has not ended in time; it continues. Nobody runs mail@1."
        with pytest.raises(TimeoutError, match=text):
            await client.wait(made, timeout=timeout)
    assert (await client.get(made)).status is State.QUEUED


async def test_why_a_job_does_not_run_is_told(client: Any, store: Store) -> None:
    why = await client.why(await client.create("mail", hold=True))
    assert (why.code, why.data.workers.serving) == ("held", 0)
    assert [one.code for one in why.data.also] == ["unserved-definition"]
    with pytest.raises(NotFound):
        await client.why(NOBODY)


async def test_a_list_goes_on_over_its_pages(client: Any, store: Store) -> None:
    """S1.51: each job once, the newest first unless asked otherwise, narrowed by what is given."""
    made = await store.enqueue([NewJob(definition="mail", queue=f"q{n % 2}") for n in range(450)])
    ids = [one.id for one in made]
    assert [job.job_id async for job in client.list(newest_first=False)] == ids
    assert [job.job_id async for job in client.list(queue="q1")] == ids[1::2][::-1]
    assert await client.cancel(ids[3]) is State.CANCELLED
    assert [job.job_id async for job in client.list(status=["cancelled", State.FAILED])] == [ids[3]]
    assert [job.job_id async for job in client.list(definition="bill", tag="x")] == []
    now = datetime.now(UTC)
    assert [job async for job in client.list(created_after=now, created_before=now)] == []


async def test_a_job_that_has_ended_is_not_cancelled(client: Any, store: Store) -> None:
    ended = await job_in(store, State.SUCCEEDED)
    with pytest.raises(Conflict) as conflict:
        await client.cancel(ended, "too late")
    assert (conflict.value.kind, conflict.value.problem.job_status) == ("job-terminal", State.SUCCEEDED)
    assert not conflict.value.in_doubt


async def test_a_finished_job_is_replayed(client: Any, store: Store) -> None:
    ended = await client.create("mail", {"to": "ada"})
    await settle(store, [succeeded(owned) for owned in await claim(store)])
    first = await client.replay(ended, params={"to": "eve"}, key="again")
    assert await client.replay(ended, key="again") == first
    assert (await client.get(first)).params == {"to": "eve"}
    assert (await client.replay(ended)).job_id == first.job_id
    assert (await client.replay(ended, force=True)).job_id != first.job_id


async def test_the_events_of_a_job_are_told_until_it_has_ended(client: Any, store: Store) -> None:
    """S1.52: from its beginning, or from behind one of them."""
    made = await client.create("mail", {"to": "ada"})
    following = client.events(made)
    seen = [await anext(following)]
    await settle(store, [succeeded(owned) for owned in await claim(store)])
    seen += [event async for event in following]
    assert [event.type for event in seen] == ["queued", "started", "succeeded"]
    assert [(event.job_id, event.n) for event in seen] == [(made.job_id, n) for n in (1, 2, 3)]
    assert [event async for event in client.events(made, after=seen[0].position)] == seen[1:]
    assert [event async for event in client.events(made, after=seen[-1].position)] == []


async def test_the_events_of_all_jobs_are_narrowed(client: Any, store: Store) -> None:
    """S1.72: with what each job is of, and where to go on."""
    await store.cancel([await enqueue_one(store, queue=queue) for queue in ("slow", "default")])
    wanted = [entry for entry in await fed(store, 4) if entry.event.type == "queued"]
    async with aclosing(client.events(after="0", types=["queued"], definition="mail")) as following:
        seen: list[RemoteEvent] = [await anext(following) for _ in wanted]
    assert [(event.job_id, event.queue) for event in seen] == [
        (entry.event.job, entry.line.queue) for entry in wanted
    ]
    async with aclosing(client.events(after=seen[0].position, queue=seen[1].queue)) as following:
        assert (await anext(following)).queue == seen[1].queue


async def test_queues_and_workers_are_shown(client: Any, store: Store) -> None:
    await client.create("mail", queue="slow")
    await store.enlist(WorkerInfo(id="w", host="h", pid=1, version="1", slots=2, lines=()))
    assert [(queue.name, queue.depth) for queue in await client.queues()] == [("slow", 1)]
    assert [(worker.worker_id, worker.slots) for worker in await client.workers()] == [("w", 2)]


async def test_a_job_belongs_to_the_trace_of_who_creates_it(client: Any, store: Store) -> None:
    """S1.76."""
    span = TracerProvider().get_tracer("test").start_span("asking")
    with use_span(span, end_on_exit=True):
        made = await client.create("mail")
    kept = (await found(store, made.job_id)).traceparent
    assert kept is not None
    assert f"{span.get_span_context().trace_id:032x}" in kept


async def test_types_are_known_to_who_checks_them(api: Api) -> None:
    """What a type checker is seen of either client; it checks this file."""
    async with AsyncClient(api.server.url) as client:
        made = await client.create("mail", {"to": "ada"}, priority=5)
        assert_type(made.job_id, UUID)
        assert_type(made.status, State)
        assert_type(await client.get(made), RemoteJob)
        assert_type(await client.cancel(made), State)
        async for job in client.list(status=State.CANCELLED):
            assert_type(job.created_at, datetime)
        async for event in client.events(made):
            assert_type(event, RemoteEvent)
        with pytest.raises(Refused):
            await client.create("mail", priority="high")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"new_job\(\) got an unexpected keyword argument 'prio'"):
            await client.create("mail", prio=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            await client.get()  # type: ignore[call-arg]

    def plain() -> None:
        with Client(api.server.url) as client:
            assert_type(client.get(made), RemoteJob)
            assert_type([event.position for event in client.events(made)], list[str])

    await asyncio.to_thread(plain)
