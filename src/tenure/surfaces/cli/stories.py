"""Nine short lives of a job, played on a real store.

Each story does what a program around a store does. Callers enqueue, accept and cancel. A worker claims, which
yields a lease; it reports an outcome under that lease, and a heartbeat tells it when to stop. Duties, which
any process may run at any time, promote what is due and reap what was lost. Time is real and the store's own:
whoever waits for it asks again and again, for a bounded while.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from tenure.core import documents
from tenure.core.errors import TenureError
from tenure.core.job import Moved, NewJob
from tenure.core.lease import Claimed, Line, Order, Pulse
from tenure.core.outcome import (
    Failure,
    Outcome,
    Recoverable,
    Report,
    Settled,
    Stopped,
    Succeeded,
    Unrecoverable,
)
from tenure.core.states import State
from tenure.storage.contract import Store

LONG = timedelta(seconds=30)
SHORT = timedelta(milliseconds=40)
PATIENCE_SECONDS = 5.0
POLL_SECONDS = 0.005

Duty = Callable[[int], Awaitable[list[Moved]]]


class Astray(TenureError):
    """A story went another way than the contract promises."""


class Stage(NamedTuple):
    """Where the stories play: a store, and a line in it that nobody else serves."""

    store: Store
    line: Line


class Told(NamedTuple):
    """What is left of a story: its job, and a remark on what the job's own history cannot show."""

    job: UUID
    remark: str = ""


async def succeed(stage: Stage) -> Told:
    """The short way."""
    job = await _enqueue(stage)
    owned = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", owned, Succeeded(documents.write({"sent": True})))
    return Told(job)


async def fail_once_and_succeed(stage: Stage) -> Told:
    """A recoverable failure is followed by a backoff, after which the job stands in line again."""
    job = await _enqueue(stage)
    first = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", first, Recoverable(Failure("TimeoutError", "no answer"), after=SHORT))
    await _repeat(stage.store.promote, stage, job, while_in=State.RETRYING)
    second = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", second, Succeeded())
    return Told(job)


async def fail_for_good(stage: Stage) -> Told:
    """Attempts are left, but trying again would be pointless."""
    job = await _enqueue(stage)
    owned = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", owned, Unrecoverable(Failure("ValueError", "no such address")))
    return Told(job)


async def wait_for_its_time(stage: Stage) -> Told:
    """Nobody can claim a job before its time, which the store's clock decides."""
    job = await _enqueue(stage, delay=SHORT)
    await _repeat(stage.store.promote, stage, job, while_in=State.SCHEDULED)
    owned = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", owned, Succeeded())
    return Told(job)


async def be_cancelled_in_line(stage: Stage) -> Told:
    """Nobody owns the job, so it is cancelled at once."""
    job = await _enqueue(stage)
    await stage.store.cancel([job], actor="alice", reason="not needed any more")
    return Told(job)


async def be_cancelled_at_work(stage: Stage) -> Told:
    """A worker owns the job: it is asked to stop, learns of it by its heartbeat, and says when it has."""
    job = await _enqueue(stage)
    owned = await _claim(stage, "worker-a")
    await stage.store.cancel([job], actor="alice", reason="taking too long")
    beat = await stage.store.heartbeat(Pulse(worker="worker-a", leases=[owned.lease]))
    if owned.lease not in beat.cancelling:
        raise Astray("a heartbeat did not tell the worker to stop a cancelling job")
    await _settle(stage, "worker-a", owned, Stopped())
    return Told(job)


async def lose_its_worker(stage: Stage) -> Told:
    """A worker falls silent: its lease runs out, another gets the job, and what it says later is refused."""
    job = await _enqueue(stage)
    silent = await _claim(stage, "worker-a", lease_for=SHORT)
    await _repeat(stage.store.reap, stage, job, while_in=State.RUNNING)
    owned = await _claim(stage, "worker-b")
    late = await _report(stage, "worker-a", silent, Succeeded())
    if silent.lease not in late.lost:
        raise Astray("the report of a worker that had lost its lease was accepted")
    await _settle(stage, "worker-b", owned, Succeeded())
    return Told(job, f"worker-a came back and reported success under fence {silent.lease.fence}: refused")


