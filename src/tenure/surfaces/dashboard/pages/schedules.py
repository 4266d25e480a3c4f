"""Schedules: when they fire, what became of it, and buttons to pause, resume, run and delete them."""

from urllib.parse import urlencode

from msgspec import Struct, structs

from tenure.api.redaction import Redaction
from tenure.core.errors import InvalidInput
from tenure.core.schedule.schedule import KnownSchedule, Schedule, ScheduleName, TickOnRecord
from tenure.core.values.bounds import named
from tenure.engine.schedules.schedules import ScheduleNotFound
from tenure.surfaces.dashboard.formats import preview
from tenure.surfaces.dashboard.pages.addresses import SCHEDULES, schedule_address
from tenure.surfaces.dashboard.pages.rule_text import rule_text
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.schedule_names import place_in, place_of, refusals

PAGE = 50
COMING = 10
HISTORY = 50


class ReasonForm(Form, frozen=True, kw_only=True):
    """Why a schedule is paused."""

    reason: str | None = None


class ResumeForm(Form, frozen=True, kw_only=True):
    """Whether what passed during the pause is treated as missed runs are."""

    catch_up: bool = False


class ShownSchedule(Struct, frozen=True):
    """A schedule with its rule in words, and its last tick."""

    known: KnownSchedule
    words: str | None
    last: TickOnRecord | None

    @property
    def is_readable(self) -> bool:
        """Whether this version can read it."""
        return isinstance(self.known, Schedule)

    @property
    def address(self) -> str:
        """Its page."""
        return schedule_address(self.known.name)


async def schedules(context: AppContext, request: Request) -> Response:
    """The page of schedules, by name."""
    definition = request.query.get("definition") or None
    if definition is not None:
        named("definition", definition)
    list_id = f"schedules {definition or ''}".encode()
    after = place_in(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.schedules.page(
        namespace=request.caller.namespace, definition=definition, after=after, limit=PAGE + 1
    )
    shown = [await _with_last_tick(context, one) for one in found[:PAGE]]
    further = None
    if len(found) > PAGE:
        place = place_of(found[PAGE - 1].name)
        words = {"definition": definition or "", "cursor": cursors.write(place, list_id)}
        further = f"{SCHEDULES}?{urlencode(words)}"
    return render(
        request,
        "schedules.html",
        fragment="_schedules.html",
        schedules=shown,
        definition=definition,
        is_start=after is None,
        further=further,
    )


async def schedule(context: AppContext, request: Request) -> Response:
    """The page of one schedule."""
    name = _name(request)
    async with refusals():
        known = await context.client.schedules.get(name)
        ticks = await context.client.schedules.ticks(name, limit=HISTORY)
        return render(
            request,
            "schedule.html",
            fragment="_schedule.html",
            known=known,
            asked=known.asked,
            rule=known.asked.recurrence,
            words=rule_text(known.asked.recurrence),
            address=schedule_address(name),
            params=preview(known.asked.job.params, context.redaction),
            coming=await context.client.schedules.coming(name, COMING),
            ticks=[_redacted(one, context.redaction) for one in ticks],
            most=HISTORY,
        )


async def pause(context: AppContext, request: Request) -> Response:
    """Let a schedule fire no more."""
    form: ReasonForm = request.body
    name = _name(request)
    async with refusals():
        await context.client.schedules.pause(name, by=request.caller.name, reason=form.reason)
    return see_other(schedule_address(name))


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused schedule fire again."""
    form: ResumeForm = request.body
    name = _name(request)
    async with refusals():
        await context.client.schedules.resume(name, catch_up=form.catch_up)
    return see_other(schedule_address(name))


async def trigger(context: AppContext, request: Request) -> Response:
    """Run a schedule now."""
    name = _name(request)
    async with refusals():
        await context.client.schedules.trigger(name)
    return see_other(schedule_address(name))


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a schedule with its ticks."""
    async with refusals():
        await context.client.schedules.delete(_name(request))
    return see_other(SCHEDULES)


async def _with_last_tick(context: AppContext, known: KnownSchedule) -> ShownSchedule:
    try:
        ticks = await context.client.schedules.ticks(known.name, limit=1)
    except ScheduleNotFound:  # deleted meanwhile
        ticks = []
    words = rule_text(known.asked.recurrence) if isinstance(known, Schedule) else None
    return ShownSchedule(known, words, ticks[0] if ticks else None)


def _redacted(one: TickOnRecord, redaction: Redaction) -> TickOnRecord:
    """A tick whose problem, which may quote params, shows no secrets."""
    problem = one.tick.problem and redaction.text(one.tick.problem)
    return structs.replace(one, tick=structs.replace(one.tick, problem=problem))


def _name(request: Request) -> ScheduleName:
    """The schedule that the path names; one of another namespace is as unknown as one that does not exist."""
    name = ScheduleName(request.path["namespace"], request.path["name"])
    try:
        named("namespace", name.namespace)
        named("name", name.name)
    except InvalidInput:
        raise Refusal("not-found", "no schedule can have this name") from None
    if request.caller.namespace not in {None, name.namespace}:
        raise Refusal("not-found", str(ScheduleNotFound(name)))
    return name
