"""The control API's calls about schedules."""

from msgspec import UNSET

from tenure.api.schedule_shapes import (
    Coming,
    NewScheduleBody,
    ResumeBody,
    ScheduleChange,
    ScheduleGone,
    SchedulePage,
    TickPage,
    TriggerBody,
    coming_item,
    schedule_item,
    tick_item,
    tick_items,
)
from tenure.core.errors import InvalidInput
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.model.states import State
from tenure.core.schedule.schedule import KnownSchedule, ScheduleName
from tenure.core.values.bounds import named
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.revisions import revision_in
from tenure.surfaces.http.calls.intent import document
from tenure.surfaces.http.calls.operate import USUAL_PAGE, reason_of
from tenure.surfaces.http.calls.schedule_bodies import changed_schedule, new_schedule
from tenure.surfaces.http.calls.schedule_names import place_in, place_of, refusals, tick_before, tick_cursor

USUAL_COUNT = 10
_PAGES = b"schedules"
_TICKS = b"ticks"


async def create(context: AppContext, request: Request) -> Response:
    """Record a schedule."""
    body: NewScheduleBody = request.body
    async with refusals():
        asked = new_schedule(
            body, _namespace(request), request.caller.key, await context.client.schedules.now()
        )
        made = await context.client.schedules.create(asked, by=request.caller.name)
    place = made.asked.id
    if request.caller.namespace is None and made.asked.namespace != USUAL_NAMESPACE:
        place += f"?namespace={made.asked.namespace}"
    return _answer(context, made, 201, {"location": f"/v1/schedules/{place}"})


async def page(context: AppContext, request: Request) -> Response:
    """Schedules by name: of the caller's namespace, of the one it names, or of all."""
    namespace = None
    if request.caller.namespace is not None or "namespace" in request.query:
        namespace = _namespace(request)
    limit = request.query.get("limit", USUAL_PAGE)
    definition = request.query.get("definitionKey")
    list_id = _PAGES + f"{definition or ''}\n{namespace or ''}".encode()
    after = place_in(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.schedules.page(
        namespace=namespace,
        definition=definition,
        after=after,
        limit=limit,
    )
    cursor = None
    if len(found) == limit:
        cursor = cursors.write(place_of(found[-1].name), list_id)
    items = [schedule_item(one, context.redaction) for one in found]
    return Response(200, SchedulePage(items=items, next_cursor=cursor))


async def get(context: AppContext, request: Request) -> Response:
    """One schedule."""
    async with refusals():
        return _answer(context, await context.client.schedules.look(_name(request)))


async def edit(context: AppContext, request: Request) -> Response:
    """Change parts of a schedule, if it is still as it was read."""
    body: ScheduleChange = request.body
    name = _name(request)
    revision = revision_in(request)
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
    return Response(200, Coming([coming_item(one) for one in found]))


async def ticks(context: AppContext, request: Request) -> Response:
    """What became of the ticks of a schedule, newest first."""
    name = _name(request)
    limit = request.query.get("limit", USUAL_PAGE)
    list_id = _TICKS + place_of(name)
    before = None
    if "cursor" in request.query:
        before = tick_before(request.query["cursor"], list_id)
    async with refusals():
        found = await context.client.schedules.ticks(name, before=before, limit=limit)
    cursor = None
    if len(found) == limit:
        cursor = tick_cursor(found[-1].tick.place, list_id)
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
    return ScheduleName(_namespace(request), name)


def _namespace(request: Request) -> str:
    """The namespace that is meant: the caller's own, the one that it names, or the usual one.

    To a caller that is bound to a namespace, schedules of others do not exist.
    """
    own: str | None = request.caller.namespace
    named: str | None = request.query.get("namespace")
    if own is not None and named not in {None, own}:
        raise Refusal("not-found", "there is no such namespace")
    return own or named or USUAL_NAMESPACE


def _answer(
    context: AppContext, schedule: KnownSchedule, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    item = schedule_item(schedule, context.redaction)
    return Response(status, item, {"etag": f'"{schedule.revision}"', **(headers or {})})
