"""What was done over HTTP stays on record: first that it is about to be done, then how it ended.

No change is made that is not on record before: where that cannot be written, the caller is told so and
nothing has happened. An outcome that nobody could tell, because the process or the store went away, is left
open.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from struct import pack
from typing import TypeVar
from uuid import UUID

from tenure.core.access import Deed
from tenure.core.errors import JobsAside, StoreError, StoreRefused
from tenure.storage.access import AccessStore
from tenure.surfaces.access_views import AuditPage, audit_item
from tenure.surfaces.http import cursors
from tenure.surfaces.http.desk import Answer, Asked, Desk, Stream
from tenure.surfaces.http.problems import refusal_of
from tenure.surfaces.http.routes import Route

USUAL_PAGE = 50
_LIST = b"audit"
_LONGEST_TARGET = 255
T = TypeVar("T", bound=Answer | Stream)


async def audit(desk: Desk, asked: Asked) -> Answer:
    """What was done by whom, the latest first, a page at a time."""
    limit = asked.query.get("limit", USUAL_PAGE)
    before: int | None = None
    if "cursor" in asked.query:
        [before] = cursors.read_numbers(asked.query["cursor"], _LIST, ">q")
    found = await desk.store.deeds(before=before, limit=limit)
    more = len(found) == limit
    place = cursors.write(pack(">q", found[-1].n), _LIST) if more else None
    return Answer(200, AuditPage(items=[audit_item(one) for one in found], next_cursor=place))


def deed_of(route: Route, asked: Asked, request: UUID) -> Deed:
    """What a request is about to do."""
    target = "/".join(asked.path.values()) if route.target is None else route.target(asked)
    shown = "".join(one if one.isprintable() else "?" for one in target)
    return Deed(
        who=asked.caller.name,
        key=asked.caller.key,
        action=f"{route.method} {route.path}",
        target=shown[:_LONGEST_TARGET],
        request=request,
    )


async def on_record(store: AccessStore, deed: Deed, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work, with its deed on record. Raises as the work does; StoreError before it has begun."""
    n = await store.begin_deed(deed)
    try:
        answer = await work()
    except Exception as error:
        if outcome := _outcome_of(error):
            await _end(store, n, outcome)
        raise
    await _end(store, n, str(answer.status))
    return answer


async def _end(store: AccessStore, n: int, outcome: str) -> None:
    # What was done is done, and the caller is told so: an outcome that is not on record is an open one.
    with suppress(StoreError):
        await store.end_deed(n, outcome)


def _outcome_of(error: Exception) -> str | None:
    """How a deed ended that was refused; None where it may have been done all the same."""
    if isinstance(error, TimeoutError) or (
        isinstance(error, StoreError) and not isinstance(error, StoreRefused | JobsAside)
    ):
        return None
    refusal = refusal_of(error, {})
    return f"{refusal.status} {refusal.kind}"
