"""One job: what it does or why it does not run, how far it is, what happened, what it said and started."""

import asyncio
from datetime import UTC, datetime

from tenure.api import views
from tenure.api.why_shapes import WhyItem, why_item
from tenure.core.model.child_keys import given_key
from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.schedule.schedule import ScheduleName
from tenure.core.values.documents import NULL
from tenure.engine.client.reschedule import WAITING
from tenure.surfaces.dashboard.formats import preview
from tenure.surfaces.dashboard.pages.addresses import schedule_address
from tenure.surfaces.dashboard.pages.job import timeline
from tenure.surfaces.dashboard.pages.job.attempt_rows import attempts_view
from tenure.surfaces.dashboard.pages.job.children import children
from tenure.surfaces.dashboard.pages.job.error_view import error_view
from tenure.surfaces.dashboard.pages.job.log_view import log_view
from tenure.surfaces.dashboard.pages.job.obstacles import hindrances
from tenure.surfaces.dashboard.pages.job.present import present
from tenure.surfaces.dashboard.pages.job.steps import steps_view
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_ATTEMPTS = 100
MOST_EVENTS = 100
MOST_STEPS = 400
"""The timeline is drawn from so many events, the latest ones."""

REPLAYED = "replay:"
"""How the scope of keys of replays begins: pages and commands make these, not the caller of the job."""


async def job(context: AppContext, request: Request) -> Response:
    """The page of one job."""
    client, query = context.client, request.query
    found = await client.get(request.job)
    shown = views.redacted(found, context.redaction)
    after = query.get("events")
    first = max(0, found.events - MOST_EVENTS) if after is None else after
    events, attempts, taken, why, steps, started = await asyncio.gather(
        client.events(found.id, after=first, limit=MOST_EVENTS),
        client.attempts(found.id, after=query.get("attempts", 0), limit=MOST_ATTEMPTS + 1),
        client.events(found.id, after=max(0, found.events - MOST_STEPS), limit=MOST_STEPS),
        _why(context, request, found),
        steps_view(context, request, found),
        children(context, request, found),
    )
    now = datetime.now(UTC)
    is_waiting = why is not None and not found.state.is_owned
    return render(
        request,
        "job.html",
        fragment="_job.html",
        job=shown,
        key=None if found.scope.startswith(REPLAYED) else given_key(shown),
        schedule=_schedule(shown),
        error=await error_view(context, request, found),
        why=why,
        hindrances=hindrances(why, found, request.caller) if why and is_waiting else (),
        present=None if why is None or is_waiting else present(shown, attempts, why, now),
        timeline=timeline.draw(taken, found.finished_at or now, steps.drawn),
        params=preview(found.params, context.redaction),
        result=None if found.result is None else preview(found.result, context.redaction),
        attempts=attempts_view(attempts, context.redaction, MOST_ATTEMPTS),
        children=started,
        events=[views.event_item(event, context.redaction) for event in reversed(events)],
        first_event=first,
        is_history_open=after is not None,
        log=await log_view(context, request, found, attempts[:MOST_ATTEMPTS]),
        progress=steps,
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


def _schedule(found: Job) -> tuple[str, str] | None:
    """The name and the page of the schedule that made the job."""
    kind, _, name = (found.creator or "").partition(":")
    if kind != "schedule" or not name:
        return None
    return name, schedule_address(ScheduleName(found.namespace, name))


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
