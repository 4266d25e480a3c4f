"""Why a job does not run yet, in a sentence: what it waits for, and what to do about it."""

from datetime import datetime

from msgspec import Struct

from tenure.core.model.aside import Aside
from tenure.core.model.job import Job
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.reports.operations import LineStatus


class WaitReason(Struct, frozen=True):
    """What a job waits for; `until` is when, if known; `is_stuck` if it needs a person."""

    text: str
    until: datetime | None = None
    is_stuck: bool = False


def reason(job: Job, line: LineStatus | None, aside: Aside | None = None) -> WaitReason | None:
    """What a job waits for, by its state and its line; None if it runs or has ended."""
    if aside is not None:
        text = (
            f"It is aside: the database refuses to {aside.verb} it ({aside.why}). Mend it, then put it back."
        )
        return WaitReason(text, is_stuck=True)
    match job.state:
        case State.CREATED:
            return WaitReason("It is held until you release it.", is_stuck=True)
        case State.SCHEDULED:
            return WaitReason("It waits for its scheduled time.", job.due_at)
        case State.RETRYING:
            left = job.policy.max_attempts - job.failures
            text = f"Its last attempt failed; it will be tried again, {left} more {_times(left)} at most."
            return WaitReason(text, job.due_at)
        case State.SUSPENDED:
            return WaitReason("It is suspended: it gave its slot back and waits.", job.due_at)
        case State.CANCELLING:
            return WaitReason("It was asked to stop; after its grace period it is killed.")
        case State.QUEUED:
            return _queued(job, line)
        case _:
            return None


def line_of(job: Job) -> Line:
    """The line of a job."""
    return Line(job.queue, job.definition, job.version)


def _queued(job: Job, line: LineStatus | None) -> WaitReason:
    if line is None:
        return WaitReason("It waits for a worker.")
    if line.pause:
        why = f": {line.pause.reason}" if line.pause.reason else ""
        scope = line.pause.scope
        paused = scope if scope.definition else f"Its queue {job.queue}"
        text = f"{paused} is paused by {line.pause.by}{why}."
        return WaitReason(text, line.pause.until, is_stuck=True)
    if not line.workers:
        name = f"{job.definition}@{job.version}"
        text = f"No worker runs {name} in queue {job.queue}: start one that has it."
        return WaitReason(text, is_stuck=True)
    queued = line.counts.get(State.QUEUED, 0)
    workers = "1 worker" if line.workers == 1 else f"{line.workers} workers"
    return WaitReason(f"It waits for a free slot: {queued:,} queued, {workers}.")


def _times(count: int) -> str:
    return "time" if count == 1 else "times"
