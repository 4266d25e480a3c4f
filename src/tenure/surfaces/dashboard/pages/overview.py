"""The first page: how many jobs are where, how it goes, and what needs somebody's attention."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from msgspec import Struct

from tenure.core.reading import Filter
from tenure.core.states import State
from tenure.engine.statistics import Figures, Series, Span
from tenure.surfaces import views
from tenure.surfaces.dashboard.pages.addresses import JOBS
from tenure.surfaces.dashboard.pages.troubles import troubles
from tenure.surfaces.dashboard.rendering import render, see_other
from tenure.surfaces.http.desk import Answer, Asked, Desk

USUAL_PERIOD = "hour"


class Line(Struct, frozen=True):
    """A line of a chart: what it is called, its tone, and how it is drawn."""

    label: str
    tone: str
    dashed: bool = False
    fills: bool = False


class Chart(Struct, frozen=True):
    """A chart as the script draws it: moments in seconds, then the values of each line at them.

    What is not over yet would look like a fall: it stands apart, for the table alone.
    """

    lines: Sequence[Line]
    data: Sequence[Sequence[float | None]]
    so_far: Sequence[float | None] | None
    unit: str = ""


async def overview(desk: Desk, asked: Asked) -> Answer:
    """How it goes. Who may see one namespace only is led to its jobs: all else here is of everybody."""
    if asked.caller.namespace is not None:
        return see_other(JOBS)
    period = asked.query.get("period", USUAL_PERIOD)
    client = desk.client
    # Side by side: from a disk that has to be read first, each of them takes its time.
    figures, attention, counts, known = await asyncio.gather(
        client.statistics.figures(),
        client.attention(),
        client.counts(Filter()),  # cheap, so that these at least are of this moment
        client.workers(),
    )
    series = next(one for one in figures.series if one.period == period)
    workers = [views.worker_item(worker) for worker in known]
    return render(
        asked,
        "overview.html",
        fragment="_overview.html",
        counts=counts,
        per_second=_per_second(figures),
        period=period,
        series=series,
        ended=_ended(series, figures.at),
        took=_took(series, figures.at),
        attention=attention,
        troubles=troubles(attention),
        workers=workers,
        slots=_slots(workers),
    )


def _per_second(figures: Figures) -> float:
    over = (figures.at - figures.lately.at).total_seconds()
    return sum(figures.lately.ended.values()) / over if over else 0.0


def _ended(series: Series, now: datetime) -> Chart:
    def of(*states: State) -> Callable[[Span], float]:
        return lambda span: sum(span.ended.get(state, 0) for state in states)

    return _chart(
        series,
        now,
        {
            Line("succeeded", "good", fills=True): of(State.SUCCEEDED),
            Line("failed or buried", "bad"): of(State.FAILED, State.BURIED),
            Line("cancelled", "muted", dashed=True): of(State.CANCELLED),
        },
    )


def _took(series: Series, now: datetime) -> Chart:
    ran, waited = attrgetter("run_seconds"), attrgetter("wait_seconds")
    return _chart(
        series,
        now,
        {
            Line("ran, median", "accent"): lambda span: ran(span) and ran(span).p50,
            Line("ran, 95 %", "accent", dashed=True): lambda span: ran(span) and ran(span).p95,
            Line("waited, median", "warn"): lambda span: waited(span) and waited(span).p50,
            Line("waited, 95 %", "warn", dashed=True): lambda span: waited(span) and waited(span).p95,
        },
        unit=" s",
    )


def _chart(
    series: Series, now: datetime, lines: Mapping[Line, Callable[[Span], Any]], unit: str = ""
) -> Chart:
    over = [span for span in series.spans if span.at + series.part <= now]
    moments = [span.at.timestamp() for span in over]
    values = [[value(span) for span in over] for value in lines.values()]
    so_far = [value(span) for span in series.spans[len(over) :] for value in lines.values()]
    return Chart(list(lines), [moments, *values], so_far or None, unit)


def _slots(workers: Sequence[views.WorkerItem]) -> tuple[int, int]:
    """How many slots of workers that can take jobs are in use, and how many there are."""
    able = [worker for worker in workers if worker.status == "ready"]
    return sum(worker.running for worker in able), sum(worker.slots for worker in able)
