"""Sending: after the commit, in batches, bounded, and never in the way of who puts jobs in line."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Report, Succeeded
from tenure.core.signals import MessagesSent, Signal
from tenure.core.values.documents import EMPTY
from tenure.relay.messages import body, sender
from tenure.relay.messages.sender import MessageSender
from tenure.relay.messages.transport import TransportFailed
from tenure.storage.contract.store import Store
from tests.relay.messages.led_worker import sending_to
from tests.relay.messages.sqs_server import Queue
from tests.until import until

OURS = UUID(int=1)
MAIL = Line("default", "mail")


class Broker:
    """Takes messages, unless it is away."""

    def __init__(self) -> None:
        self.taken: list[list[UUID]] = []
        self.is_away = False

    async def send(self, bodies: Sequence[bytes]) -> int:
        await asyncio.sleep(0)
        if self.is_away:
            raise TransportFailed("away")
        read = [body.read(one) for one in bodies]
        self.taken.append([one.job_id for one in read if one is not None and one.store == OURS])
        return len(bodies)

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
