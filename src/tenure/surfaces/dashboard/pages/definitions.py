"""Definitions: what workers have registered, what is overridden, their params, and how long jobs are kept."""

import json
from collections.abc import Sequence
from typing import Any

from tenure.api.definition_views import Defined, parts_of, shown
from tenure.surfaces.dashboard.pages import retention
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

MOST_DEFINITIONS = 500


async def definitions(context: AppContext, request: Request) -> Response:
    """Every definition by key and version."""
    found = [Defined(known) for known in await context.client.definitions()]
    return render(
        request,
        "definitions.html",
        fragment="_definitions.html",
        definitions=[defined.item(is_fenced=_is_fenced(request)) for defined in found[:MOST_DEFINITIONS]],
        left_out=max(0, len(found) - MOST_DEFINITIONS),
        **await _retention(context, request, found),
    )


async def definition(context: AppContext, request: Request) -> Response:
    """Every version of one definition, the newest first."""
    key = request.path["key"]
    found = [Defined(known) for known in await context.client.definitions() if known.key == key]
    if not found:
        raise Refusal("not-found", "no worker has registered a definition with this key")
    versions = [
        (defined.item(is_fenced=_is_fenced(request)), _schema(defined), _set(defined))
        for defined in reversed(found)
    ]
    return render(request, "definition.html", fragment="_definition.html", key=key, versions=versions)


async def _retention(context: AppContext, request: Request, found: Sequence[Defined]) -> dict[str, Any]:
    """How long jobs are kept, and the definitions without times of their own.

    Nothing for a caller that is bound to a namespace: it is set for all namespaces.
    """
    if _is_fenced(request):
        return {"retention": (), "unset_keys": ()}
    kept = retention.rows(await context.client.retention.get())
    keys = sorted({defined.known.key for defined in found} - {row.key for row in kept})
    return {"retention": kept[:MOST_DEFINITIONS], "unset_keys": keys[:MOST_DEFINITIONS]}


def _is_fenced(request: Request) -> bool:
    return request.caller.namespace is not None


def _schema(defined: Defined) -> str:
    return json.dumps(json.loads(defined.spec.params_schema), indent=2, ensure_ascii=False)


def _set(defined: Defined) -> list[str]:
    """What an operator has set, as text."""
    return [f"{name} {shown(name, value)}" for name, value in parts_of(defined.override).items()]
