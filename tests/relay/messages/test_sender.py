"""Sending: after the commit, in batches, bounded, and never in the way of who puts jobs in line."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import Delivered, Keeping, Verdict
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Report, Succeeded
from tenure.core.model.states import State
from tenure.core.signals import MessagesSent, Signal
from tenure.core.values.documents import EMPTY
from tenure.relay.messages import body, sender
from tenure.relay.messages.late_sender import LateSender
from tenure.relay.messages.sender import MessageSender
from tenure.relay.messages.transport import Transport, TransportFailed
from tenure.storage import postgres
from tenure.storage.contract.store import Store
from tests.relay.messages.led_worker import sending_to
from tests.relay.messages.sqs_server import Queue
from tests.storage.damaged_rows import no_lease, past_the_guards
from tests.storage.durable_verbs import (
    approval,
    for_answer,
    for_signal,
    held,
    intended,
    keep,
    say,
    suspend,
    suspended_for,
    tell,
)
from tests.storage.verbs import enqueue_one
from tests.until import until

OURS = UUID(int=1)
MAIL = Line("default", "mail")
SQL = Path(postgres.__file__).parent / "sql"


class Broker:
    """Takes messages, unless it is away."""

    def __init__(self) -> None:
        self.taken: list[list[UUID]] = []
        self.is_away = False
        self.refuses = frozenset[int]()
        """The places in a batch of what is not taken."""
        self.calls = 0

    async def send(self, bodies: Sequence[bytes]) -> Collection[int]:
        await asyncio.sleep(0)
        self.calls += 1
        if self.is_away:
            raise TransportFailed("away")
        read = [body.read(one) for n, one in enumerate(bodies) if n not in self.refuses]
        self.taken.append([one.job_id for one in read if one is not None and one.store == OURS])
        return self.refuses & set(range(len(bodies)))

    @property
    def jobs(self) -> list[UUID]:
        return sorted(job for batch in self.taken for job in batch)


async def named(queue: Queue) -> list[UUID]:
    """The jobs that messages in the queue name."""
    read = [body.read(text.encode()) for text in await queue.drain()]
    return sorted(one.job_id for one in read if one is not None)


async def test_ids_go_in_batches_of_ten() -> None:
    broker, jobs = Broker(), sorted(uuid4() for _ in range(95))
    async with MessageSender(broker, OURS, lambda _: None).running() as sends:  # type: ignore[arg-type]
        sends.send(jobs)
        await until(lambda: len(broker.jobs) == 95)
    assert broker.jobs == jobs
    assert max(map(len, broker.taken)) == 10


async def test_what_a_broker_that_is_away_did_not_take_is_sent_later() -> None:
    broker, told = Broker(), list[Signal]()
    jobs = sorted(uuid4() for _ in range(30))
    async with MessageSender(broker, OURS, told.append).running() as sends:  # type: ignore[arg-type]
        broker.is_away = True
        sends.send(jobs)
        await until(lambda: any(isinstance(one, MessagesSent) and one.error == "away" for one in told))
        broker.is_away = False
    assert broker.jobs == jobs  # the end waits for what is still to be sent
    assert sum(one.sent for one in told if isinstance(one, MessagesSent)) == 30
    assert sum(one.failed for one in told if isinstance(one, MessagesSent)) == 0


async def test_what_a_broker_refuses_of_a_batch_is_sent_again() -> None:
    """It takes each message by itself, and lets some wait where too many come."""
    broker, told = Broker(), list[Signal]()
    jobs = sorted(uuid4() for _ in range(30))
    async with MessageSender(broker, OURS, told.append).running() as sends:  # type: ignore[arg-type]
        broker.refuses = frozenset({3, 7})
        sends.send(jobs)
        await until(lambda: any(isinstance(one, MessagesSent) and one.error for one in told))
        broker.refuses = frozenset()
    assert broker.jobs == jobs
    errors = {one.error for one in told if isinstance(one, MessagesSent)} - {""}
    assert errors == {"the broker has refused 2 of 10 messages"}
    assert sum(one.sent for one in told if isinstance(one, MessagesSent)) == 30


async def test_a_broker_that_stays_away_is_told_of_once_and_asked_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many senders there are, and however much waits."""
    monkeypatch.setattr(sender, "AT_ONCE", 4)
    broker, told = Broker(), list[Signal]()
    broker.is_away = True
    async with MessageSender(broker, OURS, told.append).running(last_seconds=0.01) as sends:  # type: ignore[arg-type]
        sends.send([uuid4() for _ in range(200)])
        await until(lambda: sends._failures >= 4)
    assert [one.error for one in told if isinstance(one, MessagesSent)] == ["away"]
    assert broker.calls <= 4 * sends._failures


async def test_a_command_opens_the_broker_only_when_there_is_something_to_send(
    store: Store, queue: Queue
) -> None:
    """What was put in line before it is open is sent, and what comes later, too."""
    opened: list[str] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Transport]:
        opened.append(queue.url)
        yield queue.transport

    async with LateSender(opening, store.store_id, lambda _: None).running():
        pass
    assert not opened
    jobs = sorted(uuid4() for _ in range(15))
    async with LateSender(opening, store.store_id, lambda _: None).running() as sends:
        sends.send(jobs[:12])
        sends.send([])
        await until(lambda: sends._sender is not None)
        sends.send(jobs[12:])
    assert opened == [queue.url]
    assert await named(queue) == jobs


