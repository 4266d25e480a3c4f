"""The first page: what needs attention, how it goes, what runs, what failed, what comes."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tenure.api import views
from tenure.core.model.states import State
from tenure.core.reports.failures import Count, DeadGroup
from tenure.core.reports.reading import Filter, RunningJob
from tenure.core.schedule.schedule import Schedule, ScheduleName, TickOnRecord
from tenure.engine.figures.statistics import PERIODS, Series
from tenure.engine.figures.trends import WEEK, WEEK_PART, DefinitionFigures, DefinitionTrends
from tenure.surfaces.dashboard.figures import svg, ticks
from tenure.surfaces.dashboard.figures.charts import duration_chart, ended_chart
from tenure.surfaces.dashboard.pages import first_run, headline
from tenure.surfaces.dashboard.pages.addresses import JOBS, schedule_address
from tenure.surfaces.dashboard.pages.rule_text import rule_text
from tenure.surfaces.dashboard.pages.troubles import troubles
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response

PERIOD_WORDS = {"hour": "1 hour", "day": "24 hours", "week": "7 days"}
ORDERS = ("busiest", "slowest", "failing")
USUAL_PERIOD, USUAL_ORDER = "hour", "busiest"
LISTED = 5
MOST_DEFINITIONS = 7
RUNS = 20


class ShownDefinition(Struct, frozen=True):
    """A definition's figures, and its part of the largest."""

    figures: DefinitionFigures
    meter: svg.Rect


class ShownFailure(Struct, frozen=True):
    """The newest dead letter of a cause, with its error redacted, and how many died of the same."""

    group: DeadGroup
    error: str


class ShownRunning(Struct, frozen=True):
    """A job at work, with what it says of its progress redacted."""

    job: RunningJob
    said: str


class ComingRun(Struct, frozen=True):
    """A schedule that fires soon: its rule in words, and its last runs."""

    schedule: Schedule
    address: str
    words: str
    drawn: Sequence[svg.Rect]
    told: str


async def overview(context: AppContext, request: Request) -> Response:
    """The overview. A caller bound to a namespace goes to its jobs: all else here is about all namespaces."""
    if request.caller.namespace is not None:
        return see_other(JOBS)
    client = context.client
    counts = await client.counts(Filter())  # cheap, so these are not cached
    symptoms = await client.health.light_symptoms()
    if "first" in request.query or not (_any(counts) or await client.trends.has_ended()):
        return await first_run.first_run(context, request, counts, troubles(symptoms))
    period = request.query.get("period", USUAL_PERIOD)
    order = request.query.get("order", USUAL_ORDER)
    # Concurrently: on a cold disk each of them is slow.
    figures, now_running, dead, trends, coming = await asyncio.gather(
        client.statistics.figures(),
        client.longest_running(limit=LISTED),
        client.dead_letters(limit=LISTED),
        client.trends.of_definitions(period),
        client.schedules.next(limit=LISTED),
    )
    series = await _series(context, period)
    parts = PERIODS[period][1] if period in PERIODS else WEEK // WEEK_PART
    readable = [one for one in coming if isinstance(one, Schedule)]
    last = await client.schedules.recent_ticks([one.name for one in readable], limit=RUNS)
    return render(
        request,
        "overview.html",
        fragment="_overview.html",
        period=period,
        order=order,
        periods=[(_address(name, order), word) for name, word in PERIOD_WORDS.items()],
        orders=[(_address(period, word), word) for word in ORDERS],
        period_word=PERIOD_WORDS[period],
        troubles=troubles(symptoms),
        counts=counts,
        headline=await headline.headline(context, figures, counts),
        ended=ended_chart(series, figures.at, parts),
        took=duration_chart(series, figures.at, parts),
        per={"hour": "minute", "day": "hour"}.get(period, "3 h"),
        at_work=counts[State.RUNNING].n + counts[State.CANCELLING].n,
        running=[_running(context, one) for one in now_running],
        failures=[_failure(context, group) for group in dead.groups],
        definitions=_ranked(trends, order),
        is_sample=not trends.is_whole,
        coming=_runs(readable, last),
    )


async def _series(context: AppContext, period: str) -> Series:
    if period not in PERIODS:
        return await context.client.trends.week()
    known = await context.client.statistics.figures()
    return next(one for one in known.series if one.period == period)


def _ranked(trends: DefinitionTrends, order: str) -> list[ShownDefinition]:
    def value(one: DefinitionFigures) -> float:
        if order == "slowest":
            return one.ran.p95 if one.ran else 0.0
        return one.failed if order == "failing" else one.jobs

    ranked = sorted(trends.definitions, key=value, reverse=True)[:MOST_DEFINITIONS]
    if order == "failing":
        ranked = [one for one in ranked if one.failed]
    most = max(map(value, ranked), default=0) or 1
    return [ShownDefinition(one, svg.meter(value(one) / most)) for one in ranked]


def _running(context: AppContext, job: RunningJob) -> ShownRunning:
    said = context.redaction.text(job.progress.message) if job.progress else ""
    return ShownRunning(job, said)


def _failure(context: AppContext, group: DeadGroup) -> ShownFailure:
    if group.error is None:
        return ShownFailure(group, "")
    return ShownFailure(group, views.summary(views.failure(group.error, context.redaction)))


def _runs(
    schedules: Sequence[Schedule], last: Mapping[ScheduleName, Sequence[TickOnRecord]]
) -> list[ComingRun]:
    shown = []
    for one in schedules:
        rule, runs = one.asked.recurrence, last.get(one.name, ())
        words = rule_text(rule) or rule.cron or ""
        if rule.cron is not None and rule.timezone != "UTC":
            words = f"{words}, {rule.timezone}"
        drawn, told = ticks.small(runs, RUNS), ticks.told(runs, RUNS)
        shown.append(ComingRun(one, schedule_address(one.name), words, drawn, told))
    return shown


def _address(period: str, order: str) -> str:
    return f"/?period={period}" + (f"&order={order}" if order != USUAL_ORDER else "")


def _any(counts: dict[State, Count]) -> bool:
    return any(count.n for count in counts.values())
