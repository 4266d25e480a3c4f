"""The four figures that lead: what waits, runs, has failed and ends, each with the hour before it."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.reports.failures import Count
from tenure.engine.figures.statistics import EndedSpan, StoreFigures
from tenure.engine.figures.trends import Standing
from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.formats import about, age, figure
from tenure.surfaces.dashboard.pages.addresses import list_address
from tenure.surfaces.http.app.context import AppContext

PLACES = 15
EACH = timedelta(minutes=4)
"""How long the time of one bar beside a figure is."""

ALIKE = 0.02
"""Less of a difference than this is none."""


class Figure(Struct, frozen=True, kw_only=True):
    """A figure: the state whose mark it has, its number and what it is of, and one comparison."""

    state: State
    label: str
    number: str
    of: str = ""
    sub: str = ""
    href: str
    spark: Sequence[svg.Rect] = ()


class Headline(Struct, frozen=True):
    """The four figures, and the states that none of them has."""

    figures: Sequence[Figure]
    rest: Sequence[State]


async def headline(context: AppContext, known: StoreFigures, counts: Mapping[State, Count]) -> Headline:
    """What the store has to say of itself."""
    standings = await context.client.trends.standings()
    hour = next(one for one in known.series if one.period == "hour").spans
    figures = [
        await _waiting(context, known, counts, standings),
        await _running(context, known, counts, standings),
        await _failed(context, known, hour),
        _finished(known, hour),
    ]
    shown = (State.QUEUED, State.RUNNING)
    order = (State.SCHEDULED, State.RETRYING, State.SUSPENDED, State.CREATED, State.CANCELLING)
    rest = [*order, *(state for state in State if state not in {*order, *shown})]
    return Headline(figures, rest)


async def _waiting(
    context: AppContext, known: StoreFigures, counts: Mapping[State, Count], standings: Sequence[Standing]
) -> Figure:
    oldest = (await context.client.health.look()).oldest
    sub = "nothing waits" if not counts[State.QUEUED].n else ""
    if oldest is not None:
        waited = (known.at - oldest.since).total_seconds()
        sub = f"oldest {age(max(waited, 0))}, in {oldest.line.queue}"
    return Figure(
        state=State.QUEUED,
        label="Waiting",
        number=_about(counts[State.QUEUED]),
        sub=sub,
        href=list_address(status=[State.QUEUED]),
        spark=_spark([(one.at, one.waiting) for one in standings], known.at, "muted", largest=True),
    )


async def _running(
    context: AppContext, known: StoreFigures, counts: Mapping[State, Count], standings: Sequence[Standing]
) -> Figure:
    workers = await context.client.workers()
    alive = [one for one in workers if one.is_alive]
    slots = sum(one.worker.slots for one in alive if not one.draining)
    silent = len(workers) - len(alive)
    noun = "worker" if len(workers) == 1 else "workers"
    if not workers:
        sub = "no worker"
    elif silent:
        sub = f"{silent} of {len(workers)} {noun} not heard from"
    else:
        sub = f"{len(workers)} {noun}, {'all ' if len(workers) > 1 else ''}heard from"
    return Figure(
        state=State.RUNNING,
        label="Running",
        number=_about(counts[State.RUNNING]),
        of=f"of {slots:,} slots" if slots else "",
        sub=sub,
        href=list_address(status=[State.RUNNING]),
        spark=_spark([(one.at, one.running) for one in standings], known.at, "accent", largest=True),
    )


async def _failed(context: AppContext, known: StoreFigures, hour: Sequence[EndedSpan]) -> Figure:
    failed, total = sum(map(_dead, hour)), sum(sum(one.ended.values()) for one in hour)
    usual = await context.client.trends.usual_failures()
    said = []
    if total:
        said.append(f"{_share(failed / total)} of {about(total)}")
    if usual is not None:
        said.append(f"usually {_share(usual)}")
    return Figure(
        state=State.FAILED,
        label="Failed, last hour",
        number=about(failed),
        sub=", ".join(said) or "nothing ended",
        href="/ui/dead-letters",
        spark=_spark([(one.at, _dead(one)) for one in hour], known.at, "bad"),
    )


def _finished(known: StoreFigures, hour: Sequence[EndedSpan]) -> Figure:
    lately = sum(known.lately.ended.values())
    now, then = known.per_minute, known.per_minute_yesterday
    sub = f"{figure(lately / 60)} per second" if lately else "nothing ended in the last minute"
    if now is not None and then:
        change = now / then - 1
        less_or_more = "less" if change < 0 else "more"
        alike = abs(change) < ALIKE
        sub = (
            "as many as yesterday at this time"
            if alike
            else f"{abs(change):.0%} {less_or_more} than yesterday at this time".replace("%", " %")
        )
    return Figure(
        state=State.SUCCEEDED,
        label="Finished per minute",
        number=about(lately),
        sub=sub,
        href=list_address(status=[State.SUCCEEDED]),
        spark=_spark([(one.at, sum(one.ended.values())) for one in hour], known.at, "good"),
    )


def _spark(
    points: Sequence[tuple[datetime, float]], now: datetime, tone: str, *, largest: bool = False
) -> list[svg.Rect]:
    """Bars of the last hour: of the points in each place the largest, or their sum."""
    places: list[list[float]] = [[] for _ in range(PLACES)]
    for at, value in points:
        place = PLACES - 1 - int((now - at) / EACH)
        if 0 <= place < PLACES:
            places[place].append(value)
    values = [max(place, default=0) if largest else sum(place) for place in places]
    return svg.spark(values, tone)


def _dead(one: EndedSpan) -> int:
    return sum(one.ended.get(state, 0) for state in DEAD_LETTERS)


def _about(count: Count) -> str:
    return str(count) if count.is_more else about(count.n)


def _share(part: float) -> str:
    return f"{100 * part:.2g} %" if part else "0 %"
