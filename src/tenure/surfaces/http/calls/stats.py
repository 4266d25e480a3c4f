"""The control API's figures: for the charts of a dashboard, and the causes of dead letters."""

from typing import Any

from msgspec import structs

from tenure.api.stats_views import DeadLetters, LatelyItem, SeriesItem, SpanItem, Stats, dead_group_item
from tenure.engine.figures.statistics import EndedSpan, Series
from tenure.surfaces.http.app.context import AppContext, Request, Response

USUAL_GROUPS = 50


async def dead_letters(context: AppContext, request: Request) -> Response:
    """The causes of dead letters, in groups."""
    found = await context.client.dead_letters(limit=request.query.get("limit", USUAL_GROUPS))
    items = [dead_group_item(group, context.redaction) for group in found.groups]
    return Response(200, DeadLetters(items=items, is_more=found.is_more))


async def stats(context: AppContext, _request: Request) -> Response:
    """How many jobs are in each state, how many ended lately, and how long they waited and ran."""
    made = await context.client.statistics.figures()
    over = (made.at - made.lately.at).total_seconds()
    ended = sum(made.lately.ended.values())
    lately = LatelyItem(**_fields(made.lately), per_second=round(ended / over, 3) if over else 0.0)
    series = [_series_item(series) for series in made.series]
    return Response(200, Stats(at=made.at, counts=made.counts, lately=lately, series=series))


def _series_item(series: Series) -> SeriesItem:
    points = [SpanItem(**_fields(span)) for span in series.spans]
    return SeriesItem(period=series.period, part_seconds=int(series.part.total_seconds()), points=points)


def _fields(span: EndedSpan) -> dict[str, Any]:
    return structs.asdict(span)
