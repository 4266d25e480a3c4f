"""Cancels, replays or deletes many jobs at once: those that are selected, or all that match a list.

All that match are changed in portions, and only after a page has said how many there are. Each portion goes
on where the one before ended. With one key no job is replayed twice, however often a form is sent. Only dead
letters are deleted, and only those that had ended when the page asked.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

from msgspec import Struct, structs

from tenure.api import inputs
from tenure.core.errors import InvalidInput, JobIsAside, JobNotFound, JobUnfinished
from tenure.core.model.states import DEAD_LETTERS, FINAL, UNFINISHED, State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.engine.client.bulk import BulkResult
from tenure.surfaces.dashboard.actions.replay_pace import ReplayPace, pace_of
from tenure.surfaces.dashboard.pages.jobs import search
from tenure.surfaces.dashboard.pages.jobs.list_query import Listing
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal

MOST_CHOSEN = 500
PORTION = 10
"""Sweeps in one request; each changes at most a thousand jobs."""

Act = Literal["cancel", "replay", "purge"]
_MEANT = {
    "cancel": (UNFINISHED, UNFINISHED),
    "replay": (FINAL, DEAD_LETTERS),
    "purge": (DEAD_LETTERS, DEAD_LETTERS),
}
"""The states to which an action applies, and those that are meant if none is named."""

_DONE = {"cancel": "cancelled", "replay": "replayed", "purge": "deleted"}


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
    before: str = ""


class Sweep(Struct, frozen=True):
    """All jobs of a list to which an action applies."""

    act: Act
    listing: Listing
    which: Filter
    before: datetime


async def act(context: AppContext, request: Request) -> Response:
    """Cancel or replay many jobs. A page asks first if they are more than one."""
    form: Choice = request.body
    listing = Listing(search.read(form.q), form.status)
    before = inputs.moment(form.before) if form.before else (await context.client.health.look()).at
    if not form.every:
        if form.act == "purge":
            raise Refusal("validation", "selected jobs are not deleted; delete all of a cause instead")
        jobs = _ids(form)
        if len(jobs) > 1 and not form.sure:
            sweep = Sweep(form.act, listing, listing.wide_filter(request.caller.namespace), before)
            return _ask(request, sweep, Count(len(jobs)), selected=jobs)
        changed = await _do_selected(context, request, jobs)
        return see_other(listing.address(did=form.act, changed=changed, chosen=len(form.job)))
    which = _applicable(form.act, listing.filter(request.caller.namespace))
    sweep = Sweep(form.act, listing, which, before)
    if not form.sure:
        return await _confirm(context, request, sweep)
    return await _do_portion(context, request, sweep)


def target(request: Request) -> str:
    """The jobs, for the audit log."""
    form: Choice = request.body
    if not form.every:
        asks = len(set(form.job)) > 1 and not form.sure
        return " ".join([f"{'dry run: ' if asks else ''}{form.act}:", *form.job])
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
    """The page that says how many jobs match, and asks for confirmation.

    With the key of a try that one is left out: it has been replayed under this key already.
    """
    form: Choice = request.body
    swept = await _sweeper(context, request, sweep, dry=True)(None)
    tried = 1 if form.key and swept.matched else 0
    count = Count(swept.matched - tried, swept.next is not None)
    kept = await _kept_for_keys(context, sweep) - swept.matched if sweep.act == "purge" else 0
    pace = await pace_of(context, sweep.which, count) if sweep.act == "replay" else None
    return _ask(request, sweep, count, kept=kept, pace=pace, key=form.key or uuid4().hex)


def _ask(
    request: Request,
    sweep: Sweep,
    count: Count | None,
    *,
    selected: Sequence[UUID] = (),
    kept: int = 0,
    pace: ReplayPace | None = None,
    changed: int = 0,
    after: str = "",
    key: str = "",
) -> Response:
    return render(
        request,
        "jobs_sure.html",
        sweep=sweep,
        number=count,
        selected=selected,
        kept=kept,
        pace=pace,
        changed=changed,
        after=after,
        key=key,
    )


async def _kept_for_keys(context: AppContext, sweep: Sweep) -> int:
    """How many would be deleted if keys did not count, as far as the same look goes."""
    swept = await context.client.bulk.purge(sweep.which, ended_before=sweep.before, keyed=True, dry=True)
    return swept.matched


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
    return _ask(request, sweep, None, changed=changed, after=str(after), key=form.key)


def _sweeper(
    context: AppContext, request: Request, sweep: Sweep, *, dry: bool = False, key: str | None = None
) -> Callable[[UUID | None], Awaitable[BulkResult]]:
    bulk, which = context.client.bulk, sweep.which
    if sweep.act == "cancel":
        return lambda after: bulk.cancel(which, after=after, dry=dry, actor=request.caller.actor)
    if sweep.act == "purge":
        return lambda after: bulk.purge(which, ended_before=sweep.before, after=after, dry=dry)
    return lambda after: bulk.replay(which, after=after, dry=dry, key=key)


def _ids(form: Choice) -> list[UUID]:
    if not form.job:
        raise Refusal("validation", "no job is selected; select some, then try again")
    if len(form.job) > MOST_CHOSEN:
        raise Refusal("validation", f"{len(form.job)} jobs are too many; select all that match instead")
    return [inputs.job_id(text) for text in dict.fromkeys(form.job)]


def _applicable(act: Act, which: Filter) -> Filter:
    """Only jobs to which the action applies. If no state is named, a replay is of dead letters."""
    allowed, usual = _MEANT[act]
    states = which.states & allowed if which.states else usual
    if not states:
        named = " or ".join(sorted(which.states))
        raise InvalidInput("status", f"is {named}", f"no such job can be {_DONE[act]}; choose other states")
    return structs.replace(which, states=states)
