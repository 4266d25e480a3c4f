"""What is asked of a store by those who only look: lists, the feed of all events, what comes next."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.bounds import CALENDAR, named, whole, within
from tenure.core.errors import InvalidInput
from tenure.core.job import Event
from tenure.core.lease import Line
from tenure.core.states import State


class Filter(Struct, frozen=True, kw_only=True):
    """Which jobs to list. What is left out does not narrow; of several states any will do."""

    states: frozenset[State] = frozenset()
    definition: str | None = None
    version: int | None = None
    queue: str | None = None
    tag: str | None = None
    namespace: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def __post_init__(self) -> None:
        for field in ("definition", "queue", "tag", "namespace"):
            if (value := getattr(self, field)) is not None:
                named(field, value)
        if self.version is not None:
            whole("version", self.version, 1, 2**31 - 1)
        for field in ("created_after", "created_before"):
            if (moment := getattr(self, field)) is not None:
                if moment.utcoffset() is None:
                    raise InvalidInput(field, "has no time zone", "give an aware datetime")
                within(field, moment, *CALENDAR)


class Listed(Struct, frozen=True, kw_only=True):
    """A job in a list: where it stands, without its documents."""

    id: UUID
    namespace: str
    definition: str
    version: int
    queue: str
    priority: int
    tags: tuple[str, ...]
    key: str | None
    parent: UUID | None
    replay_of: UUID | None
    state: State
    attempt: int
    max_attempts: int
    created_at: datetime
    run_at: datetime | None
    due_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime


class Page(Struct, frozen=True):
    """Part of a list. `next` is where to go on; None when there is no more.

    A page may hold fewer jobs than were asked for, even none, and still name a next one: a store looks at a
    bounded number of rows for each.
    """

    jobs: Sequence[Listed]
    next: UUID | None


class Position(Struct, frozen=True, order=True):
    """A place in the feed, just behind an event."""

    mark: int
    job: UUID
    n: int


class Entry(Struct, frozen=True):
    """An event in the feed, with whose it is."""

    position: Position
    event: Event
    line: Line
    namespace: str


class End(Struct, frozen=True):
    """How a job ended, when, and how long its last attempt had waited and had run; None where it had not."""

    state: State
    at: datetime
    waited: timedelta | None
    ran: timedelta | None


class Recent(Struct, frozen=True):
    """The jobs that ended lately. `since` is from when on all of them are here; None when these are all."""

    now: datetime
    since: datetime | None
    ends: Sequence[End]


class Outlook(Struct, frozen=True):
    """What a worker has to expect: whether jobs stand in its lines, and when the clock or a lease is due.

    `next_resume` is when the first pause ends by itself. `owed` says that jobs of its lines have ended that
    `follow_up` would give.
    """

    now: datetime
    waiting: bool
    next_timer: datetime | None
    next_expiry: datetime | None
    next_resume: datetime | None = None
    owed: bool = False
