"""Cancels or replays many jobs at once: those that are selected, or all that match a list.

All that match are changed in portions, and only after a page has said how many there are. Each portion goes
on where the one before ended. With one key no job is replayed twice, however often a form is sent.
"""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID, uuid4

from msgspec import Struct, structs

from tenure.api import inputs
from tenure.core.errors import InvalidInput, JobIsAside, JobNotFound, JobUnfinished
from tenure.core.model.states import DEAD_LETTERS, FINAL, UNFINISHED, State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.engine.client.bulk import BulkResult
from tenure.surfaces.dashboard.pages import search
from tenure.surfaces.dashboard.pages.jobs import Listing
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal

MOST_CHOSEN = 500
PORTION = 10
"""Sweeps in one request; each changes at most a thousand jobs."""

Act = Literal["cancel", "replay"]


class Choice(Form, frozen=True, kw_only=True):
    """What to do to which jobs: those selected, or with `every` all that match the list."""

    act: Act
    job: tuple[str, ...] = ()
    every: bool = False
    q: str = ""
    status: tuple[State, ...] = ()
    sure: bool = False
    after: str = ""
    key: str = ""
    changed: int = 0


class Sweep(Struct, frozen=True):
    """All jobs of a list to which an action applies."""

    act: Act
    listing: Listing
    which: Filter


async def act(context: AppContext, request: Request) -> Response:
    """Cancel or replay many jobs."""
    form: Choice = request.body
    listing = Listing(search.read(form.q), form.status)
    if not form.every:
        changed = await _do_selected(context, request, _ids(form))
        return see_other(listing.address(did=form.act, changed=changed, chosen=len(form.job)))
    sweep = Sweep(form.act, listing, _applicable(form.act, listing.filter(request.caller.namespace)))
    if not form.sure:
        return await _confirm(context, request, sweep)
    return await _do_portion(context, request, sweep)


def target(request: Request) -> str:
    """The jobs, for the audit log."""
    form: Choice = request.body
    if not form.every:
        return " ".join([f"{form.act}:", *form.job])
    dry_run = "dry run: " if not form.sure else ""
    return " ".join([f"{dry_run}{form.act} every:", *form.q.split(), *form.status])


async def _do_selected(context: AppContext, request: Request, jobs: list[UUID]) -> int:
    changed = 0
    for job in jobs:
        try:
            if request.caller.sees(await context.client.get(job)):
                changed += await _change(context, request, job)
        except (JobNotFound, JobIsAside):
            continue  # as with a job that changed meanwhile, there is nothing to do
    return changed


async def _change(context: AppContext, request: Request, job: UUID) -> bool:
    if request.body.act == "cancel":
        return (await context.client.cancel(job, actor=request.caller.actor)).moved
    try:
        return (await context.client.replay(job)).fresh
    except JobUnfinished:
        return False


async def _confirm(context: AppContext, request: Request, sweep: Sweep) -> Response:
    """The page that says how many jobs match, and asks for confirmation."""
    swept = await _sweeper(context, request, sweep, dry=True)(None)
    count = Count(swept.matched, swept.next is not None)
    return render(request, "jobs_sure.html", sweep=sweep, count=count, changed=0, after="", key=uuid4().hex)


async def _do_portion(context: AppContext, request: Request, sweep: Sweep) -> Response:
    form: Choice = request.body
    after = inputs.job_id(form.after) if form.after else None
    changed = form.changed
    advance = _sweeper(context, request, sweep, key=form.key or None)
    for _ in range(PORTION):
        swept = await advance(after)
        changed, after = changed + swept.changed, swept.next
        if after is None:
            return see_other(sweep.listing.address(did=sweep.act, changed=changed))
    return render(
        request, "jobs_sure.html", sweep=sweep, count=None, changed=changed, after=str(after), key=form.key
    )


def _sweeper(
    context: AppContext, request: Request, sweep: Sweep, *, dry: bool = False, key: str | None = None
) -> Callable[[UUID | None], Awaitable[BulkResult]]:
    bulk, which = context.client.bulk, sweep.which
    if sweep.act == "cancel":
        return lambda after: bulk.cancel(which, after=after, dry=dry, actor=request.caller.actor)
    return lambda after: bulk.replay(which, after=after, dry=dry, key=key)


def _ids(form: Choice) -> list[UUID]:
    if not form.job:
        raise Refusal("validation", "no job is selected; select some, then try again")
    if len(form.job) > MOST_CHOSEN:
        raise Refusal("validation", f"{len(form.job)} jobs are too many; select all that match instead")
    return [inputs.job_id(text) for text in dict.fromkeys(form.job)]


def _applicable(act: Act, which: Filter) -> Filter:
    """Only jobs to which the action applies. If no state is named, a replay is of dead letters."""
    allowed, usual = (UNFINISHED, UNFINISHED) if act == "cancel" else (FINAL, DEAD_LETTERS)
    states = which.states & allowed if which.states else usual
    if not states:
        named = " or ".join(sorted(which.states))
        done = "cancelled" if act == "cancel" else "replayed"
        raise InvalidInput("status", f"is {named}", f"no such job can be {done}; choose other states")
    return structs.replace(which, states=states)
