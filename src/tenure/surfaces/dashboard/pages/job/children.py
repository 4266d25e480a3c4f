"""The jobs that a job started."""

from collections.abc import Sequence

from msgspec import Struct

from tenure.core.model.job import Job
from tenure.core.reports.reading import Listed
from tenure.surfaces.dashboard.pages.job_row import time_text
from tenure.surfaces.http.app.context import AppContext, Request

MOST_COUNTED = 200
MOST_SHOWN = 20


class Children(Struct, frozen=True):
    """Some of the jobs that a job started, each with the time that matters in its state; how many ended."""

    rows: Sequence[tuple[Listed, str]]
    ended: str


async def children(context: AppContext, request: Request, job: Job) -> Children | None:
    """The jobs that it started, those that failed and those that have not ended first; None without any."""
    caller = request.caller
    if caller.definitions:  # it sees the jobs that it made; this one's were made by the job
        return None
    found = await context.client.children(job.id, limit=MOST_COUNTED)
    seen = [one for one in found if caller.namespace in {None, one.namespace}]
    if not seen:
        return None
    over = sum(1 for one in seen if one.state.is_final)
    in_all = f"{len(seen)}{'+' if len(found) == MOST_COUNTED else ''}"
    shown = sorted(seen, key=lambda one: (one.state.value == "succeeded", one.id))[:MOST_SHOWN]
    hidden = len(seen) - len(shown)
    more = f", {hidden} more not shown" if hidden else ""
    in_order = sorted(shown, key=lambda one: one.id)
    return Children([(one, time_text(one)) for one in in_order], f"{over} of {in_all} ended{more}")
