"""Why a job does not run, over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from tenure.api.redaction import Redaction
from tenure.core.reports.obstacles import LimitStanding, LiveWorkers
from tenure.core.reports.why import Obstacle, Why, WhyCode


class ObstacleItem(Struct, frozen=True, kw_only=True):
    """One thing in the way of a job, since when, and until when as far as known."""

    code: WhyCode
    sentence: str
    since: datetime | None
    until: datetime | None


class HolderItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that runs under a full limit. `workerId` is null for callers bound to a namespace."""

    job_id: UUID
    definition_key: str
    definition_version: int
    worker_id: str | None
    since: datetime


class FullLimitItem(Struct, frozen=True, kw_only=True):
    """A full limit: its size, how many jobs run under it, and up to ten that the caller may see."""

    name: str
    key: str
    size: int
    held: int
    holders: Sequence[HolderItem]


class LiveWorkersItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The live workers that serve the job: how many can run it now, and how many slots these have free.

    `otherQueues` and `otherVersions` are where and which others of its definition are served.
    """

    serving: int
    draining: int
    ready: int
    slots: int
    free: int
    other_queues: Sequence[str]
    other_versions: Sequence[int]


class WhyDetail(Struct, frozen=True, kw_only=True, rename="camel"):
    """The facts behind the sentence.

    `also` are further obstacles, in order. `ahead` counts the jobs before this one in its line, up to 1,000;
    `aheadIsMore` if there are more. `startsInSeconds` is an estimate by the pace of the queue.
    """

    also: Sequence[ObstacleItem]
    ahead: int | None
    ahead_is_more: bool
    starts_in_seconds: float | None
    limits: Sequence[FullLimitItem]
    workers: LiveWorkersItem | None


class WhyItem(Struct, frozen=True, kw_only=True):
    """Why a job does not run: the first obstacle, in a sentence with the way out."""

    code: WhyCode
    sentence: str
    since: datetime | None
    until: datetime | None
    data: WhyDetail


def why_item(why: Why, redaction: Redaction) -> WhyItem:
    """Why a job does not run, redacted."""
    data = why.data
    return WhyItem(
        code=why.code,
        sentence=redaction.text(why.sentence),
        since=why.since,
        until=why.until,
        data=WhyDetail(
            also=[_obstacle(one, redaction) for one in data.also],
            ahead=None if data.ahead is None else data.ahead.n,
            ahead_is_more=data.ahead is not None and data.ahead.is_more,
            starts_in_seconds=None if data.starts_in is None else round(data.starts_in.total_seconds(), 1),
            limits=[_limit(limit) for limit in data.limits],
            workers=None if data.workers is None else _workers(data.workers),
        ),
    )


def _obstacle(one: Obstacle, redaction: Redaction) -> ObstacleItem:
    sentence = redaction.text(one.sentence)
    return ObstacleItem(code=one.code, sentence=sentence, since=one.since, until=one.until)


def _limit(limit: LimitStanding) -> FullLimitItem:
    holders = [
        HolderItem(
            job_id=one.job,
            definition_key=one.definition,
            definition_version=one.version,
            worker_id=one.worker or None,
            since=one.since,
        )
        for one in limit.holders
    ]
    use = limit.use
    return FullLimitItem(name=use.name, key=use.plain_key, size=use.size, held=use.held, holders=holders)


def _workers(live: LiveWorkers) -> LiveWorkersItem:
    return LiveWorkersItem(
        serving=live.serving,
        draining=live.draining,
        ready=live.ready,
        slots=live.slots,
        free=live.free,
        other_queues=live.queues,
        other_versions=live.versions,
    )
