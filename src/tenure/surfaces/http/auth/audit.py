"""The audit log of what callers change: an entry before the work, its outcome after it.

Entries go straight to the store's access port (`AccessStore`), a second port beside the client. Nothing is
changed without an entry: if it cannot be written, the request fails and nothing has happened. The outcome
stays open where it is unknown, because the process or the store went away.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from struct import pack
from typing import TypeVar
from uuid import UUID

from tenure.api.access_views import AuditPage, audit_item
from tenure.core.errors import StoreError, StoreRefused
from tenure.core.model.aside import JobsAside
from tenure.core.reports.access import AuditEntry
from tenure.storage.contract.access import AccessStore
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response, StreamedResponse
from tenure.surfaces.http.app.problems import refusal_of
from tenure.surfaces.http.app.routes import Route

USUAL_PAGE = 50
_LIST = b"audit"
_LONGEST_TARGET = 255
T = TypeVar("T", bound=Response | StreamedResponse)


async def audit(context: AppContext, request: Request) -> Response:
    """The audit log, the latest entry first, a page at a time."""
    limit = request.query.get("limit", USUAL_PAGE)
    before: int | None = None
    if "cursor" in request.query:
        [before] = cursors.read_numbers(request.query["cursor"], _LIST, ">q")
    found = await context.access.audit_entries(before=before, limit=limit)
    more = len(found) == limit
    place = cursors.write(pack(">q", found[-1].n), _LIST) if more else None
    return Response(200, AuditPage(items=[audit_item(record) for record in found], next_cursor=place))


def audit_entry_of(route: Route, request: Request, request_id: UUID) -> AuditEntry:
    """The entry for what a request is about to do."""
    target = "/".join(request.path.values()) if route.target is None else route.target(request)
    printable = "".join(letter if letter.isprintable() else "?" for letter in target)
    return AuditEntry(
        who=request.caller.name,
        key=request.caller.key,
        action=f"{route.method} {route.path}",
        target=printable[:_LONGEST_TARGET],
        request=request_id,
    )


async def audited(store: AccessStore, entry: AuditEntry, work: Callable[[], Awaitable[T]]) -> T:
    """Do the work between writing its entry and its outcome. Raises StoreError before the work begins."""
    n = await store.begin_audit_entry(entry)
    try:
        answer = await work()
    except Exception as error:
        if outcome := _outcome_of(error):
            await _end(store, n, outcome)
        raise
    await _end(store, n, str(answer.status))
    return answer


async def _end(store: AccessStore, n: int, outcome: str) -> None:
    # The work is done and the caller must learn it: an outcome that cannot be written stays open.
    with suppress(StoreError):
        await store.end_audit_entry(n, outcome)


def _outcome_of(error: Exception) -> str | None:
    """The outcome of work that raised; None where it may be done all the same."""
    if isinstance(error, TimeoutError) or (
        isinstance(error, StoreError) and not isinstance(error, StoreRefused | JobsAside)
    ):
        return None
    refusal = refusal_of(error, {})
    return f"{refusal.status} {refusal.kind}"
