"""The list of jobs: by search and by state, a page at a time."""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from msgspec import structs

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter, Listed, Page
from tenure.core.values.bounds import MOST_LOOKED_AT
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.dashboard.pages.job_row import JobRow, time_text
from tenure.surfaces.dashboard.pages.jobs import search
from tenure.surfaces.dashboard.pages.jobs.list_query import Listing
from tenure.surfaces.dashboard.pages.jobs.look import Looked, brief_params, look
from tenure.surfaces.dashboard.pages.jobs.search import Search
from tenure.surfaces.dashboard.pages.jobs.tokens import states_text, tabs, tokens, total
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response

PAGE = 50
MOST_ALIKE = 10
MOST_SCANS = 5
"""How many parts of the list are scanned for one page while nothing matches."""


async def jobs(context: AppContext, request: Request) -> Response:
    """The page of the list, the newest jobs first unless sorted otherwise."""
    query = request.query
    listing = Listing(
        Search(), tuple(dict.fromkeys(query.get("status", ()))), query.get("sort") != "createdAt"
    )
    text = query.get("q", "")
    try:
        listing = structs.replace(listing, search=search.read(text))
        if "more" in query:
            text = query["more"]
            return see_other(listing.with_search(search.joined(listing.search, text)))
    except InvalidInput as error:
        problem = f"The search {error.problem}: {error.remedy}."
        return _unclear(request, listing, text, problem)
    wanted = listing.search
    if wanted.job is not None:
        return see_other(job_address(wanted.job))
    if wanted.ending and (response := await _ending_in(context, request, listing)):
        return response
    return await _listed(context, request, listing)


async def _listed(context: AppContext, request: Request, listing: Listing) -> Response:
    query, looks = request.query, listing.search.looks
    which = listing.wide_filter(request.caller.namespace)
    bind = msgspec.json.encode([which, listing.newest_first], order="deterministic")
    bind += msgspec.json.encode(looks, order="sorted")
    after = cursors.read_job(query["cursor"], bind) if "cursor" in query else None
    looked = await _found(context, listing, which, after)
    page = looked.page
    counts = None if looks else await context.client.counts(which)
    return render(
        request,
        "jobs.html",
        fragment="_jobs.html",
        listing=listing,
        tokens=tokens(listing),
        tabs=tabs(listing, counts),
        total=total(listing, counts),
        every=states_text(listing.states),
        rows=await _rows(context, page.jobs),
        among=looked.among,
        is_start=after is None,
        most_looked_at=MOST_LOOKED_AT,
        older=None if page.next is None else listing.address(cursor=cursors.write(page.next.bytes, bind)),
        did=query.get("did"),
        changed=query.get("changed", 0),
        chosen=query.get("chosen", 0),
    )


async def _rows(context: AppContext, jobs: Sequence[Listed]) -> list[JobRow]:
    briefs = await context.client.briefs([job.id for job in jobs])
    waits = await context.client.durable.waits([job.id for job in jobs if job.state is State.SUSPENDED])
    return [
        JobRow(
            job,
            brief_params(briefs[job.id].params, context) if job.id in briefs else "",
            time_text(job, waits.get(job.id)),
        )
        for job in jobs
    ]


def _unclear(
    request: Request, listing: Listing, text: str, problem: str, alike: Sequence[UUID] = ()
) -> Response:
    return render(
        request,
        "jobs_fault.html",
        status=200 if alike else 422,
        listing=listing,
        tokens=tokens(listing) if listing.search.text != text else [],
        text=text,
        problem=problem,
        alike=alike,
    )


async def _ending_in(context: AppContext, request: Request, listing: Listing) -> Response | None:
    """The job whose id ends or begins so, or a choice of several; None if there is none."""
    wanted = listing.search
    alike = await context.client.ending_in(wanted.ending, namespace=request.caller.namespace)
    place = "end in"
    if not alike:
        alike, place = await _beginning_with(context, request, wanted.ending), "begin with"
    if len(alike) == 1:
        return see_other(job_address(alike[0]))
    if not alike:
        return None
    problem = f"Several jobs have ids that {place} {wanted.ending}."
    return _unclear(request, listing, wanted.text, problem, alike)


async def _beginning_with(context: AppContext, request: Request, beginning: str) -> list[UUID]:
    """The first jobs whose ids begin so; ids are sorted."""
    low = int(beginning.ljust(32, "0"), 16)
    which = Filter(namespace=request.caller.namespace)
    after = UUID(int=max(low - 1, 0))
    page = await context.client.page(which, after=after, newest_first=False, limit=MOST_ALIKE)
    return [job.id for job in page.jobs if job.id.hex.startswith(beginning)]


async def _found(context: AppContext, listing: Listing, which: Filter, after: UUID | None) -> Looked:
    """A page of the list. A rare match need not be in the first part that a store scans."""
    looks, newest_first = listing.search.looks, listing.newest_first
    if looks:
        return await look(context, which, looks, after=after, newest_first=newest_first, limit=PAGE)
    page = Page([], after)
    for _ in range(MOST_SCANS):
        page = await context.client.page(
            which, after=page.next, newest_first=listing.newest_first, limit=PAGE
        )
        if page.jobs or page.next is None:
            break
    return Looked(page)