async def test_a_command_whose_sdk_cannot_be_set_up_says_so_and_has_done_its_work() -> None:
    told: list[Signal] = []

    async def ours() -> UUID:
        return OURS

    def opening() -> Any:
        raise InvalidInput("transport", "is sqs, but the SDK cannot be set up", "set AWS_DEFAULT_REGION")

    async with LateSender(opening, ours, told.append).running() as sends:
        sends.send([uuid4(), uuid4()])
    [one] = told
    assert isinstance(one, MessagesSent)
    assert (one.failed, "AWS_DEFAULT_REGION" in one.error) == (2, True)


async def test_no_more_than_so_many_wait_and_those_dropped_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "MOST_WAITING", 20)
    broker, told = Broker(), list[Signal]()
    jobs = [uuid4() for _ in range(50)]
    async with MessageSender(broker, OURS, told.append).running() as sends:  # type: ignore[arg-type]
        sends.send(jobs)
    assert broker.jobs == sorted(jobs[30:])
    assert sum(one.failed for one in told if isinstance(one, MessagesSent)) == 30


async def test_the_end_does_not_wait_for_a_broker_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "LAST_SECONDS", 0.05)
    broker = Broker()
    broker.is_away = True
    async with MessageSender(broker, OURS, lambda _: None).running() as sends:  # type: ignore[arg-type]
        sends.send([uuid4()])
    assert broker.jobs == []


async def test_each_verb_that_puts_a_job_in_line_has_it_named(store: Store, queue: Queue) -> None:
    """S2.4, S2.21: new, accepted, due, handed back or replayed; and no job that is not in line."""
    announced: list[Signal] = []
    async with sending_to(queue.transport, store, announced) as sends:
        mail = NewJob(definition="mail")
        [first] = await sends.enqueue([mail])
        [held] = await sends.enqueue([NewJob(definition="mail", hold=True)])
        [later] = await sends.enqueue([NewJob(definition="mail", delay=timedelta(milliseconds=1))])
        await sends.enqueue([NewJob(definition="mail", id=first.id)])  # is there already
        await sends.accept([held.id, first.id])

        async def is_promoted() -> bool:
            return bool(await sends.promote(10))

        await until(is_promoted)
        order = Order(worker="a", lines=(MAIL,), limit=3)
        [one, two, three] = (await sends.settle_and_claim([], order)).claimed
        await sends.hand_back("a", unstarted=[one.lease], killed=[])
        reports = [Report(each.lease, Succeeded(EMPTY)) for each in (two, three)]
        assert not (await sends.settle_and_claim(reports, order)).settled.lost
        [again] = await sends.replay([two.lease.job])
        assert again.replay is not None
    expected = [first.id, held.id, later.id, one.lease.job, again.replay]
    assert await named(queue) == sorted(expected)


def test_whatever_puts_a_job_in_line_is_known_here() -> None:
    """A statement that is new belongs to verbs that `sending_store` has to know, and to the tests above."""
    found = {path.stem for path in SQL.glob("*.sql") if "INSERT INTO tenure.ready" in path.read_text()}
    told = {"enqueue", "accept", "promote", "reap", "hand_back", "replay", "put_back"}
    assert found == told | {"rouse", "mend_place"}  # `rouse` is of `signal`, `answer` and `suspend`


async def test_a_job_that_goes_on_after_its_wait_is_named(store: Store, queue: Queue) -> None:
    """S2.4: told what it waits for, answered about its effect, or told so before it waits."""
    announced: list[Signal] = []
    async with sending_to(queue.transport, store, announced) as sends:
        signalled = await suspended_for(store, for_signal())
        lease = await held(store)
        assert await keep(store, lease, intended()) == [Keeping.KEPT]
        assert await suspend(store, lease, for_answer()) is State.SUSPENDED
        early = await held(store)
        assert (await tell(sends, early.job)).delivered is Delivered.KEPT
        asleep = await suspended_for(store, for_signal())
        await tell(sends, asleep, approval(name="another"))

        assert (await tell(sends, signalled)).delivered is Delivered.RESUMED
        assert (await tell(sends, signalled)).delivered is not Delivered.RESUMED
        assert (await say(sends, lease.job)).verdict is Verdict.RESUMED
        assert await suspend(sends, early, for_signal()) is State.QUEUED
    assert await named(queue) == sorted([signalled, lease.job, early.job])


async def test_what_an_operator_mends_is_named(store: Store, queue: Queue, address: str) -> None:
    """S2.4: a job that had lost its place in line, and one whose owner's lease is gone."""
    announced: list[Signal] = []
    place = await enqueue_one(store)
    await past_the_guards(address, f"DELETE FROM tenure.ready WHERE job = '{place}'")
    lease = await held(store)
    await no_lease(address, lease.job)
    async with sending_to(queue.transport, store, announced) as sends:
        for verb, job in ((sends.mend_place, place), (sends.mend_lease, lease.job)):
            mended = await verb(job)
            assert mended is not None
            assert (mended.moved, mended.state) == (True, State.QUEUED)
    assert await named(queue) == sorted([place, lease.job])
