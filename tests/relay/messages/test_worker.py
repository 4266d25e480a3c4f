"""A worker that messages lead to jobs; its sweeps are an hour apart, so that messages are the cause."""

import json
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.signals import ForeignMessages, JobsReminded, NoMessage, Recovered, Troubled
from tenure.engine.health.attention import AttentionCheck, FailingQueue
from tenure.engine.worker.named_claims import NamedClaims
from tenure.relay.messages import body, inbox, reminders
from tenure.relay.messages.inbox import Inbox
from tenure.relay.messages.reception import Reception
from tenure.relay.messages.reminders import Reminders
from tenure.relay.messages.sqs import open_sqs
from tenure.relay.messages.transport import Received
from tenure.storage.contract.store import Store
from tests.relay.messages.led_worker import QUEUE, led_worker, sending_to
from tests.relay.messages.sqs_server import Queue, SqsServer, new_queue, pointed_at
from tests.until import until
from tests.worker.running_worker import appear, enqueue, reach

ECHO = {"n": 1}


def held(folder: Path) -> dict[str, str]:
    """The params of a job that waits until it is let go."""
    return {"begun": str(folder / "begun"), "end": str(folder / "end")}


async def settled_queue(queue: Queue) -> bool:
    """Whether nothing waits in the queue and nothing is hidden."""
    backlog = await queue.transport.backlog()
    return backlog.waiting == backlog.hidden == 0


async def test_a_job_starts_by_its_message(store: Store, queue: Queue) -> None:
    """S2.4, S2.38, S2.37: the message names the job, and the database lets it be claimed."""
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "echo", ECHO)
        await reach(store, job, State.SUCCEEDED)
        await until(lambda: settled_queue(queue))
        assert led.claims() == {"message": 1}
        assert (led.sent(), led.received(), sum(led.dropped().values())) == (1, 1, 0)


async def test_a_message_is_gone_only_when_the_outcome_is_on_record(
    store: Store, queue: Queue, tmp_path: Path
) -> None:
    """While the job runs its message is hidden; a worker that dies leaves it to another."""
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "wait", held(tmp_path))
        await appear(tmp_path / "begun")
        backlog = await queue.transport.backlog()
        assert (backlog.waiting, backlog.hidden) == (0, 1)
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)
        await until(lambda: settled_queue(queue))


