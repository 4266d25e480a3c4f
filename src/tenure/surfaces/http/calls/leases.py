"""The worker protocol: programs in any language claim jobs, keep their leases, report and sign off.

A caller with the token of a lease, and the key that claimed it, owns the attempt: the stored owner is the
worker's id together with the key's, so that no other key can act for it, whatever it guesses.
"""

import asyncio
from datetime import timedelta

from msgspec import UnsetType

from tenure.api.lease_progress_shapes import SuspendBody
from tenure.api.lease_shapes import (
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
from tenure.api.shapes import given
from tenure.core.errors import InvalidInput, JobNotFound
from tenure.core.model.durable import Wait, WaitKind, step_named
from tenure.core.model.lease import Lease, Line, Order, Progress, RemoteClaim
from tenure.core.model.retry import Asked as Wish
from tenure.core.model.retry import FatalAsked, Raised, RetryAsked, Returned, failure_of
from tenure.core.model.spec import Spec, is_reserved
from tenure.core.reports.operations import WorkerInfo
from tenure.core.values.bounds import named, printable
from tenure.core.values.documents import NULL
from tenure.engine.client.remote_leases import RemoteLease, ReportAnswer, SentLine
from tenure.engine.config import served_lines
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.first_of import until_first
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.app.request_body import ClientGone
from tenure.surfaces.http.auth.authentication import no_key
from tenure.surfaces.http.calls.intent import document, spec_of

FIELDS = {"definition": "definitions", "type": "error/type"}
LEASE_SECONDS = 30
"""How long a lease lasts if the request says nothing."""

VERSION = "http"
"""Shown for such a worker in place of a version of Tenure."""

SLEEP, WAIT = "sleep:", "wait:"
"""What the names of steps of pauses and waits begin with, if the worker gives none."""

_NO_KEY = "http"


async def claim(context: AppContext, request: Request) -> Response:
    """Claim queued jobs, waiting for one if asked to; a client that is gone claims none."""
    body: LeaseOrder = request.body
    began_at = asyncio.get_running_loop().time()
    lease_for = _lease_for(context, body)
    lines = await _lines(context, request.caller, body)
    owner = _owner(request.caller, body.worker_id)
    leases = context.client.remote_leases
    worker = WorkerInfo(
        id=owner, host=request.caller.name[:255], pid=0, version=VERSION, slots=body.limit, lines=lines
    )
    if await leases.introduce(worker):
        return Response(200, Leases(leases=[], waited_seconds=0.0, drain=True))
    order = Order(worker=owner, lines=lines, limit=body.limit, lease_for=lease_for)
    known = leases.arrivals.news
    taken, waited_until = await leases.take(order), began_at
    if not taken and request.query.get("waitSeconds"):
        taken, waited_until = await _waited(context, request, order, known)
    is_connected = False
    try:
        is_connected = not await _has_left(request)
    finally:
        if not is_connected:
            leases.drop(owner, taken)
    if not is_connected:
        raise ClientGone
    items = [lease_item(one, f"{one.claimed.lease.fence}.{body.worker_id}") for one in taken]
    return Response(200, Leases(leases=items, waited_seconds=waited_until - began_at, drain=False))


def _lease_for(context: AppContext, body: LeaseOrder) -> timedelta:
    if (asked := given(body.lease_seconds)) is not None:
        return timedelta(seconds=asked)
    return timedelta(seconds=LEASE_SECONDS) if body.heartbeats else context.lock_timeout


async def heartbeat(context: AppContext, request: Request) -> Response:
    """Prolong a lease, and store progress and logs; the answer says whether the job is to stop, and why."""
    body: HeartbeatBody = request.body
    held = await held_lease(context, request)
    progress = given(body.progress)
    kept = await context.client.remote_leases.keep(
        held,
        timedelta(seconds=body.lease_seconds),
        None if progress is None else Progress(progress.fraction, progress.message),
        [SentLine(int(line.n), line.level, line.text) for line in body.logs],
    )
    if kept is None:
        raise lost()
    item = KeptLease(
        job_id=request.job,
        lease_expires_at=kept.expires_at,
        lease_seconds=kept.lease_for.total_seconds(),
        stop=kept.stop,
        drain=kept.drain,
    )
    return Response(200, item)


async def complete(context: AppContext, request: Request) -> Response:
    """Report that the attempt succeeded; a repeated report, after a lost answer, changes nothing."""
    body: CompleteBody = request.body
    held = await held_lease(context, request)
    result = NULL if isinstance(body.result, UnsetType) else document(body.result, "/result")
    return answered(request, await context.client.remote_leases.end(held, Returned(result)))


async def fail(context: AppContext, request: Request) -> Response:
    """Report that the attempt failed; the body, or else the job's policy, decides whether it is retried."""
    body: FailBody = request.body
    held = await held_lease(context, request)
    error = body.error
    printable("type", error.type, least=1)
    failure = failure_of(error.type, error.message, error.traceback)
    end = Raised(failure, (error.type,), _wish(body))
    return answered(request, await context.client.remote_leases.end(held, end))


async def release(context: AppContext, request: Request) -> Response:
    """Give a job back, which costs it no attempt; one that was asked to stop counts as stopped."""
    body: ReleaseBody = request.body
    held = await held_lease(context, request)
    return answered(request, await context.client.remote_leases.release(held, has_started=body.started))


async def suspend(context: AppContext, request: Request) -> Response:
    """Let a job wait for a time or for a signal; this costs it no attempt, and another one goes on later.

    If the signal is there already, the job is in line again at once.
    """
    held = await held_lease(context, request)
    return answered(request, await context.client.remote_leases.suspend(held, _wait(request.body, held)))


async def leave(context: AppContext, request: Request) -> Response:
    """Remove a worker that has ended from the list. Jobs that it still has are not affected."""
    worker = request.path["workerId"]
    try:
        named("worker", worker)
    except InvalidInput:
        raise Refusal("not-found", "no worker can have this id") from None
    await context.client.remote_leases.dismiss(_owner(request.caller, worker))
    return Response(200, Dismissed(worker_id=worker))


async def _waited(
    context: AppContext, request: Request, order: Order, known: int
) -> tuple[list[RemoteClaim], float]:
    """The jobs claimed once there are some, and the time until which there were none.

    No jobs when the time is over or the server stops.
    """
    arrivals = context.client.remote_leases.arrivals
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + request.query["waitSeconds"]
    with context.waits.taken(request.caller):
        while (left := ends_at - loop.time()) > 0 and not context.stopping.is_set():
            news, _, gone = await until_first(
                arrivals.after(known, left), context.stopping.wait(), request.gone()
            )
            if not gone.cancelled():
                raise ClientGone
            if not news.cancelled():
                news.result()
            if not await request.is_admitted():
                raise no_key()  # valid when the wait began, but not any more
            known, waited_until = arrivals.news, loop.time()
            if taken := await context.client.remote_leases.take_again(order):
                if await request.is_admitted():
                    return taken, waited_until
                context.client.remote_leases.drop(order.worker, taken)  # the key was revoked during the claim
                raise no_key()
    return [], loop.time()


async def _has_left(request: Request) -> bool:
    """Whether the client has closed the connection by now."""
    gone, _ = await until_first(request.gone(), asyncio.sleep(0))
    return not gone.cancelled()


async def _lines(context: AppContext, caller: Caller, body: LeaseOrder) -> tuple[Line, ...]:
    """The lines that the request names, within what its key is bound to."""
    if not body.definitions and not body.queues:
        raise invalid("validation", "is missing; name definitions, queues or both", pointer="/definitions")
    queues = body.queues or tuple(sorted(caller.queues))
    if caller.queues and not caller.queues.issuperset(queues):
        raise Refusal(
            "insufficient-scope", "the key is not for these queues; name only queues that it is bound to"
        )
    if body.definitions:
        named = [(one.definition_key, one.definition_version) for one in body.definitions]
        return served_lines([await spec_of(context.client, caller, *one) for one in named], queues)
    known = [Spec.read(one.spec) for one in await context.client.definitions() if not is_reserved(one.key)]
    own = [spec for spec in known if caller.knows(spec.key) and spec.queue in queues]
    return tuple(sorted(Line(spec.queue, spec.key, spec.version) for spec in own))


def _owner(caller: Caller, worker: str) -> str:
    """The worker's stored id; no name of a worker holds an @."""
    return f"{worker}@{caller.key or _NO_KEY}"


async def held_lease(context: AppContext, request: Request) -> RemoteLease:
    """The lease of the token. Raises JobNotFound for a job that the caller may not see."""
    token: str = request.query["token"] if request.body is None else request.body.token
    if request.caller.definitions:
        job = await context.client.get(request.job)
        if not request.caller.knows(job.definition):
            raise JobNotFound(job.id)
    fence, _, worker = token.partition(".")
    return RemoteLease(_owner(request.caller, worker), Lease(request.job, int(fence)))


def _wait(body: SuspendBody, held: RemoteLease) -> Wait:
    pause, signal, timeout = given(body.for_seconds), given(body.signal), given(body.timeout_seconds)
    if (pause is None) == (signal is None):
        problem = "is missing; give it, or signal" if pause is None else "does not go with signal; give one"
        raise invalid("validation", problem, pointer="/forSeconds")
    if pause is not None and timeout is not None:
        raise invalid("validation", "belongs to a signal; leave it out", pointer="/timeoutSeconds")
    if signal is not None:
        step_named("signal", signal)
        return Wait(
            kind=WaitKind.SIGNAL,
            step=given(body.name) or f"{WAIT}{signal}",
            signal=signal,
            timeout=None if timeout is None else timedelta(seconds=timeout),
        )
    # A name of its own for each attempt: a pause that was repeated under one name would be over already.
    name = given(body.name) or f"{SLEEP}{held.lease.fence}"
    return Wait(kind=WaitKind.TIME, step=name, timeout=timedelta(seconds=pause or 0))


def _wish(body: FailBody) -> Wish | None:
    after = given(body.retry_after_seconds)
    if body.retryable is False:
        return FatalAsked()
    if after is not None:
        return RetryAsked(timedelta(seconds=after))
    return RetryAsked() if body.retryable is True else None


def answered(request: Request, answer: ReportAnswer | None) -> Response:
    """The answer to a report that an attempt has ended."""
    if answer is None:
        raise lost()
    if answer.is_late:
        detail = "the attempt exceeded the job's timeout and was ended as timed out; discard its result"
        raise Refusal("lease-lost", detail, job_status=answer.state)
    return Response(200, AttemptEnded(job_id=request.job, status=answer.state))


def lost() -> Refusal:
    """The refusal where the lease does not hold."""
    detail = "the lease has expired or belongs to another worker; stop the attempt and discard its result"
    return Refusal("lease-lost", detail)
