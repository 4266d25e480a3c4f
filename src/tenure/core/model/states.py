"""The life of a job: its states and every step between them, in one table.

Everything else about states is generated from `STEPS`: the guards inside both databases, the page and the
diagram in the documentation, the checks in the tests. Nothing repeats the table by hand.
"""

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """Where a job is. A job is in exactly one state; the last four are final."""

    CREATED = "created"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    RETRYING = "retrying"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BURIED = "buried"

    @property
    def is_final(self) -> bool:
        """Whether the job has ended; a finished job never changes again."""
        return self in FINAL

    @property
    def is_owned(self) -> bool:
        """Whether a worker holds a lease on the job."""
        return self in OWNED


FINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.BURIED})
OWNED = frozenset({State.RUNNING, State.CANCELLING})
UNFINISHED = frozenset(State) - FINAL
DEAD_LETTERS = frozenset({State.FAILED, State.BURIED})

TIMERS = {
    State.CREATED: ("hold",),
    State.SCHEDULED: ("scheduled",),
    State.RETRYING: ("retry", "give_up"),
    State.SUSPENDED: ("resume", "wait"),
}
"""The kinds of timers that jobs wait for, by state. A store leaves timers of any other kind alone."""

MEANING = {
    State.CREATED: "recorded and held back until it is accepted",
    State.SCHEDULED: "accepted, waits for its time",
    State.QUEUED: "eligible, owned by no worker",
    State.RUNNING: "owned by exactly one worker, under a lease that has not run out",
    State.CANCELLING: "running, and asked to stop",
    State.RETRYING: "the last attempt failed recoverably; waits for its backoff",
    State.SUSPENDED: "gave its slot back and waits; resuming is not a new attempt",
    State.SUCCEEDED: "all intended effects applied",
    State.FAILED: "dead letter: attempts used up, or a fatal error",
    State.CANCELLED: "stopped on request",
    State.BURIED: "its worker was lost and it must not run twice",
}


class Step(NamedTuple):
    """One legal change of state: from where to where, the event it leaves, which actor takes it and when."""

    source: State | None
    target: State
    event: str
    by: str
    when: str


STEPS: tuple[Step, ...] = (
    Step(None, State.CREATED, "created", "api", "recorded with hold"),
    Step(None, State.SCHEDULED, "scheduled", "api", "recorded and accepted at once, its time still ahead"),
    Step(None, State.QUEUED, "queued", "api", "recorded and accepted at once"),
    Step(State.CREATED, State.QUEUED, "accepted", "api", "accepted"),
    Step(State.CREATED, State.SCHEDULED, "accepted", "api", "accepted, its time still ahead"),
    Step(State.CREATED, State.CANCELLED, "cancelled", "api", "cancel request"),
    Step(State.SCHEDULED, State.QUEUED, "queued", "clock", "its time has come"),
    Step(State.SCHEDULED, State.CANCELLED, "cancelled", "api", "cancel request"),
    Step(State.QUEUED, State.RUNNING, "started", "worker", "claimed: a lease, a fence, one more attempt"),
    Step(State.QUEUED, State.CANCELLED, "cancelled", "api", "cancel request"),
    Step(State.RUNNING, State.SUCCEEDED, "succeeded", "worker", "the owner reports success"),
    Step(State.RUNNING, State.RETRYING, "retrying", "worker", "recoverable failure, attempts left"),
    Step(State.RUNNING, State.FAILED, "failed", "worker", "fatal error, or attempts used up"),
    Step(State.RUNNING, State.FAILED, "failed", "reaper", "lease ran out, attempts used up"),
    Step(State.RUNNING, State.FAILED, "failed", "doctor", "its lease is gone, attempts used up"),
    Step(State.RUNNING, State.QUEUED, "orphaned", "reaper", "lease ran out, attempts left"),
    Step(State.RUNNING, State.QUEUED, "orphaned", "doctor", "its lease is gone, attempts left"),
    Step(
        State.RUNNING,
        State.QUEUED,
        "handed_back",
        "worker",
        "the owner gives it back; the attempt is refunded",
    ),
    Step(State.RUNNING, State.BURIED, "buried", "reaper", "lease ran out and it must not run twice"),
    Step(State.RUNNING, State.BURIED, "buried", "doctor", "its lease is gone and it must not run twice"),
    Step(State.RUNNING, State.BURIED, "buried", "worker", "killed before its end and it must not run twice"),
    Step(State.RUNNING, State.SUSPENDED, "suspended", "worker", "the handler waits; the attempt is refunded"),
    Step(State.RUNNING, State.CANCELLING, "cancelling", "api", "cancel request"),
    Step(State.CANCELLING, State.CANCELLED, "cancelled", "worker", "the owner stopped it"),
    Step(State.CANCELLING, State.CANCELLED, "cancelled", "reaper", "lease ran out"),
    Step(State.CANCELLING, State.CANCELLED, "cancelled", "doctor", "its lease is gone"),
    Step(State.CANCELLING, State.SUCCEEDED, "succeeded", "worker", "the handler returned before it noticed"),
    Step(State.CANCELLING, State.FAILED, "failed", "worker", "the handler itself gave up for good"),
    Step(State.SUSPENDED, State.QUEUED, "resumed", "clock", "the time it waited for has come"),
    Step(State.SUSPENDED, State.QUEUED, "resumed", "api", "it was told what it waited for"),
    Step(State.SUSPENDED, State.QUEUED, "resumed", "worker", "what it waits for was there already"),
    Step(State.SUSPENDED, State.CANCELLED, "cancelled", "api", "cancel request"),
    Step(State.RETRYING, State.QUEUED, "queued", "clock", "backoff over"),
    Step(State.RETRYING, State.FAILED, "failed", "clock", "an operator gave it up"),
    Step(State.RETRYING, State.CANCELLED, "cancelled", "api", "cancel request"),
)

FIRST = tuple(step.target for step in STEPS if step.source is None)
MOVES = tuple(dict.fromkeys((step.source, step.target) for step in STEPS if step.source is not None))


def is_legal(source: State | None, target: State) -> bool:
    """Whether the table has a step from one state to the other; None stands for a job not yet recorded."""
    return any((step.source, step.target) == (source, target) for step in STEPS)
