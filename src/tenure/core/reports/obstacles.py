"""What is known of everything that may keep one job from running, read at one moment."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.model.durable import OpenWait
from tenure.core.model.limit import LimitUse
from tenure.core.reports.failures import Count
from tenure.core.reports.operations import Pause
from tenure.core.reports.reading import Listed
from tenure.core.values.failure import Failure

MOST_HOLDERS = 10
"""How many of the jobs that run under a limit are named."""

MOST_NAMED = 10
"""How many queues, versions and effects in doubt are named."""

UPKEEP_SEEN = timedelta(minutes=2)
"""A process that does the upkeep records a minute at least as often as this."""

LONGEST_BACKLOG = timedelta(minutes=1)
"""If a timer has been due for longer, no process works off what is due, whatever was recorded before."""


class LimitHolder(Struct, frozen=True, kw_only=True):
    """A job that runs under a limit, the worker that runs it, and since when."""

    job: UUID
    namespace: str
    definition: str
    version: int
    worker: str
    since: datetime


class LimitStanding(Struct, frozen=True):
    """A limit that a job comes under, and, if it is full, some of the jobs that run under it."""

    use: LimitUse
    holders: Sequence[LimitHolder] = ()

    @property
    def is_full(self) -> bool:
        """Whether no other job may start under it."""
        return self.use.held >= self.use.size


class LiveWorkers(Struct, frozen=True, kw_only=True):
    """The live workers, as far as one line is concerned.

    `serving` serve it; of these, `draining` claim no more, and `ready` can run jobs and are not draining.
    `slots` are those of the ready ones, and `free` how many of these no job uses. `queues` are other queues
    in which the same definition and version is served, `versions` other versions that are served in the same
    queue.
    """

    in_all: int = 0
    serving: int = 0
    draining: int = 0
    ready: int = 0
    slots: int = 0
    free: int = 0
    queues: Sequence[str] = ()
    versions: Sequence[int] = ()


class AsideRefusal(Struct, frozen=True):
    """Why a job is aside: the verb that met it, the database's code for the reason, if any, and its text."""

    verb: str
    code: str | None
    text: str


class Obstacles(Struct, frozen=True, kw_only=True):
    """All that may keep a job from running, from one look at the store.

    `is_placed` says that the row exists which lets the job go on: its place in line, its timer or its lease.
    `ahead` is how many jobs stand before a queued one in its line. `wait` is what a suspended one waits for;
    `doubts` are steps of effects in doubt, with the time that each was begun. `upkeep_at` is the last minute
    in which a process recorded the pace, a sign that it does the upkeep; `overdue_at` is the time of the
    oldest timer that is due.
    """

    now: datetime
    job: Listed
    failures: int
    error: Failure | None
    grace: timedelta
    cancel_requested_at: datetime | None
    worker: str | None
    lease_expires_at: datetime | None
    is_placed: bool
    aside: AsideRefusal | None
    pauses: Sequence[Pause]
    """The pauses that hold its line, the narrowest first."""
    limits: Sequence[LimitStanding]
    ahead: Count
    workers: LiveWorkers
    upkeep_at: datetime | None
    overdue_at: datetime | None
    wait: OpenWait | None = None
    doubts: Sequence[tuple[str, datetime]] = ()

    @property
    def is_upkept(self) -> bool:
        """Whether some process takes the steps that the clock makes due: a worker, or a server without one.

        Such a server is not on record; the minutes that it records and the timers that it leaves tell of it.
        """
        if self.workers.in_all:
            return True
        if self.upkeep_at is None or self.now - self.upkeep_at > UPKEEP_SEEN:
            return False
        return self.overdue_at is None or self.now - self.overdue_at <= LONGEST_BACKLOG
