"""A job in a list: one line, with the time that matters in its state."""

from datetime import UTC, datetime

from msgspec import Struct

from tenure.core.model.durable import OpenWait, WaitKind
from tenure.core.model.states import State
from tenure.core.reports.reading import Listed
from tenure.surfaces.dashboard.formats import age, one_line, short, span

LONGEST_NAME = 24
"""Characters of a signal's name in a list."""


class JobRow(Struct, frozen=True):
    """A job, its params in brief, and its time in words."""

    job: Listed
    params: str
    time: str


def time_text(job: Listed, wait: OpenWait | None = None) -> str:
    """How long it ran, runs or waits, or when it goes on. For display only: by the clock of this process."""
    if job.aside_at is not None:
        return f"aside for {_since(job.aside_at)}"
    match job.state:
        case State.CREATED:
            return f"held for {_since(job.created_at)}"
        case State.SCHEDULED:
            return "" if job.due_at is None else f"at {short(job.due_at)}"
        case State.QUEUED:
            return "" if job.queued_at is None else f"waits {_since(job.queued_at)}"
        case State.RUNNING:
            return "" if job.started_at is None else f"running {_since(job.started_at)}"
        case State.CANCELLING:
            return "stopping"
        case State.RETRYING:
            return "" if job.due_at is None else _again(job.due_at)
        case State.SUSPENDED:
            return _awaited(job, wait)
        case State.BURIED:
            return "worker lost"
        case _ if job.started_at and job.finished_at:
            return f"ran {span(job.finished_at - job.started_at)}"
        case _:
            return "never ran"


def _since(at: datetime) -> str:
    return age(max((datetime.now(UTC) - at).total_seconds(), 0))


def _again(at: datetime) -> str:
    ahead = (at - datetime.now(UTC)).total_seconds()
    return f"again in {age(ahead)}" if ahead >= 1 else "again any moment"


def _awaited(job: Listed, wait: OpenWait | None) -> str:
    match wait and wait.kind:
        case WaitKind.SIGNAL if wait is not None and wait.signal is not None:
            name = wait.signal if len(wait.signal) <= LONGEST_NAME else wait.signal[: LONGEST_NAME - 1] + "…"
            return f"waits for signal “{one_line(name)}”"
        case WaitKind.ANSWER:
            return "waits for an answer"
        case _:
            return "suspended" if job.due_at is None else f"goes on at {short(job.due_at)}"
