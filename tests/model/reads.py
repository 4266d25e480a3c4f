"""Requests that only read, compared with what the model has on record."""

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter, Listed
from tests.model.decisions import line_of
from tests.model.store_and_model import Side
from tests.storage.verbs import PATIENCE

_SAME_IN_LIST = tuple(name for name in Listed.__struct_fields__ if name != "max_attempts")


class Look(NamedTuple):
    """A list is walked from page to page until its end."""

    states: Collection[State]
    by: dict[str, str]
    newest_first: bool
    limit: int

    async def make(self, side: Side) -> None:
        which = Filter(states=frozenset(self.states), **self.by)  # type: ignore[arg-type]
        seen: list[Listed] = []
        pages, after, is_over = 0, None, False
        while not is_over:
            page = await side.store.page(which, after=after, newest_first=self.newest_first, limit=self.limit)
            assert len(page.jobs) <= self.limit, "page: more than its limit"
            seen += page.jobs
            pages, after, is_over = pages + 1, page.next, page.next is None
        found = [job for job in side.model.jobs.values() if self._fits(job)]
        found.sort(key=lambda job: job.id, reverse=self.newest_first)
        side.compare("list", seen, [_listed(job) for job in found])
        side.model.visited(f"page: {'newest' if self.newest_first else 'oldest'} first")
        side.model.visited_if(seen and pages > 1, "page: several")
        for name in self.by if seen else ():
            side.model.visited(f"page: by {name}")
        side.model.visited_if(seen and self.states, "page: by states")

    def _fits(self, job: Job) -> bool:
        tag = self.by.get("tag")
        same = all(getattr(job, name) == value for name, value in self.by.items() if name != "tag")
        return same and (tag is None or tag in job.tags) and (not self.states or job.state in self.states)


class ReadOn(NamedTuple):
    """The feed is read on from where it was left."""

    limit: int

    async def make(self, side: Side) -> None:
        entries = await side.store.feed(side.position, limit=self.limit)
        assert len(entries) <= self.limit, "feed: more than its limit"
        for entry in entries:
            job, position = side.model.jobs[entry.event.job], entry.position
            assert side.position is None or position > side.position, "feed: went backwards"
            fed = side.fed.get(job.id, 0)
            following = side.model.events(job.id)[fed : fed + 1]
            side.compare("feed", [entry.event], following)
            side.compare("line in the feed", (entry.line, entry.namespace), (line_of(job), job.namespace))
            side.compare("place in the feed", (position.job, position.n), (job.id, entry.event.n))
            side.fed[job.id], side.position = fed + 1, position
        side.model.visited(f"feed: {'part' if len(entries) == self.limit else 'all'}")


async def read_to_the_end(side: Side) -> None:
    """Nothing is missing from the feed. It may be held back by others on the server, but not for ever."""
    expected = {job: len(side.model.events(job)) for job in side.model.jobs}
    try:
        async with asyncio.timeout(PATIENCE):
            while side.fed != expected:
                await ReadOn(limit=100).make(side)
    except TimeoutError:
        side.compare("what came in the feed", side.fed, expected)


def _listed(job: Job) -> Listed:
    return Listed(
        **{name: getattr(job, name) for name in _SAME_IN_LIST}, max_attempts=job.policy.max_attempts
    )
