"""Queues: how many jobs wait and since when, how many workers run them, and whether the queue is paused."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.flow import Flows
from tenure.core.reports.operations import LineStatus, Pause, PauseScope, WorkerStatus
from tenure.core.values.bounds import named
from tenure.surfaces.dashboard.forms.pause_forms import set_pause
from tenure.surfaces.dashboard.forms.shown import ReturnedForm
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_LINES = 200
"""Lines that the page shows, those with the most jobs."""

MOST_NAMED = 100
"""Definitions without jobs that it names."""

ADDRESS = "/ui/queues"


class Queue(Struct, frozen=True):
    """A queue, and those of its lines that the page shows."""

    name: str
    pause: Pause | None
    queued: int
    running: int
    oldest: datetime | None
    a_minute: tuple[float, float, float]
    """How many jobs are enqueued, start and end."""

    workers: int
    """How many live workers serve a line of it."""

    lines: Sequence[LineStatus]

    @property
    def is_unserved(self) -> bool:
        """Whether jobs wait that nobody serves."""
        return bool(self.queued) and not self.workers

    @property
    def is_stuck(self) -> bool:
        """Whether what waits does so because of a pause, or because nobody serves it."""
        return bool(self.queued) and (self.pause is not None or not self.workers)


async def queues(context: AppContext, request: Request) -> Response:
    """The page of queues: paused ones, and those of lines with jobs, the fullest first.

    Workers serve many lines that never have a job: every queue with every definition.
    """
    return await _page(context, request, ReturnedForm())


async def _page(context: AppContext, request: Request, returned: ReturnedForm, status: int = 200) -> Response:
    known = await context.client.lines()
    lines = [line for line in known if line.counts or line.pause]
    pauses = {
        pause.scope.queue: pause for pause in await context.client.pauses.look() if not pause.scope.definition
    }
    shown = sorted(lines, key=lambda line: (-_unfinished(line), line.line))[:MOST_LINES]
    serving = _serving(await context.client.workers())
    found = _by_queue(shown, await context.flow_cache.get(), pauses, serving)
    without = [line.line for line in known if not (line.counts or line.pause)]
    return render(
        request,
        "queues.html",
        fragment="_queues.html",
        status=status,
        returned=returned,
        queues=found,
        said=_said(found),
        left_out=len(lines) - len(shown),
        empty=len(known) - len(lines),
        without=[f"{line.definition} in {line.queue}" for line in without[:MOST_NAMED]],
    )


async def pause(context: AppContext, request: Request) -> Response:
    """Pause a queue."""
    name = _queue_name(request)
    try:
        await set_pause(context, request, PauseScope(name))
    except InvalidInput as error:
        return await _page(context, request, ReturnedForm.refused(name, request.body, error), status=422)
    return see_other(ADDRESS)


async def resume(context: AppContext, request: Request) -> Response:
    """Resume a queue."""
    await context.client.pauses.resume(PauseScope(_queue_name(request)))
    return see_other(ADDRESS)


def _serving(workers: Sequence[WorkerStatus]) -> Counter[str]:
    """How many live workers serve each queue."""
    return Counter(
        queue for one in workers if one.is_alive for queue in {line.queue for line in one.worker.lines}
    )


def _said(queues: Sequence[Queue]) -> str:
    """How many of them are paused, or served by nobody, as a part of a sentence."""
    paused = sum(queue.pause is not None for queue in queues)
    unserved = sum(queue.is_unserved for queue in queues)
    parts = [f"{paused} {'is' if paused == 1 else 'are'} paused"] if paused else []
    parts += [f"{unserved} {'is' if unserved == 1 else 'are'} served by nobody"] if unserved else []
    return f", of which {' and '.join(parts)}" if parts else ""


def _by_queue(
    lines: Sequence[LineStatus], flows: Flows, pauses: Mapping[str, Pause], serving: Mapping[str, int]
) -> list[Queue]:
    names = sorted({*pauses, *(line.line.queue for line in lines)})
    own = {name: [line for line in lines if line.line.queue == name] for name in names}
    return [_queue_of(name, own[name], flows, pauses.get(name), serving.get(name, 0)) for name in names]


def _queue_of(
    name: str, lines: Sequence[LineStatus], flows: Flows, pause: Pause | None, workers: int
) -> Queue:
    return Queue(
        name,
        pause,
        sum(line.counts.get(State.QUEUED, 0) for line in lines),
        sum(line.counts.get(State.RUNNING, 0) for line in lines),
        min((line.oldest for line in lines if line.oldest), default=None),
        flows.a_minute(name),
        workers,
        lines,
    )


def _unfinished(line: LineStatus) -> int:
    return sum(count for state, count in line.counts.items() if not state.is_final)


def _queue_name(request: Request) -> str:
    try:
        named("queue", request.path["queue"])
    except InvalidInput:
        raise Refusal("not-found", "a queue cannot have this name") from None
    return request.path["queue"]
