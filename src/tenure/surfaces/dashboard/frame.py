"""What stands around every page: the pages in groups, and a count beside those that want somebody."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import TypeVar

from msgspec import Struct, structs

from tenure.core.model.states import DEAD_LETTERS
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.context import AppContext, Request
from tenure.surfaces.http.app.page_request import PageCount

Answer = TypeVar("Answer")


class MenuEntry(Struct, frozen=True):
    """A page of the menu: its path, name, icon, and the key that leads there after `g`.

    One that is `shared` shows what belongs to all namespaces.
    """

    path: str
    name: str
    icon: str
    key: str
    is_shared: bool = True
    scope: str = "read"


class MenuGroup(Struct, frozen=True):
    """Pages under one heading."""

    name: str
    places: Sequence[MenuEntry]


GROUPS = (
    MenuGroup("", [MenuEntry("/", "Overview", "overview", "o")]),
    MenuGroup(
        "Work",
        [
            MenuEntry("/ui/jobs", "Jobs", "jobs", "j", is_shared=False),
            MenuEntry("/ui/dead-letters", "Dead letters", "dead", "d"),
            MenuEntry("/ui/schedules", "Schedules", "schedules", "s", is_shared=False),
        ],
    ),
    MenuGroup(
        "Capacity",
        [
            MenuEntry("/ui/queues", "Queues", "queues", "q"),
            MenuEntry("/ui/limits", "Limits", "limits", "l"),
            MenuEntry("/ui/workers", "Workers", "workers", "w"),
        ],
    ),
    MenuGroup(
        "Set-up",
        [
            MenuEntry("/ui/definitions", "Definitions", "definitions", "f", is_shared=False),
            MenuEntry("/ui/webhooks", "Webhooks", "webhooks", "h", is_shared=False),
            MenuEntry("/ui/keys", "Keys & audit", "keys", "a", scope="admin"),
        ],
    ),
)
AT_THE_THUMB = ("/", "/ui/jobs", "/ui/dead-letters", "/ui/schedules")
"""The pages that a phone shows beside its menu."""


def groups_of(caller: Caller) -> list[MenuGroup]:
    """The pages that a caller may see; a group without any is left out."""
    seen = [
        MenuGroup(group.name, [place for place in group.places if _is_open(place, caller)])
        for group in GROUPS
    ]
    return [group for group in seen if group.places]


def framed(
    handler: Callable[[AppContext, Request], Awaitable[Answer]],
) -> Callable[[AppContext, Request], Awaitable[Answer]]:
    """The handler of a whole page, whose request knows what other pages want somebody for."""

    @wraps(handler)
    async def with_frame(context: AppContext, request: Request) -> Answer:
        page = structs.replace(request.page, wanted=await wanted(context, request.caller))
        return await handler(context, structs.replace(request, page_request=page))

    return with_frame


async def wanted(context: AppContext, caller: Caller) -> Mapping[str, PageCount]:
    """What wants somebody, by the path of its page; nothing for a caller that does not see all jobs."""
    if caller.is_namespaced or "read" not in caller.scopes:
        return {}
    # Both are cheap: the counts are running totals, and one look serves all pages for two seconds.
    counts = await context.client.counts(Filter())
    attention = await context.client.health.look()
    dead = Count(
        sum(counts[state].n for state in DEAD_LETTERS), any(counts[state].is_more for state in DEAD_LETTERS)
    )
    paused = sum(1 for one in attention.paused if one.queue and not one.pause.scope.definition)
    found = {
        "/ui/dead-letters": PageCount(str(dead), "bad") if dead.n else None,
        "/ui/queues": PageCount(f"{paused:,} paused", "warn") if paused else None,
        "/ui/webhooks": PageCount(f"{len(attention.webhooks):,} failing", "bad")
        if attention.webhooks
        else None,
    }
    return {path: one for path, one in found.items() if one is not None}


def _is_open(place: MenuEntry, caller: Caller) -> bool:
    return place.scope in caller.scopes and not (place.is_shared and caller.namespace)
