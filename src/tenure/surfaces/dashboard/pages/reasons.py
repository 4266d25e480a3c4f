"""Why a job is not running, in a sentence: what it waits for, and what can be done about it."""

from datetime import datetime

from msgspec import Struct

from tenure.core.aside import Aside
from tenure.core.job import Job
from tenure.core.lease import Line
from tenure.core.operations import LineStatus
from tenure.core.states import State


class Reason(Struct, frozen=True):
    """What a job waits for; `until` is when, where that is known; `is_stuck` says that a person is needed."""

    text: str
    until: datetime | None = None
    is_stuck: bool = False


def reason(job: Job, line: LineStatus | None, aside: Aside | None = None) -> Reason | None:
    """What a job waits for, by where it stands and how its line is; None when it runs or has ended."""
    if aside is not None:
        said = (
            f"It is aside: the database refuses to {aside.verb} it ({aside.why}). Mend it, and put it back."
        )
        return Reason(said, is_stuck=True)
    match job.state:
        case State.CREATED:
            return Reason("It is held back until somebody releases it.", is_stuck=True)
        case State.SCHEDULED:
            return Reason("It waits for its time.", job.due_at)
        case State.RETRYING:
            left = job.policy.max_attempts - job.failures
            return Reason(f"Its last attempt failed; it is tried again, {left} more at most.", job.due_at)
        case State.SUSPENDED:
            return Reason("It gave its slot back and waits.", job.due_at)
        case State.CANCELLING:
            return Reason("It was asked to stop; after its grace it is killed.")
        case State.QUEUED:
            return _in_line(job, line)
        case _:
            return None


def line_of(job: Job) -> Line:
    """Where a job stands in line."""
    return Line(job.queue, job.definition, job.version)


def _in_line(job: Job, line: LineStatus | None) -> Reason:
    if line is None:
        return Reason("It waits in line for a worker.")
    if line.pause:
        why = f": {line.pause.reason}" if line.pause.reason else ""
        return Reason(f"Its queue was paused by {line.pause.by}{why}.", line.pause.until, is_stuck=True)
    if not line.workers:
        name = f"{job.definition}@{job.version}"
        return Reason(f"No live worker serves {name} in queue {job.queue}: start one.", is_stuck=True)
    queued = line.counts.get(State.QUEUED, 0)
    served = "1 worker" if line.workers == 1 else f"{line.workers} workers"
    return Reason(f"It waits in line for a slot: {queued:,} queued there, served by {served}.")