async def be_asked_for_twice(stage: Stage) -> Told:
    """Two requests with one idempotency key are one job."""
    key = f"order-17-{stage.line.queue}"
    job = await _enqueue(stage, key=key)
    [again] = await stage.store.enqueue([_new_job(stage, key=key)])
    if again.fresh or again.id != job:
        raise Astray("the same key made a second job")
    owned = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", owned, Succeeded())
    return Told(job, "the second request was answered with the first one's job; nothing was added")


async def be_held_and_accepted(stage: Stage) -> Told:
    """A held job is on record, but it stands in no line until somebody accepts it."""
    job = await _enqueue(stage, hold=True)
    await stage.store.accept([job])
    owned = await _claim(stage, "worker-a")
    await _settle(stage, "worker-a", owned, Succeeded())
    return Told(job)


Story = Callable[[Stage], Awaitable[Told]]

STORIES: dict[str, Story] = {
    "A job succeeds": succeed,
    "A job fails once, backs off and succeeds": fail_once_and_succeed,
    "A job fails for good": fail_for_good,
    "A delayed job waits for its time": wait_for_its_time,
    "A job is cancelled before it starts": be_cancelled_in_line,
    "A job is cancelled while it runs": be_cancelled_at_work,
    "A job loses its worker and another finishes it": lose_its_worker,
    "A job is asked for twice with the same key": be_asked_for_twice,
    "A job is held back, then accepted": be_held_and_accepted,
}


def _new_job(
    stage: Stage, *, key: str | None = None, delay: timedelta | None = None, hold: bool = False
) -> NewJob:
    queue, definition, version = stage.line.queue, stage.line.definition, stage.line.version
    params = documents.write({"to": "ada@example.com"})
    return NewJob(
        definition=definition, version=version, queue=queue, params=params, key=key, delay=delay, hold=hold
    )


async def _enqueue(
    stage: Stage, *, key: str | None = None, delay: timedelta | None = None, hold: bool = False
) -> UUID:
    [enqueued] = await stage.store.enqueue([_new_job(stage, key=key, delay=delay, hold=hold)])
    return enqueued.id


async def _claim(stage: Stage, worker: str, lease_for: timedelta = LONG) -> Claimed:
    """Claim the one job in line."""
    order = Order(worker=worker, lines=(stage.line,), limit=1, lease_for=lease_for)
    turn = await stage.store.settle_and_claim([], order)
    if not turn.claimed:
        raise Astray("a job in line could not be claimed")
    return turn.claimed[0]


async def _report(stage: Stage, worker: str, owned: Claimed, outcome: Outcome) -> Settled:
    """Report how an attempt ended, and claim nothing."""
    nothing = Order(worker=worker, lines=(), limit=0)
    turn = await stage.store.settle_and_claim([Report(owned.lease, outcome)], nothing)
    return turn.settled


async def _settle(stage: Stage, worker: str, owned: Claimed, outcome: Outcome) -> None:
    """Report under a lease that must still hold."""
    if (await _report(stage, worker, owned, outcome)).lost:
        raise Astray(f"the report of {worker} under fence {owned.lease.fence} was refused")


async def _repeat(duty: Duty, stage: Stage, job: UUID, *, while_in: State) -> None:
    """Run a duty until the job has moved on, whether by this run or by that of another process."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        await duty(100)
        found = await stage.store.get(job)
        if found is None or found.state is not while_in:
            return
        await asyncio.sleep(POLL_SECONDS)
    raise Astray(
        f"a job was still {while_in} after {PATIENCE_SECONDS:g} s: does the store's clock stand still?"
    )
