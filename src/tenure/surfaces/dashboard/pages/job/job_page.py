"""One job: its state and why it does not run, its timeline, attempts, log and events."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from tenure.api import views
from tenure.api.why_shapes import WhyItem, why_item
from tenure.core.model.child_keys import given_key
from tenure.core.model.job import Job
from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.schedule.schedule import ScheduleName
from tenure.core.values import fingerprint
from tenure.core.values.documents import NULL
from tenure.engine.client.log_tail import AttemptLine
from tenure.engine.client.reschedule import WAITING
from tenure.surfaces.dashboard.formats import preview
from tenure.surfaces.dashboard.pages.addresses import schedule_address
from tenure.surfaces.dashboard.pages.job import timeline
from tenure.surfaces.dashboard.pages.job.steps import steps_view
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_ATTEMPTS = 100
MOST_EVENTS = 100
MOST_STEPS = 400
"""The timeline is drawn from so many events, the latest ones."""

LOG_LINES = 300


class LogView(Struct, frozen=True):
    """Part of the log. `earlier` and `later` say that there is more on either side.

    With `is_end` it is the end of the log, where new lines appear.
    """

    lines: Sequence[views.LogItem]
    earlier: bool
    later: tuple[int, int] | None
    is_end: bool


async def job(context: AppContext, request: Request) -> Response:
    """The page of one job."""
    found = await context.client.get(request.job)
    after = request.query.get("events")
    first = max(0, found.events - MOST_EVENTS) if after is None else after
    events = await context.client.events(found.id, after=first, limit=MOST_EVENTS)
    attempts = await context.client.attempts(
        found.id, after=request.query.get("attempts", 0), limit=MOST_ATTEMPTS + 1
    )
    shown = views.redacted(found, context.redaction)
    steps = await context.client.events(found.id, after=max(0, found.events - MOST_STEPS), limit=MOST_STEPS)
    return render(
        request,
        "job.html",
        fragment="_job.html",
        job=shown,
        key=given_key(shown),
        schedule=_schedule(shown),
        error=shown.error,
        fingerprint=_fingerprint(found),
        why=await _why(context, request, found),
        timeline=timeline.draw(steps, found.finished_at or datetime.now(UTC)),
        params=preview(found.params, context.redaction),
        result=None if found.result is None else preview(found.result, context.redaction),
        attempts=[views.attempt_item(attempt, context.redaction) for attempt in attempts[:MOST_ATTEMPTS]],
        later_attempts=attempts[MOST_ATTEMPTS - 1].fence if len(attempts) > MOST_ATTEMPTS else None,
        events=[views.event_item(event, context.redaction) for event in reversed(events)],
        first_event=first,
        log=await _log(context, request, found),
        progress=await steps_view(context, request, found),
        actions=_actions(found),
    )


async def params(context: AppContext, request: Request) -> Response:
    """The params in full, redacted."""
    found = await context.client.get(request.job)
    return Response(200, context.redaction.document(found.params).encode())


async def result(context: AppContext, request: Request) -> Response:
    """The result in full, redacted."""
    found = await context.client.get(request.job)
    if found.state is not State.SUCCEEDED:
        raise Refusal("no-result", f"the job is {found.state} and has no result", job_status=found.state)
    return Response(200, context.redaction.document(found.result or NULL).encode())


async def _why(context: AppContext, request: Request, found: Job) -> WhyItem | None:
    """Why a job does not run; nothing for one that has ended, of which the page tells how."""
    if found.state.is_final:
        return None
    why = await context.client.why(found.id, namespace=request.caller.namespace)
    return why_item(why, context.redaction)


async def _log(context: AppContext, request: Request, found: Job) -> LogView:
    """The log from the place that the address names, otherwise its end."""
    place = request.query.get("log")
    if place is None:
        lines = await context.client.last_log(found.id, limit=LOG_LINES + 1)
        return LogView(_items(lines[-LOG_LINES:], context), len(lines) > LOG_LINES, None, True)
    lines = await context.client.log(found.id, after=place, limit=LOG_LINES + 1)
    last = lines[LOG_LINES - 1] if len(lines) > LOG_LINES else None
    later = last and (last.fence, last.line.n)
    return LogView(_items(lines[:LOG_LINES], context), place > (0, 0), later, False)


def _items(lines: Sequence[AttemptLine], context: AppContext) -> list[views.LogItem]:
    return [views.log_item(*line, context.redaction) for line in lines]


def _schedule(found: Job) -> tuple[str, str] | None:
    """The name and the page of the schedule that made the job."""
    kind, _, name = (found.creator or "").partition(":")
    if kind != "schedule" or not name:
        return None
    return name, schedule_address(ScheduleName(found.namespace, name))


def _fingerprint(found: Job) -> str | None:
    return fingerprint.of(found.definition, found.error) if found.state in DEAD_LETTERS else None


def _actions(found: Job) -> frozenset[str]:
    """The actions that a job allows in its state."""
    allowed = {
        "release": found.state is State.CREATED,
        "run-now": found.state in WAITING,
        "reschedule": found.state in WAITING,
        "give-up": found.state is State.RETRYING,
        "cancel": not found.state.is_final and found.state is not State.CANCELLING,
        "put-back": True,
        "replay": found.state.is_final,
    }
    is_aside = found.aside_at is not None
    return frozenset(name for name, may in allowed.items() if may and is_aside == (name == "put-back"))
