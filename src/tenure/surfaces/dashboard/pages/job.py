"""One job: where it stands and why, what it did when, and all that its attempts left behind."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from tenure.core import fingerprint
from tenure.core.aside import Aside
from tenure.core.children import given_key
from tenure.core.documents import NULL
from tenure.core.job import Job
from tenure.core.operations import LineStatus
from tenure.core.states import DEAD_LETTERS, State
from tenure.engine.following import Said
from tenure.surfaces import views
from tenure.surfaces.dashboard.pages import timeline
from tenure.surfaces.dashboard.pages.reasons import line_of, reason
from tenure.surfaces.dashboard.rendering import render
from tenure.surfaces.dashboard.wording import preview
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal

MOST_ATTEMPTS = 100
MOST_EVENTS = 100
MOST_STEPS = 400
"""Events that the time line is drawn from, the latest ones."""

LOG_LINES = 300


class Log(Struct, frozen=True):
    """Part of what attempts wrote. `earlier` and `later` say that there is more on either side.

    With `is_end` it goes on growing where it ends.
    """

    lines: Sequence[views.LogItem]
    earlier: bool
    later: tuple[int, int] | None
    is_end: bool


async def job(desk: Desk, asked: Asked) -> Answer:
    """All that is known of one job."""
    found = await desk.client.get(asked.job)
    after = asked.query.get("events")
    first = max(0, found.events - MOST_EVENTS) if after is None else after
    events = await desk.client.events(found.id, after=first, limit=MOST_EVENTS)
    attempts = await desk.client.attempts(
        found.id, after=asked.query.get("attempts", 0), limit=MOST_ATTEMPTS + 1
    )
    shown = views.redacted(found, desk.redaction)
    steps = await desk.client.events(found.id, after=max(0, found.events - MOST_STEPS), limit=MOST_STEPS)
    return render(
        asked,
        "job.html",
        fragment="_job.html",
        job=shown,
        key=given_key(shown),
        error=shown.error,
        fingerprint=_fingerprint(found),
        reason=reason(found, await _line(desk, asked, found), await _aside(desk, found)),
        timeline=timeline.draw(steps, found.finished_at or datetime.now(UTC)),
        params=preview(found.params, desk.redaction),
        result=None if found.result is None else preview(found.result, desk.redaction),
        attempts=[views.attempt_item(attempt, desk.redaction) for attempt in attempts[:MOST_ATTEMPTS]],
        later_attempts=attempts[MOST_ATTEMPTS - 1].fence if len(attempts) > MOST_ATTEMPTS else None,
        events=[views.event_item(event, desk.redaction) for event in reversed(events)],
        first_event=first,
        log=await _log(desk, asked, found),
        may_be=_may_be(found),
    )


async def params(desk: Desk, asked: Asked) -> Answer:
    """The params in full, without their secrets."""
    found = await desk.client.get(asked.job)
    return Answer(200, desk.redaction.document(found.params).encode())


async def result(desk: Desk, asked: Asked) -> Answer:
    """The result in full, without its secrets."""
    found = await desk.client.get(asked.job)
    if found.state is not State.SUCCEEDED:
        raise Refusal("no-result", f"the job is {found.state}", job_status=found.state)
    return Answer(200, desk.redaction.document(found.result or NULL).encode())


async def _line(desk: Desk, asked: Asked, found: Job) -> LineStatus | None:
    """The line of a job that stands in one, unless lines are closed to the caller."""
    if found.state is not State.QUEUED or asked.caller.namespace is not None:
        return None
    wanted = line_of(found)
    return next((status for status in await desk.client.lines() if status.line == wanted), None)


async def _aside(desk: Desk, found: Job) -> Aside | None:
    """Why a job is aside, without what is hidden."""
    aside = await desk.client.mending.find(found)
    return None if aside is None else replace(aside, text=desk.redaction.text(aside.text))


async def _log(desk: Desk, asked: Asked, found: Job) -> Log:
    """From the place that is asked for, else the end of it."""
    place = asked.query.get("log")
    if place is None:
        said = await desk.client.last_log(found.id, limit=LOG_LINES + 1)
        return Log(_lines(said[-LOG_LINES:], desk), len(said) > LOG_LINES, None, True)
    said = await desk.client.log(found.id, after=place, limit=LOG_LINES + 1)
    last = said[LOG_LINES - 1] if len(said) > LOG_LINES else None
    return Log(_lines(said[:LOG_LINES], desk), place > (0, 0), last and (last.fence, last.line.n), False)


def _lines(said: Sequence[Said], desk: Desk) -> list[views.LogItem]:
    return [views.log_item(*one, desk.redaction) for one in said]


def _fingerprint(found: Job) -> str | None:
    return fingerprint.of(found.definition, found.error) if found.state in DEAD_LETTERS else None


def _may_be(found: Job) -> frozenset[str]:
    """What can be done to a job where it stands."""
    can = {
        "release": found.state is State.CREATED,
        "give-up": found.state is State.RETRYING,
        "cancel": not found.state.is_final and found.state is not State.CANCELLING,
        "put-back": True,
        "replay": found.state.is_final,
    }
    is_aside = found.aside_at is not None
    return frozenset(name for name, is_so in can.items() if is_so and is_aside == (name == "put-back"))
