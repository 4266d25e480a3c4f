"""The control API's ways to act on jobs, queues and workers, and to see what is registered."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from struct import pack

from msgspec import UnsetType

from tenure.core.bounds import named, printable
from tenure.core.errors import InvalidInput
from tenure.core.job import Standing
from tenure.core.operations import Definition
from tenure.core.states import State
from tenure.surfaces import inputs, views
from tenure.surfaces.definition_views import Defined
from tenure.surfaces.http import cursors
from tenure.surfaces.http.aside_shapes import Asides, aside_item
from tenure.surfaces.http.creating import accepted
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.shapes import (
    Definitions,
    Draining,
    PauseBody,
    Queues,
    QueueState,
    Reason,
    Workers,
    queue_items,
)

USUAL_PAGE = 50
_WORKERS = b"workers"


async def cancel(desk: Desk, asked: Asked) -> Answer:
    """Ask a job to stop."""
    body: Reason = asked.body or Reason()
    standing = await desk.client.cancel(asked.job, actor=asked.caller.actor, reason=said_reason(body))
    if standing.state is not State.CANCELLED:
        _require_unfinished(standing)
    return accepted(standing.job, standing.state)


async def put_back(desk: Desk, asked: Asked) -> Answer:
    """Let a job go on that was put aside."""
    standing = await desk.client.mending.put_back(asked.job)
    if not standing.moved:
        raise Refusal("job-state", "the job is not aside", job_status=standing.state)
    return accepted(standing.job, standing.state)


async def asides(desk: Desk, asked: Asked) -> Answer:
    """The jobs that the database refuses to move."""
    found = await desk.client.mending.look(
        namespace=asked.caller.namespace, limit=asked.query.get("limit", USUAL_PAGE)
    )
    return Answer(200, Asides([aside_item(one, desk.redaction) for one in found.jobs], found.in_all))


async def release(desk: Desk, asked: Asked) -> Answer:
    """Let a held job go; one that was let go before stays as it is."""
    standing = await desk.client.accept(asked.job)
    _require_unfinished(standing)
    return accepted(standing.job, standing.state)


async def give_up(desk: Desk, asked: Asked) -> Answer:
    """Let a job that waits for another attempt be a dead letter instead."""
    standing = await desk.client.give_up(asked.job)
    _require_unfinished(standing)
    if standing.state is not State.RETRYING:
        said = f"the job is {standing.state}; only one that waits for another attempt can be given up"
        raise Refusal("job-state", said, job_status=standing.state)
    return accepted(standing.job, standing.state)


async def definitions(desk: Desk, asked: Asked) -> Answer:
    """Every definition that workers have registered."""
    return _shown(await desk.client.definitions(), asked)


async def definition(desk: Desk, asked: Asked) -> Answer:
    """Every version of one definition."""
    found = [known for known in await desk.client.definitions() if known.key == asked.path["key"]]
    if not found:
        raise Refusal("not-found", "there is no such definition")
    return _shown(found, asked)


def _shown(found: Sequence[Definition], asked: Asked) -> Answer:
    is_fenced = asked.caller.namespace is not None
    return Answer(200, Definitions([Defined(known).item(is_fenced=is_fenced) for known in found]))


async def queues(desk: Desk, _asked: Asked) -> Answer:
    """Every queue with its lines."""
    return Answer(200, Queues(queue_items(await desk.client.lines(), await desk.passing.look())))


async def pause(desk: Desk, asked: Asked) -> Answer:
    """Let nothing be claimed from a queue."""
    body: PauseBody = asked.body or PauseBody()
    queue = _queue(asked)
    until = None if isinstance(body.until, UnsetType) else inputs.moment(body.until)
    await desk.client.pause(queue, until=until, by=asked.caller.name, reason=said_reason(body))
    return Answer(200, QueueState(queue, paused=True))


async def resume(desk: Desk, asked: Asked) -> Answer:
    """Let workers claim from a queue again."""
    queue = _queue(asked)
    await desk.client.resume(queue)
    return Answer(200, QueueState(queue, paused=False))


async def workers(desk: Desk, asked: Asked) -> Answer:
    """Who runs jobs, a page at a time.

    All are read for it: they are as many as run, and so many names of each key as a lease lets them be.
    """
    limit = asked.query.get("limit", USUAL_PAGE)
    found = [views.worker_item(known) for known in await desk.client.workers()]
    if "cursor" in asked.query:
        behind = cursors.read(asked.query["cursor"], _WORKERS)
        found = [item for item in found if _place(item) > behind]
    page = found[:limit]
    place = cursors.write(_place(page[-1]), _WORKERS) if len(found) > limit else None
    return Answer(200, Workers(items=page, next_cursor=place))


def _place(item: views.WorkerItem) -> bytes:
    """Where a worker stands in the list: by when it started, and then by its name."""
    since = item.started_at - datetime.fromtimestamp(0, UTC)
    return pack(">Q", since // timedelta(microseconds=1)) + item.worker_id.encode()


async def drain(desk: Desk, asked: Asked) -> Answer:
    """Ask a worker to claim no more, finish what runs, and end."""
    worker = asked.path["workerId"]
    if not (worker.isprintable() and await desk.client.drain(worker)):
        raise Refusal("not-found", "there is no such worker")
    return Answer(202, Draining(worker_id=worker))


def _queue(asked: Asked) -> str:
    try:
        named("queue", asked.path["queue"])
    except InvalidInput:
        raise Refusal("not-found", "no queue can have this name") from None
    return asked.path["queue"]


def said_reason(body: Reason) -> str | None:
    """The reason that was given, if any. Raises InvalidInput when it cannot be kept."""
    if isinstance(body.reason, UnsetType):
        return None
    printable("reason", body.reason)
    return body.reason


def _require_unfinished(standing: Standing) -> None:
    if standing.state.is_final:
        raise Refusal("job-terminal", f"the job is {standing.state}", job_status=standing.state)
