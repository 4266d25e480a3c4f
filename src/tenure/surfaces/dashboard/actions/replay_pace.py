"""How long many replays take, by the pace of their queue: the queue of the newest of them, if it is known."""

from msgspec import Struct

from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.surfaces.dashboard.formats import span
from tenure.surfaces.http.app.context import AppContext

LEAST = 10
"""Attempts a minute; below this the pace tells how little there was to do, not how fast it goes."""


class ReplayPace(Struct, frozen=True):
    """How many attempts a queue starts a minute, and how long so many more jobs take at that pace."""

    queue: str
    a_minute: float
    lasting: str


async def pace_of(context: AppContext, which: Filter, count: Count) -> ReplayPace | None:
    """The pace for so many jobs; None where nothing has started lately, or their number is not known."""
    if count.is_more or not count.n:
        return None
    page = await context.client.page(which, limit=1)
    if not page.jobs:
        return None
    queue = page.jobs[0].queue
    _, started, _ = (await context.flow_cache.get()).a_minute(queue)
    return ReplayPace(queue, started, span(60 * count.n / started)) if started >= LEAST else None
