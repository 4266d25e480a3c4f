"""Schedules: when they fire and how their last runs went; one of them with its history and what comes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct, structs

from tenure.api import views
from tenure.api.redaction import Redaction
from tenure.core.errors import InvalidInput
from tenure.core.model.states import DEAD_LETTERS
from tenure.core.schedule.schedule import ComingTick, KnownSchedule, Schedule, ScheduleName, TickOnRecord
from tenure.core.schedule.wall_clock import zone_named
from tenure.core.values.bounds import LARGEST_PAGE, named
from tenure.core.values.failure import Failure
from tenure.engine.schedules.schedules import ScheduleNotFound
from tenure.surfaces.dashboard.figures import ticks as drawings
from tenure.surfaces.dashboard.figures.svg import Rect
from tenure.surfaces.dashboard.formats import preview
from tenure.surfaces.dashboard.pages.addresses import SCHEDULES, schedule_address
from tenure.surfaces.dashboard.pages.rule_text import rule_text
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.schedule_names import place_in, place_of, refusals, tick_before, tick_cursor

PAGE = 50
MOST_LOOKED_THROUGH = 1_000
"""Schedules among which a text is looked for."""

DRAWN = 30
LARGE = 50
COMING = 6
HISTORY = 50
SHOWS = {"": "All", "failed": "Failed", "missed": "Missed and skipped"}
"""Parts of a history, and what they are called."""

WHICH = {"": "All", "failing": "Failing", "missed": "Missed", "paused": "Paused"}
"""Parts of the list, and what they are called."""


class ShownSchedule(Struct, frozen=True):
    """A schedule with its rule in words, and its last ticks, which come newest first."""

    known: KnownSchedule
    words: str | None
    ticks: Sequence[TickOnRecord]

    @property
    def is_readable(self) -> bool:
        """Whether this version can read it."""
        return isinstance(self.known, Schedule)

    @property
    def address(self) -> str:
        """Its page."""
        return schedule_address(self.known.name)

    @property
    def last(self) -> TickOnRecord | None:
        """Its last tick."""
        return self.ticks[0] if self.ticks else None

    @property
    def drawn(self) -> list[Rect]:
        """Its last ticks."""
        return drawings.small(self.ticks, DRAWN)

    @property
    def told(self) -> str:
        """The same in words."""
        return drawings.told(self.ticks, DRAWN)

    @property
    def takes(self) -> timedelta | None:
        """How long half of its last runs took at most."""
        lengths = sorted(one.took for one in self.ticks if one.took is not None)
        return lengths[(len(lengths) - 1) // 2] if lengths else None

    def is_of(self, which: str) -> bool:
        """Whether it is of a part of the list."""
        kinds = [drawings.kind_of(one) for one in self.ticks]
        match which:
            case "failing":
                return next((kind for kind in kinds if kind in {"succeeded", "failed"}), "") == "failed"
            case "missed":
                return "missed" in kinds
            case "paused":
                return self.known.paused_at is not None
        return True


class ShownTick(Struct, frozen=True):
    """A tick of a history, and the error of its job, if it failed."""

    on_record: TickOnRecord
    kind: str
    error: str


class ShownRun(Struct, frozen=True):
    """A run to come, and what clocks show then in the zone of the schedule."""

    coming: ComingTick
    there: datetime | None


async def schedules(context: AppContext, request: Request) -> Response:
    """The page of schedules, by name."""
    definition, text = request.query.get("definition") or None, request.query.get("q", "").strip()
    which = request.query.get("show", "")
    if definition is not None:
        named("definition", definition)
    list_id = f"schedules {definition or ''}".encode()
    after = place_in(request.query["cursor"], list_id) if "cursor" in request.query else None
    found, is_more = await _found(context, request.caller.namespace, definition, text, after)
    last = await context.client.schedules.recent_ticks([one.name for one in found], limit=DRAWN)
    shown = [ShownSchedule(one, _words(one), last.get(one.name, [])) for one in found]
    # Of a part of the list it is not known how many there are of each kind in all.
    is_whole = after is None and not is_more
    further = None
    if is_more and not text:
        words = {"definition": definition or "", "cursor": cursors.write(place_of(found[-1].name), list_id)}
        further = f"{SCHEDULES}?{urlencode(words)}"
    counts = {name: sum(one.is_of(name) for one in shown) for name in WHICH} if is_whole else {}
    return render(
        request,
        "schedules.html",
        fragment="_schedules.html",
        schedules=[one for one in shown if one.is_of(which)],
        parts=[
            (_address(definition, text, name), word, counts[name], name == which)
            for name, word in WHICH.items()
            if counts.get(name) or (counts and name in {"", which})
        ],
        counts=counts,
        text=text,
        definition=definition,
        show=which,
        is_cut=is_more and bool(text),
        is_start=after is None,
        further=further,
    )


async def schedule(context: AppContext, request: Request) -> Response:
    """The page of one schedule."""
    name = name_in(request)
    show = request.query.get("show", "")
    list_id = b"tick pages " + place_of(name)
    before = tick_before(request.query["cursor"], list_id) if "cursor" in request.query else None
    async with refusals():
        known = await context.client.schedules.get(name)
        last = (await context.client.schedules.recent_ticks([name], limit=LARGE)).get(name, [])
        ticks = await context.client.schedules.ticks(name, before=before, limit=HISTORY + 1)
        coming = await context.client.schedules.coming(name, COMING)
        now = await context.client.schedules.now()
    rule, address = known.asked.recurrence, schedule_address(name)
    older = None
    if len(ticks) > HISTORY:
        words = {"show": show, "cursor": tick_cursor(ticks[HISTORY - 1].tick.place, list_id)}
        older = f"{address}?{urlencode({k: v for k, v in words.items() if v})}"
    return render(
        request,
        "schedule.html",
        fragment="_schedule.html",
        known=known,
        asked=known.asked,
        rule=rule,
        words=rule_text(rule),
        address=address,
        params=preview(known.asked.job.params, context.redaction),
        coming=[ShownRun(one, _there(one, rule.timezone)) for one in coming],
        chart=drawings.large(last, LARGE, now) if last else None,
        kinds={drawings.kind_of(one) for one in last},
        ticks=await _history(context, [one for one in ticks[:HISTORY] if _is_of(one, show)]),
        shows=[(f"{address}?show={word}" if word else address, title) for word, title in SHOWS.items()],
        show=SHOWS.get(show, ""),
        is_start=before is None,
        older=older,
    )


def name_in(request: Request) -> ScheduleName:
    """The schedule that the path names; one of another namespace is as unknown as one that does not exist."""
    name = ScheduleName(request.path["namespace"], request.path["name"])
    try:
        named("namespace", name.namespace)
        named("name", name.name)
    except InvalidInput:
        raise Refusal("not-found", "no schedule can have this name") from None
    if request.caller.namespace not in {None, name.namespace}:
        raise Refusal("not-found", str(ScheduleNotFound(name)))
    return name


async def _found(
    context: AppContext, namespace: str | None, definition: str | None, text: str, after: ScheduleName | None
) -> tuple[Sequence[KnownSchedule], bool]:
    """A page of schedules, and whether there are more; with a text those among the first thousand."""
    client = context.client.schedules
    if not text:
        found = await client.page(namespace=namespace, definition=definition, after=after, limit=PAGE + 1)
        return found[:PAGE], len(found) > PAGE
    matching: list[KnownSchedule] = []
    for _ in range(MOST_LOOKED_THROUGH // LARGEST_PAGE):
        page = await client.page(namespace=namespace, definition=definition, after=after, limit=LARGEST_PAGE)
        matching += [one for one in page if _matches(one, text)]
        if len(page) < LARGEST_PAGE:
            return matching[:PAGE], len(matching) > PAGE
        after = page[-1].name
    return matching[:PAGE], True


def _matches(known: KnownSchedule, text: str) -> bool:
    definition = known.asked.job.definition if isinstance(known, Schedule) else known.definition
    return any(text.casefold() in word.casefold() for word in (known.name.name, definition))


def _words(known: KnownSchedule) -> str | None:
    return rule_text(known.asked.recurrence) if isinstance(known, Schedule) else None


def _address(definition: str | None, text: str, show: str) -> str:
    words = {"q": text, "definition": definition, "show": show}
    given = {name: word for name, word in words.items() if word}
    return f"{SCHEDULES}?{urlencode(given)}" if given else SCHEDULES


def _is_of(one: TickOnRecord, show: str) -> bool:
    kind = drawings.kind_of(one)
    return not show or kind == show or (show == "missed" and kind == "skipped")


def _there(one: ComingTick, zone: str) -> datetime | None:
    return None if zone == "UTC" else one.at.astimezone(zone_named(zone))


async def _history(context: AppContext, ticks: Sequence[TickOnRecord]) -> list[ShownTick]:
    dead = [one.tick.job for one in ticks if one.tick.job and one.state in DEAD_LETTERS]
    briefs = await context.client.briefs(dead) if dead else {}
    errors = {job: Failure(*brief.error) for job, brief in briefs.items() if brief.error}
    return list(_shown(ticks, errors, context.redaction))


def _shown(
    ticks: Sequence[TickOnRecord], errors: Mapping[UUID, Failure], redaction: Redaction
) -> Iterator[ShownTick]:
    for one in ticks:
        # It may quote params.
        problem = one.tick.problem and redaction.text(one.tick.problem)
        error: Any = errors.get(one.tick.job) if one.tick.job else None
        text = views.summary(views.failure(error, redaction)) if error else ""
        tick = structs.replace(one.tick, problem=problem)
        yield ShownTick(structs.replace(one, tick=tick), drawings.kind_of(one), text)
