"""The control API's figures: what the charts of a dashboard are drawn from, and what dead letters died of."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct, structs

from tenure.core.failures import DeadGroup
from tenure.core.outcome import Failure
from tenure.core.states import State
from tenure.engine.statistics import Series, Span, Spread
from tenure.surfaces import views
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.redaction import Redaction

USUAL_GROUPS = 50


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


class DeadGroupItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """Dead letters of one definition that died of the same; `jobId` and `error` are of the newest of them.

    With `isMore` there are at least so many: nobody counted any further.
    """

    fingerprint: str
    definition_key: str
    count: int
    is_more: bool
    newest_at: datetime
    oldest_at: datetime
    job_id: UUID
    error: Failure | None


class DeadLetters(Struct, frozen=True, kw_only=True, rename="camel"):
    """Groups of dead letters, the one with the latest first. With `isMore` there are others behind them."""

    items: Sequence[DeadGroupItem]
    is_more: bool


async def dead_letters(desk: Desk, asked: Asked) -> Answer:
    """What dead letters died of, in groups."""
    found = await desk.client.dead_letters(limit=asked.query.get("limit", USUAL_GROUPS))
    items = [_group_item(group, desk.redaction) for group in found.groups]
    return Answer(200, DeadLetters(items=items, is_more=found.is_more))


def _group_item(group: DeadGroup, redaction: Redaction) -> DeadGroupItem:
    return DeadGroupItem(
        fingerprint=group.fingerprint,
        definition_key=group.definition,
        count=group.count.n,
        is_more=group.count.is_more,
        newest_at=group.newest,
        oldest_at=group.oldest,
        job_id=group.job,
        error=None if group.error is None else views.failure(group.error, redaction),
    )


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
