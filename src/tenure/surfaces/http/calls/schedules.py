"""The control API's calls about schedules."""

import re
from datetime import UTC, datetime, timedelta
from struct import pack

from msgspec import UNSET, Raw

from tenure.api.schedule_shapes import (
    Coming,
    ComingItem,
    NewScheduleBody,
    ResumeBody,
    ScheduleChange,
    ScheduleGone,
    ScheduleItem,
    SchedulePage,
    TickPage,
    TriggerBody,
    schedule_item,
    tick_item,
    tick_items,
)
from tenure.core.errors import InvalidInput
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.model.states import State
from tenure.core.schedule.schedule import Schedule, ScheduleName
from tenure.core.values.bounds import named
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.intent import document
from tenure.surfaces.http.calls.operate import USUAL_PAGE, reason_of
from tenure.surfaces.http.calls.schedule_bodies import changed_schedule, new_schedule
from tenure.surfaces.http.calls.schedule_names import place_in, place_of, refusals

USUAL_COUNT = 10
_PAGES = b"schedules"
_TICKS = b"ticks"
_MICROS = ">q"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_REVISION = re.compile(r'"?([0-9]{1,9})"?')


async def create(context: AppContext, request: Request) -> Response:
    """Record a schedule."""
    body: NewScheduleBody = request.body
    async with refusals():
        asked = new_schedule(
            body, request.marks["namespace"], request.caller.key, await context.client.schedules.now()
        )
        made = await context.client.schedules.create(asked, by=request.caller.name)
    return _answer(context, made, 201, {"location": f"/v1/schedules/{made.asked.id}"})


async def page(context: AppContext, request: Request) -> Response:
    """Schedules by name."""
    limit = request.query.get("limit", USUAL_PAGE)
    definition = request.query.get("definitionKey")
    list_id = _PAGES + (definition or "").encode()
    after = place_in(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.schedules.page(
        namespace=request.caller.namespace,
        definition=definition,
        after=after,
        limit=limit,
    )
    cursor = None
    if len(found) == limit:
        cursor = cursors.write(place_of(found[-1].name), list_id)
    return Response(200, SchedulePage(items=[_item(context, one) for one in found], next_cursor=cursor))


async def get(context: AppContext, request: Request) -> Response:
    """One schedule."""
    async with refusals():
        return _answer(context, await context.client.schedules.get(_name(request)))


async def edit(context: AppContext, request: Request) -> Response:
    """Change parts of a schedule, if it is still as it was read."""
    body: ScheduleChange = request.body
    name = _name(request)
    revision = _revision(request)
    async with refusals():
        known = await context.client.schedules.get(name)
        changed = changed_schedule(known.asked, body, request.caller.key)
        recounts = body.remaining is not UNSET
        edited = await context.client.schedules.edit(changed, revision=revision, recounts=recounts)
        return _answer(context, edited)


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a schedule with its ticks."""
    name = _name(request)
    async with refusals():
        await context.client.schedules.delete(name)
    return Response(200, ScheduleGone(name.name))


async def pause(context: AppContext, request: Request) -> Response:
    """Let a schedule fire no more."""
    reason = reason_of(request.body) if request.body else None
    async with refusals():
        paused = await context.client.schedules.pause(_name(request), by=request.caller.name, reason=reason)
        return _answer(context, paused)


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused schedule fire again."""
    body: ResumeBody = request.body or ResumeBody()
    async with refusals():
        resumed = await context.client.schedules.resume(_name(request), catch_up=body.catch_up)
        return _answer(context, resumed)


async def trigger(context: AppContext, request: Request) -> Response:
    """Run a schedule now."""
    body: TriggerBody = request.body or TriggerBody()
    params = None if body.params is UNSET else document(body.params, "/params")
    async with refusals():
        tick = await context.client.schedules.trigger(_name(request), params=params)
    return Response(
        202, tick_item(tick, State.QUEUED, context.redaction), {"location": f"/v1/jobs/{tick.job}"}
    )


async def coming(context: AppContext, request: Request) -> Response:
    """The next ticks of a schedule."""
    async with refusals():
        found = await context.client.schedules.coming(_name(request), request.query.get("count", USUAL_COUNT))
    return Response(200, Coming([ComingItem(at=one.at, starts_at=one.starts_at) for one in found]))


async def ticks(context: AppContext, request: Request) -> Response:
    """What became of the ticks of a schedule, newest first."""
    name = _name(request)
    limit = request.query.get("limit", USUAL_PAGE)
    list_id = _TICKS + place_of(name)
    before = None
    if "cursor" in request.query:
        before = _before(request.query["cursor"], list_id)
    async with refusals():
        found = await context.client.schedules.ticks(name, before=before, limit=limit)
    cursor = None
    if len(found) == limit:
        cursor = cursors.write(pack(_MICROS, (found[-1].tick.at - _EPOCH) // _MICROSECOND), list_id)
    return Response(200, TickPage(items=tick_items(found, context.redaction), next_cursor=cursor))


def target(request: Request) -> str:
    """The name of the schedule that is created, for the audit log."""
    body: NewScheduleBody = request.body
    return body.id


def _name(request: Request) -> ScheduleName:
    name = request.path["name"]
    try:
        named("id", name)
    except InvalidInput:
        raise Refusal("not-found", "no schedule can have this name") from None
    return ScheduleName(request.caller.namespace or USUAL_NAMESPACE, name)


def _before(cursor: str, list_id: bytes) -> datetime:
    [micros] = cursors.read_numbers(cursor, list_id, _MICROS)
    try:
        return _EPOCH + micros * _MICROSECOND
    except OverflowError:
        raise Refusal("invalid-cursor", "start again without a cursor") from None


def _revision(request: Request) -> int:
    sent = request.headers.get("if-match")
    if sent is None:
        raise Refusal("revision-required", "send If-Match with the schedule's revision, as you have read it")
    found = _REVISION.fullmatch(sent)
    if not found:
        raise Refusal("validation", "If-Match: is not a revision; send the number in quotes, as it was read")
    return int(found[1])


def _answer(
    context: AppContext, schedule: Schedule, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    return Response(status, _item(context, schedule), {"etag": f'"{schedule.revision}"', **(headers or {})})


def _item(context: AppContext, schedule: Schedule) -> ScheduleItem:
    return schedule_item(schedule, Raw(context.redaction.document(schedule.asked.job.params)))
