"""Many jobs by messages that come as they should, and by some that do not: the outcome is the same.

`make long` runs five thousand, and 250 with ten copies of each message; the default run some dozens.
They come in waves: the server that stands for SQS takes half a second to find a message among a thousand.
"""

import asyncio
import secrets
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.signals import Troubled
from tenure.core.values.documents import write
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer
from tests.relay.messages.led_worker import HOUR, finished, led_worker
from tests.relay.messages.mishaps import UnreliableTransport
from tests.relay.messages.sqs_server import Queue
from tests.storage.migrated_databases import create_migrated
from tests.until import until
from tests.whole import IS_WHOLE
from tests.worker.running_worker import QUICK, enqueue, reach, run_worker

WAVES = 25 if IS_WHOLE else 1
WAVE = 200 if IS_WHOLE else 60
PATIENCE = 300
TRIES = 3


def batch(count: int, wave: int = 0) -> list[NewJob]:
    """Jobs that succeed, fail at first, fail for good, and some that come due later."""
    jobs = []
    for n in range(count):
        kind: dict[str, Any] = {"definition": "echo", "params": write({"n": n})}
        if n % 10 == 3:
            kind = {"definition": "fail_first", "params": write({"failures": 1})}
        elif n % 10 == 6:
            kind = {"definition": "fail_first", "params": write({"failures": TRIES})}
        elif n % 10 == 9:
            kind["delay"] = timedelta(milliseconds=50)
        jobs.append(NewJob(key=f"job-{wave}-{n}", policy=Policy(max_attempts=TRIES, retry=QUICK), **kind))
    return jobs


async def rows(store: Store, jobs: list[UUID]) -> list[tuple[Any, ...]]:
    """What is on record of each job in the end, but for times, fences and names of workers."""
    found = []
    for job in jobs:
        done = await store.get(job)
        assert done is not None
        events = [(event.n, event.type, event.attempt) for event in await store.events(job)]
        endings = [(attempt.number, attempt.ending) for attempt in await store.attempts(job)]
        found.append((done.key, done.state, done.attempt, done.failures, done.result, events, endings))
    return found


async def test_all_jobs_finish_by_their_messages(store: Store, queue: Queue) -> None:
    """With sweeps an hour apart and nothing lost, at least 99 of 100 claims are led by a message."""
    async with led_worker(store, queue.transport) as led:
        for wave in range(WAVES):
            jobs = [one.id for one in await led.store.enqueue(batch(WAVE, wave))]
            await until(partial(finished, store, jobs), within=PATIENCE)
        claims = led.claims()
        assert claims["message"] >= 0.99 * claims.total()


async def test_ten_copies_in_any_order_and_late_change_nothing(
    store: Store, queue: Queue, tmp_path: Path
) -> None:
    """S2.30, S2.31, S2.32: rows equal to those of the same jobs without any message."""
    count, jobs, last = 10, list[UUID](), list[UUID]()
    unreliable = UnreliableTransport(queue.transport, copies=10, holds=True)

    async def let_go() -> bool:
        await unreliable.let_go()
        return await finished(store, last)

    async with led_worker(store, queue.transport, sender=unreliable) as led:
        for wave in range(WAVES):
            last[:] = [one.id for one in await led.store.enqueue(batch(count, wave))]
            jobs += last
            await until(let_go, within=PATIENCE)
            await until(lambda: queue_is_read(queue), within=PATIENCE)
        assert led.claims()["message"] >= 0.99 * led.claims().total(), (led.claims(), led.signals(Troubled))
        assert led.received() >= 10 * len(jobs)

    other = store_for(f"sqlite:///{tmp_path / 'plain.db'}")
    await other.open()
    await other.migrate()
    try:
        async with run_worker(other):
            made = [await other.enqueue(batch(count, wave)) for wave in range(WAVES)]
            plain = [one.id for wave in made for one in wave]
            await until(lambda: finished(other, plain), within=PATIENCE)
        assert await rows(store, jobs) == await rows(other, plain)
    finally:
        await other.close()


async def queue_is_read(queue: Queue) -> bool:
    backlog = await queue.transport.backlog()
    return backlog.waiting == backlog.hidden == 0


async def test_those_whose_message_is_lost_wait_for_the_sweep_and_no_others(
    store: Store, queue: Queue
) -> None:
    """S2.30: a tenth is lost. Nothing else is left for the sweep, and it finds all of that."""
    jobs = set[UUID]()
    unreliable = UnreliableTransport(queue.transport, is_lost=lambda n: n % 10 == 9)
    async with led_worker(store, queue.transport, sender=unreliable) as led:

        async def are_the_others_done() -> bool:
            lost = {UUID(msgspec.json.decode(one)["jobId"]) for one in unreliable.lost}
            return len(lost) == len(jobs) // 10 and await finished(store, jobs - lost)

        for _ in range(WAVES):
            new = [NewJob(definition="echo", params=write({})) for _ in range(60 if IS_WHOLE else 20)]
            jobs |= {one.id for one in await led.store.enqueue(new)}
            await until(are_the_others_done, within=PATIENCE)
        lost = {UUID(msgspec.json.decode(one)["jobId"]) for one in unreliable.lost}
        states = [job.state for job in [await store.get(one) for one in lost] if job is not None]
        assert states == [State.QUEUED] * len(lost)
        assert led.claims() == {"message": len(jobs) - len(lost)}
    async with led_worker(store, queue.transport, sweep=1) as led:
        await until(lambda: finished(store, jobs), within=PATIENCE)
        assert led.claims() == {"sweep": len(lost)}


async def test_a_long_transaction_of_somebody_else_delays_no_start(
    postgres_server: PostgresServer, queue: Queue
) -> None:
    """The feed stands still while it is open; messages are sent after the commit, and do not wait for it."""
    address = create_migrated(postgres_server, f"messages_{secrets.token_hex(4)}")
    store = store_for(address)
    await store.open()
    stranger = await asyncpg.connect(address)
    try:
        async with stranger.transaction():
            await stranger.execute("SELECT txid_current()")
            async with led_worker(store, queue.transport, sweep=HOUR) as led:
                jobs = [await enqueue(led.store, "echo", {"n": n}) for n in range(20)]
                done = await asyncio.gather(*(reach(store, job, State.SUCCEEDED) for job in jobs))
                assert led.claims() == {"message": len(jobs)}
            waits = sorted((job.started_at - job.queued_at).total_seconds() for job in done)  # type: ignore[operator]
            print(f"from commit to start: median {waits[len(waits) // 2]:.3f} s, longest {waits[-1]:.3f} s")
    finally:
        await stranger.close()
        await store.close()
