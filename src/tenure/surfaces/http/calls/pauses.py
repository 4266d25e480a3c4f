"""The control API's calls about pauses and limits."""

from struct import pack, unpack

from msgspec import UnsetType

from tenure.api import inputs
from tenure.api.limit_shapes import Limits, LimitSize, ResizeBody, limit_item
from tenure.api.pause_shapes import (
    DefinitionPauseBody,
    DefinitionScope,
    Pauses,
    definition_pause,
)
from tenure.api.shapes import PauseBody, QueueState, pause_item
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.reports.operations import PauseScope
from tenure.core.values.bounds import named
from tenure.engine.client.limits import UnknownLimit
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.operate import USUAL_PAGE, reason_of

_LIMITS = b"limits"
_NUMBER = ">I"


async def pause(context: AppContext, request: Request) -> Response:
    """Stop claims from a queue."""
    queue = _queue(request)
    await _pause(context, request, PauseScope(queue), request.body or PauseBody())
    return Response(200, QueueState(queue, paused=True))


async def resume(context: AppContext, request: Request) -> Response:
    """Let workers claim from a queue again."""
    queue = _queue(request)
    await context.client.pauses.resume(PauseScope(queue))
    return Response(200, QueueState(queue, paused=False))


async def pause_definition(context: AppContext, request: Request) -> Response:
    """Stop claims of a definition, in any queue and version or in some."""
    body: DefinitionPauseBody = request.body or DefinitionPauseBody()
    scope = body.of(_definition(request))
    try:
        await _pause(context, request, scope, body)
    except UnknownDefinition:
        raise _unknown(scope) from None
    return Response(200, definition_pause(scope, paused=True))


async def resume_definition(context: AppContext, request: Request) -> Response:
    """End the pause of a definition; it must name the same version and queue."""
    body: DefinitionScope = request.body or DefinitionScope()
    scope = body.of(_definition(request))
    try:
        await context.client.pauses.resume(scope)
    except UnknownDefinition:
        raise _unknown(scope) from None
    return Response(200, definition_pause(scope, paused=False))


async def pauses(context: AppContext, _request: Request) -> Response:
    """The pauses in force."""
    return Response(200, Pauses([pause_item(one) for one in await context.client.pauses.look()]))


async def limits(context: AppContext, request: Request) -> Response:
    """The limits and their keys, a page at a time."""
    after = _place(request.query["cursor"]) if "cursor" in request.query else None
    page = await context.client.limits.page(after=after, limit=request.query.get("limit", USUAL_PAGE))
    cursor = None
    if page.next is not None:
        name, number = page.next
        cursor = cursors.write(pack(_NUMBER, number) + name.encode(), _LIMITS)
    return Response(200, Limits(items=[limit_item(use) for use in page.uses], next_cursor=cursor))


async def resize(context: AppContext, request: Request) -> Response:
    """Set how many jobs may run at once under each key of a limit."""
    body: ResizeBody = request.body
    name = request.path["name"]
    try:
        named("limit", name)
        await context.client.limits.resize(name, body.size)
    except InvalidInput as error:
        if error.field == "limit":
            raise Refusal("not-found", "no limit can have this name") from None
        raise
    except UnknownLimit as error:
        raise Refusal("not-found", str(error)) from None
    return Response(200, LimitSize(name, body.size))


async def _pause(context: AppContext, request: Request, scope: PauseScope, body: PauseBody) -> None:
    until = None if isinstance(body.until, UnsetType) else inputs.moment(body.until)
    await context.client.pauses.pause(scope, until=until, by=request.caller.name, reason=reason_of(body))


def _place(cursor: str) -> tuple[str, int]:
    """The limit and the key after which the list continues. Raises Refusal as `cursors.read` does."""
    place = cursors.read(cursor, _LIMITS)
    [number] = unpack(_NUMBER, place[:4].rjust(4, b"\0"))
    name = place[4:].decode(errors="replace")
    try:
        named("limit", name)
    except InvalidInput:
        raise Refusal("invalid-cursor", "start again without a cursor") from None
    return name, min(number, 2**31 - 1)


def _queue(request: Request) -> str:
    try:
        named("queue", request.path["queue"])
    except InvalidInput:
        raise Refusal("not-found", "no queue can have this name") from None
    return request.path["queue"]


def _definition(request: Request) -> str:
    try:
        named("definition", request.path["key"])
    except InvalidInput:
        raise Refusal("not-found", "no definition can have this key") from None
    return request.path["key"]


def _unknown(scope: PauseScope) -> Refusal:
    what = f"version {scope.version} of this definition" if scope.version else "definition with this key"
    return Refusal("not-found", f"there is no {what}")
