"""The audit log over HTTP: an entry for each change, with the status of the answer, and its pages.

Entries go straight to the store's access port (`AccessStore`), a second port beside the client.
`engine.client.audit` says when an entry and its outcome are written.
"""

from collections.abc import Awaitable, Callable
from struct import pack
from typing import TypeVar
from uuid import UUID

from tenure.api.access_views import AuditPage, audit_item
from tenure.core.reports.access import AuditEntry
from tenure.engine.client.audit import audited as audited_change
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
    return await audited_change(
        store, entry, work, done=lambda answer: str(answer.status), refused=_outcome_of
    )


def _outcome_of(error: Exception) -> str:
    refusal = refusal_of(error, {})
    return f"{refusal.status} {refusal.kind}"
