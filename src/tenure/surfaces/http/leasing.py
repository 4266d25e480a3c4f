"""The worker protocol: programs in any language claim jobs, keep them, tell how they ended, and say goodbye.

Whoever shows the token of a lease, and the key by which it was claimed, owns the attempt: the owner on record
is the worker's own id and the key's, so that no other key can speak for it, whatever it guesses.
"""

import asyncio
from datetime import timedelta
from typing import Any

from msgspec import UnsetType

from tenure.core.bounds import named, printable
from tenure.core.documents import NULL
from tenure.core.errors import InvalidInput, JobNotFound
from tenure.core.lease import Lease, Line, Order, Progress
from tenure.core.operations import Worker
from tenure.core.retry import Asked as Wish
from tenure.core.retry import FatalAsked, Raised, RetryAsked, Returned, failure_of
from tenure.core.spec import Spec, is_reserved
from tenure.engine.hiring import served
from tenure.engine.leasing import Held, Said, Taken, Told
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.door import no_key
from tenure.surfaces.http.intake import Gone
from tenure.surfaces.http.intent import document, spec_of
from tenure.surfaces.http.lease_shapes import (
    AttemptEnded,
    CompleteBody,
    Dismissed,
    FailBody,
    HeartbeatBody,
    KeptLease,
    LeaseOrder,
    Leases,
    ReleaseBody,
    lease_item,
)
from tenure.surfaces.http.problems import Refusal, invalid
from tenure.surfaces.http.shapes import given
from tenure.surfaces.http.until import until_first

FIELDS = {"definition": "definitions", "type": "error/type"}
VERSION = "http"
"""What such a worker is shown with in place of a version of Tenure."""

_NO_KEY = "http"


async def claim(desk: Desk, asked: Asked) -> Answer:
    """Claim jobs that stand in line, waiting for one if asked to; none is claimed for whoever has gone."""
    body: LeaseOrder = asked.body
    asked_at = asyncio.get_running_loop().time()
    lines = await _lines(desk, asked.caller, body)
    owner = _owner(asked.caller, body.worker_id)
    leasing = desk.client.leasing
    worker = Worker(
        id=owner, host=asked.caller.name[:255], pid=0, version=VERSION, slots=body.limit, lines=lines
    )
    if await leasing.introduce(worker):
        return Answer(200, Leases(leases=[], waited_seconds=0.0, drain=True))
    lease_for = timedelta(seconds=body.lease_seconds)
    order = Order(worker=owner, lines=lines, limit=body.limit, lease_for=lease_for)
    known = leasing.arrivals.news
    taken, waited_until = await leasing.take(order), asked_at
    if not taken and asked.query.get("waitSeconds"):
        taken, waited_until = await _waited(desk, asked, order, known)
    is_heard = False
    try:
        is_heard = not await _is_gone(asked)
    finally:
        if not is_heard:
            leasing.drop(owner, taken)
    if not is_heard:
        raise Gone
    items = [lease_item(one, f"{one.claimed.lease.fence}.{body.worker_id}") for one in taken]
    return Answer(200, Leases(leases=items, waited_seconds=waited_until - asked_at, drain=False))


async def heartbeat(desk: Desk, asked: Asked) -> Answer:
    """Prolong a lease. What comes with it is written down; what is to stop, and why, is told."""
    body: HeartbeatBody = asked.body
    held = await _held(desk, asked)
    progress = given(body.progress)
    kept = await desk.client.leasing.keep(
        held,
        timedelta(seconds=body.lease_seconds),
        None if progress is None else Progress(progress.fraction, progress.message),
        [Said(int(line.n), line.level, line.text) for line in body.logs],
    )
    if kept is None:
        raise _lost()
    item = KeptLease(
        job_id=asked.job,
        lease_expires_at=kept.expires_at,
        lease_seconds=kept.lease_for.total_seconds(),
        stop=kept.stop,
        drain=kept.drain,
    )
    return Answer(200, item)


async def complete(desk: Desk, asked: Asked) -> Answer:
    """Report that the attempt has succeeded; the same again, after an answer was lost, changes nothing."""
    body: CompleteBody = asked.body
    held = await _held(desk, asked)
    result = NULL if isinstance(body.result, UnsetType) else document(body.result, "/result")
    return _answered(asked, await desk.client.leasing.end(held, Returned(result)))


async def fail(desk: Desk, asked: Asked) -> Answer:
    """Report that the attempt has failed: whether it is tried again is as the body, or else the job, says."""
    body: FailBody = asked.body
    held = await _held(desk, asked)
    error = body.error
    printable("type", error.type, least=1)
    failure = failure_of(error.type, error.message, error.traceback)
    end = Raised(failure, (error.type,), _wish(body))
    return _answered(asked, await desk.client.leasing.end(held, end))


