"""Why a job does not run: the first obstacle in its way, in a sentence, and all others."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from tenure.core.reports.failures import Count
from tenure.core.reports.obstacles import LimitStanding, LiveWorkers
from tenure.core.values.plain_fields import PlainFields


class WhyCode(StrEnum):
    """What keeps a job from running, in the order in which it is told; the last four are no obstacles.

    An effect in doubt that the job does not wait for is told behind all others.
    """

    ASIDE = "aside"
    STUCK = "stuck"
    NOTHING_PROMOTES = "nothing-promotes"
    HELD = "held"
    SCHEDULED = "scheduled"
    BACKING_OFF = "backing-off"
    SLEEPING = "sleeping"
    AWAITING_SIGNAL = "awaiting-signal"
    IN_DOUBT = "in-doubt"
    PAUSED_QUEUE = "paused-queue"
    PAUSED_DEFINITION = "paused-definition"
    LIMIT_FULL = "limit-full"
    UNSERVED_DEFINITION = "unserved-definition"
    UNSERVED_QUEUE = "unserved-queue"
    WORKERS_NOT_READY = "workers-not-ready"
    WORKERS_BUSY = "workers-busy"
    IN_LINE = "in-line"
    RUNNING = "running"
    CANCELLING = "cancelling"
    FINISHED = "finished"

    @property
    def needs_person(self) -> bool:
        """Whether somebody has to do something before the job can run."""
        return self in _FOR_PEOPLE


_FOR_PEOPLE = frozenset(
    {
        WhyCode.ASIDE,
        WhyCode.STUCK,
        WhyCode.NOTHING_PROMOTES,
        WhyCode.HELD,
        WhyCode.IN_DOUBT,
        WhyCode.PAUSED_QUEUE,
        WhyCode.PAUSED_DEFINITION,
        WhyCode.UNSERVED_DEFINITION,
        WhyCode.UNSERVED_QUEUE,
        WhyCode.WORKERS_NOT_READY,
    }
)


class Obstacle(Struct, frozen=True):
    """One thing in the way of a job: a sentence with the way out, since when, and until when if known."""

    code: WhyCode
    sentence: str
    since: datetime | None = None
    until: datetime | None = None


class WhyData(Struct, frozen=True, kw_only=True):
    """The facts behind the sentence.

    `also` are the obstacles behind the first. `ahead` is how many jobs stand before a queued one in its line;
    lines take turns, so this is no place among all jobs. `starts_in` is an estimate by the pace of the queue,
    if that is known. `limits` are the full ones, with holders that the caller may know.
    """

    also: Sequence[Obstacle] = ()
    ahead: Count | None = None
    starts_in: timedelta | None = None
    limits: Sequence[LimitStanding] = ()
    workers: LiveWorkers | None = None


class Why(PlainFields, Struct, frozen=True, kw_only=True):
    """Why a job does not run, or that it runs, or has ended."""

    code: WhyCode
    sentence: str
    since: datetime | None
    until: datetime | None
    data: WhyData