async def test_a_message_stays_hidden_as_long_as_its_job_runs(
    store: Store, queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each heartbeat hides it for four seconds more; nobody else gets it in eight."""
    monkeypatch.setattr(inbox, "LEAST_HIDDEN", 4)
    async with led_worker(store, queue.transport, hidden_as_for_lease=1) as led:
        job = await enqueue(led.store, "wait", held(tmp_path))
        await appear(tmp_path / "begun")
        async with open_sqs(queue.url) as stranger:
            assert await stranger.receive(10, wait=8, hide_for=0) == []
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)
        assert led.received() == 1


async def test_a_retry_comes_by_a_message_of_its_own(store: Store, queue: Queue) -> None:
    """S2.12, S2.14: whoever promotes it sends anew."""
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "fail_first", {"failures": 2})
        done = await reach(store, job, State.SUCCEEDED)
        assert done.attempt == 3
        assert led.claims() == {"message": 3}
        await until(lambda: settled_queue(queue))


async def test_a_job_is_claimed_before_it_is_worked_on(store: Store, queue: Queue, tmp_path: Path) -> None:
    """S2.33, S2.40: a message for a job that another worker has leads to no work."""
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "wait", held(tmp_path))
        await appear(tmp_path / "begun")
        await queue.transport.send([body.written(job, await store.store_id())] * 3)
        await until(lambda: led.dropped()["owned"] == 3)
        (tmp_path / "end").touch()
        assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
        await until(lambda: settled_queue(queue))


async def test_a_message_that_comes_after_the_end_changes_nothing(store: Store, queue: Queue) -> None:
    """S2.31, S2.41: finished jobs are never claimed, however often they are named."""
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "echo", ECHO)
        await reach(store, job, State.SUCCEEDED)
        before = await store.events(job)
        await queue.transport.send([body.written(job, await store.store_id())] * 5)
        await until(lambda: led.dropped()["finished"] == 5)
        assert await store.events(job) == before


async def test_to_cancel_is_a_row_and_no_message(store: Store, queue: Queue, tmp_path: Path) -> None:
    """C19: the owner sees it at its heartbeat; who gets a message of the job later sees that it has ended."""
    async with led_worker(store, queue.transport, heartbeat=0.5) as led:
        job = await enqueue(led.store, "wait", held(tmp_path))
        await appear(tmp_path / "begun")
        await store.cancel([job])  # by somebody who sends no messages
        await reach(store, job, State.CANCELLED)
        await until(lambda: settled_queue(queue))
        assert led.sent() == 1
        gone = await enqueue(store, "echo", ECHO)
        await store.cancel([gone])
        await queue.transport.send([body.written(gone, await store.store_id())])
        await until(lambda: led.dropped()["finished"] == 1)


async def test_a_job_of_a_paused_line_starts_with_the_resume(store: Store, queue: Queue) -> None:
    """Its message is removed; the worker remembers the line and looks there as soon as it hears of it."""
    await store.pause("default")
    async with led_worker(store, queue.transport) as led:
        job = await enqueue(led.store, "echo", ECHO)
        await until(lambda: led.dropped()["paused"] == 1)
        await until(lambda: settled_queue(queue))
        await led.store.resume("default")
        await reach(store, job, State.SUCCEEDED)
        assert led.claims() == {"sweep": 1}


async def test_jobs_under_a_limit_follow_each_other(store: Store, queue: Queue) -> None:
    """Each end of one makes room, in which the worker looks at once; the limit is held as ever."""
    async with led_worker(store, queue.transport) as led:
        limits = (Limit("db", size=1),)
        jobs = [await enqueue(led.store, "echo", ECHO, limits=limits) for _ in range(5)]
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
        assert led.claims() == {"sweep": 5}


async def test_what_no_message_names_is_found_by_the_sweep(store: Store, queue: Queue) -> None:
    async with led_worker(store, queue.transport, sweep=1) as led:
        job = await enqueue(store, "echo", ECHO)  # this store does not send
        await reach(store, job, State.SUCCEEDED)
        assert led.claims() == {"sweep": 1}


async def test_a_job_whose_message_is_lost_is_named_once_more(
    store: Store, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S2.4, S2.30: the sweep is an hour away; a worker finds the job, and a message leads to it."""
    monkeypatch.setattr(reminders, "AFTER", timedelta(seconds=1))
    monkeypatch.setattr(reminders, "EVERY", timedelta(milliseconds=200))
    async with led_worker(store, queue.transport, reminds=True) as led:
        jobs = [await enqueue(store, "echo", {"n": n}) for n in range(3)]  # this store does not send
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
        assert led.claims() == {"message": 3}
        assert sum(one.count for one in led.signals(JobsReminded)) == led.sent() >= 3
        await until(lambda: settled_queue(queue))


async def test_messages_of_another_store_are_left_to_its_workers(
    store: Store, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are shown again, and warned of once a minute."""
    monkeypatch.setattr(inbox, "AGAIN_AFTER", 0)
    theirs, job = uuid4(), uuid4()
    async with led_worker(store, queue.transport) as led:
        await queue.transport.send([body.written(job, theirs)])
        await until(lambda: led.dropped()["foreign"] >= 2)
    assert [(one.store, one.count) for one in led.signals(ForeignMessages)] == [(str(theirs), 1)]
    # A poll that was under way when the worker ended may still hide it.
    backlog = await queue.transport.backlog()
    assert backlog.waiting + backlog.hidden == 1


async def test_a_worker_that_gets_nothing_but_another_stores_messages_leaves_its_workers_time(
    store: Store, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is idle and they may be busy: it would take the same messages again and again."""
    monkeypatch.setattr(inbox, "AGAIN_AFTER", 3600.0)
    ours, theirs = await store.store_id(), uuid4()
    named_again = Reminders(store, queue.url, lambda _: None, lambda: True)
    reception = Reception(store, "a", queue.url)
    box = Inbox(queue.transport, ours, reception, named_again, lease_seconds=5, heartbeat_seconds=1)
    for stores, rest in (([theirs, theirs], 3600.0), ([theirs, ours], 0.0)):
        await queue.transport.send([body.written(uuid4(), whose) for whose in stores])
        received = list[Received]()
        while len(received) < len(stores):
            received += await queue.transport.receive(10, wait=1, hide_for=3600)
        assert await box._take(received, NamedClaims([]), lambda _: None) == rest


async def test_what_is_no_message_is_removed_and_told_by_its_beginning(store: Store, queue: Queue) -> None:
    texts = ["hello", "[]", '{"jobId":7}', '{"jobId":"x","store":"y"}', "é" * 200]
    async with led_worker(store, queue.transport) as led:
        await queue.put(*texts)
        await until(lambda: led.dropped()["no-message"] == len(texts))
        await until(lambda: settled_queue(queue))
    told = {one.beginning for one in led.signals(NoMessage)}
    assert told == {text.encode()[:64] for text in texts}


async def test_a_job_that_is_handed_back_is_named_again(store: Store, queue: Queue, tmp_path: Path) -> None:
    """The worker that ends shows its message to others, and its store sends one, too."""
    async with led_worker(store, queue.transport, shutdown=0) as led:
        job = await enqueue(led.store, "wait", held(tmp_path))
        await appear(tmp_path / "begun")
    (tmp_path / "end").touch()
    async with led_worker(store, queue.transport) as next_one:
        await reach(store, job, State.SUCCEEDED)
        assert next_one.claims().total() == 1


async def failing(store: Store) -> Sequence[FailingQueue]:
    """What operators are told of queues that workers cannot receive from."""
    return (await AttentionCheck(store).look()).queues


async def is_well(store: Store) -> bool:
    return not await failing(store)


async def test_without_its_broker_a_worker_goes_on_by_sweeps(store: Store, shared_server: SqsServer) -> None:
    """It says so when that begins and when it is over, to operators too, and loses nothing in between."""
    server = SqsServer()
    server.start()
    with pointed_at(server):
        async with new_queue(server) as queue, led_worker(store, queue.transport) as led:
            server.stop()
            await until(lambda: any(one.loop == "messages" for one in led.signals(Troubled)))
            [told] = await until(partial(failing, store))
            assert (told.name, told.failing, told.workers) == (QUEUE, 1, 1)
            assert "receive_message" in told.problem
            job = await enqueue(store, "echo", ECHO)
            await reach(store, job, State.SUCCEEDED)
            assert led.claims() == {"sweep": 1}
            server.start()
            name = queue.url.rpartition("/")[2]
            await queue.client.create_queue(QueueName=name)
            await until(lambda: any(one.loop == "messages" for one in led.signals(Recovered)))
            await until(lambda: is_well(store))
            # Four receivers, and hundreds of tries at such a pace.
            assert len([one for one in led.signals(Troubled) if one.loop == "messages"]) == 1
            again = await enqueue(led.store, "echo", ECHO)
            await reach(store, again, State.SUCCEEDED)
        server.stop()


async def test_a_caller_waits_for_no_broker(store: Store, queue: Queue) -> None:
    """A broker that is away fails no call; what it did not get waits, and is sent when it is back."""
    server = SqsServer()
    server.start()
    with pointed_at(server):
        async with new_queue(server) as elsewhere:
            server.stop()
            announced: list[object] = []
            async with sending_to(elsewhere.transport, store, announced) as sends:  # type: ignore[arg-type]
                job = await enqueue(sends, "echo", ECHO)
                assert (await store.get(job)) is not None
                server.start()
                await elsewhere.client.create_queue(QueueName=elsewhere.url.rpartition("/")[2])
                [text] = await until(elsewhere.drain)
                assert json.loads(text)["jobId"] == str(job)
            server.stop()
