"""Definitions: what workers have registered, what an operator has set instead, and which params they take."""

import json

from tenure.surfaces.dashboard.rendering import render
from tenure.surfaces.definition_views import Defined, parts_of, shown
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal

MOST_DEFINITIONS = 500


async def definitions(desk: Desk, asked: Asked) -> Answer:
    """Every definition by key and version."""
    found = [Defined(known) for known in await desk.client.definitions()]
    return render(
        asked,
        "definitions.html",
        fragment="_definitions.html",
        definitions=[defined.item(is_fenced=_is_fenced(asked)) for defined in found[:MOST_DEFINITIONS]],
        left_out=max(0, len(found) - MOST_DEFINITIONS),
    )


async def definition(desk: Desk, asked: Asked) -> Answer:
    """Every version of one definition, the newest first."""
    key = asked.path["key"]
    found = [Defined(known) for known in await desk.client.definitions() if known.key == key]
    if not found:
        raise Refusal("not-found", "no worker has registered such a definition")
    versions = [
        (defined.item(is_fenced=_is_fenced(asked)), _schema(defined), _set(defined))
        for defined in reversed(found)
    ]
    return render(asked, "definition.html", fragment="_definition.html", key=key, versions=versions)


def _is_fenced(asked: Asked) -> bool:
    return asked.caller.namespace is not None


def _schema(defined: Defined) -> str:
    return json.dumps(json.loads(defined.spec.params_schema), indent=2, ensure_ascii=False)


def _set(defined: Defined) -> list[str]:
    """What an operator has set, in words."""
    return [f"{name} {shown(name, value)}" for name, value in parts_of(defined.override).items()]
