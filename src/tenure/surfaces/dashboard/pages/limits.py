"""Limits: how many jobs may run at once under each, how many do, and a form to set the size."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby

from msgspec import Struct

from tenure.api.limit_shapes import LimitItem, limit_item
from tenure.core.errors import InvalidInput
from tenure.core.model.spec import Spec
from tenure.core.values.bounds import LARGEST_LIMIT, named
from tenure.engine.client.limits import UnknownLimit
from tenure.surfaces.dashboard.figures.svg import Rect, meter
from tenure.surfaces.dashboard.forms.shown import ReturnedForm
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.app.problems import Refusal

MOST_LIMITS = 200
"""Limits and keys that the page shows, by name."""

MOST_USERS = 5
"""Definitions that it names for each."""

ADDRESS = "/ui/limits"


class SizeForm(Form, frozen=True, kw_only=True):
    """How many may run at once."""

    size: str = ""


class ShownLimit(Struct, frozen=True):
    """A limit with those of its keys that the page shows."""

    name: str
    size: int
    keys: Sequence[LimitItem]
    users: Sequence[str] = ()
    """The definitions whose jobs come under it, as far as they are registered."""

    @property
    def held(self) -> int:
        """How many run under all its keys."""
        return sum(one.held for one in self.keys)

    @property
    def room(self) -> int:
        """How many may run under all its keys."""
        return self.size * len(self.keys)

    @property
    def opens_at(self) -> datetime | None:
        """Until when no job starts under it, if all of it is closed."""
        times = [one.opens_at for one in self.keys]
        return None if None in times else max((at for at in times if at), default=None)

    @property
    def is_full(self) -> bool:
        """Whether as many run as may, under every key."""
        return self.held >= self.room

    @property
    def tone(self) -> str:
        """How its use is told."""
        return "warn" if self.opens_at else "bad" if self.is_full else "accent"

    @property
    def drawn(self) -> Rect:
        """Its use."""
        return meter(1.0 if self.opens_at else self.held / max(self.room, 1))

    @property
    def has_keys(self) -> bool:
        """Whether jobs are counted by key."""
        return any(one.key for one in self.keys)


async def limits(context: AppContext, request: Request) -> Response:
    """The page of limits."""
    return await _page(context, request, ReturnedForm())


async def _page(context: AppContext, request: Request, returned: ReturnedForm, status: int = 200) -> Response:
    page = await context.client.limits.page(limit=MOST_LIMITS)
    items = [limit_item(use) for use in page.uses]
    by_name = [(name, list(own)) for name, own in groupby(items, key=lambda one: one.name)]
    users = await _users(context)
    return render(
        request,
        "limits.html",
        fragment="_limits.html",
        status=status,
        returned=returned,
        limits=[ShownLimit(name, own[0].size, own, users.get(name, ())) for name, own in by_name],
        is_more=page.next is not None,
        largest=LARGEST_LIMIT,
    )


async def _users(context: AppContext) -> Mapping[str, Sequence[str]]:
    """The definitions by the limits that their newest versions name."""
    newest = {one.key: one for one in await context.client.definitions()}
    found: dict[str, list[str]] = {}
    for one in newest.values():
        with suppress(InvalidInput):  # one that a newer version has written
            for limit in Spec.read(one.spec).all_limits:
                found.setdefault(limit.name, []).append(one.key)
    return {name: sorted(keys)[:MOST_USERS] for name, keys in found.items()}


async def resize(context: AppContext, request: Request) -> Response:
    """Set the size of a limit."""
    form: SizeForm = request.body
    name = request.path["name"]
    try:
        named("limit", name)
        if not re.fullmatch("[0-9]{1,9}", form.size):
            problem = f"is {form.size!r:.64}" if form.size else "is missing"
            raise InvalidInput("size", problem, f"write a whole number from 1 to {LARGEST_LIMIT:,}")
        await context.client.limits.resize(name, int(form.size))
    except InvalidInput as error:
        if error.field == "limit":
            raise Refusal("not-found", "no limit can have this name") from None
        known = InvalidInput("size", error.problem, error.remedy)
        return await _page(context, request, ReturnedForm.refused(name, form, known), status=422)
    except UnknownLimit as error:
        raise Refusal("not-found", str(error)) from None
    return see_other(ADDRESS)
