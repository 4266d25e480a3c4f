"""The list of jobs: sought by words, narrowed by state, a page at a time, and changed many at once."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.failures import Count
from tenure.core.reading import Filter, Page
from tenure.core.states import State
from tenure.surfaces.dashboard.pages import searching
from tenure.surfaces.dashboard.pages.addresses import job_address, list_address
from tenure.surfaces.dashboard.pages.searching import Search
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http import cursors
from tenure.surfaces.http.desk import Answer, Asked, Desk

PAGE = 50
STRETCHES = 5
"""How often a page that found nothing goes on, before somebody has to ask for more."""

ALWAYS_SHOWN = frozenset({State.QUEUED, State.RUNNING, State.RETRYING, State.SUCCEEDED, State.FAILED})
"""States whose pill stands there even when no job is in them: an empty one is good to know of."""


class Pill(Struct, frozen=True):
    """A state to narrow the list by, or to leave out again."""

    state: State
    count: Count
    href: str
    is_on: bool


class Listing(Struct, frozen=True):
    """A list as it was asked for."""

    search: Search
    states: tuple[State, ...]
    newest_first: bool = True

    def address(self, **more: str | int | None) -> str:
        """Where this list is, with more to say."""
        sort = None if self.newest_first else "createdAt"
        return list_address(q=self.search.text, status=self.states, sort=sort, **more)

    def with_states(self, states: Sequence[State]) -> str:
        """Where the list of other states is."""
        return msgspec.structs.replace(self, states=tuple(states)).address()

    def turned(self) -> str:
        """Where the same list is from its other end."""
        return msgspec.structs.replace(self, newest_first=not self.newest_first).address()

    def filter(self, namespace: str | None) -> Filter:
        """The jobs that belong in it."""
        return self.search.filter(frozenset(self.states), namespace)

    def pills(self, counts: Mapping[State, Count]) -> list[Pill]:
        """The states by which it can be narrowed."""
        return [
            Pill(state, counts[state], self.with_states(_toggled(self.states, state)), state in self.states)
            for state in State
            if counts[state].n or state in ALWAYS_SHOWN or state in self.states
        ]


async def jobs(desk: Desk, asked: Asked) -> Answer:
    """The list of jobs, the newest first."""
    query = asked.query
    states = tuple(dict.fromkeys(query.get("status", ())))
    try:
        search = searching.read(query.get("q", ""))
    except InvalidInput as error:
        said = f"The search {error.problem}: {error.remedy}."
        return render(asked, "jobs_fault.html", status=422, text=query["q"], said=said)
    if search.job is not None:
        return see_other(job_address(search.job))
    listing = Listing(search, states, query.get("sort") != "createdAt")
    which = listing.filter(asked.caller.namespace)
    bind = msgspec.json.encode([which, listing.newest_first], order="deterministic")
    after = cursors.read_job(query["cursor"], bind) if "cursor" in query else None
    page = await _found(desk, listing, which, after)
    counts = await desk.client.counts(which)
    return render(
        asked,
        "jobs.html",
        fragment="_jobs.html",
        listing=listing,
        jobs=page.jobs,
        pills=listing.pills(counts),
        is_start=after is None,
        older=None if page.next is None else listing.address(cursor=cursors.write(page.next.bytes, bind)),
        did=query.get("did"),
        changed=query.get("changed", 0),
        chosen=query.get("chosen", 0),
    )


async def _found(desk: Desk, listing: Listing, which: Filter, after: UUID | None) -> Page:
    """A page of the list. What is rare need not be in the first stretch that a store looks through."""
    page = Page([], after)
    for _ in range(STRETCHES):
        page = await desk.client.page(which, after=page.next, newest_first=listing.newest_first, limit=PAGE)
        if page.jobs or page.next is None:
            break
    return page


def _toggled(states: Sequence[State], state: State) -> list[State]:
    return [known for known in State if (known in states) != (known is state)]
