"""What the contract decides about one job: where an ending leads, and what makes two jobs alike."""

import json
from datetime import datetime

from tenure.core.model.job import Job, NewJob
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Outcome, Recoverable, Stopped, Succeeded, Suspended, Unrecoverable
from tenure.core.model.policy import OnLost
from tenure.core.model.states import State
from tenure.core.values.bounds import MOST_HAND_BACKS, MOST_SUSPENSIONS


def reported(job: Job, outcome: Outcome) -> State | None:
    """Where a report leads; nowhere if an attempt was stopped without a request to stop."""
    match outcome:
        case Succeeded():
            return State.SUCCEEDED
        case Unrecoverable():
            return State.FAILED
        case _ if job.state is State.CANCELLING:
            return State.CANCELLED
        case Stopped():
            return None
        case Recoverable() if _has_attempts_left(job):
            return State.RETRYING
        case Suspended() if job.suspensions < MOST_SUSPENSIONS:
            return State.SUSPENDED
        case _:
            return State.FAILED


def handed_back(job: Job, *, is_killed: bool, has_got_on: bool) -> State:
    """Where it leads when the owner gives a job back, of which this attempt may have kept a step."""
    if job.state is State.CANCELLING:
        return State.CANCELLED
    if is_killed and job.policy.on_lost is OnLost.BURY:
        return State.BURIED
    return State.QUEUED if has_got_on or is_refunded(job) or _has_attempts_left(job) else State.FAILED


def waiting(job: Job) -> State:
    """Where it leads when a handler gives its slot back until something has come."""
    if job.state is State.CANCELLING:
        return State.CANCELLED
    return State.SUSPENDED if job.suspensions < MOST_SUSPENSIONS else State.FAILED


def reaped(job: Job) -> State:
    """Where it leads when the owner is lost."""
    if job.state is State.CANCELLING:
        return State.CANCELLED
    if job.policy.on_lost is OnLost.BURY:
        return State.BURIED
    return State.QUEUED if _has_attempts_left(job) else State.FAILED


def is_refunded(job: Job) -> bool:
    """Whether giving the job back once more costs it no attempt."""
    return job.hand_backs < MOST_HAND_BACKS


def key_of(job: NewJob | Job) -> tuple[str, str, str | None]:
    """What is unique, if there is a key at all."""
    return job.namespace, job.scope, job.key


def work_of(job: NewJob | Job) -> tuple[str, int, object]:
    """What a key binds."""
    return job.definition, job.version, json.loads(job.params)


def line_of(job: NewJob | Job) -> Line:
    """The line a job stands in when it is queued."""
    return Line(job.queue, job.definition, job.version)


def due(job: Job) -> datetime:
    """When the clock takes the job's next step."""
    assert job.due_at is not None
    return job.due_at


def _has_attempts_left(job: Job) -> bool:
    return job.attempt < job.policy.max_attempts
