"""What operators see and set: lines and their pauses, definitions, workers, and how long history is kept."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.bounds import HORIZON, LARGEST_BATCH, named, printable, whole, within
from tenure.core.documents import Document, check
from tenure.core.lease import Line
from tenure.core.states import State

WORKER_ALIVE = timedelta(seconds=35)
"""A worker that was not seen for longer serves nobody: each is heard of every thirty seconds at least."""


class Pause(Struct, frozen=True, kw_only=True):
    """Why nothing is claimed from a line, since when, until when (None: until it is resumed) and by whom."""

    at: datetime
    until: datetime | None
    by: str
    reason: str | None


class LineStatus(Struct, frozen=True, kw_only=True):
    """A line as operators see it; jobs under different limits stand together here."""

    line: Line
    counts: Mapping[State, int]
    oldest: datetime | None
    """Since when the job that has waited longest stands in line."""
    pause: Pause | None
    workers: int
    """How many live workers serve it; with jobs queued and none, nobody ever takes them."""


class Definition(Struct, frozen=True, kw_only=True):
    """A definition as it was registered: `spec` is what its code says, `override` what an operator set.

    Whoever enqueues reads the override, at most ten seconds late: see `tenure.core.override`.
    """

    key: str
    version: int
    spec: Document
    override: Document | None = None
    registered_at: datetime | None = None
    registered_by: str = ""

    def __post_init__(self) -> None:
        named("key", self.key)
        whole("version", self.version, 1, 2**31 - 1)
        printable("registered_by", self.registered_by)
        check(self.spec)
        if self.override is not None:
            check(self.override)


class Worker(Struct, frozen=True, kw_only=True):
    """A worker as it introduces itself. The id is new at every start of a process."""

    id: str
    host: str
    pid: int
    version: str
    slots: int
    lines: tuple[Line, ...]

    def __post_init__(self) -> None:
        printable("id", self.id, least=1)
        printable("host", self.host)
        printable("version", self.version)
        whole("pid", self.pid, 0, 2**31 - 1)
        whole("slots", self.slots, 0, LARGEST_BATCH)


class WorkerStatus(Struct, frozen=True, kw_only=True):
    """A worker as the store knows it; `is_ready` is what it said of itself when it was last seen."""

    worker: Worker
    started_at: datetime
    seen_at: datetime
    draining: bool
    running: int
    is_alive: bool
    is_ready: bool = False


class Retention(Struct, frozen=True, kw_only=True):
    """How long finished jobs are kept after their end; those with a key never shorter than `keyed`.

    A child that is known by the key that its worker made is kept for as long as its parent has not finished,
    and `keyed` is not for it.
    """

    succeeded: timedelta = timedelta(days=7)
    others: timedelta = timedelta(days=30)
    keyed: timedelta = timedelta(days=7)

    def __post_init__(self) -> None:
        for field in ("succeeded", "others", "keyed"):
            within(field, getattr(self, field), timedelta(0), HORIZON)


class Pruned(Struct, frozen=True):
    """What one round of pruning did: jobs removed, and where the next round begins (None: at the start)."""

    jobs: int
    next: UUID | None


class Replayed(Struct, frozen=True):
    """The answer to a replay: the finished job, and the job that runs it again.

    `replay` is None when the job has not finished (`state` says where it stands) or is unknown (no state).
    `fresh` is false when an earlier replay is still under way and was answered instead.
    """

    job: UUID
    state: State | None
    replay: UUID | None
    fresh: bool

    @property
    def is_left(self) -> bool:
        """Whether the job has finished and is not run again, because nothing new was to be made."""
        return self.replay is None and self.state is not None and self.state.is_final
