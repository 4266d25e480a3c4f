"""The control API's calls to act on jobs and workers, and to list queues and what is registered."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import pack

from msgspec import UnsetType

from tenure.api import views
from tenure.api.aside_shapes import Asides, aside_item
from tenure.api.definition_views import Defined
from tenure.api.shapes import (
    Definitions,
    Draining,
    Queues,
    Reason,
    RescheduleBody,
    Workers,
    given,
    queue_items,
)
from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.core.reports.operations import Definition
from tenure.core.values.bounds import printable
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal, invalid
from tenure.surfaces.http.calls.create import accepted, moment

USUAL_PAGE = 50
_WORKERS = b"workers"


async def cancel(context: AppContext, request: Request) -> Response:
    """Ask a job to stop."""
    body: Reason = request.body or Reason()
    standing = await context.client.cancel(request.job, actor=request.caller.actor, reason=reason_of(body))
    if standing.state is not State.CANCELLED:
        _require_unfinished(standing)
    return accepted(standing.job, standing.state)


async def put_back(context: AppContext, request: Request) -> Response:
    """Let a job that was put aside continue."""
    standing = await context.client.aside_jobs.put_back(request.job)
    if not standing.moved:
        raise Refusal("job-state", "the job is not aside", job_status=standing.state)
    return accepted(standing.job, standing.state)


async def asides(context: AppContext, request: Request) -> Response:
    """The jobs that the database refuses to move."""
    found = await context.client.aside_jobs.look(
        namespace=request.caller.namespace, limit=request.query.get("limit", USUAL_PAGE)
    )
    return Response(200, Asides([aside_item(one, context.redaction) for one in found.jobs], found.in_all))


async def release(context: AppContext, request: Request) -> Response:
    """Release a held job; one that was released before stays as it is."""
    standing = await context.client.accept(request.job)
    _require_unfinished(standing)
    return accepted(standing.job, standing.state)


async def give_up(context: AppContext, request: Request) -> Response:
    """Make a job that waits for another attempt a dead letter instead."""
    standing = await context.client.give_up(request.job)
    _require_unfinished(standing)
    if standing.state is not State.RETRYING:
        detail = f"the job is {standing.state}; only a job that waits for another attempt can be given up"
        raise Refusal("job-state", detail, job_status=standing.state)
    return accepted(standing.job, standing.state)


async def reschedule(context: AppContext, request: Request) -> Response:
    """Move a job that waits for its time, or for another attempt, to another time; its attempts stay.

    A time that has passed means now: it is queued at once. A repeat changes nothing.
    """
    body: RescheduleBody = request.body
    run_at, delay = given(body.run_at), given(body.delay_seconds)
    if run_at is None and delay is None:
        raise invalid("validation", "is missing; give it, or delaySeconds (0 means now)", pointer="/runAt")
    standing = await context.client.reschedule(
        request.job,
        run_at=None if run_at is None else moment(run_at),
        delay=None if delay is None else timedelta(seconds=delay),
        actor=request.caller.actor,
    )
    return accepted(standing.job, standing.state)


async def definitions(context: AppContext, request: Request) -> Response:
    """Every definition that workers have registered."""
    return _shown(await context.client.definitions(), request)


async def definition(context: AppContext, request: Request) -> Response:
    """Every version of one definition."""
    found = [known for known in await context.client.definitions() if known.key == request.path["key"]]
    if not found:
        raise Refusal("not-found", "there is no definition with this key")
    return _shown(found, request)


def _shown(found: Sequence[Definition], request: Request) -> Response:
    is_namespaced = request.caller.namespace is not None
    return Response(200, Definitions([Defined(known).item(is_namespaced=is_namespaced) for known in found]))


async def queues(context: AppContext, _request: Request) -> Response:
    """Every queue with its lines."""
    client = context.client
    found = queue_items(await client.lines(), await context.flow_cache.get(), await client.pauses.look())
    return Response(200, Queues(found))


async def workers(context: AppContext, request: Request) -> Response:
    """The workers, a page at a time.

    Every page reads all of them: there are only as many as run, and for each key as many as leases allow.
    """
    limit = request.query.get("limit", USUAL_PAGE)
    found = [views.worker_item(known) for known in await context.client.workers()]
    if "cursor" in request.query:
        after = cursors.read(request.query["cursor"], _WORKERS)
        found = [item for item in found if _place(item) > after]
    page = found[:limit]
    place = cursors.write(_place(page[-1]), _WORKERS) if len(found) > limit else None
    return Response(200, Workers(items=page, next_cursor=place))


def _place(item: views.WorkerItem) -> bytes:
    """A worker's place in the list: by its start, then by its name."""
    since = item.started_at - datetime.fromtimestamp(0, UTC)
    return pack(">Q", since // timedelta(microseconds=1)) + item.worker_id.encode()


async def drain(context: AppContext, request: Request) -> Response:
    """Ask a worker to claim no more, finish what runs, and end."""
    worker = request.path["workerId"]
    if not (worker.isprintable() and await context.client.drain(worker)):
        raise Refusal("not-found", "there is no worker with this id")
    return Response(202, Draining(worker_id=worker))


def reason_of(body: Reason) -> str | None:
    """The given reason, if any. Raises InvalidInput when it cannot be stored."""
    if isinstance(body.reason, UnsetType):
        return None
    printable("reason", body.reason)
    return body.reason


def _require_unfinished(standing: JobStanding) -> None:
    if standing.state.is_final:
        raise Refusal(
            "job-terminal",
            f"the job is {standing.state} and cannot change any more",
            job_status=standing.state,
        )
