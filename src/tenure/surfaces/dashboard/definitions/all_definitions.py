"""Definitions: what workers have registered, which are paused, and how long jobs are kept."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tenure.api.definition_views import Defined
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.reports.operations import Definition, Pause
from tenure.surfaces.dashboard.definitions import retention
from tenure.surfaces.dashboard.definitions.one import again
from tenure.surfaces.dashboard.forms.pause_forms import definition_scope, set_pause
from tenure.surfaces.dashboard.forms.shown import ReturnedForm
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_DEFINITIONS = 500


async def definitions(context: AppContext, request: Request) -> Response:
    """Every definition by key and version."""
    return await _page(context, request, ReturnedForm())


async def set_retention(context: AppContext, request: Request) -> Response:
    """Set how long finished jobs of a definition, or of all, are kept."""
    form: retention.RetentionForm = request.body
    try:
        await retention.set_times(context, form, request.caller.name)
    except InvalidInput as error:
        returned = ReturnedForm.refused(f"keep-{form.definition}", form, error)
        return await _page(context, request, returned, status=422)
    return see_other(retention.ADDRESS)


async def _page(context: AppContext, request: Request, returned: ReturnedForm, status: int = 200) -> Response:
    found = [Defined(known) for known in await context.client.definitions()]
    pauses = [] if _is_namespaced(request) else await context.client.pauses.look()
    return render(
        request,
        "definitions.html",
        fragment="_definitions.html",
        status=status,
        returned=returned,
        definitions=[
            defined.item(is_namespaced=_is_namespaced(request)) for defined in found[:MOST_DEFINITIONS]
        ],
        paused={(one.known.key, one.known.version) for one in found if _pauses_of(one.known, pauses)},
        left_out=max(0, len(found) - MOST_DEFINITIONS),
        **await _figures(context, request),
        **await _retention(context, request, found),
    )


async def pause(context: AppContext, request: Request) -> Response:
    """Pause a definition, or one version or queue of it."""
    key = request.path["key"]
    try:
        await set_pause(context, request, definition_scope(key, request.body))
    except UnknownDefinition:
        raise Refusal("not-found", "no worker has registered this definition and version") from None
    except InvalidInput as error:
        returned = ReturnedForm.refused("pause", request.body, error)
        return await again(context, request, returned)
    return see_other(f"/ui/definitions/{quote(key, safe='')}")


async def resume(context: AppContext, request: Request) -> Response:
    """End one pause of a definition."""
    key = request.path["key"]
    try:
        await context.client.pauses.resume(definition_scope(key, request.body))
    except UnknownDefinition:
        raise Refusal("not-found", "no worker has registered this definition and version") from None
    return see_other(f"/ui/definitions/{quote(key, safe='')}")


def _pauses_of(known: Definition, pauses: Sequence[Pause]) -> list[Pause]:
    return [
        pause
        for pause in pauses
        if pause.scope.definition == known.key and pause.scope.version in {0, known.version}
    ]


async def _figures(context: AppContext, request: Request) -> dict[str, Any]:
    """What definitions did in the last day; they belong to all namespaces."""
    if _is_namespaced(request):
        return {"figures": {}, "has_figures": False}
    trends = await context.client.trends.of_definitions("day")
    found = {one.definition: one for one in trends.definitions}
    return {"figures": found, "has_figures": bool(found)}


async def _retention(context: AppContext, request: Request, found: Sequence[Defined]) -> dict[str, Any]:
    """How long jobs are kept, and the definitions without times of their own.

    Nothing for a caller that is bound to a namespace: it is set for all namespaces.
    """
    if _is_namespaced(request):
        return {"retention": (), "unset_keys": ()}
    kept = retention.rows(await context.client.retention.get())
    keys = sorted({defined.known.key for defined in found} - {row.key for row in kept})
    return {"retention": kept[:MOST_DEFINITIONS], "unset_keys": keys[:MOST_DEFINITIONS]}


def _is_namespaced(request: Request) -> bool:
    return request.caller.namespace is not None
