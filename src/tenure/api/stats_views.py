"""Figures of the store, and dead letters by cause, as operators see them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.api import views
from tenure.api.redaction import Redaction
from tenure.core.model.states import State
from tenure.core.reports.failures import DeadGroup
from tenure.core.reports.pace import Spread
from tenure.core.values.failure import Failure


class SpanItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """Jobs that ended from `at` on, with the median and the 95th percentile of waiting and running times."""

    at: datetime
    ended: Mapping[State, int]
    wait_seconds: Spread | None
    run_seconds: Spread | None


class LatelyItem(SpanItem, frozen=True, kw_only=True, rename="camel"):
    """The last minute, or as much of it as is complete."""

    per_second: float


class SeriesItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A period in parts of `partSeconds`; the last part is not over yet."""

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
    """Dead letters of one definition with the same cause; `jobId` and `error` are those of the newest.

    With `isMore`, counting stopped at `count` and there are more.
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
    """Groups of dead letters, the one with the newest first. With `isMore` there are further groups."""

    items: Sequence[DeadGroupItem]
    is_more: bool


def dead_group_item(group: DeadGroup, redaction: Redaction) -> DeadGroupItem:
    """A group of dead letters, redacted."""
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
