"""Lists jobs by a filter, page after page."""

from collections.abc import AsyncGenerator, Collection
from datetime import datetime

from tenure.api import views
from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.surfaces.remote.retry import ask, read
from tenure.surfaces.remote.wire import Wire, WireRequest

Query = tuple[tuple[str, str], ...]


def jobs(
    wire: Wire,
    *,
    status: State | str | Collection[State | str] = (),
    definition: str | None = None,
    queue: str | None = None,
    tag: str | None = None,
    fingerprint: str | None = None,
    waiting_for: str | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    newest_first: bool = True,
) -> AsyncGenerator[views.JobItem, None]:
    """Iterate over the jobs that match every filter given; of several states any one matches.

    `waiting_for` is the name of a signal. Pages are fetched as needed. A job that changes meanwhile may be
    missed; none comes twice.
    """
    which = Filter(
        states=frozenset(_state(one) for one in ([status] if isinstance(status, str) else status)),
        definition=definition,
        queue=queue,
        tag=tag,
        fingerprint=fingerprint,
        waiting_for=waiting_for,
        created_after=created_after,
        created_before=created_before,
    )
    return _pages(wire, _query(which, newest_first))


async def _pages(wire: Wire, query: Query) -> AsyncGenerator[views.JobItem, None]:
    place: Query = ()
    while True:
        request = WireRequest(method="GET", path="/v1/jobs", query=(*query, *place))
        page = read(wire, await ask(wire, request), views.JobPage)
        for item in page.items:
            yield item
        if page.next_cursor is None:
            return
        place = (("cursor", page.next_cursor),)


def _query(which: Filter, newest_first: bool) -> Query:
    given: dict[str, str | None] = {
        "definitionKey": which.definition,
        "queue": which.queue,
        "tag": which.tag,
        "fingerprint": which.fingerprint,
        "waitingFor": which.waiting_for,
        "createdAfter": _written(which.created_after),
        "createdBefore": _written(which.created_before),
    }
    return (
        ("limit", str(LARGEST_PAGE)),
        ("sort", "-createdAt" if newest_first else "createdAt"),
        *(("status", state) for state in sorted(which.states)),
        *((name, value) for name, value in given.items() if value is not None),
    )


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        raise InvalidInput("status", f"is {word!r:.64}", f"give one of {', '.join(State)}") from None


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
