"""The methods of both clients, each written once."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack
from urllib.parse import quote
from uuid import UUID, uuid4

import msgspec
from msgspec import UNSET, Raw, Struct

from tenure.api import shapes, views, why_shapes
from tenure.api.job_options import Duration, Options, checked, duration, new_time
from tenure.core.errors import NoResult, TenureError
from tenure.core.model.durable import kept_named, step_named
from tenure.core.model.job import check_time
from tenure.core.model.states import State
from tenure.core.reports.results import no_result
from tenure.core.values.bounds import LARGEST_PAGE, MOST_TAGS, distinct
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tenure.core.values.traceparent import current
from tenure.surfaces.remote.errors import Conflict, Unreachable
from tenure.surfaces.remote.retry import ask, read
from tenure.surfaces.remote.values import JobId, RemoteJob, id_of
from tenure.surfaces.remote.wire import USUAL_SECONDS, Wire, WireReply, WireRequest

LONGEST_POLL = 20.0
"""Seconds that one request waits for a job's end; the server allows thirty."""

_STARTED = frozenset({State.QUEUED, State.RUNNING, State.SUCCEEDED, State.FAILED, State.BURIED})
"""Where a job may be that was to run at once."""

_BATCH_SECONDS = 75.0
_SHORTEST_POLL = 0.2
"""Seconds; a poll that the server answered sooner is followed by a pause as long as this."""


def new_job(
    definition: str, params: object = None, *, version: int | None = None, **options: Unpack[Options]
) -> shapes.NewJobBody:
    """Make a job for `create_many`; nothing is sent. It has its own key, so sending it twice is safe.

    `options` are those of the library; for those left out the definition decides.
    """
    given = checked(options, "new_job")
    distinct("tags", given.get("tags") or (), MOST_TAGS)
    fields: dict[str, Any] = {
        **{name: given.get(name) for name in ("priority", "queue", "max_attempts", "hold", "tags")},
        "definition_version": version,
        "params": None if params is None else Raw(write(params)),
        "run_at": _moment(given.get("run_at")),
        "delay_seconds": _seconds(given.get("delay")),
        "timeout_seconds": _seconds(given.get("timeout")),
        "idempotency_key": _key(given.get("idempotency_key")),
    }
    sent = {name: value for name, value in fields.items() if value is not None}
    return shapes.NewJobBody(definition_key=definition, **sent)


async def create(
    wire: Wire,
    definition: str,
    params: object = None,
    *,
    version: int | None = None,
    **options: Unpack[Options],
) -> views.Accepted:
    """Create a job. Once this returns the job is stored, and exactly once, even if answers were lost.

    Without an `idempotency_key` the call makes its own.
    """
    job = new_job(definition, params, version=version, **options)
    return read(wire, await ask(wire, _post("/v1/jobs", job)), views.Accepted)


async def create_many(wire: Wire, jobs: Sequence[shapes.NewJobBody]) -> Sequence[views.Accepted]:
    """Create jobs made by `new_job`, all or none; the answers are in their order."""
    if not jobs:
        return []
    request = _post("/v1/jobs/batch", {"jobs": jobs}, seconds=_BATCH_SECONDS)
    return read(wire, await ask(wire, request), shapes.BatchAccepted).items


async def get(wire: Wire, job: JobId) -> RemoteJob:
    """Read a job. Raises NotFound."""
    return read(wire, await ask(wire, _get(f"/v1/jobs/{id_of(job)}")), RemoteJob)


async def why(wire: Wire, job: JobId) -> why_shapes.WhyItem:
    """Why a job does not run: its code, a sentence with the way out, and the facts. Raises NotFound."""
    return read(wire, await ask(wire, _get(f"/v1/jobs/{id_of(job)}/why")), why_shapes.WhyItem)


async def wait(wire: Wire, job: JobId, timeout: Duration | None = None) -> Any:
    """Wait until the job has succeeded, through restarts of the server too, and return its result.

    Raises JobFailed, JobCancelled or JobBuried if it ended otherwise, and TimeoutError, which says why, if it
    has not ended in time; the job continues then. The server hides the values of secret names in the result.
    """
    which, clock = id_of(job), wire.timeouts.clock
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
            raise TimeoutError(f"job {which} has not ended in time, as far as known: {error}") from None
        if reply.status == 200:
            return msgspec.json.decode(read(wire, reply, shapes.Result).result)
        if until is not None and clock() >= until:
            raise TimeoutError(f"job {which} has not ended in time; it continues{await _reason(wire, which)}")
        if clock() - began < _SHORTEST_POLL:
            await wire.pause(_SHORTEST_POLL)


async def cancel(wire: Wire, job: JobId, reason: str | None = None) -> State:
    """Ask a job to stop; returns its state after that. Raises Conflict if it has ended otherwise."""
    return await _change(wire, job, "cancel", {} if reason is None else {"reason": reason})


async def release(wire: Wire, job: JobId) -> State:
    """Release a job that was created with `hold`; returns its state after that."""
    return await _change(wire, job, "release", met_by={State.SUCCEEDED, State.FAILED, State.BURIED})


async def put_back(wire: Wire, job: JobId) -> State:
    """Put back a job that is aside, once it is mended; returns its state after that."""
    return await _change(wire, job, "put-back", met_by=frozenset(State))


async def give_up(wire: Wire, job: JobId) -> State:
    """Make a job that waits for another attempt a dead letter; returns its state after that."""
    return await _change(wire, job, "give-up", met_by={State.FAILED})


