"""The control API's figures: what the charts of a dashboard are drawn from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, structs

from tenure.core.states import State
from tenure.engine.statistics import Series, Span, Spread
from tenure.surfaces.http.desk import Answer, Asked, Desk


class SpanItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What ended from `at` on; of waiting and running times the half and nineteen of twenty."""

    at: datetime
    ended: Mapping[State, int]
    wait_seconds: Spread | None
    run_seconds: Spread | None


class LatelyItem(SpanItem, frozen=True, kw_only=True, rename="camel"):
    """The last minute, or as much of it as is known in full."""

    per_second: float


class SeriesItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A period in parts of so many seconds; the last one is not over yet."""

    period: str
    part_seconds: int
    points: Sequence[SpanItem]


class Stats(Struct, frozen=True, kw_only=True):
    """Figures of the whole store, at most two seconds old."""

    at: datetime
    counts: Mapping[State, int]
    lately: LatelyItem
    series: Sequence[SeriesItem]


async def stats(desk: Desk, _asked: Asked) -> Answer:
    """How many jobs are in each state, how many ended lately, and how long they had waited and ran."""
    made = await desk.client.statistics.figures()
    over = (made.at - made.lately.at).total_seconds()
    ended = sum(made.lately.ended.values())
    lately = LatelyItem(**_fields(made.lately), per_second=round(ended / over, 3) if over else 0.0)
    series = [_series_item(series) for series in made.series]
    return Answer(200, Stats(at=made.at, counts=made.counts, lately=lately, series=series))


def _series_item(series: Series) -> SeriesItem:
    points = [SpanItem(**_fields(span)) for span in series.spans]
    return SeriesItem(period=series.period, part_seconds=int(series.part.total_seconds()), points=points)


def _fields(span: Span) -> dict[str, Any]:
    return structs.asdict(span)
