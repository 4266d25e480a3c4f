"""Buttons of a schedule: pause, resume, run now, delete."""

from tenure.surfaces.dashboard.pages.addresses import SCHEDULES, schedule_address
from tenure.surfaces.dashboard.pages.schedules import name_in
from tenure.surfaces.dashboard.renderer import see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.calls.schedule_names import refusals


class ReasonForm(Form, frozen=True, kw_only=True):
    """Why a schedule is paused."""

    reason: str | None = None


class ResumeForm(Form, frozen=True, kw_only=True):
    """Whether what passed during the pause is treated as missed runs are."""

    catch_up: bool = False


async def pause(context: AppContext, request: Request) -> Response:
    """Let a schedule fire no more."""
    form: ReasonForm = request.body
    name = name_in(request)
    async with refusals():
        await context.client.schedules.pause(name, by=request.caller.name, reason=form.reason)
    return see_other(schedule_address(name))


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused schedule fire again."""
    form: ResumeForm = request.body
    name = name_in(request)
    async with refusals():
        await context.client.schedules.resume(name, catch_up=form.catch_up)
    return see_other(schedule_address(name))


async def trigger(context: AppContext, request: Request) -> Response:
    """Run a schedule now."""
    name = name_in(request)
    async with refusals():
        await context.client.schedules.trigger(name)
    return see_other(schedule_address(name))


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a schedule with its ticks."""
    async with refusals():
        await context.client.schedules.delete(name_in(request))
    return see_other(SCHEDULES)