async def reschedule(
    wire: Wire, job: JobId, *, run_at: datetime | None = None, delay: Duration | None = None
) -> State:
    """Move a job that waits for its time, or for another attempt, to `run_at`, or to `delay` from now.

    A time that has passed means now. Returns its state, which stays. Raises Conflict if it waits for no time.
    """
    to = new_time(run_at, delay)
    check_time(**to)
    if run_at is not None:
        return await _change(wire, job, "reschedule", {"runAt": run_at.isoformat()})
    return await _change(wire, job, "reschedule", {"delaySeconds": _seconds(to["delay"])})


async def run_now(wire: Wire, job: JobId) -> State:
    """Do not let a job wait for its time, or for another attempt, any longer; returns its state after that.

    Raises Conflict if it waits for no time.
    """
    return await _change(wire, job, "reschedule", {"delaySeconds": 0}, met_by=_STARTED)


async def signal(wire: Wire, job: JobId, name: str, payload: object = None) -> State:
    """Tell a job something that its handler waits for, or will wait for; returns its state after that.

    The first payload of a name stands; the same one again changes nothing. Raises Conflict for another
    payload, and if the job has ended.
    """
    step_named("name", name)
    body = {"payload": Raw(write(payload))}
    return await _change(wire, job, f"signals/{quote(name, safe='')}", body)


async def answer(wire: Wire, job: JobId, effect: str, *, happened: bool, result: object = None) -> State:
    """Say whether an effect in doubt has happened, with its result if so; returns the job's state after that.

    Raises Conflict if there is no such effect, or it is not in doubt.
    """
    kept_named("effect", effect)
    body = {"happened": happened, **({"result": Raw(write(result))} if happened else {})}
    return await _change(wire, job, f"effects/{quote(effect, safe='')}", body)


async def replay(
    wire: Wire, job: JobId, *, params: object = None, force: bool = False, key: str | None = None
) -> views.Accepted:
    """Run a finished job again, as a new one, with other params if given.

    While an earlier replay has not ended, that one is returned, unless `force`. With one `key` a job is
    replayed once; without a key the call makes its own.
    """
    body = shapes.ReplayBody(
        params=UNSET if params is None else Raw(write(params)), force=force, replay_key=_key(key)
    )
    return read(wire, await ask(wire, _post(f"/v1/jobs/{id_of(job)}/replay", body)), views.Accepted)


async def queues(wire: Wire) -> Sequence[shapes.QueueItem]:
    """List every queue, with its depth and its lines."""
    return read(wire, await ask(wire, _get("/v1/queues")), shapes.Queues).items


async def workers(wire: Wire) -> Sequence[views.WorkerItem]:
    """List every worker."""
    found: list[views.WorkerItem] = []
    place: tuple[tuple[str, str], ...] = ()
    while True:
        query = (("limit", str(LARGEST_PAGE)), *place)
        request = WireRequest(method="GET", path="/v1/workers", query=query)
        page = read(wire, await ask(wire, request), shapes.Workers)
        found += page.items
        if page.next_cursor is None:
            return found
        place = (("cursor", page.next_cursor),)


def _key(given: str | None) -> str:
    """The idempotency key, which makes it safe to send a request twice."""
    return str(uuid4()) if given is None else given


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _get(path: str) -> WireRequest:
    return WireRequest(method="GET", path=path)


def _post(path: str, body: Struct | dict[str, Any] | None, seconds: float = USUAL_SECONDS) -> WireRequest:
    headers = {} if body is None else {"content-type": "application/json"}
    if (traceparent := current()) is not None:
        headers["traceparent"] = traceparent
    return WireRequest(
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
    """Change a job. Only a job that was changed in this way before can be in a state of `met_by`."""
    try:
        reply = await ask(wire, _post(f"/v1/jobs/{id_of(job)}/{verb}", body))
    except Conflict as conflict:
        # An earlier try, whose answer was lost, has done it, and the job has moved on since.
        status = conflict.problem.job_status
        if not conflict.in_doubt or status is None or status not in met_by:
            raise
        return status
    return read(wire, reply, views.Accepted).status


async def _poll(wire: Wire, job: UUID, until: float | None) -> WireReply:
    """Ask for a result once; wait no longer than half the client's timeout."""
    seconds = min(LONGEST_POLL, wire.timeouts.timeout / 2)
    latest = None
    if until is not None:
        seconds = min(seconds, max(until - wire.timeouts.clock(), 0))
        latest = until + USUAL_SECONDS / 5
    query = (("waitSeconds", f"{seconds:.3f}"),)
    request = WireRequest(
        method="GET", path=f"/v1/jobs/{job}/result", query=query, seconds=seconds + USUAL_SECONDS
    )
    return await ask(wire, request, until=latest)


async def _reason(wire: Wire, job: UUID) -> str:
    """What keeps a job from ending, for an error; nothing if the server does not say so soon."""
    latest = wire.timeouts.clock() + USUAL_SECONDS / 5
    try:
        reply = await ask(wire, _get(f"/v1/jobs/{job}/why"), until=latest)
        return f". {read(wire, reply, why_shapes.WhyItem).sentence}"
    except TenureError:
        return ""


async def _unsuccessful(wire: Wire, job: UUID) -> NoResult:
    found = await get(wire, job)
    kind, _, message = (found.error_summary or "").partition(": ")
    return no_result(found.status, job, found.definition_key, Failure(kind, message) if kind else None)
