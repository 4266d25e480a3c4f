"""What became of the request to let a restored database, or one whose clock stands still, go on."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

LIFT = 2**32
"""By how much numbers are lifted: no hour that is lost has given out as many."""


class Resumed(Struct, frozen=True):
    """The database goes on. `leases` were ended; the next `reap` takes back what was under them."""

    leases: int


class ClockReset(Struct, frozen=True):
    """The store's clock was set back `by` so much: leases ended, waits and schedules were brought forward."""

    by: timedelta
    leases: int
    waits: int
    schedules: int


class SeenWorker(Struct, frozen=True):
    """A worker that may still run."""

    id: str
    host: str
    seen_at: datetime


class WorkersSeen(Struct, frozen=True):
    """Nothing was changed: workers were seen lately, the last one first. `now` is the store's time."""

    workers: Sequence[SeenWorker]
    now: datetime
