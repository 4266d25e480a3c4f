"""What the engine announces within its process, for subscribers: logs, metrics, traces, a test.

A signal says what has happened; no subscriber can change that.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tenure.core.model.aside import Aside
from tenure.core.model.durable import Wait
from tenure.core.model.job import StepTaken
from tenure.core.model.lease import Claimed
from tenure.core.model.outcome import Report
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.schedule.schedule import DueTick, ScheduleName
from tenure.core.values.span import Span


class WorkerReady(Struct, frozen=True):
    """A worker is about to claim."""

    worker: WorkerInfo


class WorkerDraining(Struct, frozen=True):
    """A worker claims no more; `reason` says why.

    It ends when what runs has ended, after `seconds` at the latest; None if it does not end.
    """

    worker: str
    running: int
    reason: str
    seconds: float | None = None


class WorkerHalting(Struct, frozen=True):
    """A worker that ends kills what still runs, to hand it back; `reason` says why it waits no longer."""

    worker: str
    running: int
    reason: str


class WorkerStopped(Struct, frozen=True):
    """A worker has ended: what it gave back, and what it could not."""

    worker: str
    handed_back: int
    abandoned: int


class JobsClaimed(Struct, frozen=True):
    """A worker that messages lead to jobs has claimed so many: `by` a message, or by a sweep."""

    by: Literal["message", "sweep"]
    count: int


class MessagesSent(Struct, frozen=True):
    """Messages that name jobs were sent; `failed` were not, and those jobs wait for a sweep."""

    sent: int
    failed: int = 0
    error: str = ""


class JobsReminded(Struct, frozen=True):
    """Jobs waited for long, as if their messages were lost: they are sent once more."""

    count: int


class MessagesReceived(Struct, frozen=True):
    """Messages were received, and by reason (`dropped`) those of them that led to no claim.

    `ages` are the seconds that each was on its way, where the broker says when it was sent.
    """

    received: int
    dropped: Mapping[str, int]
    ages: Sequence[float] = ()


class ForeignMessages(Struct, frozen=True):
    """Messages of another store came in: they are left to its workers. At most once a minute."""

    store: str
    count: int


class NoMessage(Struct, frozen=True):
    """Something was received that is no message of ours, and was removed; `beginning` are its first bytes."""

    beginning: bytes


class AttemptStarted(Struct, frozen=True):
    """A claimed job is being run."""

    claimed: Claimed


class AttemptSettled(Struct, frozen=True):
    """An attempt's outcome is on record, and the state that it led to.

    `took` is how many seconds it ran, `waited` how many more passed until its outcome was on record. `wait`
    is what its handler waits for, if it does.
    """

    claimed: Claimed
    report: Report
    state: State
    took: float = 0.0
    waited: float = 0.0
    wait: Wait | None = None


class AttemptLost(Struct, frozen=True):
    """An attempt lost its lease: nothing of it is on record. `fenced`: its own worker stopped it.

    `took` is how many seconds it ran. The worker that reaps the job announces what becomes of it. `aside`:
    the end could not be recorded, and the report is kept with the job that was put aside.
    """

    claimed: Claimed
    fenced: bool
    took: float = 0.0
    aside: bool = False


class AttemptHandedBack(Struct, frozen=True):
    """A job was handed back before its end and is in `state` now; `took` is 0 if it never started."""

    claimed: Claimed
    state: State
    has_begun: bool
    took: float = 0.0
    reason: str = ""


class Measured(Struct, frozen=True):
    """A handler has measured something; `tenure.execution.handler.metrics` has the names and labels."""

    definition: str
    what: str
    labels: tuple[str, ...]
    value: float


class SpanEnded(Struct, frozen=True):
    """A span that a handler made has ended."""

    claimed: Claimed
    span: Span


class HookFailed(Struct, frozen=True):
    """A hook failed; the outcome of its job stands. `claimed` is None if the job cannot be read."""

    job: str
    hook: str
    error: str
    claimed: Claimed | None = None


class ScheduleTicked(Struct, frozen=True):
    """A schedule has moved past these ticks, which are on record since `at`, by the store's clock."""

    schedule: ScheduleName
    ticks: tuple[DueTick, ...]
    at: datetime


class ScheduleLeftAlone(Struct, frozen=True):
    """A schedule is due that this process cannot read: it is left to others."""

    schedule: ScheduleName
    problem: str


class WebhookTried(Struct, frozen=True):
    """A try of a delivery is on record: it was `delivered`, has `failed` and comes again, or is `dead`."""

    webhook: UUID
    outcome: str
    took: float


class WebhookPaused(Struct, frozen=True):
    """Tenure has paused a webhook by itself; `host` is where it leads."""

    webhook: UUID
    host: str
    reason: str


class DutyDone(Struct, frozen=True):
    """Steps of the clock that this process took for all."""

    duty: str
    moved: tuple[StepTaken, ...]


class JobPutAside(Struct, frozen=True):
    """The database refuses to move a job: it was put aside, so that it does not block others."""

    aside: Aside


class Troubled(Struct, frozen=True):
    """A loop of the engine failed and will try again."""

    loop: str
    error: str
    failures: int


class Recovered(Struct, frozen=True):
    """A loop that had failed works again."""

    loop: str


class ConnectionsShort(Struct, frozen=True):
    """The database server gives this process no more connections; what needs one waits.

    `open` are those that it has for statements, `waiting` is how many callers wait.
    """

    open: int
    waiting: int
    reason: str


class ConnectionsFreed(Struct, frozen=True):
    """Nobody waits for a connection any more; somebody did for so many seconds."""

    after: float


Signal = (
    WorkerReady
    | WorkerDraining
    | WorkerHalting
    | WorkerStopped
    | JobsClaimed
    | MessagesSent
    | JobsReminded
    | MessagesReceived
    | ForeignMessages
    | NoMessage
    | AttemptStarted
    | AttemptSettled
    | AttemptLost
    | AttemptHandedBack
    | Measured
    | SpanEnded
    | HookFailed
    | DutyDone
    | ScheduleTicked
    | ScheduleLeftAlone
    | WebhookTried
    | WebhookPaused
    | JobPutAside
    | Troubled
    | Recovered
    | ConnectionsShort
    | ConnectionsFreed
)
Announce = Callable[[Signal], None]


def to_all(*subscribers: Announce) -> Announce:
    """Announce to each subscriber in this order; if one raises, those after it are not called."""
    if len(subscribers) == 1:
        return subscribers[0]

    def announce(signal: Signal) -> None:
        for subscriber in subscribers:
            subscriber(signal)

    return announce
