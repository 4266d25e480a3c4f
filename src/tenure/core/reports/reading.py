"""What can be read from a store: lists, the feed of all events, recent ends, what comes next."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import step_named
from tenure.core.model.job import Event
from tenure.core.model.lease import Line, Progress
from tenure.core.model.states import STEPS, State
from tenure.core.model.trail import CUSTOM, HOOK_FAILED, RESCHEDULED
from tenure.core.values import fingerprint
from tenure.core.values.bounds import CALENDAR, LARGEST_NUMBER, named, whole, within
from tenure.core.values.documents import Document

EVENT_TYPES = tuple(dict.fromkeys([*(step.event for step in STEPS), RESCHEDULED, HOOK_FAILED]))
"""The types of events, beside `custom:<name>`."""

BEGINNING = "0"
"""The text of the position before every event."""

_LAST_JOB, _LAST_N = UUID(int=2**128 - 1), 2**31 - 1
_POSITION = re.compile(r"([0-9]{1,19})\.([0-9a-f]{32})\.([0-9]{1,19})")


class Filter(Struct, frozen=True, kw_only=True):
    """Which jobs to list. A field left out does not filter; of several states any one matches.

    `waiting_for` names the signal that a suspended job waits for.
    """

    states: frozenset[State] = frozenset()
    definition: str | None = None
    version: int | None = None
    queue: str | None = None
    tag: str | None = None
    fingerprint: str | None = None
    waiting_for: str | None = None
    namespace: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None

    def __post_init__(self) -> None:
        for field in ("definition", "queue", "tag", "namespace"):
            if (value := getattr(self, field)) is not None:
                named(field, value)
        if self.version is not None:
            whole("version", self.version, 1, 2**31 - 1)
        if self.fingerprint is not None:
            fingerprint.check("fingerprint", self.fingerprint)
        if self.waiting_for is not None:
            step_named("waiting_for", self.waiting_for)
        for field in ("created_after", "created_before"):
            if (moment := getattr(self, field)) is not None:
                if moment.utcoffset() is None:
                    raise InvalidInput(field, "has no time zone", "give an aware datetime")
                within(field, moment, *CALENDAR)


class Listed(Struct, frozen=True, kw_only=True):
    """A job in a list: its state, without its documents."""

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
    aside_at: datetime | None = None
    """Since when it is aside, because the database refuses to move it."""


class Brief(Struct, frozen=True, kw_only=True):
    """What lists tell of a job besides its state: its params unless they are long, and who had to do with it.

    `worker` owns it or had its last attempt; `error` is the kind and the message of that attempt's error, the
    message cut.
    """

    job: UUID
    params: Document | None
    creator: str | None
    worker: str | None
    error: tuple[str, str] | None


class RunningJob(Struct, frozen=True, kw_only=True):
    """A job at work: since when, in which worker, and how far it says it is."""

    job: UUID
    definition: str
    state: State
    started_at: datetime
    worker: str
    progress: Progress | None


class Page(Struct, frozen=True):
    """Part of a list. `next` is where to go on; None if there are no more.

    A page may have fewer jobs than asked for, even none, and still have a `next`: a store reads a bounded
    number of rows for each.
    """

    jobs: Sequence[Listed]
    next: UUID | None


class Position(Struct, frozen=True, order=True):
    """A position in the feed, just behind an event. Its text can be stored, and parsed by `read`."""

    mark: int
    job: UUID
    n: int

    def __str__(self) -> str:
        return f"{self.mark}.{self.job.hex}.{self.n}"

    @classmethod
    def behind(cls, mark: int) -> "Position":
        """The position behind every event with this mark, or a lower one."""
        return cls(mark, _LAST_JOB, _LAST_N)

    @classmethod
    def read(cls, text: str) -> "Position":
        """Parse a position; `0` is before every event. Raises InvalidInput for any other text."""
        if text == BEGINNING:
            return cls(0, UUID(int=0), 0)
        found = _POSITION.fullmatch(text)
        if found is None or int(found[1]) > LARGEST_NUMBER or int(found[3]) > _LAST_N:
            raise InvalidInput("position", f"is {text!r:.64}", "give the position of an event, or 0")
        return cls(int(found[1]), UUID(found[2]), int(found[3]))


START = Position.read(BEGINNING)
"""Before every event."""


class FeedEntry(Struct, frozen=True):
    """An event in the feed, with the line and namespace of its job."""

    position: Position
    event: Event
    line: Line
    namespace: str


class Interest(Struct, frozen=True, kw_only=True):
    """Which events to follow. A field left out does not filter; of several types any one matches."""

    definition: str | None = None
    queue: str | None = None
    types: frozenset[str] = frozenset()
    namespace: str | None = None
    job: UUID | None = None

    def __post_init__(self) -> None:
        for field in ("definition", "queue", "namespace"):
            if (value := getattr(self, field)) is not None:
                named(field, value)
        for kind in self.types:
            _check_type(kind)

    def takes(self, entry: FeedEntry) -> bool:
        """Whether an event matches."""
        return (
            (self.definition is None or entry.line.definition == self.definition)
            and (self.queue is None or entry.line.queue == self.queue)
            and (not self.types or entry.event.type in self.types)
            and (self.namespace is None or entry.namespace == self.namespace)
            and (self.job is None or entry.event.job == self.job)
        )


EVERYTHING = Interest()


class End(Struct, frozen=True):
    """How a job ended, when, and how long its last attempt waited and ran; None if it did not."""

    state: State
    at: datetime
    waited: timedelta | None
    ran: timedelta | None
    definition: str


class Recent(Struct, frozen=True):
    """The jobs that ended lately. They are complete from `since` on; None if these are all."""

    now: datetime
    since: datetime | None
    ends: Sequence[End]


class Outlook(Struct, frozen=True):
    """What a worker can expect: whether jobs wait in its lines, and when the next timer or lease is due.

    `next_resume` is when the first pause ends by itself, `next_tick` when a schedule fires. `owed` says that
    jobs of its lines have ended that `follow_up` would return. `next_delivery` is when a delivery to some
    webhook may be tried; `has_cursor` says that there are webhooks, to which events are fanned out. `paced`
    is the last minute whose pace is on record. `drain` tells the worker that looks to claim no more.
    """

    now: datetime
    waiting: bool
    next_timer: datetime | None
    next_expiry: datetime | None
    next_resume: datetime | None = None
    owed: bool = False
    next_tick: datetime | None = None
    next_delivery: datetime | None = None
    has_cursor: bool = False
    paced: datetime | None = None
    drain: bool = False


def _check_type(text: str) -> None:
    """Refuse what is not a type of event."""
    if text in EVENT_TYPES:
        return
    if not text.startswith(CUSTOM):
        raise InvalidInput("type", f"is {text!r:.64}", f"give {CUSTOM}<name>, or {', '.join(EVENT_TYPES)}")
    named("type", text.removeprefix(CUSTOM))
