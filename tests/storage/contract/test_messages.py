"""Queues of a broker: which workers they lead, and which jobs to name there once more."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.reports.operations import LedBy
from tenure.storage.contract.store import Store
from tenure.storage.mapping import messages as mapping
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.contract.test_workers import worker
from tests.storage.verbs import MAIL, claim, enqueue_one, job_in, recoverable, seconds, settle

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"
POST = Line("default", "post")


async def remind(store: Store, queue: str = QUEUE, after: float = 10, limit: int = 100) -> list[UUID]:
    return await store.remind(queue, after=seconds(after), every=seconds(1), limit=limit)


async def led(store: Store, id_: str = "a", queue: str = QUEUE, lines: tuple[Line, ...] = (MAIL,)) -> None:
    """A live worker that a queue leads."""
    await store.enlist(worker(id_, lines=lines))
    await store.note_receiver(id_, queue, None)


async def led_by(store: Store) -> LedBy | None:
    [one] = await store.workers()
    return one.led_by


async def test_what_keeps_a_worker_from_receiving_is_told_since_the_first_time(
    store: Store, clock: Clock
) -> None:
    await store.enlist(worker())
    assert await led_by(store) is None
    await led(store)
    assert await led_by(store) == LedBy(QUEUE)

    await clock.advance(seconds(5))
    await store.note_receiver("a", QUEUE, "refused")
    await clock.advance(seconds(5))
    await store.note_receiver("a", QUEUE, "away")
    assert await led_by(store) == LedBy(QUEUE, START + seconds(5), "away")

    await store.note_receiver("a", QUEUE, None)
    assert await led_by(store) == LedBy(QUEUE)

    now = await clock.advance(seconds(5))
    await store.note_receiver("a", "other", "again")
    assert await led_by(store) == LedBy("other", now, "again")


async def test_a_problem_of_any_length_and_with_any_character_is_kept(store: Store) -> None:
    await led(store)
    await store.note_receiver("a", QUEUE, "a\0b" + "x" * 5000)
    kept = await led_by(store)
    assert kept is not None
    assert kept.problem is not None
    assert (kept.problem[0], len(kept.problem)) == ("a", mapping.LONGEST_PROBLEM)
    with pytest.raises(InvalidInput):
        await store.note_receiver("", QUEUE, None)


async def test_a_job_that_stands_in_line_for_long_is_named_once_more(store: Store, clock: Clock) -> None:
    """S2.30: its message seems lost. What was claimed, or waits for its time, is not."""
    await led(store)
    await enqueue_one(store)
    [running] = await claim(store)
    await settle(store, [recoverable(running, after=seconds(600))])
    job = await enqueue_one(store)

    await clock.advance(seconds(9))
    assert await remind(store) == []
    await clock.advance(seconds(1))
    assert await remind(store) == [job]


async def test_it_is_named_again_when_it_has_waited_for_twice_as_long(store: Store, clock: Clock) -> None:
    await led(store)
    job = await enqueue_one(store)
    named_at = []
    for second in range(1, 100):
        now = await clock.advance(seconds(1))
        await store.heartbeat(Pulse(worker="a", leases=[]))
        if await remind(store):
            named_at.append(second)
            assert now - START == seconds(second)
    assert named_at == [10, 20, 40, 80]
    assert (await claim(store))[0].lease.job == job


async def test_a_job_that_comes_back_to_its_line_begins_anew(store: Store, clock: Clock) -> None:
    await led(store)
    job = await enqueue_one(store)
    await clock.advance(seconds(10))
    assert await remind(store) == [job]
    [running] = await claim(store)
    await store.hand_back("a", unstarted=[running.lease], killed=[])
    await clock.advance(seconds(9))
    assert await remind(store) == []
    await clock.advance(seconds(1))
    assert await remind(store) == [job]


async def test_of_all_who_ask_at_a_time_one_searches(store: Store, other: Store, clock: Clock) -> None:
    """Once within so many seconds, however many processes ask; and each job is named to one of them."""
    await led(store)
    for _ in range(3):
        await enqueue_one(store)
    await clock.advance(seconds(10))
    found = [await remind(each, limit=2) for each in (store, other, store)]
    assert [len(one) for one in found] == [2, 0, 0]
    await clock.advance(seconds(1))
    assert [len(await remind(each, limit=2)) for each in (other, store)] == [1, 0]


async def test_jobs_to_which_no_message_leads_are_left_to_sweeps(store: Store, clock: Clock) -> None:
    """Of a paused line, under a limit, and of a definition that no live worker of this queue serves."""
    await led(store, lines=(MAIL, POST))
    await led(store, "b", "elsewhere", (Line("default", "other"),))
    await store.pause(POST)
    await enqueue_one(store, "post")
    await enqueue_one(store, "other")
    await enqueue_one(store, "nobody")
    await enqueue_one(store, limits=(Limit("api", size=1),))
    await clock.advance(seconds(10))
    assert await remind(store) == []
    [theirs] = await remind(store, "elsewhere")
    assert (await store.get(theirs)).definition == "other"  # type: ignore[union-attr]

    await store.resume(POST)
    await clock.advance(seconds(1))
    assert len(await remind(store)) == 1


async def test_without_a_live_worker_of_the_queue_nothing_is_named(store: Store, clock: Clock) -> None:
    assert await remind(store, "never heard of") == []
    await led(store)
    await enqueue_one(store)
    await clock.advance(seconds(36))
    assert await remind(store) == []


async def test_of_a_long_line_the_head_is_named(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a search costs the same however much waits; what stands behind comes to the head."""
    monkeypatch.setattr(mapping, "HEADS", 5)
    await led(store)
    jobs = [one.id for one in await store.enqueue([NewJob(definition="mail")] * 12)]
    await clock.advance(seconds(10))
    assert await remind(store) == sorted(jobs[:5])
    await claim(store, limit=4)
    await clock.advance(seconds(1))
    assert await remind(store) == sorted(jobs[5:9])


async def test_what_is_on_record_of_jobs_and_workers_that_are_gone_goes(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """That a job was named after an hour, and of a worker with the next search after its end."""
    await led(store)
    await led(store, "b")
    await enqueue_one(store)
    await clock.advance(seconds(20))
    assert await remind(store)
    await claim(store)
    await store.dismiss("b")
    for wait, left in ((timedelta(minutes=59), 1), (timedelta(minutes=1), 0)):
        await clock.advance(wait)
        assert await remind(store) == []
        assert len(await backend.sql("SELECT job FROM tenure.reminder")) == left
    assert await backend.sql("SELECT worker FROM tenure.receiver") == [("a",)]


@pytest.mark.parametrize("state", ["running", "succeeded", "retrying"])
async def test_only_queued_jobs_are_named(store: Store, clock: Clock, state: str) -> None:
    await job_in(store, State(state))
    await led(store, lines=(Line("default", state),))
    await clock.advance(seconds(20))
    assert await remind(store) == []


async def test_a_limit_of_no_jobs_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await remind(store, limit=0)
