"""The list of jobs: by search and by state, a page at a time."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter, Page
from tenure.core.values.bounds import MOST_LOOKED_AT
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address
from tenure.surfaces.dashboard.pages.jobs import search
from tenure.surfaces.dashboard.pages.jobs.look import Looked, brief_params, look
from tenure.surfaces.dashboard.pages.jobs.search import Search
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response

PAGE = 50
MOST_ALIKE = 10
MOST_SCANS = 5
"""How many parts of the list are scanned for one page while nothing matches."""

ALWAYS_SHOWN = frozenset({State.QUEUED, State.RUNNING, State.RETRYING, State.SUCCEEDED, State.FAILED})
"""States whose pill is shown even if no job is in them: that is worth knowing."""


class Pill(Struct, frozen=True):
    """A state to filter the list by, or to remove from the filter."""

    state: State
    count: Count | None
    href: str
    is_on: bool


class Listing(Struct, frozen=True):
    """A list: its search, its states and its order."""

    search: Search
    states: tuple[State, ...]
    newest_first: bool = True

    def address(self, **more: str | int | None) -> str:
        """The address of this list, with more parameters."""
        sort = None if self.newest_first else "createdAt"
        return list_address(q=self.search.text, status=self.states, sort=sort, **more)

    def with_states(self, states: Sequence[State]) -> str:
        """The address of the list for other states."""
        return msgspec.structs.replace(self, states=tuple(states)).address()

    def reversed(self) -> str:
        """The address of the same list in the opposite order."""
        return msgspec.structs.replace(self, newest_first=not self.newest_first).address()

    def filter(self, namespace: str | None) -> Filter:
        """The filter for its jobs."""
        return self.search.filter(frozenset(self.states), namespace)

    def wide_filter(self, namespace: str | None) -> Filter:
        """The filter without the words that no index has."""
        return self.search.wide_filter(frozenset(self.states), namespace)

    def pills(self, counts: Mapping[State, Count] | None) -> list[Pill]:
        """The states to filter by; all of them, without numbers, where nothing was counted."""
        return [
            Pill(
                state,
                None if counts is None else counts[state],
                self.with_states(_toggled(self.states, state)),
                state in self.states,
            )
            for state in State
            if counts is None or counts[state].n or state in ALWAYS_SHOWN or state in self.states
        ]


async def jobs(context: AppContext, request: Request) -> Response:
    """The page of the list, the newest jobs first unless sorted otherwise."""
    query = request.query
    states = tuple(dict.fromkeys(query.get("status", ())))
    try:
        wanted = search.read(query.get("q", ""))
    except InvalidInput as error:
        problem = f"The search {error.problem}: {error.remedy}."
        return render(request, "jobs_fault.html", status=422, text=query["q"], problem=problem, alike=())
    if wanted.job is not None:
        return see_other(job_address(wanted.job))
    if wanted.ending and (response := await _ending_in(context, request, wanted)):
        return response
    listing = Listing(wanted, states, query.get("sort") != "createdAt")
    which = listing.wide_filter(request.caller.namespace)
    bind = msgspec.json.encode([which, listing.newest_first], order="deterministic")
    bind += msgspec.json.encode(wanted.looks, order="sorted")
    after = cursors.read_job(query["cursor"], bind) if "cursor" in query else None
    looked = await _found(context, listing, which, after)
    page = looked.page
    counts = None if wanted.looks else await context.client.counts(which)
    briefs = await context.client.briefs([job.id for job in page.jobs])
    return render(
        request,
        "jobs.html",
        fragment="_jobs.html",
        listing=listing,
        jobs=page.jobs,
        params={job: brief_params(brief.params, context) for job, brief in briefs.items()},
        among=looked.among,
        pills=listing.pills(counts),
        is_start=after is None,
        most_looked_at=MOST_LOOKED_AT,
        older=None if page.next is None else listing.address(cursor=cursors.write(page.next.bytes, bind)),
        did=query.get("did"),
        changed=query.get("changed", 0),
        chosen=query.get("chosen", 0),
    )


async def _ending_in(context: AppContext, request: Request, wanted: Search) -> Response | None:
    """The job whose id ends or begins so, or a choice of several; None if there is none."""
    alike = await context.client.ending_in(wanted.ending, namespace=request.caller.namespace)
    place = "end in"
    if not alike:
        alike, place = await _beginning_with(context, request, wanted.ending), "begin with"
    if len(alike) == 1:
        return see_other(job_address(alike[0]))
    if not alike:
        return None
    problem = f"Several jobs have ids that {place} {wanted.ending}."
    return render(request, "jobs_fault.html", text=wanted.text, problem=problem, alike=alike)


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


def _toggled(states: Sequence[State], state: State) -> list[State]:
    return [known for known in State if (known in states) != (known is state)]
