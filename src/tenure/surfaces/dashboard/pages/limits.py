"""Limits: how many jobs may run at once under each, how many do, and a form to set the size."""

import re
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from tenure.api.limit_shapes import LimitItem, limit_item
from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import LARGEST_LIMIT, named
from tenure.engine.client.limits import UnknownLimit
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal

MOST_LIMITS = 200
"""Limits and keys that the page shows, by name."""

ADDRESS = "/ui/limits"


class SizeForm(Form, frozen=True, kw_only=True):
    """How many may run at once."""

    size: str


class ShownLimit(Struct, frozen=True):
    """A limit with those of its keys that the page shows."""

    name: str
    size: int
    keys: Sequence[LimitItem]

    @property
    def held(self) -> int:
        """How many run under all its keys."""
        return sum(one.held for one in self.keys)

    @property
    def room(self) -> int:
        """How many may run under all its keys."""
        return self.size * len(self.keys)

    @property
    def has_keys(self) -> bool:
        """Whether jobs are counted by key."""
        return any(one.key for one in self.keys)


async def limits(context: AppContext, request: Request) -> Response:
    """The page of limits."""
    page = await context.client.limits.page(limit=MOST_LIMITS)
    items = [limit_item(use) for use in page.uses]
    by_name = [(name, list(own)) for name, own in groupby(items, key=lambda one: one.name)]
    return render(
        request,
        "limits.html",
        fragment="_limits.html",
        limits=[ShownLimit(name, own[0].size, own) for name, own in by_name],
        is_more=page.next is not None,
        largest=LARGEST_LIMIT,
    )


async def resize(context: AppContext, request: Request) -> Response:
    """Set the size of a limit."""
    form: SizeForm = request.body
    name = request.path["name"]
    if not re.fullmatch("[0-9]{1,9}", form.size):
        raise InvalidInput("size", f"is {form.size!r:.64}", f"give a whole number from 1 to {LARGEST_LIMIT}")
    try:
        named("limit", name)
        await context.client.limits.resize(name, int(form.size))
    except InvalidInput as error:
        if error.field == "limit":
            raise Refusal("not-found", "no limit can have this name") from None
        raise InvalidInput("size", error.problem, error.remedy) from None
    except UnknownLimit as error:
        raise Refusal("not-found", str(error)) from None
    return see_other(ADDRESS)
