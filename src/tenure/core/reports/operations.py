"""What operators see and set: lines and their pauses, definitions, workers."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.values.bounds import LARGEST_BATCH, named, printable, whole
from tenure.core.values.documents import Document, check

WORKER_ALIVE = timedelta(seconds=35)
"""A worker not seen for longer counts as gone: each sends a heartbeat every thirty seconds at least."""


class PauseScope(Struct, frozen=True, order=True):
    """Which lines a pause holds: those of a queue, a definition, a version. What is left out means any."""

    queue: str = ""
    definition: str = ""
    version: int = 0

    def __post_init__(self) -> None:
        if self.queue:
            named("queue", self.queue)
        if self.definition:
            named("definition", self.definition)
        if not (self.queue or self.definition):
            raise InvalidInput("queue", "is missing", "give a queue, a definition, or both")
        whole("version", self.version, 0, 2**31 - 1)
        if self.version and not self.definition:
            raise InvalidInput("version", "stands alone", "give the definition as well")

    @classmethod
    def of(cls, target: "Line | str | PauseScope") -> "PauseScope":
        """The scope of a line, or of a whole queue by its name."""
        if isinstance(target, Line):
            return cls(target.queue, target.definition, target.version)
        return cls(target) if isinstance(target, str) else target

    def __str__(self) -> str:
        """The scope in words, for people."""
        if not self.definition:
            return f"queue {self.queue}"
        name = f"{self.definition}@{self.version}" if self.version else self.definition
        return f"{name} in queue {self.queue}" if self.queue else name


class Pause(Struct, frozen=True, kw_only=True):
    """A pause: of which lines, since when, until when (None: until it is resumed), by whom and why."""

    scope: PauseScope
    at: datetime
    until: datetime | None
    by: str
    reason: str | None


class LineStatus(Struct, frozen=True, kw_only=True):
    """A line as operators see it; jobs under different limits are counted together here."""

    line: Line
    counts: Mapping[State, int]
    oldest: datetime | None
    """Since when the job that has waited longest is queued."""
    pause: Pause | None
    """The pause that holds it; of several the narrowest."""
    workers: int
    """How many live workers serve it; without any, queued jobs are never claimed."""


class Definition(Struct, frozen=True, kw_only=True):
    """A definition as it was registered: `spec` comes from its code, `override` from an operator.

    Enqueuing applies the override, at most ten seconds late: see `tenure.core.model.override`.
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


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """A worker as it registers itself. The id is new at every start of a process."""

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


class LedBy(Struct, frozen=True):
    """The queue of a broker whose messages lead a worker; since when and why it cannot receive any, if so."""

    queue: str
    failing_since: datetime | None = None
    problem: str | None = None


class WorkerStatus(Struct, frozen=True, kw_only=True):
    """A worker as the store knows it; `is_ready` comes from its last heartbeat."""

    worker: WorkerInfo
    started_at: datetime
    seen_at: datetime
    draining: bool
    running: int
    is_alive: bool
    is_ready: bool = False
    led_by: LedBy | None = None


class Replayed(Struct, frozen=True):
    """The answer to a replay: the finished job, and the job that runs it again.

    `replay` is None if the job has not finished (`state` is its state) or is unknown (no state).
    `fresh` is false if an earlier replay is still under way and is the answer.
    """

    job: UUID
    state: State | None
    replay: UUID | None
    fresh: bool

    @property
    def is_left(self) -> bool:
        """Whether the job has finished and is not run again, because no new job was to be made."""
        return self.replay is None and self.state is not None and self.state.is_final
