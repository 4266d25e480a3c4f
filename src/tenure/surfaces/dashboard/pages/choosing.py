"""What is done to many jobs at once: to those that were chosen, or to all that a list means.

All that a list means is done in portions, and only after a page has said how many that are. Each portion
goes on where the one before ended, and under one key no job is replayed twice, however often a page is sent.
"""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID, uuid4

from msgspec import Struct, structs

from tenure.core.errors import InvalidInput, JobIsAside, JobNotFound, JobUnfinished
from tenure.core.failures import Count
from tenure.core.reading import Filter
from tenure.core.states import DEAD_LETTERS, FINAL, UNFINISHED, State
from tenure.engine.sweeping import Swept
from tenure.surfaces import inputs
from tenure.surfaces.dashboard.pages import searching
from tenure.surfaces.dashboard.pages.jobs import Listing
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.forms import Form
from tenure.surfaces.http.problems import Refusal

MOST_CHOSEN = 500
PORTION = 10
"""Sweeps in one request; each of them is of at most a thousand jobs."""

Act = Literal["cancel", "replay"]


class Choice(Form, frozen=True, kw_only=True):
    """What to do, to which jobs: those named, or with `every` all of the list that is described."""

    act: Act
    job: tuple[str, ...] = ()
    every: bool = False
    q: str = ""
    status: tuple[State, ...] = ()
    sure: bool = False
    after: str = ""
    key: str = ""
    changed: int = 0


class Meant(Struct, frozen=True):
    """All jobs of a list that something can be done to."""

    act: Act
    listing: Listing
    which: Filter


async def act(desk: Desk, asked: Asked) -> Answer:
    """Cancel or replay many jobs."""
    form: Choice = asked.body
    listing = Listing(searching.read(form.q), form.status)
    if not form.every:
        changed = await _do_chosen(desk, asked, _ids(form))
        return see_other(listing.address(did=form.act, changed=changed, chosen=len(form.job)))
    meant = Meant(form.act, listing, _meant(form.act, listing.filter(asked.caller.namespace)))
    if not form.sure:
        return await _ask(desk, asked, meant)
    return await _do_portion(desk, asked, meant)


def target(asked: Asked) -> str:
    """Which jobs are meant, for the record; of many that were chosen, the first."""
    form: Choice = asked.body
    if not form.every:
        return " ".join([f"{form.act}:", *form.job])
    asks = "dry run: " if not form.sure else ""
    return " ".join([f"{asks}{form.act} every:", *form.q.split(), *form.status])


async def _do_chosen(desk: Desk, asked: Asked, jobs: list[UUID]) -> int:
    changed = 0
    for job in jobs:
        try:
            if asked.caller.sees(await desk.client.get(job)):
                changed += await _do(desk, asked, job)
        except (JobNotFound, JobIsAside):
            continue  # it is as gone as one that was changed meanwhile, or nothing can be done to it
    return changed


async def _do(desk: Desk, asked: Asked, job: UUID) -> bool:
    if asked.body.act == "cancel":
        return (await desk.client.cancel(job, actor=asked.caller.actor)).moved
    try:
        return (await desk.client.replay(job)).fresh
    except JobUnfinished:
        return False


async def _ask(desk: Desk, asked: Asked, meant: Meant) -> Answer:
    """The page that says how many jobs are meant, and asks."""
    swept = await _sweeper(desk, asked, meant, dry=True)(None)
    count = Count(swept.matched, swept.next is not None)
    return render(asked, "jobs_sure.html", meant=meant, count=count, changed=0, after="", key=uuid4().hex)


async def _do_portion(desk: Desk, asked: Asked, meant: Meant) -> Answer:
    form: Choice = asked.body
    after = inputs.job_id(form.after) if form.after else None
    changed = form.changed
    sweep = _sweeper(desk, asked, meant, key=form.key or None)
    for _ in range(PORTION):
        swept = await sweep(after)
        changed, after = changed + swept.changed, swept.next
        if after is None:
            return see_other(meant.listing.address(did=meant.act, changed=changed))
    return render(
        asked, "jobs_sure.html", meant=meant, count=None, changed=changed, after=str(after), key=form.key
    )


def _sweeper(
    desk: Desk, asked: Asked, meant: Meant, *, dry: bool = False, key: str | None = None
) -> Callable[[UUID | None], Awaitable[Swept]]:
    sweeps, which = desk.client.sweeps, meant.which
    if meant.act == "cancel":
        return lambda after: sweeps.cancel(which, after=after, dry=dry, actor=asked.caller.actor)
    return lambda after: sweeps.replay(which, after=after, dry=dry, key=key)


def _ids(form: Choice) -> list[UUID]:
    if not form.job:
        raise Refusal("validation", "no job is chosen; tick those that are meant, then try again")
    if len(form.job) > MOST_CHOSEN:
        raise Refusal("validation", f"{len(form.job)} jobs are too many; choose all that match instead")
    return [inputs.job_id(text) for text in dict.fromkeys(form.job)]


def _meant(act: Act, which: Filter) -> Filter:
    """Only jobs that it makes sense for. Where no state is named, what is replayed are dead letters."""
    able, usual = (UNFINISHED, UNFINISHED) if act == "cancel" else (FINAL, DEAD_LETTERS)
    states = which.states & able if which.states else usual
    if not states:
        named = " or ".join(sorted(which.states))
        raise InvalidInput("status", f"is {named}", f"no such job can be asked to {act}; choose other states")
    return structs.replace(which, states=states)
