"""What can be asked of a server, each written once for both clients."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack
from uuid import UUID, uuid4

import msgspec
from msgspec import UNSET, Raw, Struct

from tenure.core.bounds import LARGEST_PAGE, MOST_TAGS, distinct
from tenure.core.documents import write
from tenure.core.errors import NoResult
from tenure.core.outcome import Failure
from tenure.core.results import no_result
from tenure.core.states import State
from tenure.execution.tracing import current
from tenure.surfaces import views
from tenure.surfaces.http import shapes
from tenure.surfaces.library.options import Duration, Options, checked, duration
from tenure.surfaces.remote.asking import ask, read
from tenure.surfaces.remote.errors import Conflict, Unreachable
from tenure.surfaces.remote.values import JobId, RemoteJob, id_of
from tenure.surfaces.remote.wire import USUAL_SECONDS, Reply, Request, Wire

LONGEST_POLL = 20.0
"""Seconds for which one request waits for a job's end; the server allows thirty."""

_BATCH_SECONDS = 75.0
_BREATH = 0.2
"""Seconds between two requests that wait, when the server did not wait as long as it was asked to."""


def new_job(
    definition: str, params: object = None, *, version: int | None = None, **options: Unpack[Options]
) -> shapes.NewJobBody:
    """A job for `create_many`. Nothing is sent. It bears its key, so that it can be sent any number of times.

    `options` are those of the library; what is left out is as the definition says.
    """
    asked = checked(options, "new_job")
    distinct("tags", asked.get("tags") or (), MOST_TAGS)
    fields: dict[str, Any] = {
        **{name: asked.get(name) for name in ("priority", "queue", "max_attempts", "hold", "tags")},
        "definition_version": version,
        "params": None if params is None else Raw(write(params)),
        "run_at": _moment(asked.get("run_at")),
        "delay_seconds": _seconds(asked.get("delay")),
        "timeout_seconds": _seconds(asked.get("timeout")),
        "idempotency_key": _key(asked.get("idempotency_key")),
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return shapes.NewJobBody(definition_key=definition, **given)


async def create(
    wire: Wire,
    definition: str,
    params: object = None,
    *,
    version: int | None = None,
    **options: Unpack[Options],
) -> views.Accepted:
    """Record a job. When this has returned the job is kept, and there is one, whatever became of the answers.

    Without an `idempotency_key` it is given one for this call alone.
    """
    job = new_job(definition, params, version=version, **options)
    return read(wire, await ask(wire, _post("/v1/jobs", job)), views.Accepted)


async def create_many(wire: Wire, jobs: Sequence[shapes.NewJobBody]) -> Sequence[views.Accepted]:
    """Record jobs, made by `new_job`, all or none; the answers are in their order."""
    if not jobs:
        return []
    request = _post("/v1/jobs/batch", {"jobs": jobs}, seconds=_BATCH_SECONDS)
    return read(wire, await ask(wire, request), shapes.BatchAccepted).items


async def get(wire: Wire, job: JobId) -> RemoteJob:
    """All that the server tells of a job. Raises NotFound."""
    return read(wire, await ask(wire, _get(f"/v1/jobs/{id_of(job)}")), RemoteJob)


async def wait(wire: Wire, job: JobId, timeout: Duration | None = None) -> Any:
    """What the handler returned, once the job has succeeded; a server that restarts is waited for.

    Raises JobFailed, JobCancelled or JobBuried when it ended otherwise, and TimeoutError when it has not
    ended in time; the job goes on then. Values of secret names are left out of what is returned.
    """
    which, clock = id_of(job), wire.terms.clock
    until = None if timeout is None else clock() + duration("timeout", timeout).total_seconds()
    while True:
        began = clock()
        try:
            reply = await _poll(wire, which, until)
        except Conflict as conflict:
            if conflict.kind != "no-result":
                raise
            raise await _unsuccessful(wire, which) from None
        except Unreachable as error:
            if until is None or clock() < until:
                raise
            raise TimeoutError(f"job {which} has not ended in time, as far as is known: {error}") from None
        if reply.status == 200:
            return msgspec.json.decode(read(wire, reply, shapes.Result).result)
        if until is not None and clock() >= until:
            raise TimeoutError(f"job {which} has not ended in time; it goes on")
        if clock() - began < _BREATH:
            await wire.pause(_BREATH)


async def cancel(wire: Wire, job: JobId, reason: str | None = None) -> State:
    """Ask a job to stop; answers with its state then. Raises Conflict for one that has ended otherwise."""
    return await _change(wire, job, "cancel", {} if reason is None else {"reason": reason})


async def release(wire: Wire, job: JobId) -> State:
    """Let a job go that was created with `hold`; answers with its state then."""
    return await _change(wire, job, "release", met_by={State.SUCCEEDED, State.FAILED, State.BURIED})


async def put_back(wire: Wire, job: JobId) -> State:
    """Let a job go on that was put aside, once it is mended; answers with its state then."""
    return await _change(wire, job, "put-back", met_by=frozenset(State))


async def give_up(wire: Wire, job: JobId) -> State:
    """Let a job that waits for another attempt be a dead letter; answers with its state then."""
    return await _change(wire, job, "give-up", met_by={State.FAILED})


async def replay(
    wire: Wire, job: JobId, *, params: object = None, force: bool = False, key: str | None = None
) -> views.Accepted:
    """Run a finished job again, as a new one, with other params if any are given.

    While an earlier replay has not ended it is the answer, unless `force`. Under one `key` a job is replayed
    once; without one this call has its own.
    """
    body = shapes.ReplayBody(
        params=UNSET if params is None else Raw(write(params)), force=force, replay_key=_key(key)
    )
    return read(wire, await ask(wire, _post(f"/v1/jobs/{id_of(job)}/replay", body)), views.Accepted)


async def queues(wire: Wire) -> Sequence[shapes.QueueItem]:
    """Every queue, and how much stands in it."""
    return read(wire, await ask(wire, _get("/v1/queues")), shapes.Queues).items


async def workers(wire: Wire) -> Sequence[views.WorkerItem]:
    """Who runs jobs, of all pages."""
    found: list[views.WorkerItem] = []
    place: tuple[tuple[str, str], ...] = ()
    while True:
        query = (("limit", str(LARGEST_PAGE)), *place)
        request = Request(method="GET", path="/v1/workers", query=query)
        page = read(wire, await ask(wire, request), shapes.Workers)
        found += page.items
        if page.next_cursor is None:
            return found
        place = (("cursor", page.next_cursor),)


def _key(given: str | None) -> str:
    """What makes it safe to send something twice."""
    return str(uuid4()) if given is None else given


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _get(path: str) -> Request:
    return Request(method="GET", path=path)


def _post(path: str, body: Struct | dict[str, Any] | None, seconds: float = USUAL_SECONDS) -> Request:
    headers = {} if body is None else {"content-type": "application/json"}
    if (traceparent := current()) is not None:
        headers["traceparent"] = traceparent
    return Request(
        method="POST",
        path=path,
        headers=headers,
        body=None if body is None else msgspec.json.encode(body),
        seconds=seconds,
    )


async def _change(
    wire: Wire,
    job: JobId,
    verb: str,
    body: dict[str, Any] | None = None,
    met_by: Collection[State] = (),
) -> State:
    """Ask something of a job. `met_by` are states that only who was asked for this before can be in."""
    try:
        reply = await ask(wire, _post(f"/v1/jobs/{id_of(job)}/{verb}", body))
    except Conflict as conflict:
        # The try whose answer was lost has done it, and the job has gone on since.
        stands = conflict.problem.job_status
        if not conflict.in_doubt or stands is None or stands not in met_by:
            raise
        return stands
    return read(wire, reply, views.Accepted).status


async def _poll(wire: Wire, job: UUID, until: float | None) -> Reply:
    """Ask for a result once, waiting for it for a while that is well within the client's patience."""
    seconds = min(LONGEST_POLL, wire.terms.timeout / 2)
    latest = None
    if until is not None:
        seconds = min(seconds, max(until - wire.terms.clock(), 0))
        latest = until + USUAL_SECONDS / 5
    query = (("waitSeconds", f"{seconds:.3f}"),)
    request = Request(
        method="GET", path=f"/v1/jobs/{job}/result", query=query, seconds=seconds + USUAL_SECONDS
    )
    return await ask(wire, request, until=latest)


async def _unsuccessful(wire: Wire, job: UUID) -> NoResult:
    found = await get(wire, job)
    kind, _, message = (found.error_summary or "").partition(": ")
    return no_result(found.status, job, found.definition_key, Failure(kind, message) if kind else None)
