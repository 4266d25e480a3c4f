"""The first page: what needs attention, how many jobs are in each state, and charts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from msgspec import Struct

from tenure.api import views
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.engine.client.statistics import EndedSpan, Series, StoreFigures
from tenure.surfaces.dashboard.pages.addresses import JOBS
from tenure.surfaces.dashboard.pages.troubles import troubles
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response

USUAL_PERIOD = "hour"


class ChartLine(Struct, frozen=True):
    """A line of a chart: its label, its tone, and how it is drawn."""

    label: str
    tone: str
    dashed: bool = False
    fills: bool = False


class Chart(Struct, frozen=True):
    """A chart as the script draws it: times in seconds, then the values of each line at them.

    The current interval is not complete and would look like a drop: `so_far` is for the table only.
    """

    lines: Sequence[ChartLine]
    data: Sequence[Sequence[float | None]]
    so_far: Sequence[float | None] | None
    unit: str = ""


async def overview(context: AppContext, request: Request) -> Response:
    """The overview. A caller bound to a namespace goes to its jobs: all else here is about all namespaces."""
    if request.caller.namespace is not None:
        return see_other(JOBS)
    period = request.query.get("period", USUAL_PERIOD)
    client = context.client
    # Concurrently: on a cold disk each of them is slow.
    figures, attention, symptoms, counts, known = await asyncio.gather(
        client.statistics.figures(),
        client.health.look(),
        client.health.light_symptoms(),
        client.counts(Filter()),  # cheap, so these are not cached
        client.workers(),
    )
    series = next(one for one in figures.series if one.period == period)
    workers = [views.worker_item(worker) for worker in known]
    return render(
        request,
        "overview.html",
        fragment="_overview.html",
        counts=counts,
        per_second=_per_second(figures),
        period=period,
        series=series,
        ended=_ended(series, figures.at),
        took=_took(series, figures.at),
        attention=attention,
        troubles=troubles(symptoms),
        workers=workers,
        slots=_slots(workers),
    )


def _per_second(figures: StoreFigures) -> float:
    over = (figures.at - figures.lately.at).total_seconds()
    return sum(figures.lately.ended.values()) / over if over else 0.0


def _ended(series: Series, now: datetime) -> Chart:
    def of(*states: State) -> Callable[[EndedSpan], float]:
        return lambda span: sum(span.ended.get(state, 0) for state in states)

    return _chart(
        series,
        now,
        {
            ChartLine("succeeded", "good", fills=True): of(State.SUCCEEDED),
            ChartLine("failed or buried", "bad"): of(State.FAILED, State.BURIED),
            ChartLine("cancelled", "muted", dashed=True): of(State.CANCELLED),
        },
    )


def _took(series: Series, now: datetime) -> Chart:
    ran, waited = attrgetter("run_seconds"), attrgetter("wait_seconds")
    return _chart(
        series,
        now,
        {
            ChartLine("ran, median", "accent"): lambda span: ran(span) and ran(span).p50,
            ChartLine("ran, 95 %", "accent", dashed=True): lambda span: ran(span) and ran(span).p95,
            ChartLine("waited, median", "warn"): lambda span: waited(span) and waited(span).p50,
            ChartLine("waited, 95 %", "warn", dashed=True): lambda span: waited(span) and waited(span).p95,
        },
        unit=" s",
    )


def _chart(
    series: Series, now: datetime, lines: Mapping[ChartLine, Callable[[EndedSpan], Any]], unit: str = ""
) -> Chart:
    over = [span for span in series.spans if span.at + series.part <= now]
    moments = [span.at.timestamp() for span in over]
    values = [[value(span) for span in over] for value in lines.values()]
    so_far = [value(span) for span in series.spans[len(over) :] for value in lines.values()]
    return Chart(list(lines), [moments, *values], so_far or None, unit)


def _slots(workers: Sequence[views.WorkerItem]) -> tuple[int, int]:
    """How many slots of ready workers are in use, and how many there are."""
    ready = [worker for worker in workers if worker.status == "ready"]
    return sum(worker.running for worker in ready), sum(worker.slots for worker in ready)
