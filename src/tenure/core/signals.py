"""What the engine announces in process, for whoever wants to know: logs, metrics, traces, a test.

A signal says what has happened; nobody who hears it can change that.
"""

from collections.abc import Callable

from msgspec import Struct

from tenure.core.aside import Aside
from tenure.core.job import Moved
from tenure.core.lease import Claimed
from tenure.core.operations import Worker
from tenure.core.outcome import Report
from tenure.core.span import Span
from tenure.core.states import State


class WorkerReady(Struct, frozen=True):
    """A worker is about to claim."""

    worker: Worker


class WorkerDraining(Struct, frozen=True):
    """A worker claims no more; `reason` says who wants that."""

    worker: str
    running: int
    reason: str


class WorkerStopped(Struct, frozen=True):
    """A worker has ended: what it gave back, and what it could not."""

    worker: str
    handed_back: int
    abandoned: int


class AttemptStarted(Struct, frozen=True):
    """A claimed job is being run."""

    claimed: Claimed


class AttemptSettled(Struct, frozen=True):
    """An attempt's outcome is on record, and the state that it led to.

    `took` is how many seconds it ran, `waited` how many more passed until its outcome was on record.
    """

    claimed: Claimed
    report: Report
    state: State
    took: float = 0.0
    waited: float = 0.0


class AttemptLost(Struct, frozen=True):
    """The lease of an attempt was gone: nothing of it is on record. `fenced`: we stopped it ourselves.

    `took` is how many seconds it ran. What becomes of the job, whoever reaps it tells. `aside`: its end could
    not be recorded, and its report waits with the job that was put aside.
    """

    claimed: Claimed
    fenced: bool
    took: float = 0.0
    aside: bool = False


class AttemptHandedBack(Struct, frozen=True):
    """A job was given back before its end, and is in this state now; `took` is 0 if it never began."""

    claimed: Claimed
    state: State
    has_begun: bool
    took: float = 0.0
    reason: str = ""


class Measured(Struct, frozen=True):
    """A handler has measured something: see `tenure.execution.measuring` for what, and with which labels."""

    definition: str
    what: str
    labels: tuple[str, ...]
    value: float


class SpanEnded(Struct, frozen=True):
    """A span that a handler has made is over."""

    claimed: Claimed
    span: Span


class HookFailed(Struct, frozen=True):
    """A hook did not end well; the outcome of its job stands. Of one that cannot be read no more is known."""

    job: str
    hook: str
    error: str
    claimed: Claimed | None = None


class DutyDone(Struct, frozen=True):
    """Steps of the clock that this process took for everybody."""

    duty: str
    moved: tuple[Moved, ...]


class JobPutAside(Struct, frozen=True):
    """The database refuses to move a job: it was put aside, so that it holds nobody up."""

    aside: Aside


class Troubled(Struct, frozen=True):
    """A loop of the engine could not do its work and will try again."""

    loop: str
    error: str
    failures: int


class Recovered(Struct, frozen=True):
    """A loop that was in trouble works again."""

    loop: str


Signal = (
    WorkerReady
    | WorkerDraining
    | WorkerStopped
    | AttemptStarted
    | AttemptSettled
    | AttemptLost
    | AttemptHandedBack
    | Measured
    | SpanEnded
    | HookFailed
    | DutyDone
    | JobPutAside
    | Troubled
    | Recovered
)
Announce = Callable[[Signal], None]


def to_all(*subscribers: Announce) -> Announce:
    """Announces to each of them, in this order; one that raises keeps the rest from hearing it."""

    def announce(signal: Signal) -> None:
        for subscriber in subscribers:
            subscriber(signal)

    return announce
