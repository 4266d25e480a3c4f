"""Lists the steps of a job, page after page."""

from collections.abc import AsyncGenerator, Sequence

from msgspec import Struct

from tenure.core.values.bounds import LARGEST_PAGE
from tenure.surfaces.remote.retry import ask, read
from tenure.surfaces.remote.values import JobId, RemoteStep, id_of
from tenure.surfaces.remote.wire import Wire, WireRequest


class StepPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of steps as clients read it."""

    items: Sequence[RemoteStep]
    next_cursor: str | None


def steps(wire: Wire, job: JobId) -> AsyncGenerator[RemoteStep, None]:
    """Iterate over the steps that a job has kept, in the order in which they were first kept.

    Raises NotFound.
    """
    return _pages(wire, f"/v1/jobs/{id_of(job)}/steps")


async def _pages(wire: Wire, path: str) -> AsyncGenerator[RemoteStep, None]:
    place: tuple[tuple[str, str], ...] = ()
    while True:
        query = (("limit", str(LARGEST_PAGE)), *place)
        request = WireRequest(method="GET", path=path, query=query)
        page = read(wire, await ask(wire, request), StepPage)
        for item in page.items:
            yield item
        if page.next_cursor is None:
            return
        place = (("cursor", page.next_cursor),)