async def release(desk: Desk, asked: Asked) -> Answer:
    """Give a job back, which costs it no attempt; one that was asked to stop has stopped then."""
    body: ReleaseBody = asked.body
    held = await _held(desk, asked)
    return _answered(asked, await desk.client.leasing.release(held, has_started=body.started))


async def leave(desk: Desk, asked: Asked) -> Answer:
    """Say that a worker has ended: it is shown no more. Of jobs that it still has this says nothing."""
    worker = asked.path["workerId"]
    try:
        named("worker", worker)
    except InvalidInput:
        raise Refusal("not-found", "no worker can have claimed by this name") from None
    await desk.client.leasing.dismiss(_owner(asked.caller, worker))
    return Answer(200, Dismissed(worker_id=worker))


async def _waited(desk: Desk, asked: Asked, order: Order, known: int) -> tuple[list[Taken], float]:
    """What is claimed once there is something, and the time before which it was not.

    Nothing when the time is over or the server is to stop.
    """
    arrivals = desk.client.leasing.arrivals
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + asked.query["waitSeconds"]
    with desk.waiting.taken(asked.caller):
        while (left := ends_at - loop.time()) > 0 and not desk.stopping.is_set():
            news, _, gone = await until_first(arrivals.after(known, left), desk.stopping.wait(), asked.gone())
            if not gone.cancelled():
                raise Gone
            if not news.cancelled():
                news.result()
            if not await asked.is_admitted():
                raise no_key()  # it opened this when the wait began, and opens nothing now
            known, waited_until = arrivals.news, loop.time()
            if taken := await desk.client.leasing.take_again(order):
                if await asked.is_admitted():
                    return taken, waited_until
                desk.client.leasing.drop(order.worker, taken)  # its key has ended while jobs were claimed
                raise no_key()
    return [], loop.time()


async def _is_gone(asked: Asked) -> bool:
    """Whether the client has closed the connection by now."""
    gone, _ = await until_first(asked.gone(), asyncio.sleep(0))
    return not gone.cancelled()


async def _lines(desk: Desk, caller: Caller, body: LeaseOrder) -> tuple[Line, ...]:
    """The lines that are asked for, within what the key is bound to."""
    if not body.definitions and not body.queues:
        raise invalid("validation", "is missing; name definitions, queues or both", pointer="/definitions")
    queues = body.queues or tuple(sorted(caller.queues))
    if caller.queues and not caller.queues.issuperset(queues):
        raise Refusal("insufficient-scope", "the key is bound to other queues")
    if body.definitions:
        named = [(one.definition_key, one.definition_version) for one in body.definitions]
        return served([await spec_of(desk.client, caller, *one) for one in named], queues)
    known = [Spec.read(one.spec) for one in await desk.client.definitions() if not is_reserved(one.key)]
    own = [spec for spec in known if caller.knows(spec.key) and spec.queue in queues]
    return tuple(sorted(Line(spec.queue, spec.key, spec.version) for spec in own))


def _owner(caller: Caller, worker: str) -> str:
    """The worker as it is on record; no name of a worker holds an @."""
    return f"{worker}@{caller.key or _NO_KEY}"


async def _held(desk: Desk, asked: Asked) -> Held:
    """The lease that the token stands for. Raises JobNotFound for a job that is none of the caller's."""
    body: Any = asked.body
    if asked.caller.definitions:
        job = await desk.client.get(asked.job)
        if not asked.caller.knows(job.definition):
            raise JobNotFound(job.id)
    fence, _, worker = body.token.partition(".")
    return Held(_owner(asked.caller, worker), Lease(asked.job, int(fence)))


def _wish(body: FailBody) -> Wish | None:
    after = given(body.retry_after_seconds)
    if body.retryable is False:
        return FatalAsked()
    if after is not None:
        return RetryAsked(timedelta(seconds=after))
    return RetryAsked() if body.retryable is True else None


def _answered(asked: Asked, told: Told | None) -> Answer:
    if told is None:
        raise _lost()
    if told.is_late:
        said = "the attempt took longer than its job allows, and was ended as timed out"
        raise Refusal("lease-lost", said, job_status=told.state)
    return Answer(200, AttemptEnded(job_id=asked.job, status=told.state))


def _lost() -> Refusal:
    return Refusal("lease-lost", "it has run out or is another's: stop the attempt, and drop what came of it")
